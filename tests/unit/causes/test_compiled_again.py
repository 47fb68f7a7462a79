"""What the program's source shows to be compiled again and again on a line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tfadvisor.causes import CompiledAgain, ProgramSource

BODY = """\
import jax


def draw(kernel, keys, values):
    def one(inputs):
        return kernel(*inputs)

    return jax.lax.map(one, (keys, values))


def predict(keys, values):
    return numpy.asarray(draw(model, keys, values))


for step in range(9):
    predict(keys, values)
"""


def on_line(
    line: int, program: str, folder: Path, compiled: str = ""
) -> CompiledAgain | None:
    (folder / "train.py").write_text(program)
    return ProgramSource(folder).compiled_again("train.py", line, compiled)


@pytest.mark.parametrize("compiled", ["scan", ""], ids=["a trace", "samples"])
def test_a_closure_is_another_body_in_each_call(tmp_path: Path, compiled: str) -> None:
    """`kernel` is called, so it is no array: a static argument."""
    found = on_line(8, BODY, tmp_path, compiled)

    assert found is not None
    assert found.words == (
        "the body of jax.lax.map, one, is made anew in each call of draw (train.py:4), "
        "which a loop calls (it reads kernel, which may change)"
    )
    assert found.once == (
        "# once, outside of draw; what changes as arguments\n"
        "@functools.partial(jax.jit, static_argnames=['kernel'])\n"
        "def compiled_map(keys, values, *, kernel):\n"
        "    def one(inputs): ...\n"
        "    return jax.lax.map(one, (keys, values))"
    )


METHOD = """\
from jax import lax


class Filter:
    def run(self, state, rows):
        return lax.scan(self.step, state, rows)

    def step(self, state, row):
        return self.params * state, row


for rows in batches:
    state, _ = Filter(params).run(state, rows)
"""


def test_a_method_as_body_takes_its_object_along(tmp_path: Path) -> None:
    found = on_line(6, METHOD, tmp_path, "scan")

    assert found is not None
    assert found.once == (
        "# once, outside of run; what changes as arguments\n"
        "@functools.partial(jax.jit, static_argnums=0)\n"
        "def compiled_scan(self, state, rows):\n"
        "    return lax.scan(self.step, state, rows)"
    )


IN_A_LOOP = """\
import jax

for index in range(9):
    def body(i, x):
        return x * index

    x = jax.lax.fori_loop(0, 100, body, x)
"""


def test_a_body_that_a_loop_defines_is_another_one_in_each_round(
    tmp_path: Path,
) -> None:
    found = on_line(7, IN_A_LOOP, tmp_path, "while")

    assert found is not None
    assert found.words == (
        "the body of jax.lax.fori_loop, body, is made anew in each round of `for index "
        "in range(9)` (train.py:3) (it reads index, which may change)"
    )
    assert "def compiled_fori_loop(x, *, index):" in found.once


@pytest.mark.parametrize(
    ("line", "program", "compiled"),
    [
        (8, BODY, "one"),
        (8, BODY.replace("for step in range(9):\n    ", ""), "scan"),
        (8, BODY.replace("(one, ", "(model, "), "scan"),
        (8, BODY.replace("def draw", "@jax.jit\ndef draw").replace(":8", ":9"), ""),
        (8, BODY + "many = jax.jit(predict)", ""),
        (7, IN_A_LOOP.replace("for index in range(9):", "if True:"), "while"),
        (12, BODY, "scan"),
    ],
    ids=[
        "another function compiles",
        "called once",
        "a body of the module",
        "in a compiled function",
        "in what a compiled function calls",
        "in no loop",
        "another line",
    ],
)
def test_a_body_that_is_known_or_within_a_compiled_function_is_not_anew(
    tmp_path: Path, line: int, program: str, compiled: str
) -> None:
    assert on_line(line, program, tmp_path, compiled) is None


OBJECTS = """\
from functools import partial
import jax


class Updater:
    def __init__(self, loss):
        self.loss = loss

    @partial(jax.jit, static_argnums=0)
    def update(self, state, batch):
        return state - jax.grad(self.loss)(state, batch)


class Member:
    def __init__(self, key):
        self.updater = Updater(loss)
        self.state = key

    def train(self, batches):
        for batch in batches:
            self.state = self.updater.update(self.state, batch)


members = [Member(key) for key in keys]
for member in members:
    member.train(batches)
"""
INSTANCE = "self.updater = Updater(loss)"


def test_each_object_compiles_a_method_of_which_it_is_static(tmp_path: Path) -> None:
    """Line 21 calls it. All objects are made alike, so one serves for all."""
    found = on_line(21, OBJECTS, tmp_path)

    assert found is not None
    assert found.words == (
        "Updater, whose method update (train.py:10) is compiled with self as a static "
        "argument, is made anew in each call of Member (train.py:15), which a loop "
        "calls"
    )
    assert found.once.startswith("updater = Updater(loss)")


def test_what_differs_between_the_objects_becomes_an_argument(tmp_path: Path) -> None:
    program = OBJECTS.replace(INSTANCE, "self.updater = Updater(key)")

    found = on_line(21, program, tmp_path, "update")

    assert found is not None
    assert found.once == (
        "# once, outside of Updater; what its objects hold as arguments\n"
        "@jax.jit\ndef update(state, batch, *, loss): ..."
    )
    assert found.reads == ("key",)


@pytest.mark.parametrize(
    "program",
    [
        OBJECTS.replace(
            "    def __init__(self, loss",
            "    def __hash__(self): return 1\n    def __init__(self, loss",
        ),
        OBJECTS.replace("class Updater", "@dataclass(frozen=True)\nclass Updater"),
        OBJECTS.replace("class Updater:", "class Updater(nn.Module):"),
        OBJECTS.replace("static_argnums=0", "static_argnums=1"),
        OBJECTS.replace("[Member(key) for key in keys]", "[Member(key)]"),
        OBJECTS.replace(INSTANCE, "self.updater = shared") + "\nshared = Updater(loss)",
        OBJECTS.replace(
            INSTANCE,
            "if loss not in known: known[loss] = Updater(loss)\n"
            "        self.updater = known[loss]",
        ),
        OBJECTS + "class Other:\n    def update(self, state, batch): return state\n",
    ],
    ids=[
        "equal by value",
        "a frozen dataclass",
        "of a class of a library",
        "another argument is static",
        "one object",
        "shared",
        "kept",
        "of another class, perhaps",
    ],
)
def test_objects_that_may_be_the_same_are_not_made_anew(
    tmp_path: Path, program: str
) -> None:
    line = 1 + next(
        at
        for at, text in enumerate(program.splitlines())
        if "self.updater.update(" in text
    )
    assert on_line(line, program, tmp_path) is None


GIVEN = """\
import tensorflow as tf
class Builder:
    def prepare(self, model):
        best = model.best()
        @tf.function
        def acquire(x):
            return model(x) - best
        return acquire
def climb(acquire, x):
    return acquire(x)
MAIN
"""
LOOPING = "for step in range(9):\n    climb(Builder().prepare(model), x)"


@pytest.mark.parametrize("compiled", ["", "acquire"])
def test_a_function_that_another_gives_to_its_caller(
    tmp_path: Path, compiled: str
) -> None:
    text = GIVEN.replace("MAIN", LOOPING)
    (tmp_path / "train.py").write_text(text)

    found = ProgramSource(tmp_path).compiled_again("train.py", 10, compiled)

    assert found is not None
    assert found.words == (
        "acquire is made anew in each call of prepare (train.py:3), which a loop calls "
        "(it reads best, model, which may change)"
    )


def test_what_is_given_once_is_not_made_anew(tmp_path: Path) -> None:
    text = GIVEN.replace("MAIN", "acquire = Builder().prepare(model)")
    (tmp_path / "train.py").write_text(text + "for x in xs:\n    climb(acquire, x)\n")

    assert ProgramSource(tmp_path).compiled_again("train.py", 10, "acquire") is None
