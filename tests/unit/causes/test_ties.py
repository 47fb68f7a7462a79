"""How lines and functions of the program are tied to the step."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from tfadvisor.causes.source_files import ParsedFile
from tfadvisor.causes.ties import Tied, tie_of

STEPS = frozenset({"train_step"})


def tied(code: str, function: str, *, others: str = "") -> Tied | None:
    """Of a function, and of the line that ends with `# here`."""
    text = "import numpy as np\nimport jax.numpy as jnp\n" + dedent(code)
    lines = tuple(text.splitlines())
    line = next(n for n, held in enumerate(lines, 1) if held.endswith("# here"))
    parsed = ParsedFile(ast.parse(text), lines, "same", "train.py")
    return tie_of(parsed, function, line, STEPS, STEPS | {*others.split()})


JOURNAL = """
class Journal:
    def histograms(self, step, tree):
        for leaf in tree:
            self.kept.append(self.counted(leaf))
    def counted(self, leaf):
        return np.histogram(leaf)  # here
def main(params, journal):
    for step in range(9):
        params, grads = train_step(params)
        journal.histograms(step, params)
        journal.histograms(step, grads)
"""


@pytest.mark.parametrize("function", ["histograms", "counted"])
def test_what_only_reads_results_with_its_statements(function: str) -> None:
    """Also by a function between the loop and the one that takes the time."""
    assert tied(JOURNAL, function) == Tied(
        "result",
        13,
        "histograms",
        ("journal.histograms(step, params)", "journal.histograms(step, grads)"),
        "step",
    )


def test_what_comes_now_and_then_has_no_statements_of_each_round() -> None:
    code = JOURNAL.replace(
        "        journal.histograms(step, grads)\n",
        "        if step % 10 == 0:\n            journal.histograms(step, grads)\n",
    )
    found = tied(code, "histograms")

    assert found is not None
    assert found.each == ()


def test_a_function_that_calls_the_step_is_one() -> None:
    found = tied(
        """
        def batch(i):
            return np.sort(rows[i])  # here
        def update(state, x):
            return train_step(state, x)
        def main(state):
            for i in range(9):
                state = update(state, batch(i))
        """,
        "batch",
        others="update",
    )

    assert found is not None
    assert (found.tie, found.line) == ("argument", 10)


def test_a_line_of_the_loop_itself_of_what_stays_the_same() -> None:
    """A table that is made anew in each round."""
    code = """
    def main(state, vectors):
        for i in range(9):
            table = jnp.asarray(vectors)  # here
            state = train_step(state, table)
    """
    found = tied(code, "main")
    changing = tied(code.replace("(vectors)", "(vectors[i])"), "main")

    assert found == Tied("argument", 6, "", is_same=True)
    assert changing == Tied("argument", 6, "")


@pytest.mark.parametrize(
    "code",
    [
        "for i in range(9):\n    state = train_step(state)  # here",
        "for i in range(9):\n    x = np.sort(y)  # here",
        "for i in range(9):\n    state = train_step(state)\n    z = np.sort(y)  # here",
        "def other():\n    return np.sort(y)  # here\nstate = train_step(state)",
    ],
    ids=["the step's own line", "no step", "what nothing reads", "no loop"],
)
def test_nothing_is_said_of_other_lines(code: str) -> None:
    assert tied(code, "") is None
