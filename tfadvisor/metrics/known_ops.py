"""The hottest ops of the first device, whatever it is, with what the trace's HLO says of them."""

from __future__ import annotations

from tfadvisor.metrics.once import once
from tfadvisor.metrics.registry import MetricAbsent, Question
from tfadvisor.metrics.steady import needs_device
from tfadvisor.timeline.hot_ops import HotOps


@once
def known_ops(question: Question) -> HotOps:
    """Of the first device, whatever it is."""
    needs_device(question.run)
    host = next(host for host in question.run.hosts if host.devices)
    if host.hot_ops is None or not any(one.known is not None for one in host.hot_ops.ops):
        raise MetricAbsent("the trace carries no HLO of the step's program")
    return host.hot_ops
