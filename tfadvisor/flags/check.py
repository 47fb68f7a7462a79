"""All that is wrong with flags and variables that a user means to set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from tfadvisor.flags.check_flag import check_flag
from tfadvisor.flags.check_variable import check_variable
from tfadvisor.flags.combinations import combined
from tfadvisor.flags.recorded import Table, recording
from tfadvisor.flags.remarks import ERROR, LEVELS, NOTE, WARNING, Remark
from tfadvisor.flags.settings import Given, Setting, take_apart
from tfadvisor.flags.suggest import Suggestions
from tfadvisor.flags.versions import Chosen, choose, order

_ADD_UP = ("xla_disable_hlo_passes", "xla_enable_hlo_passes_only")
"""Flags whose later values are added to the earlier ones; tried with jaxlib 0.9.2."""


class Judged(msgspec.Struct, frozen=True):
    """One setting, what it is for ("" when nobody knows) and what there is to say about it."""

    setting: Setting
    about: str
    remarks: tuple[Remark, ...]

    @property
    def level(self) -> str:
        """The worst of its remarks, "ok" without any."""
        return next((level for level in LEVELS if any(one.level == level for one in self.remarks)), "ok")


class Checked(msgspec.Struct, frozen=True):
    """library, version, note: by what XLA's flags were judged, and why by that. together: about several settings."""

    library: str
    version: str
    note: str
    settings: tuple[Judged, ...]
    together: tuple[Remark, ...]

    def has(self, level: str) -> bool:
        """Whether any remark is at least that bad."""
        bad = LEVELS[: LEVELS.index(level) + 1]
        everything = [*self.together, *(one for judged in self.settings for one in judged.remarks)]
        return any(one.level in bad for one in everything)


def check(text: str, jaxlib: str | None = None, tensorflow: str | None = None) -> Checked:
    """Flags of XLA are judged by jaxlib, or by TensorFlow when its version is given.

    Raises UsageError for a text that no shell could read.
    """
    given = take_apart(text)
    library, asked = ("tensorflow", tensorflow) if tensorflow is not None else ("jaxlib", jaxlib)
    table = recording().table("XLA_FLAGS", library)
    chosen = choose(table.title, asked, table.versions)
    settings = [_in_its_variable(one) for one in given.settings]
    version = jaxlib_of(jaxlib)
    judged = _judge(settings, table, chosen.version, version)
    last = {(one.variable, one.name): one for one in settings}
    judged = [replace(one, remarks=(*_repeated(one.setting, last), *one.remarks)) for one in judged]
    return Checked(
        table.title,
        chosen.version,
        _note(chosen, settings),
        tuple(judged),
        (*_unread(given), *combined(settings, version)),
    )


def jaxlib_of(asked: str | None) -> str:
    """The user's jaxlib by which variables are judged; the newest recorded when it is not known."""
    return asked if asked is not None and order(asked) else recording().table("XLA_FLAGS", "jaxlib").versions[-1]


def _judge(settings: Sequence[Setting], table: Table, version: str, jaxlib: str) -> list[Judged]:
    suggestions = Suggestions(table, version)
    judged = []
    for one in settings:
        if one.is_flag:
            about, remarks = check_flag(one, table, version, suggestions)
        else:
            about, remarks = check_variable(one, jaxlib, suggestions)
        judged.append(Judged(one, about, tuple(remarks)))
    return judged


def _in_its_variable(setting: Setting) -> Setting:
    """A flag that was given without a variable belongs to the one that its name tells."""
    if setting.variable:
        return setting
    return replace(setting, variable="TF_XLA_FLAGS" if setting.name.startswith("tf_") else "XLA_FLAGS")


def _note(chosen: Chosen, settings: Sequence[Setting]) -> str:
    return chosen.note if any(one.variable == "XLA_FLAGS" for one in settings) else ""


def _repeated(setting: Setting, last: Mapping[tuple[str, str], Setting]) -> list[Remark]:
    """last: by variable and name."""
    counts = last[setting.variable, setting.name]
    if counts is setting or setting.name in _ADD_UP:
        return []
    if counts.value == setting.value:
        return [Remark("duplicate", NOTE, "given again further on")]
    return [Remark("conflict", WARNING, f"has no effect: {counts.written} comes later, and the last one counts")]


def _unread(given: Given) -> list[Remark]:
    return [
        Remark("unread", NOTE if one.harmless else ERROR, f"not read: {_cut(one.words)} ({one.why})", one.instead)
        for one in given.unread
    ]


def _cut(words: str) -> str:
    return words if len(words) <= 80 else f"{words[:79]}…"
