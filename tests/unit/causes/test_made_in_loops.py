"""Compiled functions that a loop, or an object that is made again, makes anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from tfadvisor.causes import CompiledAgain, ProgramSource

LOOP = """\
import jax
import jax.numpy as jnp


def scale(x):
    return 2 * x


def train(state, data):
    kept = None
    for batch in data:
        {line}
    return state
"""


def again(
    folder: Path, program: str, marked: str, compiled: str = ""
) -> CompiledAgain | None:
    """By the first line of the program that holds the marked text."""
    (folder / "train.py").write_text(program)
    lines = program.splitlines()
    (number, *_) = [at for at, line in enumerate(lines, start=1) if marked in line]
    return ProgramSource(folder).compiled_again("train.py", number, compiled)


def test_a_loop_that_compiles_what_it_defines_makes_it_in_each_round(
    tmp_path: Path,
) -> None:
    line = (
        "def loss_of(params): return state.apply(params, batch)\n"
        "        loss, grads = jax.jit(jax.value_and_grad(loss_of))(state.params)\n"
        "        state = state.apply_gradients(grads=grads)"
    )
    found = again(tmp_path, LOOP.format(line=line), "value_and_grad")

    assert found is not None
    assert found.words == (
        "what jax.jit gives is made anew in each round of `for batch in data` "
        "(train.py:11) (it reads batch, state, which may change)"
    )
    assert found.before.startswith("for batch in data:\n")
    assert found.once == (
        "# once, outside of the loop; what changes as arguments\n"
        "@jax.jit\n"
        "def compiled(*arguments, batch, state):\n"
        "    def loss_of(params): ...\n"
        "    return jax.value_and_grad(loss_of)(*arguments)"
    )


def test_a_loop_of_no_function_makes_it_too(tmp_path: Path) -> None:
    program = "import jax\nfor x in data:\n    y = jax.jit(lambda p: p * x)(1.0)\n"
    found = again(tmp_path, program, "lambda")

    assert found is not None
    assert found.words == (
        "jax.jit of a lambda is made anew in each round of `for x in data` "
        "(train.py:2) (it reads x, which may change)"
    )


@pytest.mark.parametrize(
    "line",
    [
        "state = jax.jit(scale)(batch)",  # JAX knows the same function again
        "kept = kept or jax.jit(lambda x: x * 2)",
        "if kept is None: kept = jax.jit(lambda x: x * 2)",
        "state = scale(batch)",
    ],
)
def test_what_a_loop_does_not_make_anew(tmp_path: Path, line: str) -> None:
    assert again(tmp_path, LOOP.format(line=line), line) is None


OBJECTS = """\
import jax


class Problem:
    def __init__(self, f, p):
        self.value = jax.jit(lambda x: f(x, p))
        self.slope = jax.jit(jax.grad(lambda x: f(x, p)))

    def solve(self, x):
        return x - self.slope(x)


def solve(f, x, p):
    problem = {make}
    return problem.solve(x)


{call}
"""


@pytest.mark.parametrize(("name", "is_it"), [("<lambda>", True), ("scan", False)])
def test_what_an_object_compiles_for_itself_has_its_name_in_the_trace(
    tmp_path: Path, name: str, is_it: bool
) -> None:
    program = OBJECTS.format(
        make="Problem(f, p)", call="for p in range(9):\n    x = solve(f, x, p)"
    )
    assert (again(tmp_path, program, "self.slope(x)", name) is not None) == is_it


@pytest.mark.parametrize("marked", ["self.slope(x)", "problem = Problem"])
def test_an_object_that_compiles_for_itself_is_made_once(
    tmp_path: Path, marked: str
) -> None:
    program = OBJECTS.format(
        make="Problem(f, p)", call="for p in range(9):\n    x = solve(f, x, p)"
    )
    found = again(tmp_path, program, marked)

    assert found is not None
    assert found.words == (
        "what each Problem compiles for itself in __init__ (train.py:5), self.value, "
        "self.slope, is made anew in each call of solve (train.py:13), which a loop "
        "calls (they read p, which may change)"
    )
    assert found.reads == ("p",)
    assert found.once == (
        "# in Problem: what changes as an argument, p\n"
        "self.value = jax.jit(lambda x, p: f(x, p))\n"
        "self.slope = jax.jit(jax.grad(lambda x, p: f(x, p)))\n"
        "# once, before the loop\n"
        "problem = Problem(f, p)"
    )


@pytest.mark.parametrize(
    ("make", "call"),
    [
        ("Problem(f, p)", "x = solve(f, x, 1)"),  # once
        ("Problem(f, p) if p not in seen else seen[p]", "for p in q: solve(f, x, p)"),
    ],
)
def test_an_object_that_is_made_once_or_kept_compiles_once(
    tmp_path: Path, make: str, call: str
) -> None:
    program = OBJECTS.format(make=make, call=call)
    assert again(tmp_path, program, "self.slope(x)") is None
