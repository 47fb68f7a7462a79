"""One host of a run: its file decoded, its timeline built and reduced to its summary."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tfadvisor.errors import TraceError
from tfadvisor.timeline.build import PICTURED, SELECTION, build_host
from tfadvisor.timeline.devices.registry import on_own_clocks
from tfadvisor.timeline.host_timeline import HostTimeline
from tfadvisor.timeline.summary.host import HostSummary, summarize
from tfadvisor.xplane.columns import HostTrace, Selection
from tfadvisor.xplane.decode import decode_file

if TYPE_CHECKING:
    from tfadvisor.timeline.picture.drawing import Drawing

Progress = Callable[[Path, int, int], None]
"""Called with (host file, events done, events in all) while large files are decoded."""
Skip = Callable[[Path, TraceError], None]
"""Called with a host file that cannot be read and the reason, instead of giving up the whole run."""


class Watch(msgspec.Struct, frozen=True):
    """Someone who sees every event of each host before it is summarised."""

    selection: Selection
    """What must be decoded for it, at least what a timeline is built from."""
    see: Callable[[HostTrace, HostTimeline], None]
    """Takes one host. TPU events are on the chip's clock in both."""


def read_host(
    file: Path,
    steps: tuple[int, int] | None,
    progress: Progress | None,
    drawing: Drawing | None = None,
    watch: Watch | None = None,
) -> HostSummary:
    """One host. drawing: as for build_host. Raises TraceError when its file cannot be read or holds no event."""

    def on_progress(done: int, total: int) -> None:
        if progress is not None:
            progress(file, done, total)

    usual = SELECTION if drawing is None else PICTURED
    excerpts = drawing is not None
    if watch is None:  # the columns are nobody else's, so that each goes when it has been used
        summary = summarize(build_host(_decode(file, usual, on_progress), steps, drawing), excerpts=excerpts)
    else:
        trace = _decode(file, watch.selection, on_progress)
        timeline = build_host(trace, steps, drawing)
        watch.see(on_own_clocks(trace), timeline)
        summary = summarize(timeline, excerpts=excerpts)
    on_progress(1, 1)
    return summary


def _decode(file: Path, selection: Selection, progress: Callable[[int, int], None]) -> HostTrace:
    trace = decode_file(file, selection, progress)
    if not len(trace.events):
        raise TraceError(
            str(file),
            "holds no events.",
            "The profiler stopped before anything ran, or could not attach: record at least three steps.",
        )
    return trace
