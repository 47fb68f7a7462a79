"""`tfadvisor.profile()`: records the block under it and says where its time went."""

from __future__ import annotations

import os
import socket
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from tfadvisor.act.record.choosing import RecordedRun
from tfadvisor.act.record.gpus import GpuWatch
from tfadvisor.act.record.injected.tfadvisor_hook.letters import write_letter
from tfadvisor.act.record.injected.tfadvisor_hook.machine_counters import (
    VERSION,
    reading,
    settings,
)
from tfadvisor.act.record.injected.tfadvisor_hook.tracers import tracer_for
from tfadvisor.act.record.keeping import keep
from tfadvisor.act.record.pace import pace_of
from tfadvisor.act.record.program_times import program_seconds
from tfadvisor.act.record.tracing_cost import cost_of_calls
from tfadvisor.act.record.window import RecordedWindow
from tfadvisor.analysis import Analysis, Options, check_rules, read_run
from tfadvisor.errors import UsageError
from tfadvisor.report.forms import as_text
from tfadvisor.text_page import screen_of
from tfadvisor.trace import choose_run, host_of
from tfadvisor.trace.counters import ENDING


def _reading() -> dict[str, Any]:
    return {**reading(), "program_seconds": program_seconds(os.getpid())}


class BlockRecording:
    """A block that is being recorded. After it, `report` and `folder` are there."""

    def __init__(
        self,
        out: Path,
        options: Options,
        *,
        show: bool,
        python_tracer: bool,
    ) -> None:
        """As `profile`."""
        self.out = out
        self.report: Analysis | None = None
        """None until the block has ended, and after a block that raised."""
        self.folder: Path | None = None
        """Of the run that was recorded."""
        self._options, self._show, self._python_tracer = options, show, python_tracer

    def __enter__(self) -> BlockRecording:
        """Starts the profiler. Raises UsageError without a framework, RuntimeError
        while something else records.
        """
        self._framework = imported_framework()
        self._work = tempfile.TemporaryDirectory(prefix="tfadvisor-")
        self._file = Path(self._work.name) / f"{socket.gethostname()}.xplane.pb"
        self._tracer = tracer_for(self._framework, str(self._file))
        starting = self._tracer.starting({"python_tracer": self._python_tracer})
        self._session = starting.made_here()
        self._opened = time.time()
        self._before = _reading()
        self._gpus = GpuWatch().__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        _error: BaseException | None,
        _where: TracebackType | None,
    ) -> None:
        """Stops the profiler, keeps the trace, prints the report. A block that raised
        is not recorded.

        Raises TraceError when the trace holds nothing.
        """
        with self._work:
            wait_for_devices(self._framework)
            closed, after = time.time(), _reading()
            trace = self._tracer.stopping(self._session).made_here()
            self._tracer.write(trace, str(self._file))
            self._gpus.__exit__()
            if kind is None:
                self._write_counters(after)
                self._keep(closed)
        if self._show and self.report is not None:
            _show(self.report)

    def _write_counters(self, after: dict[str, Any]) -> None:
        letter = {
            "version": VERSION,
            "opened": self._before,
            "closed": after,
            "settings": settings(),
            "gpus": self._gpus.found,
        }
        counters = self._file.with_name(f"{host_of(self._file)}{ENDING}")
        write_letter(str(counters), letter)

    def _keep(self, closed: float) -> None:
        run, _ = choose_run([self._file.parent])
        read = read_run(run, self._options)
        window = RecordedWindow(
            self._file.parent,
            self._tracer.has_calls,
            self._opened,
            closed,
            read,
            pace_of(read.steps),
        )
        has_calls = self._tracer.has_calls
        recorded = RecordedRun(
            window,
            None,
            cost_of_calls(window) if has_calls else None,
        )

        kept = keep(
            recorded,
            self.out,
            datetime.now(),
            self._options,
        )
        self.folder = kept.folder
        run, _ = choose_run([kept.folder])
        self.report = Analysis(
            kept.report,
            run,
            self._options,
        )


def _show(report: Analysis) -> None:
    """As one output of a notebook's cell, else as text."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if hasattr(shell, "kernel"):
        from IPython.display import display

        display(report)
    else:
        text = as_text(report.report, screen=screen_of(sys.stdout))
        sys.stdout.write(text)


def profile(
    out: str | Path = "tfadvisor-run",
    *,
    show: bool = True,
    python_tracer: bool = True,
    parameters: int | None = None,
    bandwidth_gb_s: float | None = None,
    rules: Sequence[Path] = (),
    disabled: Sequence[str] = (),
    preview: bool = False,
) -> BlockRecording:
    """Records the block under it: `with tfadvisor.profile() as recording: …`, then
    `recording.report`.

    Let ten to fifty steps run in the block, after those that compile. out: the logdir
    that the trace is kept in. show: print the report when the block ends.
    python_tracer: record calls of Python functions, so that findings name lines; the
    report tells what that adds to a step. The rest is as in `analyze`. Raises
    UsageError for rules that are not there, and, as the block begins, when neither
    TensorFlow nor JAX is imported.
    """
    options = Options(
        rules=rules,
        disabled=disabled,
        parameters=parameters,
        bandwidth_gb_s=bandwidth_gb_s,
        preview=preview,
    )
    check_rules(options)
    return BlockRecording(
        Path(out),
        options,
        show=show,
        python_tracer=python_tracer,
    )


def imported_framework() -> str:
    """What is to be recorded; of both, JAX where it has a device already. Raises
    UsageError without any.
    """
    jax, tensorflow = "jax" in sys.modules, "tensorflow" in sys.modules
    if jax and tensorflow:
        bridge = sys.modules.get("jax._src.xla_bridge")
        return "jax" if getattr(bridge, "_backends", None) else "tensorflow"
    if not jax and not tensorflow:
        raise UsageError(
            "tfadvisor.profile(): neither TensorFlow nor JAX is imported. Import it "
            "before the block."
        )
    return "jax" if jax else "tensorflow"


def wait_for_devices(framework: str) -> None:
    """JAX's last steps may still be running when their calls have returned."""
    if framework != "jax":
        return
    for array in sys.modules["jax"].live_arrays():
        try:
            array.block_until_ready()
        except Exception:
            continue  # a step that failed tells so where its value is read
