"""Looks which loop the program spends its time in."""

from __future__ import annotations

import threading
import time
from typing import Any

from .clock import Clock

_LOOK_EVERY_SECONDS = 0.1
_WITHOUT_COMPILING = 2.5
"""A loop in which nothing compiled is watched for so many times as long: it may only
prepare data.
"""
_ANOTHER = 10.0
"""So is one whose rounds are not as long as the step of the report: it may build the
model.
"""
_ASIDE = 10.0
"""So is one that makes the batches of another, which may go round more slowly."""


class Watching(Clock):
    """All loops, until one has run for long enough."""

    def __init__(
        self,
        folder: str,
        order: dict[str, Any],
    ) -> None:
        """As Clock."""
        super().__init__(folder, order)
        self.ready: float | None = None
        self.looked = 0.0

    def enter(self, number: int) -> None:
        """As Clock."""
        self.parts.inside = True
        loop, thread = self.loops[number], threading.get_ident()
        loop["thread"] = loop["thread"] or thread
        if loop["thread"] != thread:
            return

        if threading.current_thread() is not threading.main_thread():
            loop["aside"] = True
        others = [other for other in self.loops if other is not loop]
        loop["between"] = loop["between"] or self.between > 0
        loop["open"] = False
        loop["within"] = [other for other in others if other["since"] is not None]
        if any(watched["compiled"] for watched in self.loops):
            loop["after"] = True
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

    def finished(
        self,
        number: int,
        rounds: int,
    ) -> None:
        """So many rounds have ended just now."""
        loop = self.loops[number]
        now = time.perf_counter()
        if self.ready is not None:
            loop["done"] += rounds
            lasted = now - max(loop["last"], self.ready)
            loop["longest"] = max(loop["longest"], lasted)
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

    def count(
        self,
        loop: dict[str, Any],
        now: float,
    ) -> None:
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

        waited = now - self.ready
        if any(self.is_seen(loop, waited) for loop in self.loops):
            self.stay()

    def is_seen(
        self,
        loop: dict[str, Any],
        waited: float,
    ) -> bool:
        """Whether a loop went round for long enough. waited: since the program was
        ready.
        """
        needed = self.needed(loop)
        if loop["done"] < self.order["fewest"]:
            return False
        return waited >= needed and 2 * _usual(loop) >= needed

    def needed(self, loop: dict[str, Any]) -> float:
        """How long it has to be watched, seconds."""
        needed = float(self.order["seconds"])
        if not loop["compiled"] and not loop["after"]:
            needed *= _WITHOUT_COMPILING
        if self.is_aside(loop):
            needed *= _ASIDE
        step_ms = self.order.get("step_ms")
        if step_ms and not self.may_be_step(loop, step_ms):
            needed *= _ANOTHER
        return needed

    def may_be_step(
        self,
        loop: dict[str, Any],
        step_ms: float,
    ) -> bool:
        """Whether its rounds are about as long as the step of the report."""
        rounds = max(int(loop["done"]) - 1, 1)
        period_ms = 1000 * _usual(loop) / rounds
        return step_ms / 2 <= period_ms <= step_ms * 2

    def answer(self) -> dict[str, Any]:
        """Loops that went round."""
        seen = []
        for loop in self.loops:
            if loop["done"]:
                about = dict(loop)
                about["since"] = about["within"] = None
                about["aside"] = self.is_aside(loop)
                seen.append(about)
        return {"loops": seen, "sample": None, "values": {}}

    def is_aside(self, loop: dict[str, Any]) -> bool:
        """Whether it may make the batches of another: a generator, another thread, or
        inside of a loop that alone compiled; or lies between Keras' epochs.
        """
        around = any(outer["compiled"] for outer in loop["within"])
        is_other = loop["aside"] or loop["between"]
        return bool(is_other) or (around and not loop["compiled"])

    def at_exit(self) -> None:
        """What is still open counts too: it may have been left by an exception."""
        if self.ready is None and self.frameworks.ready():
            self.ready = 0.0
        for loop in self.loops:
            if loop["since"] is not None:
                self.count(loop, time.perf_counter())
        super().at_exit()


def _usual(loop: dict[str, Any]) -> float:
    """Seconds in a loop without the round in which it may have compiled."""
    return float(loop["seconds"] - loop["longest"])
