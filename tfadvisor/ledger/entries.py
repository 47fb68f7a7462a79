"""One line of the ledger: what a candidate promised and what was measured. Numbers and ids, no paths and no code."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

FORM = 1

BETTER = "better"
OUTCOMES = (BETTER, "not better", "cannot tell", "broken")
"""What a trial can come to."""


class Entry(msgspec.Struct, frozen=True):
    """One candidate of one trial."""

    form: int
    """Of this record."""
    at: str
    """When it was measured, ISO time in UTC."""
    tool: str
    """tfadvisor's version."""
    trial: str
    """Candidates of one trial share it."""
    program: tuple[int, ...]
    """The report's sketch; empty where there was no report."""
    rule: str
    """The finding's rule, "" for none."""
    category: str
    """The finding's category, "" for none."""
    change: str
    """The codemod's name, or patch, env, `pass NAME`."""
    identity: str
    """Changes that are alike have the same."""
    versions: Mapping[str, str]
    device: str
    """Its kind."""
    predicted: tuple[float, float] | None
    """Saving as a share of step time, from and to."""
    ratio: float | None
    """New step time over old, None where the candidate broke."""
    interval: tuple[float, float] | None
    """Where the ratio lies with 95% confidence."""
    runs: tuple[int, int]
    """Of the program as it is, and with the candidate."""
    outcome: str
    """better, not better, cannot tell or broken."""
    check: str
    """same, differs or not checked."""

    @property
    def saving(self) -> tuple[float, float, float] | None:
        """(estimate, low, high) as shares of step time."""
        if self.ratio is None or self.interval is None:
            return None
        return 1 - self.ratio, 1 - self.interval[1], 1 - self.interval[0]
