"""What is known of a run beside its trace. It comes in before anything is judged."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from tfadvisor.advice.findings import Location, Tried
from tfadvisor.advice.measured import Measured
from tfadvisor.advice.outside import Outside, outside_of
from tfadvisor.causes import WAITING, RunAccount

if TYPE_CHECKING:
    from tfadvisor.causes import ProgramSource


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


class Evidence(msgspec.Struct, frozen=True, dict=True):
    """All of it."""

    ignored: Mapping[str, str] = {}
    """Patterns of ids of rules whose findings are left out, each with what is said
    about it.
    """
    tried: Mapping[str, Tried] = {}
    """What was measured of a rule's fixes on this program, by the rule's id."""
    corrections: tuple[Correction, ...] = ()
    """Where recording changed what it recorded."""
    account: RunAccount | None = None
    """Where the time of the whole run goes; None where that is not known."""
    account_absent: str = ""
    """Why it is not."""
    framework: str = ""
    """Of the run; "" for unknown."""
    source: ProgramSource | None = None
    """The program's own files; None where they are not known."""
    measured: Measured | None = None
    """What parts of the program cost, by experiment; None where none was made."""

    @property
    def steps_of_run(self) -> float:
        """The share of a run that lasts which is steps, with waiting for the devices,
        which may be for them; 1 for unknown.
        """
        if self.account is None:
            return 1.0
        lasting = self.account.lasting
        waits = (part for part in lasting.outside if part.what == WAITING)
        return lasting.steps + sum(part.fraction for part in waits)

    def is_of_parts(self, step_ms: float | None) -> bool:
        """As RunAccount's; False where nothing was seen of the run."""
        return self.account is not None and self.account.is_of_parts(step_ms)

    @cached_property
    def outside(self) -> tuple[Outside, ...]:
        """What is no step of the run, the largest first."""
        return outside_of(self.account, self.measured, self.framework, self.source)

    def most(self, category: str) -> float:
        """The share of the step that a finding of a category can save at most."""
        return (
            1.0 if self.measured is None else self.measured.at_most.get(category, 1.0)
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
