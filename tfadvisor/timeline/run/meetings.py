"""Collectives as meetings: who came last, how long the others waited, how long the
exchange itself took.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from tfadvisor.arrays import (
    NO_VALUES,
    BoolArray,
    Int64Array,
    changes,
    distinct,
    median,
    occurrence,
    order_of,
    ranks,
    true_at,
    trues,
)
from tfadvisor.timeline.devices.collective_calls import CollectiveCalls
from tfadvisor.timeline.names.collective_events import CollectiveKind
from tfadvisor.timeline.run.clocks import Clocks, align
from tfadvisor.timeline.summary.host_summary import HostSummary

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
        firsts = np.flatnonzero(changes(self.host))
        return np.maximum.reduceat(self.start, firsts, axis=1)


class _Member(NamedTuple):
    """A device that takes part in collectives."""

    host: int
    device: int
    calls: CollectiveCalls
    offset: int
    """Of its host's clock, ps."""

    def starts(self, chosen: Int64Array) -> Int64Array:
        """When its calls began, on the clock of the first host."""
        return self.calls.start[chosen] - self.offset

    def ends(self, chosen: Int64Array) -> Int64Array:
        """When its calls ended, on the clock of the first host."""
        return self.calls.end[chosen] - self.offset


def find_meetings(hosts: Sequence[HostSummary]) -> Meetings:
    """Pairs the calls of all devices of all hosts: same name and run of the program, or
    at work at the same instant.
    """
    clocks = align(hosts)
    if sum(len(summary.devices) for summary in hosts) < 2:
        return _none("a single device works in this run", clocks)
    members = _members(hosts, clocks)
    if len(members) < 2:
        return _none(
            "no collective was recorded on two devices whose clocks can be compared",
            clocks,
        )
    strangers = _without_clock(hosts, clocks)
    pairs = _paired(members)
    most = median(np.array([len(member.calls) for member in members]))
    if len(pairs) < _FEWEST * most:
        sharing = _sharing(members)
        if len(sharing) < len(members):
            strangers |= _hosts_of(members) - _hosts_of(sharing)
            members = sharing
            pairs = _paired(members)
    if not pairs.size:
        return _none("the devices' collectives cannot be paired", clocks)
    return _meetings(members, pairs, clocks, tuple(sorted(strangers)))


def _members(hosts: Sequence[HostSummary], clocks: Clocks) -> list[_Member]:
    """The devices with collectives of the hosts whose clocks are aligned."""
    members = []
    for host, (summary, offset) in enumerate(zip(hosts, clocks.offset_ps, strict=True)):
        if offset is None:
            continue
        for index, device in enumerate(summary.devices):
            if len(device.collectives):
                members.append(_Member(host, index, device.collectives, int(offset)))
    return members


def _without_clock(hosts: Sequence[HostSummary], clocks: Clocks) -> set[int]:
    """The hosts that communicate and whose clocks cannot be compared."""
    return {
        host
        for host, offset in enumerate(clocks.offset_ps)
        if offset is None
        and any(len(device.collectives) for device in hosts[host].devices)
    }


def _sharing(members: Sequence[_Member]) -> list[_Member]:
    """The members that share the collectives that most take part in."""
    met = in_quorum([member.calls for member in members])
    return [member for member, shares in zip(members, met, strict=True) if shares]


def _hosts_of(members: Sequence[_Member]) -> set[int]:
    return {member.host for member in members}


def _meetings(
    members: Sequence[_Member],
    pairs: Int64Array,
    clocks: Clocks,
    strangers: tuple[int, ...],
) -> Meetings:
    """In order of their starts. pairs: the index of each member's call."""
    offset = np.array([member.offset for member in members])
    last = (_column(members, "start", pairs) - offset).max(axis=1)
    ordered = pairs[order_of(last)]
    start = _column(members, "start", ordered) - offset
    end = _column(members, "end", ordered) - offset
    first = members[0].calls
    return Meetings(
        host=np.array([member.host for member in members]),
        device=np.array([member.device for member in members]),
        start=start,
        end=end,
        wait=np.clip(start.max(axis=1, keepdims=True) - start, 0, end - start),
        exposed=_column(members, "exposed_ps", ordered),
        exposed_from=_column(members, "exposed_from", ordered) - offset,
        step=_column(members, "step", ordered),
        label=_column(members, "label", ordered)[:, 0],
        labels=first.labels,
        kinds=first.kinds,
        why="",
        clocks=clocks,
        strangers=strangers,
    )


def in_quorum(calls: Sequence[CollectiveCalls]) -> BoolArray:
    """Which members took part in half or more of the collectives that more than half of
    all were seen in, by key and name.

    A host of another run shares none of them, one that was recorded at another time
    few. All, where there is no such collective, or a call without a key.
    """
    many = len(calls)
    if any((own.key < 0).any() for own in calls):
        return np.ones(many, np.bool_)
    key = ranks(np.concatenate([own.key for own in calls]))
    label, labels = _common_labels(calls)
    member = np.repeat(np.arange(many), [len(own) for own in calls])
    seen = distinct((key * labels + label) * many + member)
    collective = ranks(seen // many)
    member = seen % many
    shared = 2 * np.bincount(collective) > many
    shares = np.bincount(member[shared[collective]], minlength=many)
    return np.asarray(shares >= _FEWEST * shared.sum(), np.bool_)


def _common_labels(calls: Sequence[CollectiveCalls]) -> tuple[Int64Array, int]:
    """(a number for the label of each call of each member in turn: the same for the
    same text, how many labels there are).
    """
    numbers: dict[str, int] = {}
    found = []
    for own in calls:
        of_label = [numbers.setdefault(text, len(numbers)) for text in own.labels]
        found.append(np.array(of_label, np.int64)[own.label])
    return np.concatenate(found), len(numbers)


def _column(
    members: Sequence[_Member],
    name: str,
    pairs: Int64Array,
) -> Int64Array:
    """A column of each member's calls, shape (meetings, members)."""
    columns = []
    for index, member in enumerate(members):
        whole = getattr(member.calls, name)
        columns.append(whole[pairs[:, index]])
    return np.stack(columns, axis=1)


def _paired(members: Sequence[_Member]) -> Int64Array:
    """Index of each member's call, shape (meetings, members)."""
    rows = [np.empty((0, len(members)), np.int64)]
    for text in members[0].calls.labels:
        chosen = _calls_named(members, text)
        if chosen is None:
            continue
        if _have_keys(members, chosen):
            rows.append(_of_one_key(members, chosen))
        else:
            rows.append(_at_work_together(members, chosen))
    return np.concatenate(rows)


def _calls_named(members: Sequence[_Member], text: str) -> list[Int64Array] | None:
    """Each member's calls of one label; None where a member has none."""
    chosen = []
    for member in members:
        if text not in member.calls.labels:
            return None
        label = member.calls.labels.index(text)
        chosen.append(true_at(member.calls.label == label))
    return chosen if all(map(len, chosen)) else None


def _have_keys(members: Sequence[_Member], chosen: Sequence[Int64Array]) -> bool:
    return all(
        (member.calls.key[mine] >= 0).all()
        for member, mine in zip(members, chosen, strict=True)
    )


def _of_one_key(
    members: Sequence[_Member],
    chosen: Sequence[Int64Array],
) -> Int64Array:
    """Calls of the same run of the program, the k-th of one device with the k-th of
    another.
    """
    pairs = zip(members, chosen, strict=True)
    keys = ranks(np.concatenate([member.calls.key[mine] for member, mine in pairs]))
    member = np.repeat(np.arange(len(chosen)), [len(mine) for mine in chosen])
    number = keys * _MOST_ALIKE + occurrence(member * len(keys) + keys)
    rank = ranks(number)
    shared = (np.bincount(rank) == len(chosen))[rank]
    order = np.lexsort((number[shared], member[shared]))
    calls = np.concatenate(chosen)[shared][order]
    return np.ascontiguousarray(calls.reshape(len(chosen), -1).T)


def _at_work_together(
    members: Sequence[_Member],
    chosen: Sequence[Int64Array],
) -> Int64Array:
    """The member with the fewest calls leads; another's call belongs to a meeting when
    the two overlap.
    """
    counts = [len(mine) for mine in chosen]
    leader = counts.index(min(counts))
    lo = members[leader].starts(chosen[leader])
    hi = members[leader].ends(chosen[leader])
    together = np.empty((len(lo), len(members)), np.int64)
    complete = trues(lo)
    for index, (member, mine) in enumerate(zip(members, chosen, strict=True)):
        reach = np.maximum.accumulate(member.ends(mine))
        place = np.searchsorted(reach, lo, side="right")
        inside = np.minimum(place, len(mine) - 1)
        complete &= place < len(mine)
        complete &= member.starts(mine)[inside] < hi
        together[:, index] = mine[inside]
    together = together[complete]
    return together[_unshared(together)]


def _unshared(together: Int64Array) -> BoolArray:
    """No call belongs to two meetings: the later one is left out."""
    keep = trues(together)
    if len(together) > 1:
        later = np.diff(together, axis=0) > 0
        keep[1:] = later.all(axis=1)
    return keep


def _none(why: str, clocks: Clocks) -> Meetings:
    nothing = np.empty((0, 0), np.int64)
    flat = NO_VALUES
    return Meetings(
        host=flat,
        device=flat,
        start=nothing,
        end=nothing,
        wait=nothing,
        exposed=nothing,
        exposed_from=nothing,
        step=nothing,
        label=flat,
        labels=(),
        kinds=(),
        why=why,
        clocks=clocks,
    )
