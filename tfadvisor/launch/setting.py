"""One flag or variable of a launch line, and why it is there."""

from __future__ import annotations

import msgspec

from tfadvisor.flags.settings import FLAG_VARIABLES


class Suggested(msgspec.Struct, frozen=True):
    """rule_id: of the finding that asks for it, "" where the machines do. saving: in words, "" where nothing is promised."""

    variable: str
    """The environment variable that holds it."""
    name: str
    """Of the flag without dashes, or of the variable itself."""
    value: str
    reason: str
    rule_id: str = ""
    saving: str = ""
    side_effect: str = ""

    @property
    def written(self) -> str:
        """`--xla_…=true` or `NAME=value`."""
        return f"--{self.name}={self.value}" if self.variable in FLAG_VARIABLES else f"{self.name}={self.value}"


class LeftOut(msgspec.Struct, frozen=True):
    """What was asked for and is not in the line, and why."""

    written: str
    why: str
