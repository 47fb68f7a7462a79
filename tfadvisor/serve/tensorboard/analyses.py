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
from tfadvisor.memory_limits import Limits, limits_of_files
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
_REMADE_S = 10.0
"""How long who asks for an analysis waits that was cut on disk, and is made again."""
_WORKER = "tfadvisor.serve.tensorboard.worker"
_TOO_MANY = {
    "cause": "was given up: too many others were asked for since.",
    "remedy": "Ask for it again.",
}
_KILLED = {
    "cause": (
        "could not be read: the system killed the process that read it, probably "
        "because memory ran out."
    ),
    "remedy": (
        "Free some memory and try again, or analyse one host at a time: tfadvisor "
        "analyze --host NAME."
    ),
}

VISITOR: ContextVar[str] = ContextVar("VISITOR", default="")
"""Whose request is being answered: an address."""


class PendingAnalysis:
    """One that was asked for."""

    def __init__(
        self,
        key: str,
        task: dict[str, Any],
    ) -> None:
        """Waits for its turn. task: for the worker, with the path of what is
        analysed.
        """
        self.key = key
        self.task = task
        self.visitor = VISITOR.get()
        self.state = "waiting"
        self.fraction = 0.0
        """Of the files' events that are read."""
        self.limits = limits_of(task)
        self.error: dict[str, str] | None = None
        """Place, cause, remedy."""
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
        self._asked: dict[str, PendingAnalysis] = {}
        self._turns: LifoQueue[PendingAnalysis] = LifoQueue()
        self._workers = 0

    def page(
        self,
        listed: ListedRun,
        *,
        again: bool = False,
    ) -> bytes | PendingAnalysis:
        """The page's data, packed, or the analysis that is to make it. again: also
        after it failed.
        """
        return self._of_run(listed, PAGE, again)

    def report(self, listed: ListedRun) -> bytes | PendingAnalysis:
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
        key = key_of(listed, self._installation)
        content = self._cache.read(key, REPORT)
        if not content:
            return False
        steps = json.loads(content)["steps"]
        for step in (*steps["each"], *steps["set_aside"]):
            if step["host"] == host and step["index"] == index:
                return True
        return False

    def step(
        self,
        listed: ListedRun,
        host: str,
        index: int,
    ) -> bytes | PendingAnalysis:
        """One step with all of its threads, packed, or the analysis that is to
        draw it.
        """
        key = key_made_of(
            key_of(listed, self._installation),
            str(index),
            host,
        )
        task = {
            "kind": "draw",
            "path": str(listed.run.path),
            "files": [str(file) for file in listed.run.files],
            "host": host,
            "index": index,
        }
        return self._found(key, STEP, task, again=False)

    def comparison(
        self,
        new: ListedRun,
        base: ListedRun,
    ) -> bytes | PendingAnalysis | None:
        """The causes of the change from base to new, or the analysis that is to find
        them; None before both are analysed.
        """
        keys = [key_of(listed, self._installation) for listed in (base, new)]
        if not all(self._cache.holds(key) for key in keys):
            return None

        folder = self._cache.folder
        task = {
            "kind": "compare",
            "path": str(new.run.path),
            "snapshots": [str(folder / key / SNAPSHOT) for key in keys],
        }
        return self._found(
            key_made_of(*keys),
            COMPARISON,
            task,
            again=False,
        )

    def _of_run(
        self,
        listed: ListedRun,
        name: str,
        again: bool,
    ) -> bytes | PendingAnalysis:
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
        return self._found(
            key_of(listed, self._installation),
            name,
            task,
            again,
        )

    def _found(
        self,
        key: str,
        name: str,
        task: dict[str, Any],
        again: bool,
    ) -> bytes | PendingAnalysis:
        was_there = self._cache.holds(key)
        content = self._cache.read(key, name)
        if content or not was_there:
            return content or self._started(key, task, again)

        # the machine stopped, or what clears old files has taken a part
        self._cache.throw_away(key)
        pending = self._started(key, task, again)
        pending.ended.wait(_REMADE_S)
        return self._cache.read(key, name) or pending

    def _started(
        self,
        key: str,
        task: dict[str, Any],
        again: bool,
    ) -> PendingAnalysis:
        with self._lock:
            known = self._asked.get(key)
            if known is not None and not _begins_anew(known, again):
                return known

            pending = PendingAnalysis(key, task)
            self._asked[key] = pending
            self._forget_old()
            self._make_room_for(pending)
            self._turns.put(pending)
            self._start_worker()
            return pending

    def _forget_old(self) -> None:
        """But for the last ones that have ended."""
        ended = [key for key, past in self._asked.items() if past.ended.is_set()]
        for key in ended[:-_REMEMBERED_FAILURES]:
            del self._asked[key]

    def _make_room_for(self, pending: PendingAnalysis) -> None:
        """Gives up the one that waits longest, of the same visitor where that has
        many.
        """
        with self._turns.mutex:
            waiting = self._turns.queue
            crowd = [queued for queued in waiting if queued.visitor == pending.visitor]
            if len(crowd) < _MOST_OF_ONE:
                crowd = waiting if len(waiting) >= _MOST_WAITING else []
            if not crowd:
                return
            dropped = crowd[0]
            waiting.remove(dropped)

        dropped.state = "failed"
        dropped.error = {"place": dropped.task["path"], **_TOO_MANY}
        dropped.ended.set()

    def _start_worker(self) -> None:
        if self._workers >= _AT_ONCE:
            return
        self._workers += 1
        worker = threading.Thread(
            target=self._work,
            name="tfadvisor-analysis",
            daemon=True,
        )
        worker.start()

    def _work(self) -> None:
        while True:
            pending = self._turns.get()
            try:
                self._make(pending)
            except Exception as error:
                pending.error = _failed(pending, error)
            if pending.error is not None:
                pending.state = "failed"
            pending.ended.set()

    def _make(self, pending: PendingAnalysis) -> None:
        if self._cache.holds(pending.key):
            return
        pending.state = "reading"
        with suppress(_Failed), self._cache.making(pending.key) as folder:
            pending.error = _run_worker(pending, str(folder))
            if pending.error is not None:
                raise _Failed


def _begins_anew(known: PendingAnalysis, again: bool) -> bool:
    """Whether it has ended, and its files are gone or it is to be tried again."""
    return known.ended.is_set() and (again or known.error is None)


class _Failed(Exception):
    """Leaves the folder that is being made."""


def _run_worker(
    pending: PendingAnalysis,
    folder: str,
) -> dict[str, str] | None:
    """The error, None when the files are written. The process ends with this one, and
    at its deadline.
    """
    limits = pending.limits
    with tempfile.TemporaryFile() as complaints:
        process = start(_WORKER, stderr=complaints)
        assert process.stdin is not None
        assert process.stdout is not None
        late = threading.Timer(limits.deadline_s, process.kill)
        late.daemon = True
        late.start()

        with process:
            task = {**pending.task, "folder": folder, "memory": limits.memory}
            _hand_over(task, process.stdin)
            last = _follow(process.stdout, pending)
            code = process.wait()
            in_time = late.is_alive()
            late.cancel()

        if code == 0 and last.get("done"):
            return None
        if "error" in last:
            return dict(last["error"])
        if not in_time:
            return vars(limits.too_late(pending.task["path"]))
        if code < 0:
            return {"place": pending.task["path"], **_KILLED}

        why = _last_line(complaints)
        if why.startswith(MemoryError.__name__):  # there was none left to say so either
            return _failed(pending, MemoryError())
        return _broken(pending, why)


def _hand_over(
    task: dict[str, Any],
    standard_input: IO[bytes],
) -> None:
    try:
        standard_input.write(json.dumps(task).encode() + b"\n")
        standard_input.flush()
    except BrokenPipeError:  # its end says why
        with suppress(BrokenPipeError):
            # which writes what is left, here and not where the process is left
            standard_input.close()


def _failed(
    pending: PendingAnalysis,
    error: Exception,
) -> dict[str, str]:
    """What kept the process from being started, or what it made from being kept."""
    fault = fault_of_environment(error)
    if fault is None:
        return _broken(pending, f"{type(error).__name__}: {error}")
    return {
        "place": pending.task["path"],
        "cause": f"could not be analysed: {fault}",
        "remedy": "",
    }


def _follow(
    output: IO[bytes],
    pending: PendingAnalysis,
) -> dict[str, Any]:
    """Takes over the progress, and returns what was said last."""
    last: dict[str, Any] = {}
    for line in output:
        try:
            last = json.loads(line)
        except ValueError:
            continue
        pending.fraction = float(last.get("fraction", pending.fraction))
    return last


def _last_line(complaints: IO[bytes]) -> str:
    size = complaints.seek(0, os.SEEK_END)
    complaints.seek(max(size - 4096, 0))
    lines = complaints.read().decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else "it ended without a message"


def _broken(
    pending: PendingAnalysis,
    why: str,
) -> dict[str, str]:
    return {
        "place": pending.task["path"],
        "cause": f"could not be analysed: {why}",
        "remedy": (
            "This is a bug in tfadvisor: please report it with what `tfadvisor "
            "analyze` prints for the same run."
        ),
    }
