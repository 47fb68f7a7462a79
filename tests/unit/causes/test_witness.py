"""What stands in the program's source at a place that costs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tfadvisor.causes import ProgramSource
from tfadvisor.causes.witness import Witness
from tfadvisor.timeline.attribution.spent import Spent
from tfadvisor.vocabulary import TimeClass

PROGRAM = """\
import jax

predict = jax.jit(model, donate_argnums=0)


@functools.partial(jax.jit, static_argnums=1)
def train_step(state, size):
    return state


def rows_of(number):
    first = number % 16
    rows = [value for value in ROWS]
    return jnp.array(rows[first : first + 16])


def main(state):
    for number in range(8):
        state = train_step(state, number)
        while waiting:
            predict(state)
        print(state)
        print(float(state))
"""


@pytest.fixture
def source(tmp_path: Path) -> ProgramSource:
    (tmp_path / "train.py").write_text(PROGRAM, "utf-8")
    return ProgramSource(tmp_path)


def in_function(line: int, called: str, detail: str = "") -> Spent:
    """Time in a function that begins on a line, as frames name it."""
    return Spent(
        TimeClass.HOST, "work", detail, "train.py", line, "function", called=called
    )


@pytest.mark.parametrize(
    ("spent", "line"),
    [
        (in_function(11, "array (array_constructors.py:106)"), 14),
        (in_function(11, "<listcomp> (train.py:13)"), 13),
        (in_function(11, "", "line 12"), 12),
        (in_function(11, "", "its own lines"), 11),
        (in_function(17, "the call of train_step"), 19),
        (in_function(17, "the call of model"), 21),
        (in_function(17, "_value (array.py:615)"), 17),
        (in_function(11, "asarray (numpy.py:1)"), 11),
        (Spent(TimeClass.HOST, "work", "array", "other.py", 3, "f"), 3),
        (Spent(TimeClass.HOST, "dot", file="train.py", line=8), 8),
    ],
)
def test_a_call_lies_on_the_only_line_that_makes_it(
    source: ProgramSource, spent: Spent, line: int
) -> None:
    """`model` is called as `predict`, which is made of it; what reads a value may be
    print or float, on two lines.
    """
    assert source.line_of(spent) == line


def test_a_call_is_told_with_its_arguments_its_loop_and_what_made_it(
    source: ProgramSource,
) -> None:
    assert source.witness(in_function(17, "the call of model")) == Witness(
        line=21,
        call="predict(state)",
        loop="while waiting",
        loop_line=20,
        made_by=("jax.jit(model, donate_argnums=0)",),
    )
    assert source.witness(in_function(17, "the call of train_step")) == Witness(
        line=19,
        call="train_step(state, number)",
        loop="for number in range(8)",
        loop_line=18,
        made_by=("functools.partial(jax.jit, static_argnums=1)",),
    )
    assert source.witness(in_function(11, "array (array_constructors.py:1)")) == (
        Witness(14, "jnp.array(rows[first:first + 16])", "", None, ())
    )


def test_a_function_of_another_module_was_made_by_nothing_here(
    tmp_path: Path,
) -> None:
    program = "import other\n\n@jit\ndef step():\n    pass\n\nother.step(1)\n"
    (tmp_path / "train.py").write_text(program, "utf-8")
    found = ProgramSource(tmp_path).witness(
        Spent(TimeClass.HOST, "work", "step", "train.py", 7)
    )

    assert found is not None
    assert (found.call, found.made_by) == ("other.step(1)", ())
