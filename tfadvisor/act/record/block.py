"""`tfadvisor.profile()` and the notebook's `%%tfadvisor`: records the block under it and says where its time went."""

from __future__ import annotations

import shlex
import sys
import tempfile
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import CodeType, TracebackType
from typing import Any

from tfadvisor.act.record.block_windows import BlockWindows, Taken, keep
from tfadvisor.act.record.conduct import Recorded
from tfadvisor.act.record.gpus import GpuWatch
from tfadvisor.act.record.injected.tfadvisor_hook.letters import write_letter
from tfadvisor.act.record.injected.tfadvisor_hook.machine import VERSION, settings
from tfadvisor.act.record.window import Window, pace_of
from tfadvisor.advice.loading.catalogue import load_catalogue
from tfadvisor.advice.loading.limits import changes_of
from tfadvisor.analysis import Analysis, Options, analyze_run
from tfadvisor.errors import AdvisorError, TraceError, UsageError
from tfadvisor.report.forms.terminal import as_text, screen_of
from tfadvisor.trace.counters import ENDING
from tfadvisor.trace.runs import choose_run, host_of


class Recording:
    """A block that is being recorded. After it, `report` and `folder` are there."""

    def __init__(self, out: Path, options: Options, *, show: bool, python_tracer: bool) -> None:
        """As `profile`."""
        self.out = out
        self.report: Analysis | None = None
        """None until the block has ended, and after a block that raised."""
        self.folder: Path | None = None
        """Of the run that was recorded."""
        self._options, self._show, self._python_tracer = options, show, python_tracer

    def __enter__(self) -> Recording:
        """Starts the profiler. Raises UsageError without a framework, RuntimeError while something else records."""
        self._framework = imported_framework()
        self._work = tempfile.TemporaryDirectory(prefix="tfadvisor-")
        self._windows = BlockWindows(self._framework, Path(self._work.name))
        self._windows.start(python_tracer=self._python_tracer)
        self._gpus = GpuWatch()
        self._gpus.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _where: TracebackType | None
    ) -> None:
        """Stops the profiler, keeps the trace, prints the report. A block that raised is not recorded.

        Raises TraceError when the trace holds nothing.
        """
        with self._work:
            wait_for_devices(self._framework)
            taken = self._windows.end()
            self._gpus.stop()
            if kind is None:
                self._keep(taken)
        if self._show and self.report is not None:
            print(as_text(self.report, screen=screen_of(sys.stdout)), end="")

    def _keep(self, taken: Sequence[Taken]) -> None:
        for one in taken:
            self._note_counters(one)
        kept = keep(recorded_in(taken, self._options), self.out, datetime.now())
        self.folder = kept.folder
        self.report = Analysis.of(kept.report, choose_run([kept.folder])[0], self._options)

    def _note_counters(self, taken: Taken) -> None:
        """Beside the trace, as `tfadvisor run` does."""
        opened, closed = taken.counters
        counted = {"opened": opened, "closed": closed, "settings": settings()}
        gpus = self._gpus.told(taken.opened, taken.closed)
        (trace,) = taken.folder.glob("*.xplane.pb")
        write_letter(str(trace.with_name(f"{host_of(trace)}{ENDING}")), {"version": VERSION, **counted, "gpus": gpus})


def recorded_in(taken: Sequence[Taken], options: Options) -> Recorded:
    """The report is about the window with most steps; not about one in which calls cost much, where another holds steps.

    Raises TraceError where no window can be read.
    """
    windows: dict[int, Window] = {}
    for number, one in enumerate(taken):
        try:
            windows[number] = _window(one, options)
        except TraceError:
            if number == len(taken) - 1 and not windows:
                raise
    steps = {
        number: one.pace.count if one.pace is not None and one.pace.steady else 0 for number, one in windows.items()
    }
    dear = {number for number in windows if taken[number].python_tracer and not taken[number].cheap}
    chosen = max(windows, key=lambda number: (steps[number] > 0, number not in dear, steps[number]))
    calls = next((number for number in windows if taken[number].python_tracer), None)
    cost = None if calls is None else taken[calls].cost
    if windows[chosen].python_tracer:
        return Recorded(windows[chosen], None, windows[chosen], cost)
    return Recorded(windows[chosen], windows[chosen], None if calls is None else windows[calls], cost)


def _window(taken: Taken, options: Options) -> Window:
    report = analyze_run(choose_run([taken.folder])[0], options)
    return Window(
        taken.folder, taken.python_tracer, taken.opened, taken.closed, report, pace_of(report), followed=taken.followed
    )


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
    preview: bool = False,
) -> Recording:
    """Records the block under it: `with tfadvisor.profile() as recording: …`, then `recording.report`.

    Let ten to fifty steps run in the block, after those that compile. out: the logdir that the trace is kept in. show:
    print the report when the block ends. python_tracer: record calls of Python functions, so that findings name lines;
    where they cost the step too much, the block's first second alone is recorded with them. The rest is as in `analyze`.
    Raises UsageError for rules and limits that are not there, and, as the block begins, when neither TensorFlow nor JAX is
    imported.
    """
    changes = changes_of(limits)
    load_catalogue(rules, disabled, changes)  # what is wrong with them is told before anything is recorded
    options = Options(
        rules=rules,
        disabled=disabled,
        parameters=parameters,
        bandwidth_gb_s=bandwidth_gb_s,
        limits=changes,
        preview=preview,
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


# `%%tfadvisor` in a notebook: `%load_ext tfadvisor` once, then the magic over a cell.


USAGE = "%%tfadvisor [--out DIR] [--no-lines]"


def load_ipython_extension(shell: Any) -> None:
    """What `%load_ext tfadvisor` calls."""

    def record_cell(line: str, cell: str) -> None:
        """Records the cell with the profiler of TensorFlow or JAX, and prints where its steps' time went and why.

        --out DIR: the logdir that the trace is kept in. --no-lines: without calls of Python functions, which is quicker.
        """
        words = shlex.split(line)
        settings: dict[str, Any] = {}
        while words:
            word = words.pop(0)
            if word == "--out" and words:
                settings["out"] = words.pop(0)
            elif word == "--no-lines":
                settings["python_tracer"] = False
            else:
                print(f"tfadvisor: {word} is not understood. {USAGE}")
                return
        try:
            with profile(**settings):
                exec(_compiled(shell, cell), shell.user_ns)
        except AdvisorError as error:
            print(f"tfadvisor: {error}")

    shell.register_magic_function(record_cell, "cell", "tfadvisor")


def _compiled(shell: Any, cell: str) -> CodeType:
    """Under the name that IPython has for the cell, so that a traceback and a finding show its lines."""
    source = shell.transform_cell(cell)
    return compile(source, shell.compile.cache(source), "exec")
