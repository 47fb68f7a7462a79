"""How much shorter the ops of a run without an accelerator are when nothing shares the cores with them."""

from __future__ import annotations

from tfadvisor.metrics.registry import MetricAbsent, Question, metric
from tfadvisor.metrics.remember import once
from tfadvisor.metrics.steady import counted_hosts
from tfadvisor.timeline.run.run_summary import RunSummary
from tfadvisor.timeline.summary.calm_ops import CalmOps
from tfadvisor.units import Unit
from tfadvisor.vocabulary import Better


@metric(unit=Unit.FRACTION, better=Better.NEITHER)
def calm_op_share(question: Question) -> float:
    """What remains of the ops' time in a run without an accelerator if each execution takes as long as the fastest fifth
    of its op's. The rest is what other work on the same cores adds.
    """
    ops = _ops(question.run)
    return ops.calm_ps / ops.total_ps


@metric(unit=Unit.FRACTION, better=Better.NEITHER)
def op_start_share(question: Question) -> float:
    """Share of the ops' time in a run without an accelerator that lies in the first 10 µs of each: what ops cost by their
    number.
    """
    ops = _ops(question.run)
    return ops.starts_ps / ops.total_ps


@once
def _ops(run: RunSummary) -> CalmOps:
    every = [host.calm for host in counted_hosts(run)]
    total = sum(one.total_ps for one in every)
    if not total:
        raise MetricAbsent("no op computes on a host's own cores in a counted step")
    return CalmOps(total, sum(one.calm_ps for one in every), sum(one.starts_ps for one in every))
