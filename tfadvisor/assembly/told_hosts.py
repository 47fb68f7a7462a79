"""The hosts of a large run whose steps the report lists one by one."""

from __future__ import annotations

import numpy as np

from tfadvisor.metrics.registry import Metrics
from tfadvisor.timeline.run.run_summary import RunSummary
from tfadvisor.timeline.summary.host import HostSummary

_MOST = 64
_EXTREMES = 8


def told_hosts(run: RunSummary, metrics: Metrics) -> tuple[HostSummary, ...]:
    """All of up to 64; of more the first, the one that the others wait for, the slowest and fastest, and some between."""
    hosts = run.hosts
    if len(hosts) <= _MOST:
        return hosts
    period = np.array([_mean_period(host) for host in hosts])
    by_period = np.argsort(period, kind="stable").tolist()
    late = [index for index, host in enumerate(hosts) if host.host == metrics.fact("late_host")]
    spread = np.linspace(0, len(hosts) - 1, _MOST).round().astype(int).tolist()
    chosen: dict[int, None] = dict.fromkeys([0, *late, *by_period[-_EXTREMES:], *by_period[:_EXTREMES], *spread])
    return tuple(hosts[index] for index in sorted(list(chosen)[:_MOST]))


def _mean_period(host: HostSummary) -> float:
    """ps; 0 without a counted step."""
    period = (host.steps.ends - host.steps.starts)[host.steps.steady()]
    return float(period.mean()) if len(period) else 0.0
