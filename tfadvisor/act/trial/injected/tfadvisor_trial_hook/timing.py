"""Times the rounds of one loop."""

from __future__ import annotations

import sys
import threading
import time
from typing import Any

from .clock import Clock
from .values import logs_of, values_of


class Timing(Clock):
    """One loop: its rounds after the first few, and what is in its function's variables
    in those.
    """

    def __init__(
        self,
        folder: str,
        order: dict[str, Any],
    ) -> None:
        """As Clock."""
        super().__init__(folder, order)
        self.warm, self.count = order["warm"], order["count"]
        self.whole_turns = bool(order.get("whole_turns"))
        self.entered = self.done_before = 0
        """Turns of the loop, and its rounds in those that are over."""
        self.begun_in = (0, 0)
        """The turn in which timing began, and the rounds of it that were over."""
        self.done = 0
        self.open = False
        self.thread = 0
        self.begun: float | None = None
        self.begun_at = 0
        self.outside = 0.0
        self.left: float | None = None
        self.turns: tuple[float, float, float] | None = None
        """When the loop began anew first and last, and for how long it was left
        between; before, something may have compiled.
        """
        self.sample: dict[str, Any] | None = None
        self.before: list[int] = []
        """What counters held when it began."""
        self.done_in: dict[str, int] = {}
        """How often what is counted was done in the steps that are timed."""
        self.values: dict[str, float] = {}

    def enter(self, number: int) -> None:
        """As Clock."""
        self.thread = self.thread or threading.get_ident()
        if self.thread == threading.get_ident():
            self.entered, self.done_before = self.entered + 1, self.done
        if self.left is not None and self.thread == threading.get_ident():
            now = time.perf_counter()
            away = now - self.left
            self.outside += away
            first, _, outside = self.turns or (now, now, -away)
            self.turns = first, now, outside + away
            self.left = None
        self.parts.inside = True

    def tick(self, number: int) -> None:
        """As Clock."""
        if self.thread != threading.get_ident():
            return
        if self.open:
            self.done += 1
        self.open = True
        if self.done <= self.order["looks"]:
            variables = sys._getframe(1).f_locals
            targets = self.loops[number]["targets"]
            self.values.update(values_of(variables, targets, self.done))
        if self.done >= self.warm:
            self.time()

    def finished(
        self,
        number: int,
        rounds: int,
    ) -> None:
        """So many rounds have ended just now."""
        self.done += rounds
        if self.done >= self.warm:
            self.time()

    def leave(self, number: int) -> None:
        """As Clock."""
        if self.thread != threading.get_ident():
            return
        self.parts.inside = False
        if self.open:
            self.open = False
            self.finished(number, 1)
        if self.begun is not None and self.left is None:
            self.frameworks.wait()
            self.left = time.perf_counter()

    def look_at_logs(
        self,
        number: int,
        logs: Any,
        steps: int,
    ) -> None:
        """As Clock."""
        if self.done + steps <= self.order["looks"]:
            self.values.update(logs_of(logs, self.done + steps))

    def time(self) -> None:
        """The first time it begins, the last time it ends; both wait until the devices
        have done their work.
        """
        if self.begun is None:
            self.frameworks.wait()
            self.begun, self.begun_at = time.perf_counter(), self.done
            self.begun_in = self.entered, self.done - self.done_before
            self.before = list(self.counts)
        elif self.is_enough():
            self.end()
            self.stay()

    def is_enough(self) -> bool:
        """Whether as many rounds are timed as were asked for, or all from one of a turn
        to the same one of the next.
        """
        if not self.whole_turns:
            return bool(self.done >= self.begun_at + self.count)
        turn, rounds = self.begun_in
        return self.entered > turn and self.done - self.done_before >= rounds

    def end(self) -> None:
        """What was timed until now."""
        if self.begun is None or self.sample is not None:
            return
        if self.whole_turns and not self.is_enough():
            return
        self.frameworks.wait()
        now = time.perf_counter() if self.left is None else self.left
        outside = 0.0 if self.whole_turns else self.outside
        seconds = now - self.begun - outside
        for name, number in self.counted.items():
            before = self.before[number] if number < len(self.before) else 0
            self.done_in[name] = self.counts[number] - before
        self.sample = {
            "seconds": seconds,
            "steps": self.done - self.begun_at,
            "between": seconds * self.outside_share() if outside else 0.0,
        }

    def outside_share(self) -> float:
        """Of whole turns: the time outside of the loop over that inside."""
        first, last, outside = self.turns or (0.0, 0.0, 0.0)
        inside = last - first - outside
        return outside / inside if inside > 0 else 0.0

    def answer(self) -> dict[str, Any]:
        """The sample, None where it never came to one."""
        return {
            "loops": [],
            "sample": self.sample,
            "values": self.values,
            "steps": self.done,
            "counts": self.done_in,
        }

    def at_exit(self) -> None:
        """The program had fewer steps than asked for."""
        self.end()
        super().at_exit()
