"""The place of a call is the user's own function, on traces worked out on paper."""

from __future__ import annotations

import numpy as np
import pytest
from support.trace_builder import TraceBuilder, trace

from tfadvisor.timeline.attribution.spent import Sampled
from tfadvisor.timeline.host.loop_frames import FrameShare


def loop(
    *calls: tuple[str, float, float], frame: str = "$train.py:3 main"
) -> FrameShare:
    """The costliest call of a loop of five steps of 10 ms, whose kernel takes the first
    4; calls: in each step, in ms.
    """
    built: TraceBuilder = trace().call(frame, 0, 50_000).steps(5, 10_000)
    built.busy("GPU:0", *((10_000 * i, 10_000 * i + 4_000) for i in range(5)))
    for i in range(5):
        built.call("PjitFunction(train_step)", 10_000 * i, 10_000 * i + 1_000)
        for name, start, end in calls:
            built.call(name, 10_000 * i + 1_000 * start, 10_000 * i + 1_000 * end)
    (host,) = built.build().hosts
    return host.evidence.frames[0]


def test_a_function_of_the_users_is_its_own_place() -> None:
    found = loop(("$train.py:20 log", 4, 9))

    assert (found.place(), found.called()) == ("log (train.py:20)", "log (train.py:20)")


@pytest.mark.parametrize("name", ["$builtins print", "$encoder.py:199 encode"])
def test_a_librarys_function_stands_for_the_one_that_calls_it(name: str) -> None:
    found = loop((name, 4, 9))

    assert found.place() == "main (train.py:3)"
    assert found.called() != found.place()


def test_the_users_function_below_a_library_is_nearer_than_the_one_above() -> None:
    """Keras calls the user's callback for 4 of the 5 ms that its own function takes."""
    found = loop(
        ("$callback_list.py:160 on_train_batch_end", 4, 9),
        ("$logger.py:8 on_train_batch_end", 4, 8),
    )

    assert found.place() == "on_train_batch_end (logger.py:8)"


def test_a_users_function_that_takes_little_of_the_call_is_not_its_place() -> None:
    """2 of 5 ms."""
    found = loop(
        ("$callback_list.py:160 on_train_batch_end", 4, 9),
        ("$logger.py:8 on_train_batch_end", 4, 6),
    )

    assert found.place() == "main (train.py:3)"


def test_without_any_function_of_the_users_the_call_itself_is_named() -> None:
    found = loop(
        ("$encoder.py:199 encode", 4, 9), frame="$traceback_utils.py:100 error_handler"
    )

    assert found.place() == "encode (encoder.py:199)"


def test_a_librarys_call_whose_caller_began_before_the_trace_is_where_samples_say(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A tick a ms: in the library's calls, from 4 to 9 ms of each step, the program is
    on line 110, else on line 8.
    """
    ms = np.arange(50)
    seen = Sampled(
        ms * 1_000_000_000 + 500_000_000,
        np.where((ms % 10 >= 4) & (ms % 10 < 9), 1, 0),
        (("train.py", 8, "main", ""), ("train.py", 110, "<module>", "__call__")),
    )
    monkeypatch.setattr("tfadvisor.timeline.host_build.sampled", lambda _trace: seen)

    found = loop(
        ("$encoder.py:199 encode", 4, 9), frame="$traceback_utils.py:100 error_handler"
    )

    assert (found.place(), found.called()) == (
        "<module> (train.py:110)",
        "encode (encoder.py:199)",
    )


def test_what_lies_behind_the_last_step_is_no_time_of_the_steps() -> None:
    """The call of the last step takes 100 ms more, in which the tracer stops: each of
    the five counts for its 5 ms of a step.
    """
    built: TraceBuilder = trace().call("$train.py:3 main", 0, 200_000).steps(5, 10_000)
    built.busy("GPU:0", *((10_000 * i, 10_000 * i + 4_000) for i in range(5)))
    for i in range(5):
        built.call("PjitFunction(train_step)", 10_000 * i, 10_000 * i + 1_000)
        built.call(
            "$train.py:20 log",
            10_000 * i + 5_000,
            10_000 * (i + 1) + 100_000 * (i == 4),
        )

    (host,) = built.build().hosts

    assert host.evidence.frames[0].host_ps == 25_000_000_000


def test_a_function_that_runs_the_step_op_by_op_is_not_named_for_a_librarys_calls() -> (
    None
):
    """`ops` dispatches a program in each of two calls of JAX's own, which take all of
    its time: it is the step itself.
    """
    built: TraceBuilder = trace().call("$train.py:3 main", 0, 50_000).steps(5, 10_000)
    built.busy("GPU:0", *((10_000 * i, 10_000 * i + 4_000) for i in range(5)))
    for i in range(5):
        built.call("$train.py:9 ops", 10_000 * i + 100, 10_000 * i + 9_900)
        for start in (200, 5_200):
            built.call(
                "$traceback_util.py:176 reraise_with_filtered_traceback",
                10_000 * i + start,
                10_000 * i + start + 4_600,
            )
            built.call(
                "PjitFunction(add)", 10_000 * i + start + 100, 10_000 * i + start + 400
            )
    (host,) = built.build().hosts
    (found,) = host.evidence.frames

    assert (found.called(), found.runs_step) == ("ops (train.py:9)", True)
