"""What loops tell: the base of the clock that looks which loop the program spends its
time in, and of the one that times it.

`time.perf_counter` is looked up at each call. Both clocks count rounds on the thread
that came first, and only the time inside the loop: what lies between two epochs is in
no step, but what the first round waits for is.
"""

from __future__ import annotations

import atexit
import builtins
import os
import time
from typing import Any

from tfadvisor_hook.letters import write_letter

from .frameworks import Frameworks
from .program_parts import Parts
from .ticks import COUNTS, ENTER, LEAVE, TICK


class Clock:
    """What both share: where answers go, and how loops get their numbers."""

    def __init__(
        self,
        folder: str,
        order: dict[str, Any],
    ) -> None:
        """folder: where answers go."""
        self.folder = folder
        self.order = order
        self.frameworks = Frameworks()
        self.parts = Parts(order)
        self.loops: list[dict[str, Any]] = []
        self.counts: list[int] = []
        self.counted: dict[str, int] = {}
        """By the name of what is counted, the number of its counter."""
        self.told = False
        self.between = 0
        """More than 0 while Keras' callbacks do what they do at the end of an epoch."""

    def start(self) -> None:
        """Loops that are compiled from now on find us among the builtins."""
        setattr(builtins, TICK, self.tick)
        setattr(builtins, ENTER, self.enter)
        setattr(builtins, LEAVE, self.leave)
        setattr(builtins, COUNTS, self.counts)
        atexit.register(self.at_exit)

    def wants(
        self,
        file: str,
        line: int,
    ) -> bool:
        """Whether a loop is to be reported."""
        only = self.order["loops"]
        return only is None or [file, line] in only

    def loop(
        self,
        file: str,
        line: int,
        function: str,
        targets: list[str],
        yields: bool,
    ) -> int:
        """The number of a loop, which is new."""
        loop = {
            "file": file,
            "line": line,
            "function": function,
            "targets": targets,
            "done": 0,
            "open": False,
            "seconds": 0.0,
            "since": None,
            "compiled": 0,
            "after": False,
            "longest": 0.0,
            "last": 0.0,
            "thread": 0,
            "aside": yields,
            "between": False,
            "within": (),
        }
        self.loops.append(loop)
        return len(self.loops) - 1

    def counter(self, name: str) -> int:
        """The number of a counter, which is new where nothing of this name is
        counted.
        """
        if name not in self.counted:
            self.counted[name] = len(self.counts)
            self.counts.append(0)
        return self.counted[name]

    def enter(self, number: int) -> None:
        """The loop begins."""
        raise NotImplementedError

    def tick(self, number: int) -> None:
        """A round of it begins, and so the last one has ended."""
        raise NotImplementedError

    def leave(self, number: int) -> None:
        """The loop has ended."""
        raise NotImplementedError

    def look_at_logs(
        self,
        number: int,
        logs: Any,
        steps: int,
    ) -> None:
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
        answer = {"ended": ended, **self.frameworks.about()}
        answer["took"] = self.parts.took
        answer["settled"] = sorted(self.parts.settled)
        places = self.parts.places.items()
        answer["places"] = {part: sorted(found) for part, found in places}
        answer.update(self.answer())
        file = os.path.join(self.folder, f"answer-{os.getpid()}.json")
        write_letter(file, answer)

    def stay(self) -> None:
        """Everything is reported: the program stands still between two rounds until the
        parent ends it.
        """
        self.tell(ended=False)
        while os.path.isdir(self.folder):
            time.sleep(0.05)
        os._exit(0)
