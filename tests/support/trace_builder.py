"""Makes traces on paper: real XSpace bytes from a few words, times in microseconds.

>>> timeline = trace().step(0, 100).busy("GPU:0", (0, 30), (70, 100)).build()
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import tfadvisor.metrics  # noqa: F401
from tfadvisor.analysis import Options, analyze_run
from tfadvisor.metrics.registry import Metrics, Settings, measure
from tfadvisor.report.model import Report
from tfadvisor.timeline.host_build import SELECTION, build_host
from tfadvisor.timeline.host_timeline import HostTimeline
from tfadvisor.timeline.run.run_summary import RunSummary, merge
from tfadvisor.timeline.summary.host_summary import summarize
from tfadvisor.trace import messages
from tfadvisor.trace.columns import HostTrace
from tfadvisor.trace.decode import decode_file
from tfadvisor.trace.runs import Run

PS_PER_US = 1_000_000
Span = tuple[float, float]


class TraceBuilder:
    """One run of one or more hosts. Every method returns the builder."""

    def __init__(self) -> None:
        """Starts with one host called `host`, whose events go to a thread called
        `python`.
        """
        self._spaces: dict[str, Any] = {}
        self._planes: dict[tuple[str, str], Any] = {}
        self._lines: dict[tuple[str, str, str], Any] = {}
        self._host = "host"
        self._thread = "python"
        self._ahead: float = 0
        self._step_number: dict[str, int] = {}
        self._correlation = 0

    def host(self, name: str) -> TraceBuilder:
        """What follows is recorded on this host, whose clock goes right."""
        self._host = name
        self._thread = "python"
        self._ahead = 0
        self._space()
        return self

    def clock(self, ahead: float) -> TraceBuilder:
        """What follows on this host is recorded by a clock that is this far ahead of
        the time given here.
        """
        self._ahead = ahead
        return self

    def thread(self, name: str) -> TraceBuilder:
        """What follows runs on this thread of the host."""
        self._thread = name
        return self

    def call(
        self, name: str, start: float, end: float, /, **stats: object
    ) -> TraceBuilder:
        """An event on the current host thread."""
        self._event("/host:CPU", self._thread, name, start, end, stats)
        return self

    def step(self, start: float, end: float, name: str = "train") -> TraceBuilder:
        """A marked step on the current host thread; numbers count up by themselves."""
        number = self._step_number.get(self._host, 0)
        self._step_number[self._host] = number + 1
        return self.call(name, start, end, step_num=number, _r=1)

    def steps(
        self, count: int, period: float, span: float | None = None
    ) -> TraceBuilder:
        """Marked steps, one every `period`, each `span` long (the whole period by
        default).
        """
        for index in range(count):
            self.step(
                index * period, index * period + (period if span is None else span)
            )
        return self

    def busy(
        self, device: str, *spans: Span, name: str = "some_kernel", stream: int = 1
    ) -> TraceBuilder:
        """Kernels without a launch."""
        for start, end in spans:
            self._event(
                _plane(device),
                f"Stream #{stream}(Compute)",
                name,
                start,
                end,
                {"kernel_details": "regs:1"},
            )
        return self

    def kernel(
        self,
        device: str,
        name: str,
        start: float,
        end: float,
        /,
        launched: Span,
        stream: int = 1,
        **stats: object,
    ) -> TraceBuilder:
        """A kernel and the call on the current thread that launched it."""
        self._correlation += 1
        link = {"correlation_id": self._correlation}
        ordinal = int(device.split(":")[1])
        self.call("cuLaunchKernel", *launched, device_id=ordinal, **link)
        details = {"kernel_details": "regs:1 grid:1,1,1 block:1,1,1", **link, **stats}
        self._event(
            _plane(device), f"Stream #{stream}(Compute)", name, start, end, details
        )
        return self

    def copy(
        self,
        device: str,
        kind: str,
        start: float,
        end: float,
        size: int | None = None,
        memory: str = "pinned",
    ) -> TraceBuilder:
        """A copy, kind H2D, D2H or D2D. memory: of the host's end."""
        details: dict[str, object] = {}
        if size is not None:
            details["memcpy_details"] = (
                f"kind_src:{memory} kind_dst:device size:{size} dest:0 async:1"
            )
        self._event(
            _plane(device),
            f"Stream #9(Memcpy{kind})",
            f"Memcpy{kind}",
            start,
            end,
            details,
        )
        return self

    def collective(
        self,
        device: str,
        start: float,
        end: float,
        name: str = "ncclDevKernel_AllReduce_Sum_f32",
        **stats: object,
    ) -> TraceBuilder:
        """A NCCL kernel on a stream of its own."""
        details = {"kernel_details": "regs:1", **stats}
        self._event(_plane(device), "Stream #5(Compute)", name, start, end, details)
        return self

    def program(self, name: str, data: bytes, program_id: int = 7) -> TraceBuilder:
        """The HLO of a compiled program, as the profiler keeps it; events name it by
        the stat hlo_module.
        """
        plane = self._plane_of("/host:metadata")
        entry = plane.event_metadata[_metadata_id(plane, f"{name}({program_id})")]
        entry.stats.add(metadata_id=_stat_id(plane, "Hlo Proto")).bytes_value = data
        return self

    def on_line(
        self,
        plane: str,
        line: str,
        name: str,
        start: float,
        end: float,
        /,
        **stats: object,
    ) -> TraceBuilder:
        """An event anywhere: plane and line by their full names."""
        self._event(plane, line, name, start, end, stats)
        return self

    def drawn_line(
        self, plane: str, line: str, *events: tuple[str, float, float]
    ) -> TraceBuilder:
        """A line that the profiler's viewer drew, as old versions saved it: its id is
        0xdeadbeef.
        """
        for name, start, end in events:
            self._event(plane, line, name, start, end, {})
        self._lines[(self._host, plane, line)].id = -559038737
        return self

    def plane_stat(self, plane: str, **stats: object) -> TraceBuilder:
        """A property of a plane, as devices have them."""
        target = self._plane_of(plane)
        for name, value in stats.items():
            _set(target.stats.add(metadata_id=_stat_id(target, name)), target, value)
        return self

    def empty_device(self, device: str) -> TraceBuilder:
        """A device plane without any event."""
        self._plane_of(_plane(device))
        return self

    def warning(self, text: str) -> TraceBuilder:
        """A warning of the profiler."""
        self._space().warnings.append(text.encode())
        return self

    def error(self, text: str) -> TraceBuilder:
        """An error of the profiler."""
        self._space().errors.append(text.encode())
        return self

    def files(self) -> dict[str, bytes]:
        """Host name -> the bytes of its trace file."""
        self._space()
        return {host: space.SerializeToString() for host, space in self._spaces.items()}

    def bytes(self) -> bytes:
        """The trace file of a run with one host."""
        (only,) = self.files().values()
        return only

    def write(self, folder: Path) -> Path:
        """Writes one `<host>.xplane.pb` a host and returns the folder."""
        folder.mkdir(parents=True, exist_ok=True)
        for host, data in self.files().items():
            (folder / f"{host}.xplane.pb").write_bytes(data)
        return folder

    def decode(self) -> HostTrace:
        """The columns of a run with one host, with the stats that a timeline needs."""
        with self._on_disk() as run:
            return decode_file(run.files[0], SELECTION)

    def build(self, chosen: tuple[int, int] | None = None) -> RunSummary:
        """The run of all hosts, as metrics read it."""
        return merge(
            "built", "built", [summarize(host) for host in self.timelines(chosen)]
        )

    def timelines(
        self, chosen: tuple[int, int] | None = None
    ) -> tuple[HostTimeline, ...]:
        """The timelines of all hosts, by name."""
        with self._on_disk() as run:
            return tuple(
                build_host(decode_file(file, SELECTION), chosen) for file in run.files
            )

    def timeline(self, chosen: tuple[int, int] | None = None) -> HostTimeline:
        """The timeline of a run with one host."""
        (only,) = self.timelines(chosen)
        return only

    def measure(self, settings: Settings | None = None) -> Metrics:
        """All metrics of the run."""
        return measure(self.build(), settings)

    def report(self, options: Options | None = None) -> Report:
        """The whole report of the run."""
        with self._on_disk() as run:
            return analyze_run(run, options or Options())

    @contextmanager
    def _on_disk(self) -> Iterator[Run]:
        with tempfile.TemporaryDirectory() as place:
            folder = self.write(Path(place))
            yield Run("built", folder, tuple(sorted(folder.glob("*.xplane.pb"))))

    def _space(self) -> Any:
        if self._host not in self._spaces:
            self._spaces[self._host] = messages.XSpace(hostnames=[self._host.encode()])
        return self._spaces[self._host]

    def _plane_of(self, name: str) -> Any:
        key = (self._host, name)
        if key not in self._planes:
            self._planes[key] = self._space().planes.add(name=name.encode())
        return self._planes[key]

    def _event(
        self,
        plane_name: str,
        line_name: str,
        name: str,
        start: float,
        end: float,
        stats: dict[str, object],
    ) -> None:
        plane = self._plane_of(plane_name)
        key = (self._host, plane_name, line_name)
        if key not in self._lines:
            self._lines[key] = plane.lines.add(
                id=len(plane.lines) + 1, name=line_name.encode()
            )
        offset = round((start + self._ahead) * PS_PER_US)
        event = self._lines[key].events.add(
            metadata_id=_metadata_id(plane, name),
            offset_ps=offset,
            duration_ps=round((end + self._ahead) * PS_PER_US) - offset,
        )
        for stat, value in stats.items():
            _set(event.stats.add(metadata_id=_stat_id(plane, stat)), plane, value)


def trace() -> TraceBuilder:
    """An empty trace to add to."""
    return TraceBuilder()


def _plane(device: str) -> str:
    return f"/device:{device}"


def _metadata_id(plane: Any, name: str) -> int:
    for known, entry in plane.event_metadata.items():
        if entry.name == name.encode():
            return int(known)
    new = len(plane.event_metadata) + 1
    plane.event_metadata[new].name = name.encode()
    plane.event_metadata[new].id = new
    return new


def _stat_id(plane: Any, name: str) -> int:
    for known, entry in plane.stat_metadata.items():
        if entry.name == name.encode():
            return int(known)
    new = len(plane.stat_metadata) + 1
    plane.stat_metadata[new].name = name.encode()
    plane.stat_metadata[new].id = new
    return new


def _set(stat: Any, plane: Any, value: object) -> None:
    if isinstance(value, str):
        stat.ref_value = _stat_id(plane, value)
    elif isinstance(value, float):
        stat.double_value = value
    elif isinstance(value, int):
        stat.int64_value = value
    else:
        raise TypeError(f"a stat is a number or text, not {value!r}")
