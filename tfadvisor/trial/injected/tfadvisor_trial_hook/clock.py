"""What loops are told to: one clock looks which loop the program spends its time in, the other times that loop's rounds.

`time.perf_counter` is looked up at each call. Both clocks count rounds on the thread that came first, and only the time inside
the loop: what lies between two epochs is in no step, but what the first round waits for is.
"""

from __future__ import annotations

import atexit
import builtins
import os
import sys
import threading
import time
from typing import Any

from tfadvisor_hook.letters import write_letter

from .frameworks import Frameworks
from .loops import ENTER, LEAVE, TICK
from .values import logs_of, values_of

_LOOK_EVERY_SECONDS = 0.1
_WITHOUT_COMPILING = 2.5
"""A loop in which nothing compiled is watched for so many times as long: it may only prepare data."""


def clock_for(folder: str, order: dict[str, Any]) -> Clock:
    """Of the kind that the order asks for."""
    return Watching(folder, order) if order["loops"] is None else Timing(folder, order)


class Clock:
    """What both share: where answers go, and how loops get their numbers."""

    def __init__(self, folder: str, order: dict[str, Any]) -> None:
        """folder: where answers go."""
        self.folder = folder
        self.order = order
        self.frameworks = Frameworks()
        self.loops: list[dict[str, Any]] = []
        self.told = False

    def start(self) -> None:
        """Loops that are compiled from now on find us among the builtins."""
        for name, call in ((TICK, self.tick), (ENTER, self.enter), (LEAVE, self.leave)):
            setattr(builtins, name, call)
        atexit.register(self.at_exit)

    def wants(self, file: str, line: int) -> bool:
        """Whether a loop is to be told of."""
        only = self.order["loops"]
        return only is None or [file, line] in only

    def loop(self, file: str, line: int, function: str, targets: list[str], yields: bool) -> int:
        """The number of a loop, which is new."""
        self.loops.append({
            "file": file, "line": line, "function": function, "targets": targets, "entries": 0, "done": 0, "open": False,
            "seconds": 0.0, "since": None, "compiled": 0, "after": False, "longest": 0.0, "last": 0.0, "thread": 0,
            "aside": yields,
        })  # fmt: skip
        return len(self.loops) - 1

    def enter(self, number: int) -> None:
        """The loop begins."""
        raise NotImplementedError

    def tick(self, number: int) -> None:
        """A round of it begins, and so the last one has ended."""
        raise NotImplementedError

    def finished(self, number: int, rounds: int) -> None:
        """So many rounds have ended just now."""
        raise NotImplementedError

    def leave(self, number: int) -> None:
        """The loop has ended."""
        raise NotImplementedError

    def look_at_logs(self, number: int, logs: Any, steps: int) -> None:
        """What Keras gave for the steps that end now."""

    def answer(self) -> dict[str, Any]:
        """What the parent reads."""
        raise NotImplementedError

    def at_exit(self) -> None:
        """The program ends by itself."""
        self.tell(ended=True)

    def tell(self, *, ended: bool) -> None:
        """Once. Processes that have no loop say nothing."""
        if self.told or not os.path.isdir(self.folder):
            return
        self.told = True
        answer = {"pid": os.getpid(), "ended": ended, **self.frameworks.about(), **self.answer()}
        write_letter(os.path.join(self.folder, f"answer-{os.getpid()}.json"), answer)

    def stay(self) -> None:
        """All is told: the program stands still between two rounds until the parent ends it."""
        self.tell(ended=False)
        while os.path.isdir(self.folder):
            time.sleep(0.05)
        os._exit(0)


class Watching(Clock):
    """All loops, until one has run for long enough."""

    def __init__(self, folder: str, order: dict[str, Any]) -> None:
        """As Clock."""
        super().__init__(folder, order)
        self.ready: float | None = None
        self.looked = 0.0

    def enter(self, number: int) -> None:
        """As Clock."""
        loop = self.loops[number]
        loop["thread"] = loop["thread"] or threading.get_ident()
        if loop["thread"] == threading.get_ident():
            loop["entries"] += 1
            loop["aside"] = loop["aside"] or threading.current_thread() is not threading.main_thread()
            loop["open"] = False
            loop["after"] = loop["after"] or any(one["compiled"] for one in self.loops)
            loop["last"] = time.perf_counter()
            loop["since"] = loop["last"], self.frameworks.compiled()

    def tick(self, number: int) -> None:
        """As Clock."""
        loop = self.loops[number]
        if loop["thread"] != threading.get_ident():
            return
        if loop["open"]:
            self.finished(number, 1)
        loop["open"] = True

    def finished(self, number: int, rounds: int) -> None:
        """As Clock."""
        loop = self.loops[number]
        now = time.perf_counter()
        if self.ready is not None:
            loop["done"] += rounds
            loop["longest"] = max(loop["longest"], now - max(loop["last"], self.ready))
        loop["last"] = now
        if abs(now - self.looked) >= _LOOK_EVERY_SECONDS:
            self.looked = now
            self.look(now)

    def leave(self, number: int) -> None:
        """As Clock."""
        loop = self.loops[number]
        if loop["thread"] != threading.get_ident() or loop["since"] is None:
            return
        if loop["open"]:
            loop["open"] = False
            self.finished(number, 1)
        self.count(loop, time.perf_counter())
        loop["since"] = None

    def count(self, loop: dict[str, Any], now: float) -> None:
        """The time since it was looked at last, as far as the program was ready."""
        began, compiled = loop["since"]
        if self.ready is not None:
            loop["seconds"] += max(now - max(began, self.ready), 0.0)
        loop["compiled"] += self.frameworks.compiled() - compiled
        loop["since"] = now, self.frameworks.compiled()

    def look(self, now: float) -> None:
        """Whether it was long enough."""
        if self.ready is None:
            if not self.frameworks.ready():
                return
            self.ready = now
        for loop in self.loops:
            if loop["since"] is not None:
                self.count(loop, now)
        long = self.order["seconds"]
        for loop in self.loops:
            needed = long if loop["compiled"] or loop["after"] else long * _WITHOUT_COMPILING
            if loop["done"] >= self.order["fewest"] and now - self.ready >= needed <= 2 * loop["seconds"]:
                self.stay()

    def answer(self) -> dict[str, Any]:
        """Loops that went round."""
        return {"loops": [{**one, "since": None} for one in self.loops if one["done"]], "sample": None, "values": {}}

    def at_exit(self) -> None:
        """What is still open counts too: it may have been left by an exception."""
        if self.ready is None and self.frameworks.ready():
            self.ready = 0.0
        for loop in self.loops:
            if loop["since"] is not None:
                self.count(loop, time.perf_counter())
        super().at_exit()


class Timing(Clock):
    """One loop: its rounds after the first few, and what stands in its function's variables in those."""

    def __init__(self, folder: str, order: dict[str, Any]) -> None:
        """As Clock."""
        super().__init__(folder, order)
        self.warm, self.count = order["warm"], order["count"]
        self.done = 0
        self.open = False
        self.thread = 0
        self.begun: float | None = None
        self.begun_at = 0
        self.outside = 0.0
        self.left: float | None = None
        self.sample: dict[str, Any] | None = None
        self.values: dict[str, float] = {}

    def enter(self, number: int) -> None:
        """As Clock."""
        self.thread = self.thread or threading.get_ident()
        if self.left is not None and self.thread == threading.get_ident():
            self.outside += time.perf_counter() - self.left
            self.left = None

    def tick(self, number: int) -> None:
        """As Clock."""
        if self.thread != threading.get_ident():
            return
        if self.open:
            self.done += 1
        self.open = True
        if self.done <= self.order["looks"]:
            self.values.update(values_of(sys._getframe(1).f_locals, self.loops[number]["targets"], self.done))
        if self.done >= self.warm:
            self.time()

    def finished(self, number: int, rounds: int) -> None:
        """As Clock."""
        self.done += rounds
        if self.done >= self.warm:
            self.time()

    def leave(self, number: int) -> None:
        """As Clock."""
        if self.thread != threading.get_ident():
            return
        if self.open:
            self.open = False
            self.finished(number, 1)
        if self.begun is not None and self.left is None:
            self.frameworks.wait()
            self.left = time.perf_counter()

    def look_at_logs(self, number: int, logs: Any, steps: int) -> None:
        """As Clock."""
        if self.done + steps <= self.order["looks"]:
            self.values.update(logs_of(logs, self.done + steps))

    def time(self) -> None:
        """The first time it begins, the last time it ends; both wait until the devices have done what they were told."""
        if self.begun is None:
            self.frameworks.wait()
            self.begun, self.begun_at = time.perf_counter(), self.done
        elif self.done >= self.begun_at + self.count:
            self.end()
            self.stay()

    def end(self) -> None:
        """What was timed until now."""
        if self.begun is not None and self.sample is None:
            self.frameworks.wait()
            now = time.perf_counter() if self.left is None else self.left
            self.sample = {"seconds": now - self.begun - self.outside, "steps": self.done - self.begun_at}

    def answer(self) -> dict[str, Any]:
        """The sample, None where it never came to one."""
        return {"loops": [], "sample": self.sample, "values": self.values, "steps": self.done}

    def at_exit(self) -> None:
        """The program had fewer steps than asked for."""
        self.end()
        super().at_exit()
