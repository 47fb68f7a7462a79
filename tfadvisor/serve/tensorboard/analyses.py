"""Analyses that were asked for: each in its own process, a few at a time, the one asked
for last first.
"""

from __future__ import annotations

import json
import os
import tempfile
import threading
from collections.abc import Mapping
from contextlib import suppress
from contextvars import ContextVar
from queue import LifoQueue
from typing import IO, Any

from tfadvisor.comparison.gate.read_config import ignored_of_project
from tfadvisor.errors import UsageError, fault_of_environment
from tfadvisor.memory import Limits, limits_of_files
from tfadvisor.processes import start
from tfadvisor.serve.tensorboard.cache import (
    COMPARISON,
    PAGE,
    REPORT,
    SNAPSHOT,
    STEP,
    SUMMARY,
    Cache,
    installation_stamp,
    key_made_of,
    key_of,
)
from tfadvisor.serve.tensorboard.listing import ListedRun
from tfadvisor.trace.remote_path import place_of

_AT_ONCE = 2
_MOST_WAITING, _MOST_OF_ONE = 32, 8
"""Analyses of all visitors, and of one, that wait for their turn."""
_REMEMBERED_FAILURES = 256
_WORKER = "tfadvisor.serve.tensorboard.worker"
_TOO_MANY = {
    "cause": "was given up: too many others were asked for since.",
    "remedy": "Ask for it again.",
}
_KILLED = {
    "cause": "could not be read: the system killed the process that read it, probably because "
    "memory ran out.",
    "remedy": "Free some memory and try again, or analyse one host at a time: tfadvisor "
    "analyze --host NAME.",
}

VISITOR: ContextVar[str] = ContextVar("VISITOR", default="")
"""Whose request is being answered: an address."""


class Analysis:
    """One that was asked for. fraction: of the files' events that are read. error:
    place, cause, remedy.
    """

    def __init__(self, key: str, task: dict[str, Any]) -> None:
        """Waits for its turn. task: for the worker, with the path of what is
        analysed.
        """
        self.key = key
        self.task = task
        self.visitor = VISITOR.get()
        self.state = "waiting"
        self.fraction = 0.0
        self.limits = limits_of(task)
        self.error: dict[str, str] | None = None
        self.ended = threading.Event()

    def told(self) -> dict[str, Any]:
        """How far it is, for the page."""
        return {"state": self.state, "fraction": self.fraction, "error": self.error}


def limits_of(task: Mapping[str, Any]) -> Limits:
    """Of a task's files."""
    return limits_of_files(tuple(map(place_of, task.get("files", ()))))


def _ignored_here() -> dict[str, str] | str:
    """What the configuration of the folder in which TensorBoard was started ignores, or
    what is wrong with it.
    """
    try:
        return ignored_of_project()
    except UsageError as error:
        return str(error)


class Analyses:
    """Starts what is asked for once, and finds what is finished."""

    def __init__(self, cache: Cache) -> None:
        """Nothing is started before something is asked for."""
        self._cache = cache
        self._ignored = _ignored_here()
        self._installation = f"{installation_stamp()} {json.dumps(self._ignored)}"
        self._lock = threading.Lock()
        self._asked: dict[str, Analysis] = {}
        self._turns: LifoQueue[Analysis] = LifoQueue()
        self._workers = 0

    def page(self, listed: ListedRun, *, again: bool = False) -> bytes | Analysis:
        """The page's data, packed, or the analysis that is to make it. again: also
        after it failed.
        """
        return self._of_run(listed, PAGE, again)

    def report(self, listed: ListedRun) -> bytes | Analysis:
        """The JSON report, or the analysis that is to make it."""
        return self._of_run(listed, REPORT, again=False)

    def told(self, listed: ListedRun) -> dict[str, Any] | None:
        """Verdict and step time of a run that was analysed, None before."""
        content = self._cache.read(key_of(listed, self._installation), SUMMARY)
        found: dict[str, Any] | None = json.loads(content) if content else None
        return found

    def has_step(
        self,
        listed: ListedRun,
        host: str,
        index: int,
    ) -> bool:
        """Whether the report of a run, which is there, has a step of this host."""
        content = self._cache.read(key_of(listed, self._installation), REPORT)
        if content:
            steps = json.loads(content)["steps"]
        else:
            steps = {"each": (), "set_aside": ()}
        return any(
            (one["host"], one["index"]) == (host, index)
            for one in (*steps["each"], *steps["set_aside"])
        )

    def step(
        self,
        listed: ListedRun,
        host: str,
        index: int,
    ) -> bytes | Analysis:
        """One step with all of its threads, packed, or the analysis that is to
        draw it.
        """
        key = key_made_of(key_of(listed, self._installation), str(index), host)
        task = {
            "kind": "draw",
            "path": str(listed.run.path),
            "files": [str(file) for file in listed.run.files],
            "host": host,
            "index": index,
        }
        return self._found(key, STEP, task, again=False)

    def comparison(self, new: ListedRun, base: ListedRun) -> bytes | Analysis | None:
        """The causes of the change from base to new, or the analysis that is to find
        them; None before both are analysed.
        """
        one, other = (key_of(listed, self._installation) for listed in (base, new))
        if not (self._cache.holds(one) and self._cache.holds(other)):
            return None
        snapshots = [str(self._cache.folder / key / SNAPSHOT) for key in (one, other)]
        task = {"kind": "compare", "path": str(new.run.path), "snapshots": snapshots}
        return self._found(key_made_of(one, other), COMPARISON, task, again=False)

    def _of_run(
        self,
        listed: ListedRun,
        name: str,
        again: bool,
    ) -> bytes | Analysis:
        run = listed.run
        task = {
            "kind": "analyse",
            "name": run.name,
            "path": str(run.path),
            "files": [str(file) for file in run.files],
            "folders": run.folders,
            "processes": max((os.cpu_count() or 2) - 1, 1),
            "ignored": self._ignored,
        }
        return self._found(key_of(listed, self._installation), name, task, again)

    def _found(
        self,
        key: str,
        name: str,
        task: dict[str, Any],
        again: bool,
    ) -> bytes | Analysis:
        content = self._cache.read(key, name)
        if not content and self._cache.holds(key):
            content = self._cache.read(key, name)  # made since
            if not content:
                self._cache.throw_away(
                    key
                )  # the machine stopped, or what clears old files has taken a part
        return content or self._started(key, task, again)

    def _started(
        self,
        key: str,
        task: dict[str, Any],
        again: bool,
    ) -> Analysis:
        with self._lock:
            known = self._asked.get(key)
            if known is not None and not (
                known.ended.is_set() and (again or known.error is None)
            ):
                return known
            analysis = self._asked[key] = Analysis(key, task)
            for old in [
                one for one, past in self._asked.items() if past.ended.is_set()
            ][:-_REMEMBERED_FAILURES]:
                del self._asked[old]
            with self._turns.mutex:
                waiting = self._turns.queue
                mine = [one for one in waiting if one.visitor == analysis.visitor]
                if len(mine) >= _MOST_OF_ONE:
                    dropped = mine[:1]
                else:
                    dropped = waiting[:1] if len(waiting) >= _MOST_WAITING else []
                for one in dropped:
                    waiting.remove(one)
            for waited in dropped:
                waited.state = "failed"
                waited.error = {"place": waited.task["path"], **_TOO_MANY}
                waited.ended.set()
            self._turns.put(analysis)
            if self._workers < _AT_ONCE:
                self._workers += 1
                threading.Thread(
                    target=self._work, name="tfadvisor-analysis", daemon=True
                ).start()
            return analysis

    def _work(self) -> None:
        while True:
            analysis = self._turns.get()
            try:
                self._make(analysis)
            except Exception as error:
                analysis.error = _failed(analysis, error)
            if analysis.error is not None:
                analysis.state = "failed"
            analysis.ended.set()

    def _make(self, analysis: Analysis) -> None:
        if self._cache.holds(analysis.key):
            return
        analysis.state = "reading"
        with suppress(_Failed), self._cache.making(analysis.key) as folder:
            analysis.error = _run_worker(analysis, str(folder))
            if analysis.error is not None:
                raise _Failed


class _Failed(Exception):
    """Leaves the folder that is being made."""


def _run_worker(analysis: Analysis, folder: str) -> dict[str, str] | None:
    """The error, None when the files are written. The process ends with this one, and
    at its deadline.
    """
    limits = analysis.limits
    with tempfile.TemporaryFile() as complaints:
        process = start(_WORKER, stderr=complaints)
        assert process.stdin is not None
        assert process.stdout is not None
        late = threading.Timer(limits.deadline_s, process.kill)
        late.daemon = True
        late.start()
        with process:
            try:
                task = {**analysis.task, "folder": folder, "memory": limits.memory}
                process.stdin.write(json.dumps(task).encode() + b"\n")
                process.stdin.flush()
            except BrokenPipeError:  # its end says why
                with suppress(BrokenPipeError):
                    # which writes what is left, here and not at the end of the block
                    process.stdin.close()
            last = _follow(process.stdout, analysis)
            code = process.wait()
            in_time = late.is_alive()
            late.cancel()
        if code == 0 and last.get("done"):
            return None
        if "error" in last:
            return dict(last["error"])
        if not in_time:
            return vars(limits.too_late(analysis.task["path"]))
        if code < 0:
            return {"place": analysis.task["path"], **_KILLED}
        why = _last_line(complaints)
        if why.startswith(MemoryError.__name__):  # there was none left to say so either
            return _failed(analysis, MemoryError())
        return _broken(analysis, why)


def _failed(analysis: Analysis, error: Exception) -> dict[str, str]:
    """What kept the process from being started, or what it made from being kept."""
    fault = fault_of_environment(error)
    if fault is None:
        return _broken(analysis, f"{type(error).__name__}: {error}")
    return {
        "place": analysis.task["path"],
        "cause": f"could not be analysed: {fault}",
        "remedy": "",
    }


def _follow(output: IO[bytes], analysis: Analysis) -> dict[str, Any]:
    """Takes over the progress, and returns what was said last."""
    last: dict[str, Any] = {}
    for line in output:
        try:
            last = json.loads(line)
        except ValueError:
            continue
        analysis.fraction = float(last.get("fraction", analysis.fraction))
    return last


def _last_line(complaints: IO[bytes]) -> str:
    size = complaints.seek(0, os.SEEK_END)
    complaints.seek(max(size - 4096, 0))
    lines = complaints.read().decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else "it ended without a message"


def _broken(analysis: Analysis, why: str) -> dict[str, str]:
    return {
        "place": analysis.task["path"],
        "cause": f"could not be analysed: {why}",
        "remedy": "This is a bug in tfadvisor: please report it with what `tfadvisor analyze` "
        "prints for the same run.",
    }
