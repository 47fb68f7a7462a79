"""What a changed program does less often."""

from __future__ import annotations

import ast
import builtins
from typing import Any

import pytest

from tfadvisor.act.trial.injected.tfadvisor_trial_hook.ticks import COUNTS, with_ticks
from tfadvisor.act.trial.less_work import Counts, less_often

BATCH, EVALUATE = "Keras' callbacks of a batch", "evaluate (train.py)"


def test_callbacks_once_in_four_batches_are_less_work() -> None:
    """70 steps as it is, 72 with the change."""
    base = Counts(70, {BATCH: 70, "augment (train.py)": 70})
    new = Counts(72, {BATCH: 18, "augment (train.py)": 72})

    assert less_often(base, new) == (f"{BATCH}: 0.25 times a step instead of 1",)


@pytest.mark.parametrize(
    ("times", "is_less"),
    [(1, True), (2, True), (3, False), (4, False)],
)
def test_what_comes_every_twenty_steps_may_come_once_less(
    times: int, is_less: bool
) -> None:
    """4 times in 80 steps, of which a window may miss one: at most half of it is
    less.
    """
    base, new = Counts(80, {EVALUATE: 4}), Counts(80, {EVALUATE: times})

    assert bool(less_often(base, new)) is is_less


def test_what_hardly_ever_comes_tells_nothing() -> None:
    assert less_often(Counts(80, {EVALUATE: 2}), Counts(80, {EVALUATE: 1})) == ()


def test_what_is_never_counted_may_be_compiled_or_have_another_name() -> None:
    base = Counts(70, {"train_step (train.py)": 70, EVALUATE: 70})
    new = Counts(72, {"train_step (train.py)": 0})

    assert less_often(base, new) == ()


def test_without_steps_nothing_is_less() -> None:
    assert less_often(Counts(80, {EVALUATE: 40}), Counts()) == ()
    assert less_often(Counts(), Counts(80, {EVALUATE: 4})) == ()


PROGRAM = """\
def evaluate(x):
    "Of a model."
    return x
class Log:
    def batch(self):
        return 1
def train():
    for step in range(20):
        Log().batch()
        if step % 5 == 0:
            evaluate(step)
"""


def test_functions_and_what_stands_under_conditions_in_loops_are_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of 20 rounds a quarter evaluates, at steps 0, 5, 10 and 15."""
    counts: list[int] = []
    names: list[str] = []

    def counter(name: str) -> int:
        names.append(name)
        counts.append(0)
        return len(counts) - 1

    monkeypatch.setattr(builtins, COUNTS, counts, raising=False)
    tree = with_ticks(ast.parse(PROGRAM), lambda *_: None, counter)
    space: dict[str, Any] = {}
    exec(compile(tree, "train.py", "exec"), space)

    space["train"]()

    assert dict(zip(names, counts, strict=True)) == {
        "evaluate": 4,
        "Log.batch": 20,
        "train": 1,
        "evaluate(step)": 4,
    }
    assert space["evaluate"].__doc__ == "Of a model."


def test_a_function_runs_where_nobody_counts() -> None:
    """A worker gets it by value, or a model holds it: our names are not there."""
    text = "def total(rows):\n  s = 0\n  for row in rows:\n    s += row\n  return s\n"
    tree = with_ticks(ast.parse(text), lambda *_: 0, lambda name: 0)
    known: dict[str, Any] = {}
    exec(compile(tree, "train.py", "exec"), known)

    assert not hasattr(builtins, COUNTS)
    assert known["total"]([1, 2, 3]) == 6
