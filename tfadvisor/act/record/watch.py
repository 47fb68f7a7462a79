"""The stacks of a program's threads, from its start on, read from outside of it."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import threading
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from tfadvisor.act.record.py_spy import (
    NoPySpy,
    Stay,
    WatchedThread,
    errors_in,
    py_spy_command,
    read_stays,
    why_not,
)
from tfadvisor.act.record.sleeping import Sleeps
from tfadvisor.processes import lives
from tfadvisor.trace.samples import MOST_STACKS, VERSION, Frame, Samples

EVERY_NS = 10_000_000
_RATE = 1_000_000_000 // EVERY_NS
_CHUNK_SECONDS = 15
"""For which py-spy keeps what it sees in memory; it begins anew in some 50 ms."""
_LATER_RATE, _LATER_CHUNK_SECONDS, _LATER_AFTER_SECONDS = 20, 60, 60.0
"""A program that runs for longer is looked at less often."""
_AGAIN_SECONDS = 0.2
"""After which it is tried again, where no Python runs yet."""
_MOST_ENTRIES = 60_000
"""Of a file: 1.5 MB. With more only every second sample is kept."""
_ENDING_SECONDS = 5.0


_EVERY_US = EVERY_NS // 1000
_Thing = TypeVar("_Thing")
_Entry = tuple[int, int, int, int]
"""(us since the first sample, number of the thread, of the stack, count)."""


class Watch:
    """A program that is watched, until it ends or `stop` is called."""

    def __init__(self, pid: int, folder: Path) -> None:
        """pid: of the program. folder: for what py-spy writes."""
        self.why = ""
        """Why nothing can be seen."""
        self.pid, self._folder = pid, folder
        self._sleeps = Sleeps(pid)
        self._stays = SeenStacks(self._sleeps)
        self._process: subprocess.Popen[bytes] | None = None
        self._over = threading.Event()
        self._chunks = threading.Condition()
        self._read = 0
        """How many times py-spy has ended."""
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()
        asleep = threading.Thread(
            target=self._sleeps.follow, args=(self._over,), daemon=True
        )
        asleep.start()

    def seen(self) -> SeenStacks:
        """Up to now."""
        if self._thread.is_alive():
            with self._chunks:
                before = self._read
                self._interrupt()
                self._chunks.wait_for(lambda: self._read > before, _ENDING_SECONDS)
        return self._stays

    def known(self) -> SeenStacks:
        """Up to when it was asked last, without waiting for more."""
        return self._stays

    def stop(self) -> None:
        """Nothing more is looked at."""
        self._over.set()
        self._interrupt()
        self._thread.join(_ENDING_SECONDS)

    def _interrupt(self) -> None:
        process = self._process
        if process is not None:
            with contextlib.suppress(OSError):
                process.send_signal(signal.SIGINT)

    def _follow(self) -> None:
        began = time.monotonic()
        number = 0
        while not (self._over.is_set() or self.why) and lives(self.pid):
            is_late = time.monotonic() - began > _LATER_AFTER_SECONDS
            rate = _LATER_RATE if is_late else _RATE
            seconds = _LATER_CHUNK_SECONDS if is_late else _CHUNK_SECONDS
            number += 1
            seen = self._chunk(self._folder / f"stacks-{number}", rate, seconds)
            with self._chunks:
                self._read += 1
                self._chunks.notify_all()
            if not seen:
                self._over.wait(_AGAIN_SECONDS)
        self._over.set()  # sleeps are of use beside stacks alone

    def _chunk(self, out: Path, rate: int, seconds: int) -> bool:
        """Whether anything was seen."""
        log = out.with_suffix(".log")
        try:
            with log.open("wb") as words:
                self._process = subprocess.Popen(
                    py_spy_command(self.pid, out, rate, seconds),
                    stdin=subprocess.DEVNULL,
                    stdout=words,
                    stderr=words,
                    start_new_session=True,
                )
            began_ns = time.time_ns()  # its clock begins as it runs, not as it forks
            self._process.wait()
            said = log.read_text("utf-8", "replace")
            if not out.exists():
                self.why = why_not(said)
                return False
            self._stays.add(read_stays(out), began_ns, errors_in(said))
            out.unlink()
        except NoPySpy:
            self.why = "py-spy is not installed: pip install py-spy"
        except (OSError, msgspec.DecodeError) as error:
            self.why = f"{type(error).__name__}: {error}"
        finally:
            self._process = None
        return not self.why


class SeenStacks:
    """What was seen of all threads of a program, in entries of `HOST.samples.json`."""

    def __init__(self, sleeps: Sleeps) -> None:
        """Nothing yet. sleeps: of the program's main thread."""
        self._sleeps = sleeps
        self.errors = 0
        self.every_ns = EVERY_NS
        self.began_ns = self.ended_ns = 0
        self._stacks: dict[tuple[Frame, ...], int] = {}
        self._threads: dict[tuple[int, str], WatchedThread] = {}
        self._entries: list[_Entry] = []
        self._lock = threading.Lock()

    def add(
        self,
        threads: Sequence[WatchedThread],
        began_ns: int,
        errors: int,
    ) -> None:
        """Of a stretch of time behind those before. began_ns: what its times count
        from, by a clock that may have been set back.
        """
        with self._lock:
            began_ns = max(began_ns, self.ended_ns)
            self.errors += errors
            entries: list[_Entry] = []
            for thread in threads:
                entries += self._of_thread(thread, began_ns)
            self._entries += _thinned(sorted(entries), EVERY_NS, self.every_ns)
            while len(self._entries) > _MOST_ENTRIES:
                once_ns, self.every_ns = self.every_ns, 2 * self.every_ns
                self._entries = _thinned(self._entries, once_ns, self.every_ns)

    def _of_thread(
        self,
        seen: WatchedThread,
        began_ns: int,
    ) -> list[_Entry]:
        key = seen.pid, seen.number
        self._threads[key] = replace(seen, stays=())
        number = list(self._threads).index(key)
        stays = _without_end(seen.stays) if _has_ended(*key) else seen.stays
        if not stays:
            return []

        self.began_ns = self.began_ns or began_ns
        self.ended_ns = max(self.ended_ns, began_ns + stays[-1].until * 1000)
        after_us = (began_ns - self.began_ns) // 1000
        found = []
        for stay in stays:
            count = round((stay.until - stay.since) / _EVERY_US)
            stack = self._stacks.setdefault(stay.stack, len(self._stacks))
            if count:
                found.append((after_us + stay.since, number, stack, count))
        return found

    def of_process(self, pid: int, **more: Any) -> dict[str, Any]:
        """The file about a process and those below it, its main thread first. more:
        what else it tells.
        """
        with self._lock:
            threads = list(self._threads.values())
            entries = list(self._entries)
            stacks = list(self._stacks)

        mine = [
            number for number, thread in enumerate(threads) if pid in thread.parents
        ]
        mine.sort(key=lambda number: threads[number].number != str(pid))
        thread_numbers = _numbered(mine)
        entries = [entry for entry in entries if entry[1] in thread_numbers]
        used = list(dict.fromkeys(stack for _, _, stack, _ in entries))[:MOST_STACKS]
        stack_numbers = _numbered(used)
        frame_numbers = _numbered(frame for stack in used for frame in stacks[stack])
        return {
            "version": VERSION,
            "every_ns": self.every_ns,
            "began_ns": self.began_ns,
            "ended_ns": self.ended_ns,
            "frames": list(frame_numbers),
            "stacks": [
                list(map(frame_numbers.__getitem__, stacks[stack])) for stack in used
            ],
            "threads": [threads[number].thread for number in mine],
            "samples": [
                (after_us, thread_numbers[thread], stack_numbers[stack], count)
                for after_us, thread, stack, count in entries
                if stack in stack_numbers
            ],
            "errors": self.errors,
            "asleep": self._asleep_us(pid),
            **more,
        }

    def _asleep_us(self, pid: int) -> list[tuple[int, int]]:
        """When its main thread slept, since the first sample; nothing before that."""
        if not self.began_ns:
            return []
        after = (
            ((since - self.began_ns) // 1000, (until - self.began_ns) // 1000)
            for since, until in self._sleeps.of(pid)
        )
        return [(max(since, 0), until) for since, until in after if until > 0]


def _numbered(these: Iterable[_Thing]) -> dict[_Thing, int]:
    """In the order in which they come first."""
    found: dict[_Thing, int] = {}
    for thing in these:
        found.setdefault(thing, len(found))
    return found


def first_in_loop(letter: dict[str, Any]) -> int:
    """When the main thread was seen in its loop first, ns since the epoch; 0 for never,
    and where no loop is known. letter: as of `of_process`.
    """
    samples = msgspec.convert(letter, Samples)
    if samples.loop is None:
        return 0
    _, _, first, last = samples.loop
    for after_us, thread, stack, _ in samples.samples:
        if thread == 0 and first <= samples.lines[stack] <= last:
            return samples.began_ns + after_us * 1000
    return 0


def _thinned(entries: list[_Entry], once_ns: int, every_ns: int) -> list[_Entry]:
    """What fewer samples find, of those that lie once_ns apart: one in every_ns, now
    earlier and now later, so that no loop goes in step with them.
    """
    if every_ns == once_ns:
        return entries
    once_us, every_us = once_ns // 1000, every_ns // 1000
    kept = []
    for after_us, thread, stack, count in entries:
        first = _samples_before(after_us, every_us)
        end = _samples_before(after_us + count * once_us, every_us)
        if end > first:
            kept.append((max(after_us, first * every_us), thread, stack, end - first))
    return kept


def _samples_before(us: int, every_us: int) -> int:
    whole, rest = divmod(us, every_us)
    is_late = (whole * 2_654_435_761 >> 13) & 1
    return whole + (rest > is_late * every_us // 2)


def _without_end(stays: Sequence[Stay]) -> Sequence[Stay]:
    """Of a thread that has ended, nobody knows when: its last stay is one sample."""
    if not stays:
        return stays
    last = stays[-1]
    until = min(last.until, last.since + _EVERY_US)
    return *stays[:-1], replace(last, until=until)


def _has_ended(pid: int, thread: str) -> bool:
    """A thread whose process goes on."""
    tasks = Path(f"/proc/{pid}/task")
    return tasks.is_dir() and not (tasks / thread).is_dir()
