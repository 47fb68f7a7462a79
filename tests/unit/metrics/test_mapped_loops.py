"""The share of loops that vmap runs until the last row ends."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tfadvisor.metrics import mapped_loops as module
from tfadvisor.metrics.registry import MetricAbsent
from tfadvisor.program.mapped_loops import MappedLoop
from tfadvisor.timeline.summary.hot_ops import HotOp, HotOps

PATH = "jit(f)/vmap()/while"


def loop(name: str, path: str = PATH, floats: bool = False) -> MappedLoop:
    kernels = frozenset({name, f"dot.{name}"})
    return MappedLoop(name, path, "train.py:21", floats, kernels)


class Asked:
    """A question about a run."""

    run = None


def asked(monkeypatch: pytest.MonkeyPatch, *loops: MappedLoop) -> Any:
    """Ops of 60 µs in while.1, 30 in while.2, and 10 beside, of one program."""
    ops = tuple(
        HotOp(name, "", "jit_f", us * 10**6, 10, None)
        for name, us in (("dot.while.1", 60), ("dot.while.2", 30), ("add", 10))
    )
    monkeypatch.setattr(module, "known_ops", lambda _: HotOps(ops, 100, None, ""))
    monkeypatch.setattr(
        module,
        "patterns_of_any_device",
        lambda _: SimpleNamespace(module="jit_f", mapped=loops),
    )
    return Asked()


def test_the_loop_that_takes_most(monkeypatch: pytest.MonkeyPatch) -> None:
    question = asked(monkeypatch, loop("while.2"), loop("while.1", floats=True))

    assert module.mapped_loop(question) == "while.1 (train.py:21)"
    assert module.mapped_loop_op(question) == "dot.while.1"
    assert module.mapped_loop_ends(question) == "values"


@pytest.mark.parametrize(
    "path",
    [
        "jit(f)/vmap(jit(_gamma))/vmap()/while",
        "jit(f)/jit(_poisson)/vmap()/while",
        "jit(f)/vmap()/svd/while",
    ],
)
def test_loops_of_jax_itself_are_none(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(MetricAbsent):
        module.mapped_loop(asked(monkeypatch, loop("while.1", path)))


def test_a_loop_that_takes_no_time_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(MetricAbsent):
        module.mapped_loop(asked(monkeypatch, loop("while.3")))
