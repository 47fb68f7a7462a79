"""A comparison of an even and a late run of several hosts: the late host's work leads, not the others' waiting."""

from __future__ import annotations

import pytest
from support.places import FIXTURES
from support.trace_builder import TraceBuilder, trace

import tfadvisor


def hosts(late: float, *, takes_turns: bool = False) -> TraceBuilder:
    """Two hosts, eight steps: a batch is taken, then 400 us of compute, then an all-reduce of 100 us after both are there.

    late: by how long beta's batch takes longer than 20 us; in turns, of every other step alpha's.
    """
    builder = trace()
    period = 520 + late
    for host in ("alpha", "beta"):
        builder.host(host)
        for step in range(8):
            slow = ("alpha", "beta")[step % 2 if takes_turns else 1]
            at = step * period
            load = 20 + (late if host == slow else 0)
            builder.step(at, at + period).call("$loader.py:3 load_batch", at, at + load)
            builder.call("PjitFunction(step)", at + load, at + period - 1)
            builder.busy("GPU:0", (at + load, at + load + 400))
            builder.collective("GPU:0", at + load + 400, at + period, run_id=100 + step)
    return builder


def test_without_a_late_host_no_cause_is_one() -> None:
    found = tfadvisor.compare(hosts(0).report(), hosts(300, takes_turns=True).report())

    assert not [cause for cause in found.causes if cause.kind == "late host"]


@pytest.mark.parametrize("late", [300.0])
def test_waiting_for_the_late_host_is_no_collectives_fault(late: float) -> None:
    """Alpha waits for 0.3 ms, beta not: 0.15 on average over both; the other 0.15 ms are beta's input."""
    found = tfadvisor.compare(hosts(0).report(), hosts(late).report())

    assert found.causes[0].kind == "late host"
    assert found.causes[0].class_name == "input"
    assert found.causes[0].change_ms == pytest.approx(0.15)
    assert sum(cause.change_ms for cause in found.causes) == pytest.approx(0.3)
    assert sum(one.change_ms for one in found.causes if one.class_name == "collective") == pytest.approx(0, abs=1e-9)


def test_recorded_hosts() -> None:
    """The programs differ in size as well; the late host's input leads all the same."""
    found = tfadvisor.compare(FIXTURES / "jax-hosts-balanced", FIXTURES / "jax-hosts-late")

    assert [(one.class_name, one.kind) for one in found.causes[:2]] == [("input", "late host"), ("input", "class")]
    assert sum(one.change_ms for one in found.causes) == pytest.approx(found.change_ms)
