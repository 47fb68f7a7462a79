"""Functions of Python that a program makes anew and gives to a compiled function."""

from __future__ import annotations

from pathlib import Path

import pytest

from tfadvisor.causes import CompiledAgain, ProgramSource

SIMULATES = """\
import jax
from functools import partial


@partial(jax.jit, static_argnames=("noise", "policy"))
def simulate(x, policy, noise):
    return noise(policy(x))


def policy(x):
    return 2 * x


def run(x, {arguments}):
    {line}
    return simulate(x, policy, noise)


for seed in range(60):
    {call}
"""


def again(
    folder: Path, program: str, marked: str, compiled: str = ""
) -> CompiledAgain | None:
    """By the last line of the program that holds the marked text."""
    (folder / "train.py").write_text(program)
    lines = program.splitlines()
    number = [at for at, line in enumerate(lines, start=1) if marked in line][-1]
    return ProgramSource(folder).compiled_again("train.py", number, compiled)


def simulates(
    folder: Path, line: str, arguments: str = "noise=None", call: str = "run(seed)"
) -> CompiledAgain | None:
    """What the line before a jitted call makes anew."""
    program = SIMULATES.format(line=line, arguments=arguments, call=call)
    return again(folder, program, "return simulate", "simulate")


@pytest.mark.parametrize(
    "line",
    [
        "noise = noise if noise else (lambda x: x)",
        "noise = noise or (lambda x: x)",
        "if noise is None: noise = lambda x: x",
        "if not noise: noise = partial(jax.numpy.add, 1)",
    ],
)
def test_a_default_that_each_call_makes_is_a_static_argument(
    tmp_path: Path, line: str
) -> None:
    found = simulates(tmp_path, line)

    assert found is not None
    assert found.words == (
        "noise, a function that simulate is given and compiled for, is made anew in "
        "each call of run (train.py:14), which a loop calls"
    )
    assert found.once.startswith("# once, outside of run\ndefault_noise = ")
    assert "# and in the function: noise = " in found.once


def test_the_function_then_takes_what_is_made_once(tmp_path: Path) -> None:
    found = simulates(tmp_path, "noise = noise if noise else (lambda x: x)")

    assert found is not None
    assert found.once == (
        "# once, outside of run\n"
        "default_noise = lambda x: x\n"
        "# and in the function: noise = noise if noise else default_noise"
    )


@pytest.mark.parametrize(
    ("line", "arguments", "call"),
    [
        # a loop gives its own one each time
        ("noise = noise or (lambda x: x)", "noise=None", "run(seed, policy)"),
        ("noise = noise or (lambda x: x)", "noise=None", "run(seed, noise=policy)"),
        # Python makes a default once
        ("x = x + 1", "noise=lambda x: x", "run(seed)"),
        ("noise = policy", "noise=None", "run(seed)"),
        ("noise = jax.numpy.zeros(3)", "noise=None", "run(seed)"),
        ("noise = jax.tree_util.Partial(policy)", "noise=None", "run(seed)"),
        ("noise = CACHE[0] if CACHE else (lambda x: x)", "noise=None", "run(seed)"),
        ("global noise; noise = lambda x: x", "other=None", "run(seed)"),
    ],
)
def test_what_is_the_same_function_is_not_made_anew(
    tmp_path: Path, line: str, arguments: str, call: str
) -> None:
    assert simulates(tmp_path, line, arguments, call) is None


def test_a_function_that_runs_once_makes_nothing_anew(tmp_path: Path) -> None:
    program = SIMULATES.format(
        line="noise = lambda x: x", arguments="other=None", call="pass"
    )
    assert again(tmp_path, program, "return simulate", "simulate") is None


def test_a_caller_may_make_what_a_function_gives_on(tmp_path: Path) -> None:
    found = simulates(tmp_path, "x = x + 1", "noise", "run(seed, lambda x: x + 1)")

    assert found is not None
    assert found.words == (
        "a lambda, a function that simulate is given and compiled for, is made anew in "
        "each round of `for seed in range(60)` (train.py:19)"
    )
    assert found.before == "for seed in range(60):\n    run(seed, lambda x: x + 1)"


def test_a_lambda_that_reads_the_round_moves_inside_with_that_as_an_argument(
    tmp_path: Path,
) -> None:
    found = simulates(tmp_path, "x = x + 1", "noise", "run(seed, lambda x: x + seed)")

    assert found is not None
    assert "(it reads seed, which may change)" in found.words
    assert found.once == (
        "# once, outside of the loop; what changes as arguments\n"
        "@jax.jit\n"
        "def compiled_simulate(seed):\n"
        "    return run(seed, lambda x: x + seed)"
    )


OPERATOR = """\
import tensorflow as tf


class Operator:
    @staticmethod
    @tf.function
    def gradient(func, inputs):
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            outputs = func(inputs)
        return tape.gradient(outputs, inputs)


class Detector:
    def __init__(self, model):
        self.model, self.op = model, Operator

    def perturb(self, inputs):
        labels = tf.argmax(inputs, axis=1)

        def loss_fn(x):
            return {loss}

        gradients = self.op.gradient(loss_fn, inputs)
        return inputs - gradients


for batch in batches:
    detector.perturb(batch)
"""


def test_what_a_function_reads_goes_into_a_compiled_function_around_it(
    tmp_path: Path,
) -> None:
    program = OPERATOR.format(loss="tf.reduce_sum(labels * self.model(x))")
    found = again(tmp_path, program, "self.op.gradient", "gradient")

    assert found is not None
    assert found.words == (
        "loss_fn, a function that gradient is given and compiled for, is made anew in "
        "each call of perturb (train.py:18), which a loop calls (it reads labels, "
        "which may change)"
    )
    assert found.once == (
        "# once, outside of perturb; what changes as arguments\n"
        "@tf.function\n"
        "def compiled_gradient(self, inputs, *, labels):\n"
        "    def loss_fn(x): ...\n"
        "    return self.op.gradient(loss_fn, inputs)"
    )


def test_a_function_that_reads_its_object_alone_is_made_with_that(
    tmp_path: Path,
) -> None:
    program = OPERATOR.format(loss="tf.reduce_sum(self.model(x))")
    found = again(tmp_path, program, "self.op.gradient", "gradient")

    assert found is not None
    assert found.once == (
        "# once, in __init__\ndef loss_fn(x): ...\nself.loss_fn = loss_fn"
    )


def test_a_function_that_nothing_compiles_may_take_new_ones(tmp_path: Path) -> None:
    program = OPERATOR.format(loss="labels").replace("    @tf.function\n", "")

    assert again(tmp_path, program, "self.op.gradient", "gradient") is None


def test_what_makes_it_while_it_is_traced_makes_it_once(tmp_path: Path) -> None:
    program = OPERATOR.format(loss="labels").replace(
        "    def perturb", "    @tf.function\n    def perturb"
    )
    assert again(tmp_path, program, "self.op.gradient", "gradient") is None
    assert again(tmp_path, program, "self.op.gradient") is None


SOLVES = """\
import tensorflow as tf


def solve(slope_of, state, steps):
    for _ in range(steps):
        with tf.GradientTape() as tape:
            slope = slope_of(state)
        state -= tape.jacobian(slope, state)
    return state


def distance(matter, first):
    return solve({given}, first, 4).numpy()


for step in range(60):
    distance(step, first)
"""


def test_what_is_given_a_new_function_is_compiled_with_the_call_that_gives_it(
    tmp_path: Path,
) -> None:
    program = SOLVES.format(given="lambda s: matter * s")
    (tmp_path / "train.py").write_text(program)

    found = ProgramSource(tmp_path).call_that_gives("train.py", 8, "tf.function")

    assert found == (
        "# once, outside of distance; what changes as arguments\n"
        "@tf.function\n"
        "def compiled_solve(matter, first):\n"
        "    return solve(lambda s: matter * s, first, 4)"
    )


@pytest.mark.parametrize("given", ["tf.square", "matter"])
def test_what_is_given_no_new_function_is_compiled_as_it_is(
    tmp_path: Path, given: str
) -> None:
    (tmp_path / "train.py").write_text(SOLVES.format(given=given))

    assert ProgramSource(tmp_path).call_that_gives("train.py", 8, "tf.function") is None
