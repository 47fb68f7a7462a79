"""What was concluded about a run as tracks: its steps, where their time goes, and the findings in the time they concern."""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec
import numpy as np

from tfadvisor.export.perfetto.brackets import brackets, lanes
from tfadvisor.export.perfetto.finding_arguments import finding_arguments
from tfadvisor.export.perfetto.finding_time import claimed, longest
from tfadvisor.export.perfetto.packets import Texts, Write, named_track, number_arguments, put_slices, text_arguments
from tfadvisor.export.perfetto.track_numbers import TrackNumbers
from tfadvisor.export.perfetto.wire import Rows, constant, only
from tfadvisor.report.model import Finding, Report
from tfadvisor.timeline.host_timeline import HostTimeline
from tfadvisor.timeline.intervals import BoolArray, Int64Array, Intervals, difference, union, union_of
from tfadvisor.timeline.model import Device, StepKind
from tfadvisor.timeline.steps.breakdown import classes_of_time
from tfadvisor.units import PS_PER_MS
from tfadvisor.vocabulary import TimeClass

_PS_PER_NS = 1_000
_DIGIT = re.compile(r"\d")
_COUNTS = {StepKind.STEADY: "yes"}
_MOST_MARKS = 20_000
"""Instants of a class that a finding marks on one host; the longest."""


class _Host(msgspec.Struct, frozen=True):
    """What findings are marked in. start, end: of the counted steps, ps. classes: instants on any device."""

    name: str
    track: int
    rank: int
    shift: int
    start: Int64Array
    end: Int64Array
    classes: dict[TimeClass, Intervals]


class Conclusions:
    """One group of tracks a host."""

    def __init__(self, write: Write, texts: Texts, numbers: TrackNumbers) -> None:
        """texts: of a sequence of its own."""
        self._write, self._texts, self._numbers = write, texts, numbers
        self._hosts: list[_Host] = []

    def add_host(self, timeline: HostTimeline, shift: int) -> None:
        """Its steps, and a row a device of where the time goes. shift: ns, added to all times."""
        group = self._numbers.track()
        self._write(named_track(group, 0, f"tfadvisor: {timeline.host}", len(self._hosts)))
        self._put_steps(timeline, group, shift)
        devices: tuple[Device | None, ...] = timeline.active_devices() or (None,)
        classes = [dict(classes_of_time(device, timeline.classes)) for device in devices]
        for rank, (device, found) in enumerate(zip(devices, classes, strict=True), start=2):
            name = "Where the time goes" if device is None else f"{device.name}: where its time goes"
            self._put_classes(self._below(group, name, rank), found, shift)
        counted = timeline.steps.steady()
        everywhere = {one: union_of(*(found[one] for found in classes)) for one in classes[0]}
        whole = union(timeline.steps.starts[counted], timeline.steps.ends[counted])
        everywhere[TimeClass.IDLE] = union_of(*(difference(whole, union_of(*found.values())) for found in classes))
        self._hosts.append(
            _Host(
                timeline.host,
                group,
                len(devices) + 2,
                shift,
                timeline.steps.starts[counted],
                timeline.steps.ends[counted],
                everywhere,
            )
        )

    def put_findings(self, report: Report) -> None:
        """A track a finding on each host: the counted steps, and inside them the time that it is about."""
        findings = [one for one in report.findings if one.category != "capture"]
        for host in self._hosts:
            if not len(host.start) or not findings:
                continue
            group = self._below(host.track, "Findings", host.rank)
            for rank, finding in enumerate(findings, start=1):
                self._put_finding(host, finding, group, rank)

    def _put_steps(self, timeline: HostTimeline, group: int, shift: int) -> None:
        steps, texts = timeline.steps, self._texts
        names = np.array(
            [texts.name(name if _DIGIT.search(name) else f"{name} {index}") for index, name in enumerate(steps.names)],
            np.int64,
        )
        counts = np.array([texts.value(_COUNTS.get(kind, f"no: {kind.value}")) for kind in steps.kinds], np.int64)
        mean_ms = timeline.breakdown.mean(axis=0) / PS_PER_MS
        whether = texts.argument("counts")
        columns = [(texts.argument(f"{one.label}_ms"), mean_ms[:, one]) for one in TimeClass]
        for lane in lanes(steps.starts, steps.ends):
            track = self._below(group, "Steps", 1, steps.about)
            found = brackets(steps.starts[lane], steps.ends[lane])
            step = lane[found.event]

            def arguments(part: slice, step: Int64Array = step) -> tuple[Rows, ...]:
                numbers = [number_arguments(name, ms[step[part]]) for name, ms in columns]
                return (text_arguments(whether, counts[step[part]]), *numbers)

            time = np.where(found.opens, steps.starts[step], steps.ends[step])
            self._put(track, time, found.opens, names[step], "step", shift, arguments)

    def _put_classes(self, track: int, classes: dict[TimeClass, Intervals], shift: int) -> None:
        start = np.concatenate([one.starts for one in classes.values()])
        end = np.concatenate([one.ends for one in classes.values()])
        names = [np.full(len(time), self._texts.name(one.label), np.int64) for one, time in classes.items()]
        found = brackets(start, end)
        time = np.where(found.opens, start[found.event], end[found.event])
        self._put(track, time, found.opens, np.concatenate(names)[found.event], "class", shift)

    def _put_finding(self, host: _Host, finding: Finding, group: int, rank: int) -> None:
        title = f"{finding.severity.value}: {finding.title}"
        track = self._below(group, title, rank, finding.summary)
        start, end = host.start, host.end
        name = np.full(len(start), self._texts.name(title), np.int64)
        for one, instants in claimed(host.classes, finding.claims):
            marked = longest(instants, host.start, host.end, _MOST_MARKS)
            start, end = np.concatenate([start, marked.starts]), np.concatenate([end, marked.ends])
            name = np.concatenate([name, np.full(len(marked), self._texts.name(one.label), np.int64)])
        found = brackets(start, end)
        is_step = found.event < len(host.start)
        words = finding_arguments(finding, self._texts)

        def arguments(part: slice) -> tuple[Rows, ...]:
            return (only(constant(len(is_step[part]), words), is_step[part]),)

        time = np.where(found.opens, start[found.event], end[found.event])
        self._put(track, time, found.opens, name[found.event], finding.category, host.shift, arguments)

    def _below(self, parent: int, name: str, rank: int, about: str = "") -> int:
        """A new track below another."""
        track = self._numbers.track()
        self._write(named_track(track, parent, name, rank, about))
        return track

    def _put(
        self,
        track: int,
        time_ps: Int64Array,
        opens: BoolArray,
        name: Int64Array,
        category: str,
        shift: int,
        arguments: Callable[[slice], tuple[Rows, ...]] | None = None,
    ) -> None:
        put_slices(
            self._write,
            self._texts.sequence,
            track,
            time_ps // _PS_PER_NS + shift,
            opens,
            name,
            self._texts.category(category),
            arguments=arguments,
        )
