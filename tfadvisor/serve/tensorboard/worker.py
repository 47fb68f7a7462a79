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
from tfadvisor.memory import Limits, limited_memory
from tfadvisor.report.forms.encode import encode, encode_comparison, encode_step
from tfadvisor.report.forms.html import as_json
from tfadvisor.report.model import Report
from tfadvisor.serve.tensorboard.cache import (
    COMPARISON,
    PAGE,
    REPORT,
    SNAPSHOT,
    STEP,
    SUMMARY,
)
from tfadvisor.timeline.build_host import SELECTION, build_host
from tfadvisor.timeline.picture.step_picture import Drawing
from tfadvisor.timeline.run.read_hosts import progress_over
from tfadvisor.trace.decode import decode_file
from tfadvisor.trace.remote_path import place_of
from tfadvisor.trace.runs import Run, host_of

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
            {"compare": _compare, "draw": _draw}.get(task["kind"], _analyse)(task)
        _say({"done": True})
    except TraceError as error:
        _say({"error": vars(error)})
    except AdvisorError as error:
        _say({"error": {"place": task["path"], "cause": str(error), "remedy": ""}})
    except (
        MemoryError,
        SystemError,
    ):  # an extension that gets no memory may fail without an exception
        _say({"error": vars(Limits(0, task["memory"]).too_large(task["path"]))})
    except BaseException as error:
        fault = fault_of_environment(error)
        if fault is not None:
            _say(
                {
                    "error": {
                        "place": task["path"],
                        "cause": f"could not be read: {fault}",
                        "remedy": "",
                    }
                }
            )
            _end(0)
        traceback.print_exc()
        _end(1)
    _end(0)


def _analyse(task: dict[str, Any]) -> None:
    files = tuple(map(place_of, task["files"]))
    run = Run(task["name"], place_of(task["path"]), files, tuple(task["folders"]))
    said_at = 0.0

    def say(fraction: float) -> None:
        nonlocal said_at
        if time.monotonic() - said_at >= _SAY_EVERY_S:
            said_at = time.monotonic()
            _say({"fraction": fraction})

    if isinstance(task["ignored"], str):
        raise UsageError(task["ignored"])  # what is wrong with the configuration
    options = Options(processes=task["processes"], ignored=task["ignored"])
    page = draw_run(run, options, progress_over(files, say))
    folder = Path(task["folder"])
    (folder / REPORT).write_text(as_json(page.report), encoding="utf-8")
    (folder / SUMMARY).write_text(json.dumps(_summary(page.report)), encoding="utf-8")
    with suppress(TraceError):  # no step to compare
        (folder / SNAPSHOT).write_text(
            as_text(snapshot_of(page.report)), encoding="utf-8"
        )
    (folder / PAGE).write_bytes(
        gzip.compress(encode([page]).encode("utf-8"), compresslevel=4, mtime=0)
    )


def _summary(report: Report) -> dict[str, Any]:
    """What the list of runs says of one."""
    healthy = report.verdict.healthy and report.verdict.bottleneck in (
        "compute",
        "none",
    )
    times = report.steps.time_ms if report.steps.source != "whole-trace" else None
    verdict = "none" if healthy else report.verdict.bottleneck
    kind = (
        f"{report.run.framework}, {devices_of(report)}, {len(report.run.hosts)}, "
        f"{programs_of(report)}"
    )
    return {
        "verdict": verdict,
        "step_ms": times.median if times is not None else None,
        "kind": kind,
    }


def _draw(task: dict[str, Any]) -> None:
    """One step of one host, with every thread."""
    from tfadvisor.report.assembly.page import drawn_step

    for file in sorted(
        map(place_of, task["files"]), key=lambda one: host_of(one) != task["host"]
    ):
        trace = decode_file(file, SELECTION, None)
        timeline = build_host(trace, None, Drawing(_STEP_EVENTS, step=task["index"]))
        if timeline.host == task["host"]:
            (picture,) = timeline.evidence.pictures
            packed = gzip.compress(
                encode_step(drawn_step(timeline.host, picture, None)).encode(),
                4,
                mtime=0,
            )
            (Path(task["folder"]) / STEP).write_bytes(packed)
            return
    raise TraceError(
        task["path"], f"holds no host {task['host']}.", "Choose another host."
    )


def _compare(task: dict[str, Any]) -> None:
    from tfadvisor.comparing import comparison_of
    from tfadvisor.comparison.forms import on_page

    base, new = (Path(path) for path in task["snapshots"])
    if not (base.exists() and new.exists()):
        raise TraceError(
            task["path"], "cannot be compared: one of the runs holds no step.", ""
        )
    compared = on_page(comparison_of(base, new), new=0, base=1)
    (Path(task["folder"]) / COMPARISON).write_text(
        encode_comparison(compared), encoding="utf-8"
    )


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
