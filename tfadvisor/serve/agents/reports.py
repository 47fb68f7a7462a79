"""What an agent may ask about: paths below the root, reports of its runs, patches for
their findings.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from pathlib import Path
from threading import Lock, Timer
from time import monotonic
from typing import TYPE_CHECKING

import msgspec

from tfadvisor.analysis import Options, analyze_run
from tfadvisor.errors import TraceError, UsageError
from tfadvisor.memory_limits import Limits, limited_memory, limits_of_files
from tfadvisor.processes import Worker, answer_tasks
from tfadvisor.report import Report
from tfadvisor.trace import Run, choose_run, find_runs, host_of

if TYPE_CHECKING:
    from tfadvisor.act.repair import PatchPlan

_KEPT = 8


class Reports:
    """The reports of an agent's session."""

    def __init__(self, root: Root) -> None:
        """Nothing outside of the root is read."""
        self._root = root
        self._lock = Lock()
        self._kept: OrderedDict[object, Report] = OrderedDict()

    def report(
        self,
        path: str,
        run: str | None = None,
        host: str | None = None,
        source: str | None = None,
    ) -> Report:
        """The report of a run, kept until one of its files changes. source: the
        program's script or folder; such a report is made anew, since files there may
        change. Raises TraceError or UsageError.
        """
        found, _ = self._root.run(path, run, host)
        if source is None:
            return self.report_of(found)
        program = self._root.path(source)
        return _analysed(found, Options(within=self._root.folder, source=program))

    def report_of(self, run: Run) -> Report:
        """As report."""
        key = (run.path, run.name, _states(run))
        with self._lock:
            if key not in self._kept:
                self._kept[key] = _analysed(run, Options(within=self._root.folder))
                if len(self._kept) > _KEPT:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(key)
            return self._kept[key]


def _analysed(run: Run, options: Options) -> Report:
    """In a process of its own: a trace that was made to take all time or memory ends
    that, and not the server.
    """
    if os.environ.get("TFADVISOR_LIMITS") == "0":
        return analyze_run(run, options)
    allowed = limits_of_files(run.files)
    worker = Worker(__name__)
    began = monotonic()
    late = Timer(allowed.deadline_s, worker.end)
    late.daemon = True
    late.start()
    try:
        report = worker.ask((run, options, allowed))
        assert isinstance(report, Report)
        return report
    except EOFError as error:
        if monotonic() - began < allowed.deadline_s:
            ended = allowed.too_large
        else:
            ended = allowed.too_late
        raise ended(str(run.path)) from error
    finally:
        late.cancel()
        worker.end()


def main() -> None:
    """The process that analyses one run."""
    answer_tasks(_answer)


def _answer(task: tuple[Run, Options, Limits]) -> Report:
    run, options, allowed = task
    try:
        with limited_memory(allowed.memory):
            return analyze_run(run, options)
    except (MemoryError, SystemError) as error:
        # an extension that gets no memory may fail without an exception
        raise allowed.too_large(str(run.path)) from error


def _states(run: Run) -> tuple[tuple[str, int, int], ...]:
    """What changes when a file is written. Raises TraceError for one that is
    not there.
    """
    found = []
    for file in run.files:
        try:
            state = file.stat()
        except OSError as error:
            cause = f"cannot be read: {error.strerror}."
            raise TraceError(str(file), cause, "Check the path.") from error
        found.append((str(file), state.st_size, state.st_mtime_ns))
    return tuple(found)


# The folder that an agent may read, and nothing beyond it.

_BESIDE = "recording.json"
"""Beside a run's traces, besides what begins with a host's name."""


class Root(msgspec.Struct, frozen=True):
    """A folder with all that lies below it, and the only door to it: whatever a tool
    opens, it gets from here. Links are followed first, and count by where they lead.
    """

    folder: Path
    """Absolute, without links."""

    def path(self, given: str) -> Path:
        """Where a path leads that is below the root, or is absolute. Raises UsageError
        where that is outside.
        """
        try:
            found = (self.folder / given).resolve()
            found.exists()
        except (OSError, RuntimeError, ValueError) as error:
            # links in a circle, a zero byte, a name that is too long
            cause = f"is no path that can be followed: {error}."
            raise UsageError(f"{given}: {cause}") from error
        self.check([found], given)
        return found

    def check(
        self,
        files: Iterable[Path],
        given: str,
    ) -> None:
        """Raises UsageError when one of the files lies outside. given: what was asked
        for, for the message.
        """
        for file in files:
            if not self._holds(file):
                raise UsageError(
                    f"{given}: leads out of {self.folder}, and this server reads "
                    "nothing beyond it. Give a path below, "
                    "or start the server with another --root."
                )

    def runs(self, given: str) -> list[Run]:
        """All runs below a folder whose files lie inside, the newest first. Raises
        UsageError for no folder, or one outside.
        """
        folder = self.path(given)
        if not folder.is_dir():
            raise UsageError(f"{given}: is no folder. analyze reads a single trace.")
        runs = []
        for run in find_runs(folder, self.folder):
            if all(self._holds(file) for file in _files_of(run)):
                runs.append(run)
        return runs

    def run(
        self,
        given: str,
        name: str | None,
        host: str | None,
    ) -> tuple[Run, int]:
        """The run that a path, and names, mean, and how many there were. Raises
        TraceError, or UsageError, also where a trace or a file that is read with it
        lies outside.
        """
        try:
            found, count = choose_run(
                [self.path(given)],
                name,
                host,
                self.folder,
            )
        except TraceError as error:
            remedy = (
                f"{error.remedy} Links that lead out of {self.folder} are not followed."
            )
            raise TraceError(error.place, error.cause, remedy) from error
        self.check(_files_of(found), given)
        return found, count

    def _holds(self, file: Path) -> bool:
        try:
            return file.resolve().is_relative_to(self.folder)
        except (OSError, RuntimeError):
            return False

    def shown(self, path: Path) -> str:
        """A path as it can be asked for."""
        if path.is_relative_to(self.folder):
            return path.relative_to(self.folder).as_posix()
        return str(path)


def root_of(folder: Path) -> Root:
    """Raises UsageError for what is no folder."""
    if not folder.is_dir():
        raise UsageError(f"--root {folder}: no such folder.")
    return Root(folder.resolve())


def _files_of(run: Run) -> Iterator[Path]:
    """A run's traces, and whatever may be read with them: what lies beside one and
    begins with its host's name.
    """
    for file in run.files:
        yield file
        yield file.with_name(_BESIDE)
        try:
            for path in file.parent.iterdir():
                if path.name.startswith(f"{host_of(file)}."):
                    yield path
        except OSError:
            continue


# Patches for a report's findings, as text: the diff, then a line a finding. Nothing is
# written.


def patches(
    report: Report,
    source: Path,
    rule: str | None,
    at: str | None,
) -> str:
    """What `tfadvisor fix` prints. Raises UsageError for a rule or place that
    is none.
    """
    from tfadvisor.act.repair import at_of, plan_of, plan_words, read_sources
    from tfadvisor.advice.loading.catalogue import codemods_by_rule

    codemods = codemods_by_rule()
    sources = read_sources(source)
    plan = plan_of(
        report,
        codemods,
        sources,
        [rule] if rule else [],
        at_of(at) if at else None,
    )

    lines = list(_diffs(plan))
    if lines:
        lines.append("")
    lines += plan_words(plan)
    for file in sources.left_alone:
        lines.append(f"{file.name} is left alone: {file.why}")
    return "\n".join(lines) + "\n"


def _diffs(plan: PatchPlan) -> Iterator[str]:
    for patched in plan.patched:
        if not patched.text:
            yield f"# {patched.rule_id}: before the line that launches the program"
        yield patched.patch.diff.rstrip("\n")
