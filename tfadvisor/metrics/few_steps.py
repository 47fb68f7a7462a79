"""Classes of the host's time that lie in few of the counted steps: in seconds, since a
share of each step would be wrong.
"""

from __future__ import annotations

import numpy as np

from tfadvisor.metrics.registry import MetricAbsent, Question, fact
from tfadvisor.metrics.steady import counted_hosts
from tfadvisor.timeline.run import RunSummary
from tfadvisor.timeline.summary import HostSummary
from tfadvisor.units import PS_PER_MS, duration
from tfadvisor.vocabulary import TimeClass

_OF_HOST = (TimeClass.INPUT, TimeClass.HOST, TimeClass.LAUNCH, TimeClass.COMPILE)
_MOSTLY, _FEW = 0.9, 0.2
"""What has this share of its time in so few of the steps lies in these."""
_TELLING_STEPS = 5


def in_few_steps(run: RunSummary, kind: TimeClass) -> str:
    """`1 of 19 steps (3.36 s)`, of the host that spends most on the class. Raises
    MetricAbsent where the time lies in more steps, and where these are too few to tell.
    """
    times = [_by_step(host, kind) for host in counted_hosts(run)]
    most = max(times, key=lambda time: time.sum(), default=np.empty(0))
    if len(most) < _TELLING_STEPS or not most.any():
        raise MetricAbsent("fewer than five steps, or none of this time in them")
    largest = np.sort(most)[::-1]
    whole = np.cumsum(largest)
    count = int(np.searchsorted(whole, _MOSTLY * whole[-1])) + 1
    if count > _FEW * len(most):
        raise MetricAbsent(f"it lies in {count} of {len(most)} steps")
    each = duration(float(largest[:count].mean()) / PS_PER_MS)
    words = each if count == 1 else f"{each} in each"
    return f"{count} of {len(most)} steps ({words})"


def _by_step(host: HostSummary, kind: TimeClass) -> np.ndarray:
    """ps in each counted step, a mean over the devices that take part."""
    steady = host.steps.steady()
    part = host.takes_part[:, steady]
    time = host.breakdown[:, steady, kind] * part
    return np.asarray(time.sum(axis=0) / np.maximum(part.sum(axis=0), 1))


def _register(kind: TimeClass) -> None:
    def few(question: Question) -> str:
        return in_few_steps(question.run, kind)

    few.__name__ = f"{kind.label}_in_few_steps"
    few.__doc__ = (
        f"In how many steps nine tenths of the class `{kind.label}` lie, and how much "
        "of it in each, where that is at most a fifth of them."
    )
    fact(few)


for _kind in _OF_HOST:
    _register(_kind)
