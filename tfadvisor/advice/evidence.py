"""What is known of a run beside its trace. It comes in before anything is judged."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase

import msgspec

from tfadvisor.advice.findings import Location, Tried
from tfadvisor.advice.measured import Measured
from tfadvisor.units import percent

LARGE_BETWEEN = 0.1
"""Of the program's time: less is said by samples alone."""


class Correction(msgspec.Struct, frozen=True):
    """A function of the program that recording made look larger than it is, or all
    else.

    What `run` sees of the unrecorded program says how much.
    """

    file: str
    """Its name, without a folder."""
    function: str
    """"" outside of all functions."""
    factor: float
    """What a finding about it takes is so much of what the trace shows, 0..1."""
    is_larger: bool
    """Whether the function looks larger than it is; else all others do."""

    def is_about(self, place: Location) -> bool:
        """Whether a finding's place lies in the function."""
        file = place.file.rpartition("/")[2]
        function = "" if place.op == "<module>" else place.op
        return (file, function) == (self.file, self.function)


class BetweenTurns(msgspec.Struct, frozen=True):
    """What passes in no step, but between turns of the loop around them."""

    share: float
    """Of the program's time, 0..1."""
    loop: str
    """As `the loop at train.py:12`."""
    how: str
    """How that was seen, in a sentence."""
    seen: str
    """In how many samples, or in which time."""
    places: tuple[Location, ...]
    """The costliest first."""
    proof: str
    """shown by samples, or measured by a clock."""


class Evidence(msgspec.Struct, frozen=True):
    """All of it."""

    ignored: Mapping[str, str] = {}
    """Patterns of ids of rules whose findings are left out, each with what is said
    about it.
    """
    tried: Mapping[str, Tried] = {}
    """What was measured of a rule's fixes on this program, by the rule's id."""
    places: Mapping[str, tuple[Location, ...]] = {}
    """Where in the program, by a rule's id, from another window of the same run."""
    corrections: tuple[Correction, ...] = ()
    """Where recording changed what it recorded."""
    between_turns: BetweenTurns | None = None
    """None where nothing of it is known."""
    measured: Measured | None = None
    """What parts of the program cost, by experiment; None where none was made."""

    @property
    def outside(self) -> BetweenTurns | None:
        """What passes in no step: by the clock where it was taken, with the lines that
        samples have named; else by samples.
        """
        measured, sampled = self.measured, self.between_turns
        if measured is None or measured.between < LARGE_BETWEEN:
            return sampled
        return BetweenTurns(
            share=measured.between,
            loop=f"the loop at {measured.loop}",
            how="By the program's clock, without the profiler, which waits for the "
            "devices before and behind.",
            seen=percent(measured.between),
            places=sampled.places if sampled is not None else (),
            proof="measured",
        )

    def won(self, rule: str) -> Tried | None:
        """A fix of the rule's finding that was measured to help; None without one."""
        tried = self.tried.get(rule)
        return tried if tried is not None and tried.outcome == "better" else None

    def why_ignored(self, rule_id: str) -> str | None:
        """What is said about a finding that is left out; None for one that is not."""
        for pattern, why in self.ignored.items():
            if fnmatchcase(rule_id, pattern):
                return why
        return None


NOTHING_MORE = Evidence()
"""The trace alone."""
