"""What is known by hand: variables of the environment, today's names of flags, values
that do harm. Read when needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import msgspec

_FOLDER = Path(__file__).parent


class Danger(msgspec.Struct, frozen=True):
    """Values that do harm. values: None for any. above: or every number above this.
    level: warning or note.
    """

    level: str
    text: str
    source: str
    values: tuple[str, ...] | None = None
    above: float | None = None

    def holds(self, value: str) -> bool:
        """Whether a value is one of those."""
        if self.above is None:
            return self.values is None or value.lower() in self._lower_values()
        try:
            return float(value) > self.above
        except ValueError:
            return False

    def _lower_values(self) -> list[str]:
        return [value.lower() for value in self.values or ()]


class Rename(msgspec.Struct, frozen=True):
    """A flag that got another name. values: what to write instead of a value; empty
    when values stay as they are.
    """

    old: str
    new: str
    source: str
    values: Mapping[str, str] = {}


class Pass(msgspec.Struct, frozen=True, kw_only=True):
    """A compiler pass that must stay on. names: as --xla_disable_hlo_passes takes them.
    cost: what it cost to leave out.
    """

    title: str = msgspec.field(name="pass")
    names: tuple[str, ...]
    cost: str


class Conflict(msgspec.Struct, frozen=True):
    """Settings that are wrong together. tests: by name, how each must be. up_to: the
    last jaxlib, "" for any.
    """

    tests: Mapping[str, str]
    remark: Remark
    up_to: str = ""


class Advice(msgspec.Struct, frozen=True):
    """About XLA's flags. gone: flag -> (why, source). dangers: flag -> what may be
    wrong with its value.
    """

    renames: tuple[Rename, ...]
    gone: Mapping[str, tuple[str, str]]
    passes: tuple[Pass, ...]
    passes_source: str
    dangers: Mapping[str, tuple[Danger, ...]]
    conflicts: tuple[Conflict, ...]


class Variable(msgspec.Struct, frozen=True, kw_only=True):
    """One environment variable. kind and values: what it accepts. bounds: of a number.
    fatal: a wrong value ends the process.

    gone: why it is read no more, "" when it is. since: the jaxlib that first read it.
    value_since: by value, the first jaxlib that takes it. renamed: today's name, in use
    since renamed_since.
    """

    name: str
    owner: str
    kind: str = msgspec.field(name="type")
    values: tuple[str, ...] = ()
    bounds: tuple[float, float] | None = msgspec.field(name="range", default=None)
    default: str | None = None
    consequence: str = ""
    fatal: bool = False
    about: str
    source: str
    dangers: tuple[Danger, ...] = ()
    gone: str = ""
    since: str = ""
    value_since: Mapping[str, str] = msgspec.field(name="since_of", default={})
    renamed: str = ""
    renamed_since: str = ""


@cache
def advice() -> Advice:
    """The hand-written part about flags."""
    text = (_FOLDER / "advice.json").read_bytes()
    return msgspec.json.decode(text, type=Advice)


@cache
def variables() -> Mapping[str, Variable]:
    """Every variable by name, sorted."""
    text = (_FOLDER / "variables.json").read_bytes()
    found = msgspec.json.decode(text, type=list[Variable])
    return {variable.name: variable for variable in found}


# What can be said about one setting.


ERROR = "error"
WARNING = "warning"
NOTE = "note"
LEVELS = (ERROR, WARNING, NOTE)
"""error: the process ends at its start, or the setting is not read at all. warning: it
works against speed, or not as its writer thought. note: worth knowing."""


class Remark(msgspec.Struct, frozen=True):
    """kind: unknown, removed, renamed, deprecated, misplaced, value, default,
    duplicate, conflict, dangerous, unread, not-recorded, or effect, which is what a
    value does beside what it is for.

    instead: what to write, "" when there is nothing. source: a page, "" when a recorded
    library said so itself.
    """

    kind: str
    level: str
    text: str
    instead: str = ""
    source: str = ""


def about_value(
    level: str,
    text: str,
    source: str,
) -> Remark:
    """A value that does harm, or something that is worth knowing."""
    kind = "effect" if level == NOTE else "dangerous"
    return Remark(
        kind=kind,
        level=level,
        text=text,
        source=source,
    )
