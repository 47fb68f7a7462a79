"""Where the time of a program without steps goes, of programs on paper."""

from __future__ import annotations

import pytest
from support.stacks import sampled

from tfadvisor.causes.watched_time import COMPILES, IMPORTS, OTHER, watched_time

INSTALLED = "/venv/lib/python3.11/site-packages/"
CALL = "train.py:<module>:57"
JITTED = f"{CALL} {INSTALLED}jax/_src/pjit.py:cache_miss:270"
TRACES = (
    f"{JITTED} {INSTALLED}jax/_src/pjit.py:_trace_for_jit:556 "
    f"{INSTALLED}jax/_src/interpreters/partial_eval.py:trace_to_jaxpr_nocache:2174 "
    "train.py:train_step:46 train.py:forward:33"
)
COMPILING = f"{JITTED} {INSTALLED}jax/_src/compiler.py:backend_compile_and_load:402"
IMPORTING = "train.py:<module>:1 /venv/lib/python3.11/site-packages/a.py:<module>:3"


def test_a_call_that_compiles_is_told_by_its_phases_and_by_what_is_traced() -> None:
    """Of 10 s, 1 s imports, 3 s trace and 6 s compile."""
    time = watched_time(
        sampled([(IMPORTING, 100), (TRACES, 300), (COMPILING, 600)]),
    )

    first, second = time.parts
    assert time.seconds == pytest.approx(10.0)
    assert (first.kind, first.compiled, first.line.place.line) == (
        COMPILES,
        "train_step",
        57,
    )
    assert dict(first.phases) == pytest.approx({"compiling": 6.0, "tracing": 3.0})
    assert [line.place.words for line in first.traced] == ["forward (train.py:33)"]
    assert first.seconds == pytest.approx(9.0)
    assert (second.kind, second.seconds) == (IMPORTS, pytest.approx(1.0))


def test_a_tf_function_is_named_by_what_autograph_makes_of_it() -> None:
    """2 s trace `step`, of which AutoGraph has written another file."""
    traces = (
        f"{CALL} tensorflow/eager/polymorphic_function/polymorphic_function.py:_call:9 "
        "tensorflow/eager/polymorphic_function/tracing_compilation.py:"
        "_create_concrete_function:310 "
        "/tmp/__autograph_generated_filex.py:tf__step:12"
    )

    (part,) = watched_time(sampled([(traces, 200)])).parts

    assert (part.compiled, part.phases) == ("step", (("tracing", 2.0),))


def test_a_function_that_computes_on_the_host_is_its_line_that_takes_most() -> None:
    """Of make_data's 2 s, 1.5 s lie on line 9."""
    (part,) = watched_time(
        sampled(
            [
                ("train.py:<module>:4 train.py:make_data:9", 150),
                ("train.py:<module>:4 train.py:make_data:8", 50),
            ]
        )
    ).parts

    assert (part.kind, part.line.place.words) == (OTHER, "make_data (train.py:9)")
    assert part.seconds == pytest.approx(2.0)


def test_nothing_seen_is_nothing() -> None:
    assert watched_time(sampled([])).parts == ()
