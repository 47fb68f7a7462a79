"""What was concluded about a run as tracks: its steps, where their time goes, and the
findings in the time they concern.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import msgspec
import numpy as np

from tfadvisor.advice.findings import Finding
from tfadvisor.files import new_file
from tfadvisor.report.model import Report
from tfadvisor.report.wording import evidence_words, location_words, saving_words
from tfadvisor.serve.export.perfetto_packets import (
    Names,
    TrackNumbers,
    Write,
    named_track,
    put_slices,
    text_argument,
)
from tfadvisor.timeline.host_timeline import HostTimeline
from tfadvisor.timeline.intervals import (
    EMPTY,
    BoolArray,
    Int64Array,
    Intervals,
    difference,
    intersection,
    union,
    union_of,
)
from tfadvisor.timeline.steps.class_masks import classes_of_time
from tfadvisor.timeline.timeline_parts import Device, StepKind
from tfadvisor.vocabulary import TimeClass

_PS_PER_NS = 1_000
_DIGIT = re.compile(r"\d")
_MOST_MARKS = 20_000
"""Instants of a class that a finding marks on one host; the longest."""


class _Host(msgspec.Struct, frozen=True):
    """What findings are marked in. counted: the counted steps, ps. classes: instants on
    any device.
    """

    track: int
    rank: int
    shift: int
    counted: Intervals
    classes: dict[TimeClass, Intervals]


class Conclusions:
    """One group of tracks a host."""

    def __init__(
        self,
        write: Write,
        names: Names,
        numbers: TrackNumbers,
    ) -> None:
        """names: of its own sequence."""
        self._write = write
        self._names = names
        self._numbers = numbers
        self._hosts: list[_Host] = []

    def add_host(self, timeline: HostTimeline, shift: int) -> None:
        """Its steps, and a row a device of where the time goes. shift: ns, added to all
        times.
        """
        group = self._numbers.track()
        self._write(
            named_track(group, 0, f"tfadvisor: {timeline.host}", len(self._hosts))
        )
        self._put_steps(timeline, group, shift)
        devices: tuple[Device | None, ...] = timeline.active_devices() or (None,)
        classes = [
            dict(classes_of_time(device, timeline.classes)) for device in devices
        ]
        for rank, (device, found) in enumerate(
            zip(devices, classes, strict=True), start=2
        ):
            if device is None:
                name = "Where the time goes"
            else:
                name = f"{device.name}: where its time goes"
            self._put_classes(self._below(group, name, rank), found, shift)
        counted = timeline.steps.steady()
        everywhere = {
            one: union_of(*(found[one] for found in classes)) for one in classes[0]
        }
        whole = union(timeline.steps.starts[counted], timeline.steps.ends[counted])
        everywhere[TimeClass.IDLE] = union_of(
            *(difference(whole, union_of(*found.values())) for found in classes)
        )
        self._hosts.append(_Host(group, len(devices) + 2, shift, whole, everywhere))

    def put_findings(self, report: Report) -> None:
        """A track a finding on each host: one slice over the counted steps, and inside
        it the time that it is about.
        """
        findings = [one for one in report.findings if one.category != "capture"]
        for host in self._hosts:
            if not len(host.counted) or not findings:
                continue
            group = self._below(host.track, "Findings", host.rank)
            for rank, finding in enumerate(findings, start=1):
                self._put_finding(host, finding, group, rank)

    def _put_steps(
        self,
        timeline: HostTimeline,
        group: int,
        shift: int,
    ) -> None:
        steps = timeline.steps
        called = [
            name if _DIGIT.search(name) else f"{name} {index}"
            for index, name in enumerate(steps.names)
        ]
        told = [
            name if kind is StepKind.STEADY else f"{name} (not counted: {kind.value})"
            for name, kind in zip(called, steps.kinds, strict=True)
        ]
        names = np.array([self._names.number(name) for name in told], np.int64)
        for lane in lanes(steps.starts, steps.ends):
            track = self._below(group, "Steps", 1, steps.about)
            found = brackets(steps.starts[lane], steps.ends[lane])
            self._put(track, found, names[lane[found.event]], "step", shift)

    def _put_classes(
        self,
        track: int,
        classes: dict[TimeClass, Intervals],
        shift: int,
    ) -> None:
        start = np.concatenate([one.starts for one in classes.values()])
        end = np.concatenate([one.ends for one in classes.values()])
        names = [
            np.full(len(time), self._names.number(one.label), np.int64)
            for one, time in classes.items()
        ]
        found = brackets(start, end)
        self._put(track, found, np.concatenate(names)[found.event], "class", shift)

    def _put_finding(
        self,
        host: _Host,
        finding: Finding,
        group: int,
        rank: int,
    ) -> None:
        title = f"{finding.severity.value}: {finding.title}"
        track = self._below(group, title, rank, finding.summary)
        start = host.counted.starts[:1]
        end = host.counted.ends[-1:]
        name = np.full(1, self._names.number(title), np.int64)
        for one, instants in claimed(host.classes, finding.claims):
            marked = longest(intersection(instants, host.counted), _MOST_MARKS)
            start = np.concatenate([start, marked.starts])
            end = np.concatenate([end, marked.ends])
            name = np.concatenate(
                [name, np.full(len(marked), self._names.number(one.label), np.int64)]
            )
        found = brackets(start, end)
        words = b"".join(
            text_argument(what, said) for what, said in _words(finding) if said
        )
        self._put(track, found, name[found.event], finding.category, host.shift, words)

    def _below(
        self,
        parent: int,
        name: str,
        rank: int,
        about: str = "",
    ) -> int:
        """A new track below another."""
        track = self._numbers.track()
        self._write(named_track(track, parent, name, rank, about))
        return track

    def _put(
        self,
        track: int,
        found: Brackets,
        name: Int64Array,
        category: str,
        shift: int,
        words: bytes = b"",
    ) -> None:
        time = found.time_ps // _PS_PER_NS + shift
        put_slices(
            self._write,
            self._names.sequence,
            track,
            time,
            found.opens,
            name,
            category,
            words,
        )


# Events of one line as brackets: when each opens and closes, so that what opens last
# closes first.


class Brackets(msgspec.Struct, frozen=True):
    """Two rows an event, by time. event: index into what was given. opens: whether it
    begins here.
    """

    event: Int64Array
    opens: BoolArray
    time_ps: Int64Array


def brackets(start: Int64Array, end: Int64Array) -> Brackets:
    """Of events that nest, in any order, none ending before it begins.

    At one instant ends come first, inner ones before outer ones; then begins, longer
    events first; then events without length, each closed at once.
    """
    order = np.lexsort((-end, start))
    lo = start[order]
    hi = end[order]
    count = len(order)
    rank = np.arange(count, dtype=np.int64)
    point = lo == hi
    time = np.concatenate([lo, hi])
    phase = np.concatenate([np.where(point, 2, 1), np.where(point, 2, 0)]).astype(
        np.int8
    )
    tie = np.concatenate(
        [np.where(point, 2 * rank, rank), np.where(point, 2 * rank + 1, -rank)]
    )
    sequence = np.lexsort((tie, phase, time))
    opens = sequence < count
    return Brackets(
        order[np.where(opens, sequence, sequence - count)], opens, time[sequence]
    )


def nests(found: Brackets) -> bool:
    """Whether every bracket closes the one that was opened last."""
    if not len(found.event):
        return True
    depth = np.cumsum(np.where(found.opens, 1, -1))
    if depth.min() < 0:
        return False
    level = np.where(found.opens, depth, depth + 1)
    by_level = found.event[np.argsort(level, kind="stable")]
    return bool((by_level[0::2] == by_level[1::2]).all())


def lanes(start: Int64Array, end: Int64Array) -> list[Int64Array]:
    """Indices of events that nest among each other, lane by lane; a single lane where
    all do.
    """
    everything = np.arange(len(start), dtype=np.int64)
    if nests(brackets(start, end)):
        return [everything]
    found: list[list[int]] = []
    open_: list[list[int]] = []
    order = np.lexsort((-end, start))
    for event, lo, hi in zip(
        order.tolist(), start[order].tolist(), end[order].tolist(), strict=True
    ):
        for lane, ends in zip(found, open_, strict=True):
            while ends and ends[-1] <= lo:
                ends.pop()
            if not ends or ends[-1] >= hi:
                lane.append(event)
                ends.append(hi)
                break
        else:
            found.append([event])
            open_.append([hi])
    return [np.array(lane, np.int64) for lane in found]


# A finding in the words that stand beside its slices: evidence, where, fixes.


def _words(finding: Finding) -> Iterator[tuple[str, str]]:
    yield "rule", finding.rule_id
    yield "severity", finding.severity.value
    yield "summary", finding.summary
    yield "saving", saving_words(finding.saving)
    yield "worth checking", finding.ask or ""
    yield "caveat", finding.caveat
    for place, one in enumerate(finding.locations):
        yield f"where[{place}]", location_words(one)
    for place, evidence in enumerate(finding.evidence):
        yield f"evidence[{place}]", evidence_words(evidence)
    for place, fix in enumerate(finding.fixes):
        yield f"fix[{place}].do", fix.do
        yield f"fix[{place}].snippet", fix.snippet.rstrip("\n")
        yield (
            f"fix[{place}].env",
            " ".join(f"{name}={value}" for name, value in fix.env.items()),
        )
        yield f"fix[{place}].valid_for", fix.valid_for
    for place, source in enumerate(finding.source):
        yield f"source[{place}]", source.url or f"{source.doc} {source.section}"


# The time that a finding claims, and the longest stretches of it.


def claimed(
    classes: Mapping[TimeClass, Intervals], claims: Collection[str]
) -> Iterator[tuple[TimeClass, Intervals]]:
    """Each class that a finding claims with its instants, those taken out that a class
    before it has: devices differ in what they do at an instant, and a track shows one
    class at a time."""
    taken = EMPTY
    for one in TimeClass:
        if one.label in claims:
            yield one, difference(classes[one], taken)
            taken = union_of(taken, classes[one])


def longest(instants: Intervals, most: int) -> Intervals:
    """All of the instants, or where they are more than so many, the longest of them."""
    if len(instants) <= most:
        return instants
    chosen = np.sort(np.argsort(instants.starts - instants.ends, kind="stable")[:most])
    return Intervals(instants.starts[chosen], instants.ends[chosen])


# Where an export goes: whole or not at all, and never over what it was made from.

_LEVEL = 4
"""Of gzip: 6 takes twice as long for 3% less."""


@contextmanager
def export_file(path: Path) -> Iterator[BinaryIO]:
    """A file that appears under its name when everything is written; packed where the
    name ends in .gz. Raises OSError.
    """
    with new_file(path) as file:
        if path.suffix != ".gz":
            yield file
            return
        with gzip.GzipFile(
            filename="",
            mode="wb",
            compresslevel=_LEVEL,
            fileobj=file,
            mtime=0,
        ) as out:
            yield cast(BinaryIO, out)
