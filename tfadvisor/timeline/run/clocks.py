"""How far apart the clocks of a run's hosts are, measured by when the collectives that
they share end.

A collective ends on all its members at about the same instant, while each waits for the
last of them to begin. So ends, not starts, align clocks (Kineto's and Meta's trace
tools do the same).
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from tfadvisor.arrays import Int64Array, median, occurrence, ranks
from tfadvisor.timeline.devices.collective_calls import CollectiveCalls
from tfadvisor.timeline.summary.host_summary import HostSummary
from tfadvisor.timeline.timeline_parts import StepSource

_FEWEST_SHARED = 2
_MOST_ALIKE = 1 << 32
_MOST_REFERENCES = 4
"""Hosts that are tried as the clock of the run where most others share no collective
with it.
"""


class Clocks(msgspec.Struct, frozen=True):
    """offset_ps: what to subtract from each host's times to be on the reference's
    clock, None where it is not known.
    """

    offset_ps: tuple[int | None, ...]


def align(hosts: Sequence[HostSummary]) -> Clocks:
    """The first host that communicates sets the clock, or the next one with which more
    hosts share collectives.
    """
    calls = [
        max((device.collectives for device in host.devices), key=len, default=None)
        or None
        for host in hosts
    ]
    communicating = [
        index for index, host_calls in enumerate(calls) if host_calls is not None
    ]
    if not communicating:
        return Clocks((0,) + (None,) * (len(hosts) - 1))
    best: Clocks | None = None
    for reference in communicating[:_MOST_REFERENCES]:
        found = _aligned(hosts, calls, reference)
        if best is None or _known(found) > _known(best):
            best = found
        if 2 * _known(best) > len(communicating):
            break
    return best or Clocks(())


def _known(clocks: Clocks) -> int:
    return sum(offset is not None for offset in clocks.offset_ps)


def _aligned(
    hosts: Sequence[HostSummary],
    calls: Sequence[CollectiveCalls | None],
    reference: int,
) -> Clocks:
    return Clocks(
        tuple(
            0
            if index == reference
            else _offset(hosts[reference], calls[reference], host, calls[index])
            for index, host in enumerate(hosts)
        )
    )


def _offset(
    reference: HostSummary,
    its: CollectiveCalls | None,
    other: HostSummary,
    theirs: CollectiveCalls | None,
) -> int | None:
    """Of the other host's clock; None when they share no collectives that could be
    paired.
    """
    if its is None or theirs is None:
        return None
    for groups in (
        _by_key(its, theirs),
        _by_step(reference, its, other, theirs),
        _by_order(its, theirs),
    ):
        if groups is None:
            continue
        mine, yours = (
            np.where(group >= 0, group * _MOST_ALIKE + occurrence(group), -1)
            for group in groups
        )
        _, first, second = np.intersect1d(mine, yours, return_indices=True)
        paired = mine[first] >= 0
        if paired.sum() >= _FEWEST_SHARED:
            apart = theirs.end[second[paired]] - its.end[first[paired]]
            return int(median(apart))
    return None


def _by_key(
    its: CollectiveCalls,
    theirs: CollectiveCalls,
) -> tuple[Int64Array, Int64Array] | None:
    """Numbers that agree for calls of one name in one run of the program; None where a
    call has no key.
    """
    if (its.key < 0).any() or (theirs.key < 0).any():
        return None
    labels = {
        label: index
        for index, label in enumerate(dict.fromkeys((*its.labels, *theirs.labels)))
    }
    named = [
        np.array([labels[text] for text in calls.labels], np.int64)[calls.label]
        for calls in (its, theirs)
    ]
    keys = ranks(np.concatenate([its.key, theirs.key])) * len(labels)
    return keys[: len(its)] + named[0], keys[len(its) :] + named[1]


def _by_step(
    reference: HostSummary,
    its: CollectiveCalls,
    other: HostSummary,
    theirs: CollectiveCalls,
) -> tuple[Int64Array, Int64Array] | None:
    """Numbers that agree for calls of one name in the step of one marker, -1 outside of
    steps; None without markers.
    """
    if any(host.steps.source is not StepSource.MARKER for host in (reference, other)):
        return None
    numbers = {
        name: index
        for index, name in enumerate(
            dict.fromkeys((*reference.steps.names, *other.steps.names))
        )
    }
    labels = {
        label: index
        for index, label in enumerate(dict.fromkeys((*its.labels, *theirs.labels)))
    }

    def group(host: HostSummary, calls: CollectiveCalls) -> Int64Array:
        number = np.array([numbers[name] for name in host.steps.names], np.int64)
        label = np.array([labels[text] for text in calls.labels], np.int64)[calls.label]
        return np.where(calls.step >= 0, number[calls.step] * len(labels) + label, -1)

    return group(reference, its), group(other, theirs)


def _by_order(
    its: CollectiveCalls,
    theirs: CollectiveCalls,
) -> tuple[Int64Array, Int64Array]:
    """Numbers that agree for calls of one name, -1 for names that the two hosts do not
    call equally often.
    """
    counts = [
        dict(
            zip(
                calls.labels,
                np.bincount(calls.label, minlength=len(calls.labels)).tolist(),
                strict=True,
            )
        )
        for calls in (its, theirs)
    ]
    alike = [text for text, count in counts[0].items() if counts[1].get(text) == count]

    def group(calls: CollectiveCalls) -> Int64Array:
        return np.array(
            [alike.index(text) if text in alike else -1 for text in calls.labels],
            np.int64,
        )[calls.label]

    return group(its), group(theirs)
