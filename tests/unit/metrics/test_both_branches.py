"""What vmap runs for every element though a cond chooses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tfadvisor.causes import ProgramSource
from tfadvisor.metrics import both_branches as module
from tfadvisor.metrics import kinds
from tfadvisor.metrics.registry import MetricAbsent, Settings
from tfadvisor.program.cost import Cost
from tfadvisor.program.operations import SourceLocation
from tfadvisor.timeline.program_ops import InProgram
from tfadvisor.timeline.summary.hot_ops import HotOp, HotOps

PROGRAM = """
def one(x):
    return jax.lax.cond(x > 0, costly, cheap, x)
masked = jnp.where(mask, x, 0)
safe = jnp.where(jnp.linalg.cond(x) < 1e6, solved(x), 0)
turned = jax.lax.while_loop(lambda s: cond(s), body, x)
"""
MAPPED = "jit(f)/vmap()/select_n"


def op(us: int, line: int, path: str = MAPPED) -> HotOp:
    """Chosen on a line of train.py; 0 for used by all."""
    place = SourceLocation(path, "/home/me/train.py", line, ()) if line else None
    known = InProgram("fusion", "dot", Cost(), None, selected=place)
    return HotOp(f"dot.{us}", "", "jit_f", us * 10**6, 10, known)


class Asked:
    """A question about a run."""

    run = None

    def __init__(self, folder: Path) -> None:
        self.settings = Settings(source=ProgramSource(folder))


def asked(monkeypatch: pytest.MonkeyPatch, folder: Path, *ops: HotOp) -> Any:
    (folder / "train.py").write_text(PROGRAM)
    every = HotOps(ops, sum(ran.total_ps for ran in ops), None, "")
    monkeypatch.setattr(kinds, "known_ops", lambda _: every)
    return Asked(folder)


def test_ops_that_a_mapped_cond_alone_uses(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    question = asked(monkeypatch, tmp_path, op(60, 3), op(30, 0), op(10, 3))

    assert module.both_branches_cond(question) == "train.py:3"
    assert module.both_branches_line(question) == "dot.60"
    assert module.both_branches_by(question) == "vmap"


def test_ops_that_one_branch_is_given(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    question = asked(monkeypatch, tmp_path, op(60, 3, "jit(f)/cond"))

    assert module.both_branches_cond(question) == "train.py:3"
    assert module.both_branches_by(question) == "caller"


@pytest.mark.parametrize(
    "other",
    [
        op(60, 4),
        op(60, 5),
        op(60, 6, "jit(f)/vmap()/while"),
        op(60, 3, "jit(f)/select_n"),
    ],
)
def test_a_mask_a_loop_or_a_cond_outside_of_vmap_is_none(
    other: HotOp, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with pytest.raises(MetricAbsent):
        module.both_branches_cond(asked(monkeypatch, tmp_path, other))
