"""`tfadvisor.profile()`: records the block under it and says where its steps' time went."""

from __future__ import annotations

import os
import socket
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType

from tfadvisor.api import Options, analyze_run, remembering
from tfadvisor.engine.loading.catalogue import load_catalogue
from tfadvisor.errors import UsageError
from tfadvisor.limit_change import changes_of
from tfadvisor.machine.file import ENDING
from tfadvisor.record.conduct import Recorded
from tfadvisor.record.gpus import GpuWatch
from tfadvisor.record.injected.tfadvisor_hook.letters import write_letter
from tfadvisor.record.injected.tfadvisor_hook.machine import VERSION, reading, settings
from tfadvisor.record.injected.tfadvisor_hook.tracers import tracer_for
from tfadvisor.record.keep import keep
from tfadvisor.record.pace import pace_of
from tfadvisor.record.window import Window
from tfadvisor.report.model import Report
from tfadvisor.report.outputs.terminal import as_text
from tfadvisor.report.terminal_text import screen_of
from tfadvisor.xplane.runs import choose_run, host_of


class Recording:
    """A block that is being recorded. After it, `report` and `folder` are there."""

    def __init__(self, out: Path, options: Options, *, show: bool, python_tracer: bool) -> None:
        """As `profile`."""
        self.out = out
        self.report: Report | None = None
        """None until the block has ended, and after a block that raised."""
        self.folder: Path | None = None
        """Of the run that was recorded."""
        self._options, self._show, self._python_tracer = options, show, python_tracer

    def __enter__(self) -> Recording:
        """Starts the profiler. Raises UsageError without a framework, RuntimeError while something else records."""
        self._framework = imported_framework()
        self._work = tempfile.TemporaryDirectory(prefix="tfadvisor-")
        self._file = Path(self._work.name) / f"{socket.gethostname()}.xplane.pb"
        self._tracer = tracer_for(self._framework, str(self._file))
        self._tracer.start({"python_tracer": self._python_tracer})
        self._began = time.time()
        self._gpus = GpuWatch()
        self._gpus.start()
        self._before = reading(os.getpid())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _where: TracebackType | None
    ) -> None:
        """Stops the profiler, keeps the trace, prints the report. A block that raised is not recorded.

        Raises TraceError when the trace holds nothing.
        """
        with self._work:
            wait_for_devices(self._framework)
            closed, after = time.time(), reading(os.getpid())
            self._gpus.stop()
            self._tracer.stop(str(self._file))
            if kind is None:
                counted = {
                    "opened": self._before,
                    "closed": after,
                    "settings": settings(),
                    "gpus": self._gpus.told(self._began, closed),
                }
                write_letter(
                    str(self._file.with_name(f"{host_of(self._file)}{ENDING}")), {"version": VERSION, **counted}
                )
                self._keep(closed)
        if self._show and self.report is not None:
            print(as_text(self.report, screen=screen_of(sys.stdout)), end="")

    def _keep(self, closed: float) -> None:
        folder = self._file.parent
        report = analyze_run(choose_run([folder])[0], self._options)
        window = Window(folder, self._python_tracer, self._began, closed, report=report, pace=pace_of(report))
        kept = keep(Recorded(window, None, None, None), self.out, datetime.now())
        self.folder = kept.folder
        self.report = remembering(kept.report, choose_run([kept.folder])[0], self._options)


def profile(
    out: str | Path = "tfadvisor-run",
    *,
    show: bool = True,
    python_tracer: bool = True,
    parameters: int | None = None,
    bandwidth_gb_s: float | None = None,
    rules: Sequence[Path] = (),
    disabled: Sequence[str] = (),
    limits: Mapping[str, Mapping[str, float | str]] | None = None,
) -> Recording:
    """Records the block under it: `with tfadvisor.profile() as recording: …`, then `recording.report`.

    Let ten to fifty steps run in the block, after those that compile. out: the logdir that the trace is kept in. show:
    print the report when the block ends. python_tracer: record calls of Python functions, so that findings name lines; it
    makes Python slower. The rest is as in `analyze`. Raises UsageError for rules and limits that are not there, and,
    as the block begins, when neither TensorFlow nor JAX is imported.
    """
    changes = changes_of(limits)
    load_catalogue(rules, disabled, changes)  # what is wrong with them is told before anything is recorded
    options = Options(
        rules=rules, disabled=disabled, parameters=parameters, bandwidth_gb_s=bandwidth_gb_s, limits=changes
    )
    return Recording(Path(out), options, show=show, python_tracer=python_tracer)


def imported_framework() -> str:
    """What is to be recorded; of both, JAX where it has a device already. Raises UsageError without any."""
    jax, tensorflow = "jax" in sys.modules, "tensorflow" in sys.modules
    if jax and tensorflow:
        return "jax" if getattr(sys.modules.get("jax._src.xla_bridge"), "_backends", None) else "tensorflow"
    if not jax and not tensorflow:
        raise UsageError("tfadvisor.profile(): neither TensorFlow nor JAX is imported. Import it before the block.")
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
