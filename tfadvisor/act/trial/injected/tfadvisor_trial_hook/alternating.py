"""Times the rounds of one loop in blocks: some of the program as it is, some with one
part taken out or delayed, in turns, all within one process.
"""

from __future__ import annotations

import builtins
import os
import random
import sys
import time
from typing import Any

from tfadvisor_hook.letters import write_letter

from . import ENOUGH
from .own_calls import LATER
from .program_parts import DELAY, INPUT
from .timing import Timing

_SETTLING = 2
"""Rounds behind a switch that are not timed."""
_MOST_DELAYED = 3
_WORTH_DELAYING = 0.03
"""A statement that takes less of a round on the host is not delayed."""
_DELAY = 0.25
"""Of a round."""
_SHORTEST_SECONDS, _LONGEST_SECONDS = 0.0005, 0.1


class Alternating(Timing):
    """Blocks of rounds. The first block of each arm is set aside: it may compile."""

    def __init__(
        self,
        folder: str,
        order: dict[str, Any],
    ) -> None:
        """As Clock."""
        super().__init__(folder, order)
        self.arms: list[list[str]] = order["arms"]
        self.parts.active = frozenset()
        self.blocks: list[dict[str, Any]] = []
        self.coming: list[int] = []
        self.order_of_turn: list[int] = []
        self.turn = 0
        self.arm = 0
        self.settling = 0
        self.delays = Delays(self)
        self.random = random.Random(0)

    def start(self) -> None:
        """As Clock."""
        super().start()
        setattr(builtins, LATER, self.delays.pass_by)

    def time(self) -> None:
        """At the end of each round behind the first few."""
        if self.settling > 0:
            self.settling -= 1
        elif self.begun is None:
            self.begin()
        elif self.done >= self.begun_at + self.count:
            self.end_block()

    def begin(self) -> None:
        """A block begins once the devices have done all work before it."""
        self.frameworks.wait()
        self.begun, self.begun_at = time.perf_counter(), self.done
        self.outside, self.left = 0.0, None
        self.delays.begin()

    def end_block(self) -> None:
        """Keeps it, and switches to the next arm."""
        self.frameworks.wait()
        seconds = time.perf_counter() - (self.begun or 0.0) - self.outside
        block = {
            "arm": self.arm,
            "turn": self.turn,
            "seconds": seconds,
            "steps": self.done - self.begun_at,
            "delayed": self.delays.end(),
        }
        self.blocks.append(block)
        self.begun = None
        if not self.coming:
            self.next_turn()
        self.switch(self.coming.pop())

    def next_turn(self) -> None:
        """All arms once more, in an order that changes; every second turn goes through
        the one before it backwards, so that a drift cancels."""
        if self.turn == 1:
            self.arms += self.delays.chosen(self.blocks)
        if self.turn < 2 or self.turn % 2 == 1:
            others = list(range(1, len(self.arms)))
            self.random.shuffle(others)
            self.order_of_turn = _with_base(others)
        else:
            self.order_of_turn = self.order_of_turn[::-1]
        self.coming = list(self.order_of_turn)
        self.report()
        self.turn += 1

    def switch(self, arm: int) -> None:
        """What was made ahead while no input was taken is used up before it counts."""
        if os.path.exists(os.path.join(self.folder, ENOUGH)):
            self.stay()
        self.settling = _SETTLING if arm != self.arm else 0
        if INPUT in self.arms[self.arm]:
            self.settling = max(_SETTLING, self.count)
        self.arm = arm
        self.parts.active = frozenset(self.arms[arm])
        self.delays.site = self.delays.site_of(self.arms[arm])

    def report(self) -> None:
        """For the parent, which looks after each turn."""
        file = os.path.join(self.folder, f"turns-{os.getpid()}.json")
        write_letter(file, self.timed())

    def timed(self) -> dict[str, Any]:
        """All blocks until now."""
        return {
            "turn": self.turn,
            "blocks": self.blocks,
            "arms": self.arms,
            "arm": self.arm,
            "delays": self.delays.places,
        }

    def end(self) -> None:
        """Of the program as it is. A block that is under way does not count."""
        base = [block for block in self.blocks if block["arm"] == 0]
        if base:
            seconds = sum(block["seconds"] for block in base)
            self.sample = {
                "seconds": seconds,
                "steps": sum(block["steps"] for block in base),
                "between": seconds * self.outside_share(),
            }

    def stay(self) -> None:
        """As Clock."""
        self.end()
        super().stay()

    def answer(self) -> dict[str, Any]:
        """As Clock."""
        return {**super().answer(), "turns": self.timed()}


def _with_base(arms: list[int]) -> list[int]:
    """The program as it is at both ends, and once in the midst of many arms."""
    middle = len(arms) // 2
    if middle < 2:
        return [0, *arms, 0]
    return [0, *arms[:middle], 0, *arms[middle:], 0]


class Delays:
    """Statements of the loop, how long the host takes for each, and the one that is
    delayed now.
    """

    def __init__(self, clock: Any) -> None:
        """clock: whose blocks they are."""
        self.clock = clock
        self.places: dict[str, tuple[str, int]] = {}
        """By the name of the arm that delays it, a statement's file and line."""
        self.seconds: dict[int, float] = {}
        self.site: int | None = None
        self.length = 0.0
        self.slept = 0.0
        self.last: tuple[int, float] | None = None

    def pass_by(self, site: int) -> None:
        """Before a statement runs."""
        now = time.perf_counter()
        if self.last is not None:
            before, since = self.last
            self.seconds[before] = self.seconds.get(before, 0.0) + now - since
        else:
            frame = sys._getframe(1)
            self.places[_named(site)] = frame.f_code.co_filename, frame.f_lineno
        if site == self.site:
            time.sleep(self.length)
            after = time.perf_counter()
            self.slept += after - now
            now = after
        self.last = (site, now) if self.clock.begun is not None else None

    def begin(self) -> None:
        """A block begins."""
        self.slept = 0.0
        self.last = None

    def end(self) -> float:
        """Seconds that the block was delayed."""
        return self.slept

    def chosen(self, blocks: list[dict[str, Any]]) -> list[list[str]]:
        """Arms that delay one of the statements for which the host takes longest.
        blocks: of the turn before, in which the clock took their times.
        """
        seconds = sum(block["seconds"] for block in blocks)
        rounds = sum(block["steps"] for block in blocks)
        if not rounds:
            return []
        self.length = min(
            max(_DELAY * seconds / rounds, _SHORTEST_SECONDS), _LONGEST_SECONDS
        )
        longest = sorted(self.seconds, key=self.seconds.__getitem__, reverse=True)
        return [
            [_named(site)]
            for site in longest[:_MOST_DELAYED]
            if self.seconds[site] >= _WORTH_DELAYING * seconds
        ]

    def site_of(self, arm: list[str]) -> int | None:
        """That an arm delays."""
        kind, _, site = "".join(arm).partition(" ")
        return int(site) if kind == DELAY and site else None


def _named(site: int) -> str:
    """The arm that delays a statement."""
    return f"{DELAY} {site}"
