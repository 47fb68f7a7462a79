"""Which ops the functions of the input pipeline spend their time in."""

from __future__ import annotations

from tfadvisor.metrics.registry import MetricAbsent, Question, fact
from tfadvisor.metrics.steady import counted_hosts
from tfadvisor.units import percent

_MOST = 3
_WORTH_NAMING = 0.03


@fact
def input_ops(question: Question) -> str:
    """The op types that take most of the time of the pipeline's functions, with their shares of it: `DecodeJpeg 62%,
    ResizeBilinear 31%`.
    """
    found = _by_type(question)
    total = sum(time for _, time in found)
    return ", ".join(f"{kind} {percent(time / total)}" for kind, time in found[:_MOST] if time / total >= _WORTH_NAMING)


def _by_type(question: Question) -> list[tuple[str, int]]:
    """(op type, ps) of all hosts, the longest first. Raises MetricAbsent where the trace names none."""
    time: dict[str, int] = {}
    for host in counted_hosts(question.run):
        for kind, ps in host.evidence.pipeline_ops.by_type:
            time[kind] = time.get(kind, 0) + ps
    if not any(time.values()):
        raise MetricAbsent("the trace names no op of the input pipeline's functions")
    return sorted(time.items(), key=lambda one: -one[1])
