"""Collectives as meetings: who came last, how long the others waited, how long the
exchange itself took.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from tfadvisor.arrays import distinct, median, occurrence, ranks
from tfadvisor.timeline.devices.collective_calls import CollectiveCalls
from tfadvisor.timeline.intervals import Int64Array
from tfadvisor.timeline.names.collective_events import CollectiveKind
from tfadvisor.timeline.run.clocks import Clocks, align
from tfadvisor.timeline.summary.host_summary import HostSummary

if TYPE_CHECKING:
    import numpy.typing as npt

_MOST_ALIKE = 1 << 32
_FEWEST = 0.5
"""Of the collectives that most members take part in: who shares fewer was recorded at
another time, and would hide the rest.
"""


class Meetings(msgspec.Struct, frozen=True):
    """Collectives that all members were seen in. Shape (meetings, members) where
    nothing else is said.

    host, device: of each member, shape (members,); device counts within its host.
    start, end: ps on the clock of the first host. wait: from a member's start to the
    last member's. exposed: how much of the member's own call no computation covers;
    exposed_from: when that begins. step: on the member's host, -1 outside of all.
    label: index into labels, shape (meetings,). why: why there is none, "" when there
    are some. clocks: how the hosts' clocks were aligned. strangers: hosts that
    communicate and share few collectives or none with the others.
    """

    host: Int64Array
    device: Int64Array
    start: Int64Array
    end: Int64Array
    wait: Int64Array
    exposed: Int64Array
    exposed_from: Int64Array
    step: Int64Array
    label: Int64Array
    labels: tuple[str, ...]
    kinds: tuple[CollectiveKind, ...]
    why: str
    clocks: Clocks
    strangers: tuple[int, ...] = ()

    def __len__(self) -> int:
        """Number of meetings."""
        return len(self.label)

    def host_arrival(self) -> Int64Array:
        """When the last device of each host began, shape (meetings, hosts that take
        part): members go by host.
        """
        firsts = np.flatnonzero(np.append(True, self.host[1:] != self.host[:-1]))
        return np.maximum.reduceat(self.start, firsts, axis=1)


def find_meetings(hosts: Sequence[HostSummary]) -> Meetings:
    """Pairs the calls of all devices of all hosts: same name and run of the program, or
    at work at the same instant.
    """
    clocks = align(hosts)
    members = [
        (host, device, calls.collectives, offset)
        for host, (summary, offset) in enumerate(
            zip(hosts, clocks.offset_ps, strict=True)
        )
        for device, calls in enumerate(summary.devices)
        if len(calls.collectives) and offset is not None
    ]
    active = sum(len(summary.devices) for summary in hosts)
    if active < 2:
        return _none("a single device works in this run", clocks)
    if len(members) < 2:
        return _none(
            "no collective was recorded on two devices whose clocks can be compared",
            clocks,
        )
    found, labels = _paired(
        [one[2] for one in members],
        [int(one[3]) for one in members],
    )
    strangers: tuple[int, ...] = ()
    if len(found) < _FEWEST * median(np.array([len(one[2]) for one in members])):
        met = in_quorum([one[2] for one in members])
        if not met.all():
            before = members
            members = [one for one, shares in zip(members, met, strict=True) if shares]
            strangers = tuple(
                sorted({one[0] for one in before} - {one[0] for one in members})
            )
            found, labels = _paired(
                [one[2] for one in members],
                [int(one[3]) for one in members],
            )
    strangers += tuple(
        host
        for host, offset in enumerate(clocks.offset_ps)
        if offset is None
        and any(len(device.collectives) for device in hosts[host].devices)
    )
    if not found.size:
        return _none("the devices' collectives cannot be paired", clocks)
    calls = [one[2] for one in members]
    offsets = [int(one[3]) for one in members]
    shift = np.array(offsets)
    start, end, exposed_from = (
        _column(calls, name, found) - shift for name in ("start", "end", "exposed_from")
    )
    exposed, step, label = (
        _column(calls, name, found) for name in ("exposed_ps", "step", "label")
    )
    order = np.argsort(start.max(axis=1), kind="stable")
    start = start[order]
    end = end[order]
    exposed = exposed[order]
    exposed_from = exposed_from[order]
    return Meetings(
        host=np.array([one[0] for one in members]),
        device=np.array([one[1] for one in members]),
        start=start,
        end=end,
        wait=np.clip(start.max(axis=1, keepdims=True) - start, 0, end - start),
        exposed=exposed,
        exposed_from=exposed_from,
        step=step[order],
        label=label[order, 0],
        labels=labels,
        kinds=calls[0].kinds,
        why="",
        clocks=clocks,
        strangers=tuple(sorted(set(strangers))),
    )


def in_quorum(calls: Sequence[CollectiveCalls]) -> npt.NDArray[np.bool_]:
    """Which members took part in half or more of the collectives that more than half of
    all were seen in, by key and name.

    A host of another run shares none of them, one that was recorded at another time
    few. All, where there is no such collective, or a call without a key.
    """
    if any((one.key < 0).any() for one in calls):
        return np.ones(len(calls), np.bool_)
    numbers = {
        text: number
        for number, text in enumerate(
            dict.fromkeys(text for one in calls for text in one.labels)
        )
    }
    label = [
        np.array([numbers[text] for text in one.labels], np.int64)[one.label]
        for one in calls
    ]
    key = ranks(np.concatenate([one.key for one in calls])) * len(
        numbers
    ) + np.concatenate(label)
    member = np.repeat(np.arange(len(calls)), [len(one) for one in calls])
    pairs = distinct(key * len(calls) + member)
    seen = ranks(pairs // len(calls))
    member = pairs % len(calls)
    shared = 2 * np.bincount(seen) > len(calls)
    shares = np.bincount(member[shared[seen]], minlength=len(calls))
    return np.asarray(shares >= _FEWEST * shared.sum(), np.bool_)


def _column(
    calls: Sequence[CollectiveCalls],
    name: str,
    found: npt.NDArray[np.int64],
) -> Int64Array:
    return np.stack(
        [getattr(one, name)[found[:, member]] for member, one in enumerate(calls)],
        axis=1,
    )


def _paired(
    calls: Sequence[CollectiveCalls],
    offsets: Sequence[int],
) -> tuple[npt.NDArray[np.int64], tuple[str, ...]]:
    """(index of each member's call, shape (meetings, members), the labels of the first
    member).
    """
    rows = []
    for text in calls[0].labels:
        if not all(text in one.labels for one in calls):
            continue
        mine = [np.flatnonzero(one.label == one.labels.index(text)) for one in calls]
        if not all(map(len, mine)):
            continue
        keyed = all(
            (one.key[chosen] >= 0).all()
            for one, chosen in zip(calls, mine, strict=True)
        )
        rows.append(
            _of_one_key(calls, mine)
            if keyed
            else _at_work_together(calls, mine, offsets)
        )
    return (
        np.concatenate(rows) if rows else np.empty((0, len(calls)), np.int64)
    ), calls[0].labels


def _of_one_key(
    calls: Sequence[CollectiveCalls],
    mine: Sequence[Int64Array],
) -> npt.NDArray[np.int64]:
    """Calls of the same run of the program, the k-th of one device with the k-th of
    another.
    """
    keys = ranks(
        np.concatenate(
            [one.key[chosen] for one, chosen in zip(calls, mine, strict=True)]
        )
    )
    bounds = np.cumsum([0, *map(len, mine)])
    numbered = [
        keys[lo:hi] * _MOST_ALIKE + occurrence(keys[lo:hi])
        for lo, hi in pairwise(bounds.tolist())
    ]
    shared = numbered[0]
    for other in numbered[1:]:
        shared = np.intersect1d(shared, other)
    columns = []
    for number, chosen in zip(numbered, mine, strict=True):
        order = np.argsort(number)
        columns.append(chosen[order[np.searchsorted(number[order], shared)]])
    return np.stack(columns, axis=1)


def _at_work_together(
    calls: Sequence[CollectiveCalls],
    mine: Sequence[Int64Array],
    offsets: Sequence[int],
) -> npt.NDArray[np.int64]:
    """The member with the fewest calls leads; another's call belongs to a meeting when
    the two overlap.
    """
    leader = min(range(len(calls)), key=lambda member: len(mine[member]))
    lo = calls[leader].start[mine[leader]] - offsets[leader]
    hi = calls[leader].end[mine[leader]] - offsets[leader]
    together = np.empty((len(lo), len(calls)), np.int64)
    complete = np.ones(len(lo), np.bool_)
    for member, one in enumerate(calls):
        ends = one.end[mine[member]] - offsets[member]
        place = np.searchsorted(np.maximum.accumulate(ends), lo, side="right")
        inside = np.minimum(place, len(ends) - 1)
        complete &= (place < len(ends)) & (
            one.start[mine[member]][inside] - offsets[member] < hi
        )
        together[:, member] = mine[member][inside]
    together = together[complete]
    return together[_unshared(together)]


def _unshared(together: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """No call belongs to two meetings: the later one is left out."""
    keep = np.ones(len(together), np.bool_)
    if len(together) > 1:
        keep[1:] = (np.diff(together, axis=0) > 0).all(axis=1)
    return keep


def _none(why: str, clocks: Clocks) -> Meetings:
    nothing = np.empty((0, 0), np.int64)
    flat = np.empty(0, np.int64)
    return Meetings(
        flat,
        flat,
        nothing,
        nothing,
        nothing,
        nothing,
        nothing,
        nothing,
        flat,
        (),
        (),
        why,
        clocks,
    )
