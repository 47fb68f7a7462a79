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

from tfadvisor.advice.findings import Finding, Fix
from tfadvisor.arrays import BoolArray, Int64Array, order_of
from tfadvisor.files import new_file
from tfadvisor.report import Report, evidence_words, location_words, saving_words
from tfadvisor.serve.export.perfetto_packets import (
    NumberedNames,
    TrackNumbers,
    Write,
    named_track,
    put_slices,
    text_argument,
)
from tfadvisor.timeline import Device, HostTimeline, StepKind, classes_of_time
from tfadvisor.timeline.intervals import (
    EMPTY,
    Intervals,
    difference,
    intersection,
    union,
    union_of,
)
from tfadvisor.vocabulary import TimeClass

_PS_PER_NS = 1_000
_DIGIT = re.compile(r"\d")
_MOST_MARKS = 20_000
"""Instants of a class that a finding marks on one host; the longest."""


class _Host(msgspec.Struct, frozen=True):
    """What findings are marked in."""

    track: int
    rank: int
    """Of the group of findings below the track."""
    shift: int
    counted: Intervals
    """The counted steps, ps."""
    classes: dict[TimeClass, Intervals]
    """Instants on any device."""


class Conclusions:
    """One group of tracks a host."""

    def __init__(
        self,
        write: Write,
        names: NumberedNames,
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
        group = self._below(
            0,
            f"tfadvisor: {timeline.host}",
            len(self._hosts),
        )
        self._put_steps(timeline, group, shift)

        rank = 2
        classes = []
        devices: tuple[Device | None, ...] = timeline.active_devices() or (None,)
        for device in devices:
            name = "Where the time goes"
            if device is not None:
                name = f"{device.name}: where its time goes"
            found = dict(classes_of_time(device, timeline.classes))
            self._put_classes(
                self._below(group, name, rank),
                found,
                shift,
            )
            classes.append(found)
            rank += 1

        steady = timeline.steps.steady()
        starts = timeline.steps.starts[steady]
        ends = timeline.steps.ends[steady]
        counted = union(starts, ends)
        everywhere = _on_any_device(classes, counted)
        self._hosts.append(_Host(group, rank, shift, counted, everywhere))

    def put_findings(self, report: Report) -> None:
        """A track a finding on each host: one slice over the counted steps, and inside
        it the time that it is about.
        """
        findings = [
            conclusion
            for conclusion in report.findings
            if conclusion.category != "capture"
        ]
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
        numbers = []
        for index, (name, kind) in enumerate(
            zip(steps.names, steps.kinds, strict=True)
        ):
            words = _step_name(index, name, kind)
            numbers.append(self._names.number(words))

        names = np.array(numbers, np.int64)
        for lane in lanes(steps.starts, steps.ends):
            track = self._below(group, "Steps", 1, steps.about)
            found = brackets(steps.starts[lane], steps.ends[lane])
            self._put(
                track,
                found,
                names[lane[found.event]],
                "step",
                shift,
            )

    def _put_classes(
        self,
        track: int,
        classes: dict[TimeClass, Intervals],
        shift: int,
    ) -> None:
        names = []
        for time_class, time in classes.items():
            number = self._names.number(time_class.label)
            names.append(np.full(len(time), number, np.int64))

        start = np.concatenate([class_.starts for class_ in classes.values()])
        end = np.concatenate([class_.ends for class_ in classes.values()])
        name = np.concatenate(names)
        found = brackets(start, end)
        self._put(
            track,
            found,
            name[found.event],
            "class",
            shift,
        )

    def _put_finding(
        self,
        host: _Host,
        finding: Finding,
        group: int,
        rank: int,
    ) -> None:
        title = f"{finding.severity.value}: {finding.title}"
        track = self._below(group, title, rank, finding.summary)
        starts = [host.counted.starts[:1]]
        ends = [host.counted.ends[-1:]]
        names = [np.full(1, self._names.number(title), np.int64)]
        for time_class, instants in claimed(host.classes, finding.claims):
            inside = intersection(instants, host.counted)
            marked = longest(inside, _MOST_MARKS)
            number = self._names.number(time_class.label)
            starts.append(marked.starts)
            ends.append(marked.ends)
            names.append(np.full(len(marked), number, np.int64))

        found = brackets(np.concatenate(starts), np.concatenate(ends))
        name = np.concatenate(names)[found.event]
        arguments = [text_argument(*word) for word in _words(finding)]
        words = b"".join(arguments)
        self._put(
            track,
            found,
            name,
            finding.category,
            host.shift,
            words,
        )

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


def _step_name(
    index: int,
    name: str,
    kind: StepKind,
) -> str:
    words = name if _DIGIT.search(name) else f"{name} {index}"
    if kind is StepKind.STEADY:
        return words
    return f"{words} (not counted: {kind.value})"


def _on_any_device(
    classes: list[dict[TimeClass, Intervals]],
    counted: Intervals,
) -> dict[TimeClass, Intervals]:
    """The instants of each class; idle is what no class of a device has."""
    found = {}
    for time_class in classes[0]:
        found[time_class] = union_of(*(of_device[time_class] for of_device in classes))

    idle = []
    for of_device in classes:
        known = union_of(*of_device.values())
        idle.append(difference(counted, known))
    found[TimeClass.IDLE] = union_of(*idle)
    return found


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
    begin_phase = np.where(point, 2, 1)
    end_phase = np.where(point, 2, 0)
    phase = np.concatenate([begin_phase, end_phase])
    begin_tie = np.where(point, 2 * rank, rank)
    end_tie = np.where(
        point,
        2 * rank + 1,
        -rank,
    )
    tie = np.concatenate([begin_tie, end_tie])

    sequence = np.lexsort((tie, phase.astype(np.int8), time))
    opens = sequence < count
    event = np.where(opens, sequence, sequence - count)
    return Brackets(order[event], opens, time[sequence])


def nests(found: Brackets) -> bool:
    """Whether every bracket closes the one that was opened last."""
    if not len(found.event):
        return True
    depth = np.cumsum(np.where(found.opens, 1, -1))
    if depth.min() < 0:
        return False
    level = np.where(found.opens, depth, depth + 1)
    by_level = found.event[order_of(level)]
    same = by_level[0::2] == by_level[1::2]
    return bool(same.all())


def lanes(
    start: Int64Array,
    end: Int64Array,
) -> list[Int64Array]:
    """Indices of events that nest among each other, lane by lane; a single lane where
    all do.
    """
    everything = np.arange(len(start), dtype=np.int64)
    if nests(brackets(start, end)):
        return [everything]
    found: list[_Lane] = []
    for event in np.lexsort((-end, start)).tolist():
        lo = int(start[event])
        hi = int(end[event])
        free = (lane for lane in found if lane.takes(lo, hi))
        lane = next(free, None)
        if lane is None:
            lane = _Lane()
            found.append(lane)
        lane.add(event, hi)
    return [np.array(lane.events, np.int64) for lane in found]


class _Lane:
    """Events that nest, by the time that they begin."""

    def __init__(self) -> None:
        self.events: list[int] = []
        self._open: list[int] = []
        """When those end that are not over, the innermost last."""

    def takes(self, lo: int, hi: int) -> bool:
        """Whether an event that begins no earlier than the others nests in them."""
        while self._open and self._open[-1] <= lo:
            self._open.pop()
        return not self._open or self._open[-1] >= hi

    def add(self, event: int, hi: int) -> None:
        """It ends at hi."""
        self.events.append(event)
        self._open.append(hi)


# A finding in the words that stand beside its slices: evidence, where, fixes.


def _words(finding: Finding) -> list[tuple[str, str]]:
    """(what, words) of all that the finding says."""
    words = [
        ("rule", finding.rule_id),
        ("severity", finding.severity.value),
        ("summary", finding.summary),
        ("saving", saving_words(finding.saving)),
        ("worth checking", finding.ask or ""),
        ("caveat", finding.caveat),
    ]
    for place, location in enumerate(finding.locations):
        words.append((f"where[{place}]", location_words(location)))
    for place, evidence in enumerate(finding.evidence):
        words.append((f"evidence[{place}]", evidence_words(evidence)))
    for place, fix in enumerate(finding.fixes):
        words += _fix_words(f"fix[{place}]", fix)
    for place, source in enumerate(finding.source):
        link = source.url or f"{source.doc} {source.section}"
        words.append((f"source[{place}]", link))
    return [(what, said) for what, said in words if said]


def _fix_words(
    name: str,
    fix: Fix,
) -> list[tuple[str, str]]:
    variables = [f"{variable}={value}" for variable, value in fix.env.items()]
    return [
        (f"{name}.do", fix.do),
        (f"{name}.snippet", fix.snippet.rstrip("\n")),
        (f"{name}.env", " ".join(variables)),
        (f"{name}.valid_for", fix.valid_for),
    ]


# The time that a finding claims, and the longest stretches of it.


def claimed(
    classes: Mapping[TimeClass, Intervals],
    claims: Collection[str],
) -> Iterator[tuple[TimeClass, Intervals]]:
    """Each class that a finding claims with its instants, those taken out that a class
    before it has: devices differ in what they do at an instant, and a track shows one
    class at a time."""
    taken = EMPTY
    for time_class in TimeClass:
        if time_class.label in claims:
            yield time_class, difference(classes[time_class], taken)
            taken = union_of(taken, classes[time_class])


def longest(instants: Intervals, most: int) -> Intervals:
    """All of the instants, or where they are more than so many, the longest of them."""
    if len(instants) <= most:
        return instants
    shortest_last = np.argsort(instants.starts - instants.ends, kind="stable")
    chosen = np.sort(shortest_last[:most])
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
