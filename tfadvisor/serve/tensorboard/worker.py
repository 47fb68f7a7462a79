"""The process that analyses one run for the tab, or compares two: a task in, progress
out, results into a folder.
"""

from __future__ import annotations

import gc
import gzip
import json
import os
import sys
import threading
import time
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from tfadvisor.analysis import Options, draw_run
from tfadvisor.comparison.baseline.snapshot import devices_of, programs_of, snapshot_of
from tfadvisor.comparison.baseline.snapshot_json import as_text
from tfadvisor.errors import AdvisorError, TraceError, UsageError, fault_of_environment
from tfadvisor.memory_limits import Limits, limited_memory
from tfadvisor.report import Report
from tfadvisor.report.forms import as_json, encode_comparison, encode_pages, encode_step
from tfadvisor.serve.tensorboard.cache import (
    COMPARISON,
    PAGE,
    REPORT,
    SNAPSHOT,
    STEP,
    SUMMARY,
)
from tfadvisor.timeline import SELECTION, build_host
from tfadvisor.timeline.picture import Drawing
from tfadvisor.timeline.run import Detail, progress_over
from tfadvisor.trace import Run, decode_file, host_of
from tfadvisor.trace.remote_path import place_of

_SAY_EVERY_S = 0.1
_STEP_EVENTS = 30_000
"""Of a step that is asked for by itself; smaller ones are merged."""


def main() -> None:
    """Reads the task from standard input, and ends when that is closed: whoever asked
    is gone.
    """
    gc.disable()
    line = sys.stdin.buffer.readline()
    if not line:
        _end(1)  # whoever asked is gone
    task = json.loads(line)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        with limited_memory(task["memory"]):
            _WORK[task["kind"]](task)
        _say({"done": True})
    except BaseException as error:
        fault = _told(error, task)
        if fault is None:
            traceback.print_exc()
            _end(1)
        _say({"error": fault})
    _end(0)


def _told(
    error: BaseException,
    task: dict[str, Any],
) -> dict[str, str] | None:
    """What the tab says of it: place, cause, remedy. None for a bug."""
    path = task["path"]
    if isinstance(error, TraceError):
        return vars(error)
    if isinstance(error, AdvisorError):
        return {"place": path, "cause": str(error), "remedy": ""}
    if isinstance(error, MemoryError | SystemError):
        # an extension that gets no memory may fail without an exception
        return vars(Limits(0, task["memory"]).too_large(path))
    fault = fault_of_environment(error)
    if fault is None:
        return None
    return {"place": path, "cause": f"could not be read: {fault}", "remedy": ""}


def _analyse(task: dict[str, Any]) -> None:
    files = tuple(map(place_of, task["files"]))
    run = Run(
        task["name"],
        place_of(task["path"]),
        files,
        tuple(task["folders"]),
    )
    said_at = 0.0

    def say(fraction: float) -> None:
        nonlocal said_at
        if time.monotonic() - said_at >= _SAY_EVERY_S:
            said_at = time.monotonic()
            _say({"fraction": fraction})

    if isinstance(task["ignored"], str):
        raise UsageError(task["ignored"])  # what is wrong with the configuration
    options = Options(processes=task["processes"], ignored=task["ignored"])
    say_progress = progress_over(files, say)
    page = draw_run(run, options, say_progress, detail=Detail.TWO_STEPS)

    folder = Path(task["folder"])
    _write(folder / REPORT, as_json(page.report))
    _write(folder / SUMMARY, json.dumps(_summary(page.report)))
    with suppress(TraceError):  # no step to compare
        _write(folder / SNAPSHOT, as_text(snapshot_of(page.report)))
    (folder / PAGE).write_bytes(_packed(encode_pages([page])))


def _write(file: Path, content: str) -> None:
    file.write_text(content, encoding="utf-8")


def _packed(content: str) -> bytes:
    return gzip.compress(
        content.encode("utf-8"),
        compresslevel=4,
        mtime=0,
    )


def _summary(report: Report) -> dict[str, Any]:
    """What the list of runs says of one."""
    verdict = report.verdict.bottleneck
    if report.verdict.healthy and verdict == "compute":
        verdict = "none"

    step_ms = None
    times = report.steps.time_ms
    if times is not None and report.steps.source != "whole-trace":
        step_ms = times.median

    run = report.run
    machines = f"{devices_of(report)}, {len(run.hosts)}"
    kind = f"{run.framework}, {machines}, {programs_of(report)}"
    return {"verdict": verdict, "step_ms": step_ms, "kind": kind}


def _draw(task: dict[str, Any]) -> None:
    """One step of one host, with every thread."""
    from tfadvisor.report.assembly.page import drawn_step

    host = task["host"]
    files = [place_of(file) for file in task["files"]]
    files.sort(key=lambda file: host_of(file) != host)
    drawing = Drawing(_STEP_EVENTS, step=task["index"])
    for file in files:
        trace = decode_file(file, SELECTION, None)
        timeline = build_host(trace, None, drawing)
        if timeline.host == host:
            (picture,) = timeline.evidence.pictures
            step = encode_step(drawn_step(host, picture, None))
            (Path(task["folder"]) / STEP).write_bytes(_packed(step))
            return
    raise TraceError(task["path"], f"holds no host {host}.", "Choose another host.")


def _compare(task: dict[str, Any]) -> None:
    from tfadvisor.comparing import comparison_of
    from tfadvisor.comparison import on_page

    base, new = (Path(path) for path in task["snapshots"])
    if not (base.exists() and new.exists()):
        cause = "cannot be compared: one of the runs holds no step."
        raise TraceError(task["path"], cause, "")
    compared = on_page(
        comparison_of(base, new),
        new=0,
        base=1,
    )
    _write(Path(task["folder"]) / COMPARISON, encode_comparison(compared))


_WORK = {"analyse": _analyse, "compare": _compare, "draw": _draw}


def _say(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def _end_with_parent() -> None:
    while os.read(0, 4096):
        pass
    os._exit(1)


def _end(code: int) -> NoReturn:
    """At once: the thread that waits for the parent would keep the interpreter from a
    clean end.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
