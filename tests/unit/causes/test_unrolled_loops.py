"""Loops of Python that a compiled function runs while it is traced."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from tfadvisor.causes.source_files import SAME, ParsedFile
from tfadvisor.causes.unrolled_loops import UnrolledLoop, compiled_on, unrolled_loop

JAX = """\
import jax
import jax.numpy as jnp

LENGTH, WIDTH = 64, 8


def cell(params, h, x):
    return jnp.tanh(x @ params + h)


def forward(params, x):
    h = jnp.zeros((x.shape[0], WIDTH))
    for t in range(LENGTH):
        h = cell(params, h, x[:, t])
    return h.sum()


@jax.jit
def train_step(params, x):
    return jax.value_and_grad(forward)(params, x)


loss, grads = train_step(params, x)
"""


def files_of(program: str) -> list[ParsedFile]:
    lines = tuple(program.split("\n"))
    return [ParsedFile(ast.parse(program), lines, SAME, "train.py")]


def found_in(program: str, compiled: str = "train_step") -> UnrolledLoop | None:
    return unrolled_loop(files_of(dedent(program)), compiled)


def test_a_loop_in_what_a_compiled_function_calls_is_shown_as_a_scan() -> None:
    found = found_in(JAX)

    assert found is not None
    assert (found.function, found.line, found.rounds) == ("forward", 13, 64)
    assert found.head == "for t in range(LENGTH)"
    assert found.after.split("\n") == [
        "def turn(carry, t):",
        "    ...                        # what a round computes",
        "    return carry, value        # None, if it collects nothing",
        "carry, values = jax.lax.scan(turn, first, jnp.arange(LENGTH))",
    ]
    assert "forward (train.py:13), which train_step comes to" in found.words


@pytest.mark.parametrize(
    ("this", "by"),
    [
        ("LENGTH, WIDTH = 64, 8", "LENGTH, WIDTH = 29, 8"),
        ("range(LENGTH)", "range(x.shape[1])"),
        ("range(LENGTH)", "layers"),
        ("jax.value_and_grad(forward)(params, x)", "params @ x"),
        ("h = cell(params, h, x[:, t])", "n = t + 1"),
        ("def forward(params, x):", "def forward(params, x, LENGTH=64):"),
        ("    return h.sum()", "        if t:\n            break\n    return h"),
        (
            "jax.value_and_grad(forward)(params, x)",
            "jax.pure_callback(forward, params, x)",
        ),
    ],
    ids=[
        "few rounds",
        "rounds that the source does not tell",
        "no range",
        "a loop that it does not come to",
        "plain Python",
        "rounds that a caller may give",
        "a loop that may end early",
        "a callback on the host",
    ],
)
def test_another_loop_is_none(this: str, by: str) -> None:
    assert this in JAX

    assert found_in(JAX.replace(this, by)) is None


def test_a_function_that_is_defined_twice_is_not_known() -> None:
    assert found_in(f"{JAX}\ndef train_step():\n    pass\n") is None


TENSORFLOW = """\
    import tensorflow as tf

    class Net(tf.keras.Model):
        def call(self, x):
            state = x[:, 0]
            for t in range(100):
                state = self.cell(state, x[:, t])
            return state

    net = Net()

    @tf.function
    def train_step(x):
        return net(x)
    """


def test_a_loop_in_the_call_of_a_model_goes_over_tensors() -> None:
    found = found_in(TENSORFLOW)

    assert found is not None
    assert (found.function, found.rounds, found.is_jax) == ("call", 100, False)
    assert found.after.startswith("for t in tf.range(100):\n    ...")


def test_a_loop_over_tensors_is_none() -> None:
    assert found_in(TENSORFLOW.replace("in range", "in tf.range")) is None


def test_a_line_names_the_functions_that_it_has_compiled() -> None:
    (parsed,) = files_of(JAX)

    assert compiled_on([parsed], parsed, 23) == {"train_step"}
    assert compiled_on([parsed], parsed, 14) == set()


def test_what_a_compiler_is_given_is_compiled_where_it_is_called() -> None:
    program = JAX.replace("@jax.jit\n", "").replace(
        "loss, grads = train_step(", "step = jax.jit(train_step)\nloss, grads = step("
    )
    (parsed,) = files_of(program)

    assert compiled_on([parsed], parsed, 23) == {"train_step"}


def test_a_length_by_the_name_of_another_is_known() -> None:
    program = JAX.replace(
        "LENGTH, WIDTH = 64, 8", "LENGTH = STEPS\nSTEPS, WIDTH = 64, 8"
    )
    found = found_in(program)

    assert found is not None
    assert found.rounds == 64


@pytest.mark.parametrize(
    "length",
    ["99999999999999999999", "0x" + "f" * 4000, "LENGTH", "WIDTH\nWIDTH = LENGTH"],
)
def test_a_length_that_no_loop_has_is_unknown(length: str) -> None:
    """More than a range can have, and names that stand for themselves."""
    program = JAX.replace("LENGTH, WIDTH = 64, 8", f"LENGTH = {length}")

    assert found_in(program) is None


def test_helpers_that_call_each_other_are_looked_at_once() -> None:
    """13 that each call the 12 others are 12**6 ways to the sixth call."""
    names = [f"part_{at}" for at in range(13)]
    helpers = "".join(
        f"def {name}(x):\n    return {' + '.join(f'{n}(x)' for n in names if n != name)}\n"
        for name in names
    )
    program = f"{helpers}{JAX}".replace("jnp.tanh(x @ params + h)", "part_0(x)")

    assert found_in(program) is None
