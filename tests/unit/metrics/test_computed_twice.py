"""A loss that one program computes for its gradient, and another once more."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tfadvisor.metrics import needless
from tfadvisor.metrics.registry import MetricAbsent
from tfadvisor.program.cost import Cost
from tfadvisor.program.operations import SourceLocation
from tfadvisor.timeline.program_ops import InProgram
from tfadvisor.timeline.summary.hot_ops import HotOp, HotOps

LOSS, GRADIENT = "jit(loss)/dot_general", "jit(update)/transpose(jvp(loss))/dot_general"


def op(
    module: str,
    line: int,
    us: int,
    *,
    name: str = LOSS,
    file: str = "train.py",
    count: int = 10,
) -> HotOp:
    known = InProgram("fusion", "dot", Cost(), SourceLocation(name, file, line, ()))
    return HotOp(
        op=f"{module}.{line}",
        kernel="",
        module=module,
        total_ps=us * 10**6,
        count=count,
        known=known,
    )


def told(monkeypatch: pytest.MonkeyPatch, *ops: HotOp) -> str | None:
    """Of ops that are all that computes."""
    found = HotOps(ops, sum(one.total_ps for one in ops), None, "")
    monkeypatch.setattr(needless, "known_ops", lambda _: found)
    try:
        return needless.computed_twice(SimpleNamespace(run=SimpleNamespace(hosts=[])))  # type: ignore[arg-type]
    except MetricAbsent:
        return None


UPDATE = op("jit_update", 7, 60), op("jit_update", 7, 30, name=GRADIENT)


def test_a_loss_for_the_log_beside_its_gradient(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = told(monkeypatch, *UPDATE, op("jit_loss", 7, 10))

    assert (
        said == "jit_loss, 10% of the compute, runs lines that jit_update runs too and "
        "differentiates (train.py:7)"
    )


@pytest.mark.parametrize(
    "other",
    [
        op("jit_loss", 8, 10),
        op("jit_loss", 7, 4),
        op("jit_loss", 7, 10, count=4),
    ],
    ids=["other lines", "too little", "an evaluation every few steps"],
)
def test_what_is_no_loss_computed_twice(
    monkeypatch: pytest.MonkeyPatch, other: HotOp
) -> None:
    assert told(monkeypatch, *UPDATE, other) is None


@pytest.mark.parametrize(
    "file", ["", "/venv/lib/python3.11/site-packages/flax/linen/linear.py"]
)
def test_lines_that_are_not_the_programs_say_nothing(
    monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    both = [op("jit_update", 7, 60, name=name, file=file) for name in (LOSS, GRADIENT)]

    assert told(monkeypatch, *both, op("jit_loss", 7, 30, file=file)) is None


def test_two_steps_that_differentiate_are_told_by_the_smaller(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    other = op("jit_critic", 7, 20), op("jit_critic", 7, 10, name=GRADIENT)

    assert (told(monkeypatch, *UPDATE, *other) or "").startswith("jit_critic, 25%")


def test_nine_tenths_of_the_time_in_lines_of_the_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert (
        told(monkeypatch, *UPDATE, op("jit_loss", 7, 90), op("jit_loss", 9, 10))
        is not None
    )
    assert (
        told(monkeypatch, *UPDATE, op("jit_loss", 7, 89), op("jit_loss", 9, 11)) is None
    )
