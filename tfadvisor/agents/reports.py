"""Reports of runs below the root: one analysis at a time, the last ones kept, since agents ask about one run often."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

import msgspec

from tfadvisor.agents.root import Root
from tfadvisor.analysis import Options, analyze_run
from tfadvisor.errors import TraceError
from tfadvisor.gate.config.file import NAME, read_config
from tfadvisor.gate.config.limits import limits_in
from tfadvisor.limit_change import LimitChange
from tfadvisor.report.model import Report
from tfadvisor.xplane.runs import Run

_KEPT = 8


class Chosen(msgspec.Struct, frozen=True):
    """A run, and how many there were to choose from."""

    run: Run
    count: int


class Reports:
    """The reports of an agent's session."""

    def __init__(self, root: Root) -> None:
        """Nothing outside of the root is read. Raises UsageError for a tfadvisor.toml there that is no TOML."""
        self._root = root
        self._limits = _limits_of(root)
        self._lock = Lock()
        self._kept: OrderedDict[object, Report] = OrderedDict()

    def choose(self, path: str, run: str | None, host: str | None) -> Chosen:
        """The run that a path, and names, mean. Raises TraceError or UsageError."""
        return Chosen(*self._root.run(path, run, host))

    def report(self, path: str, run: str | None = None, host: str | None = None) -> Report:
        """The report of a run, kept until one of its files changes. Raises TraceError or UsageError."""
        return self.report_of(self.choose(path, run, host).run)

    def report_of(self, run: Run) -> Report:
        """As report."""
        key = (run.path, run.name, _states(run))
        with self._lock:
            if key not in self._kept:
                self._kept[key] = analyze_run(run, Options(limits=self._limits))
                if len(self._kept) > _KEPT:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(key)
            return self._kept[key]


def _limits_of(root: Root) -> tuple[LimitChange, ...]:
    """What a tfadvisor.toml in the root itself says of rules' limits; none above it is looked for."""
    own = root.folder / NAME
    if not own.is_file():
        return ()
    root.check([own], NAME)
    return limits_in(read_config(own))


def _states(run: Run) -> tuple[tuple[str, int, int], ...]:
    """What changes when a file is written. Raises TraceError for one that is not there."""
    found = []
    for file in run.files:
        try:
            state = file.stat()
        except OSError as error:
            raise TraceError(str(file), f"cannot be read: {error.strerror}.", "Check the path.") from error
        found.append((str(file), state.st_size, state.st_mtime_ns))
    return tuple(found)
