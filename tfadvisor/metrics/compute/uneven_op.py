"""The op that one device of a host runs and the others do not, or hardly."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tfadvisor.metrics.compute.parts import OpKey, keys_of, name_with_place
from tfadvisor.metrics.needs import known_steps
from tfadvisor.metrics.registry import MetricAbsent, Question, fact
from tfadvisor.metrics.steady import counted_hosts
from tfadvisor.timeline.names.classes import DeviceClass
from tfadvisor.timeline.summary.device import DeviceSummary
from tfadvisor.timeline.summary.host import HostSummary
from tfadvisor.units import PS_PER_MS

_MUCH_MORE = 2
"""So many times as long as on the others, an op is the busiest device's own."""


@fact(needs=(known_steps,))
def uneven_op(question: Question) -> str:
    """The op with the largest difference between the device that computes most and the others of its host, where it takes
    twice as long there: `conditional.5, 66.0 ms a step on CPU:0 and 0 ms on the others`.
    """
    found = [host for host in counted_hosts(question.run) if len(host.devices) > 1]
    if not found:
        raise MetricAbsent("no host of this run has several active devices")
    most = max((_most_different(host) for host in found), key=lambda one: one.more_ms)
    if most.key is None:
        raise MetricAbsent("no op takes twice as long on the device that computes most as on the others")
    here, there = (
        f"{most.here_ms:.3g} ms a step on {most.device}",
        f"{most.here_ms - most.more_ms:.3g} ms on the others",
    )
    return f"{name_with_place(question.run, most.key)}, {here} and {there}"


class _Different(NamedTuple):
    """more_ms: a step, above the mean of the others."""

    more_ms: float
    here_ms: float
    device: str
    key: OpKey | None


def _most_different(host: HostSummary) -> _Different:
    steps = max(int(host.steps.steady().sum()), 1)
    times = [_time_by_op(device) for device in host.devices]
    top = int(np.argmax([sum(one.values()) for one in times]))
    others = [one for index, one in enumerate(times) if index != top]
    most = _Different(0.0, 0.0, host.devices[top].name, None)
    for key, here in times[top].items():
        there = sum(one.get(key, 0) for one in others) / len(others)
        more_ms = (here - there) / steps / PS_PER_MS
        if more_ms > most.more_ms and here > _MUCH_MORE * there:
            most = _Different(more_ms, here / steps / PS_PER_MS, most.device, key)
    return most


def _time_by_op(device: DeviceSummary) -> dict[OpKey, int]:
    """Summed time of each compute op, ps."""
    table = device.ops_by_path
    found: dict[OpKey, int] = {}
    rows = table.of_class(DeviceClass.COMPUTE)
    for key, ps in zip(keys_of(table, rows), table.total_ps[rows].tolist(), strict=True):
        found[key] = found.get(key, 0) + ps
    return found
