"""All that is wrong with flags and variables that a user means to set."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from tfadvisor.advice.flags.advice import (
    ERROR,
    LEVELS,
    NOTE,
    WARNING,
    Pass,
    Remark,
    Variable,
    about_value,
    advice,
    variables,
)
from tfadvisor.advice.flags.catalogue import (
    fault_of_flag,
    fault_of_variable,
    is_default,
    is_default_of_variable,
    is_true,
    refusal,
    table_of,
    today,
)
from tfadvisor.advice.flags.recorded import (
    Flag,
    Table,
    choose,
    is_newer,
    order,
    recording,
)
from tfadvisor.advice.flags.settings import Given, Setting, Suggestions, take_apart
from tfadvisor.printable import cut

_ADD_UP = ("xla_disable_hlo_passes", "xla_enable_hlo_passes_only")
"""Flags whose later values are added to the earlier ones; tried with jaxlib 0.9.2."""


class Judged(msgspec.Struct, frozen=True):
    """One setting, what it is for ("" when nobody knows) and what there is to say about
    it.
    """

    setting: Setting
    about: str
    remarks: tuple[Remark, ...]

    @property
    def level(self) -> str:
        """The worst of its remarks, "ok" without any."""
        return next(
            (
                level
                for level in LEVELS
                if any(one.level == level for one in self.remarks)
            ),
            "ok",
        )


class Checked(msgspec.Struct, frozen=True):
    """library, version, note: by what XLA's flags were judged, and why by that.
    together: about several settings.
    """

    library: str
    version: str
    note: str
    settings: tuple[Judged, ...]
    together: tuple[Remark, ...]

    def has(self, level: str) -> bool:
        """Whether any remark is at least that bad."""
        bad = LEVELS[: LEVELS.index(level) + 1]
        return any(one.level in bad for one in self.all_remarks())

    def all_remarks(self) -> list[Remark]:
        """About single settings and about several."""
        return [
            *(one for judged in self.settings for one in judged.remarks),
            *self.together,
        ]


def check(
    text: str, jaxlib: str | None = None, tensorflow: str | None = None
) -> Checked:
    """Flags of XLA are judged by jaxlib, or by TensorFlow when its version is given.

    Raises UsageError for a text that no shell could read.
    """
    given = take_apart(text)
    library, asked = (
        ("tensorflow", tensorflow) if tensorflow is not None else ("jaxlib", jaxlib)
    )
    table = recording().table("XLA_FLAGS", library)
    chosen = choose(table.title, asked, table.versions)
    settings = [_in_its_variable(one) for one in given.settings]
    version = jaxlib_of(jaxlib)
    judged = _judge(settings, table, chosen.version, version)
    last = {(one.variable, one.name): one for one in settings}
    judged = [
        replace(one, remarks=(*_repeated(one.setting, last), *one.remarks))
        for one in judged
    ]
    return Checked(
        table.title,
        chosen.version,
        chosen.note if any(one.variable == "XLA_FLAGS" for one in settings) else "",
        tuple(judged),
        (*_unread(given), *_combined(settings, version)),
    )


def jaxlib_of(asked: str | None) -> str:
    """The user's jaxlib by which variables are judged; the newest recorded when it is
    not known.
    """
    return (
        asked
        if asked is not None and order(asked)
        else recording().table("XLA_FLAGS", "jaxlib").versions[-1]
    )


def _judge(
    settings: Sequence[Setting], table: Table, version: str, jaxlib: str
) -> list[Judged]:
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
    """A flag that was given without a variable belongs to the one that its name
    tells.
    """
    if setting.variable:
        return setting
    return replace(
        setting,
        variable="TF_XLA_FLAGS" if setting.name.startswith("tf_") else "XLA_FLAGS",
    )


def _repeated(
    setting: Setting, last: Mapping[tuple[str, str], Setting]
) -> list[Remark]:
    """last: by variable and name."""
    counts = last[setting.variable, setting.name]
    if counts is setting or setting.name in _ADD_UP:
        return []
    if counts.value == setting.value:
        return [Remark("duplicate", NOTE, "given again further on")]
    return [
        Remark(
            "conflict",
            WARNING,
            f"has no effect: {counts.written} comes later, and the last one counts",
        )
    ]


def _unread(given: Given) -> list[Remark]:
    return [
        Remark(
            "unread",
            NOTE if one.harmless else ERROR,
            f"not read: {cut(one.words, 80)} ({one.why})",
            one.instead,
        )
        for one in given.unread
    ]


# One flag against what a version knows.

_PASS_LISTS = ("xla_disable_hlo_passes",)


def check_flag(
    setting: Setting, table: Table, version: str, suggestions: Suggestions
) -> tuple[str, list[Remark]]:
    """What the flag is for, and what is wrong with it.

    table, version: of XLA's flags. Those of TF_XLA_FLAGS are judged by the newest
    TensorFlow recorded.
    """
    if setting.variable == "LIBTPU_INIT_ARGS":
        return "", [
            Remark(
                "not-recorded",
                NOTE,
                "the flags of libtpu are not recorded, so it was not checked",
            )
        ]
    if not setting.written.startswith("--"):
        return "", [
            Remark(
                "unknown",
                ERROR,
                "flags begin with two dashes",
                f"--{setting.written.lstrip('-')}",
            )
        ]
    if setting.variable == "TF_XLA_FLAGS":
        table = recording().table("TF_XLA_FLAGS", "tensorflow")
        version = table.versions[-1]
    flag = table.flag(setting.name, version)
    if flag is None:
        return "", [_refused(setting, table, version, suggestions)]
    return flag.about, _remarks(setting, flag, table, version)


def _refused(
    setting: Setting, table: Table, version: str, suggestions: Suggestions
) -> Remark:
    """A flag that ends the process at its start."""
    name = setting.name
    if name.startswith("xla_tpu_"):
        return Remark(
            "misplaced",
            ERROR,
            "a flag of libtpu: XLA does not know it",
            f"LIBTPU_INIT_ARGS={setting.written}",
        )
    other = table_of(name, table.library)
    if other.variable != setting.variable and other.first_and_last(name):
        return Remark(
            "misplaced",
            ERROR,
            f"a flag of {other.variable}",
            f"{other.variable}={setting.written}",
        )
    name_then, value_then = today(table, name, setting.value, version)
    why, source = advice().gone.get(name, ("", ""))
    if name_then != name:
        told = next(
            (one.source for one in advice().renames if name in (one.old, one.new)), ""
        )
        return Remark(
            "renamed",
            ERROR,
            refusal(table, name, version),
            _written(name_then, value_then),
            told,
        )
    span = table.first_and_last(name)
    if span is not None or why:
        text = refusal(table, name, version) + (
            f". {why[:1].upper()}{why[1:]}" if why else _last_default(table, name)
        )
        return Remark(
            "removed" if span is None or span[1] != table.versions[-1] else "unknown",
            ERROR,
            text,
            "",
            source,
        )
    near = suggestions.near(setting)
    text = (
        f"{table.title} {version} knows no such flag, nor does any other version "
        "recorded"
    )
    return Remark("unknown", ERROR, text, _written(near, setting.value) if near else "")


def _last_default(table: Table, name: str) -> str:
    span = table.first_and_last(name)
    last = table.flag(name, span[1]) if span else None
    return (
        f"; its default was then {last.default or 'empty'}" if last is not None else ""
    )


def _remarks(setting: Setting, flag: Flag, table: Table, version: str) -> list[Remark]:
    fault = fault_of_flag(flag, setting.value)
    if fault:
        return [Remark("value", ERROR, fault)]
    remarks = _undescribed(flag, setting.value)
    if flag.deprecated:
        name, value = today(table, setting.name, setting.value, version)
        remarks.append(
            Remark(
                "deprecated",
                WARNING,
                flag.about,
                _written(name, value) if name != setting.name else "",
            )
        )
    if is_default(flag, setting.value):
        remarks.append(
            Remark("default", NOTE, f"already the default in {table.title} {version}")
        )
    remarks += [
        about_value(one.level, one.text, one.source)
        for one in advice().dangers.get(setting.name, ())
        if one.holds("true" if setting.value is None else setting.value)
        and not (setting.value == "" and one.values is None)
    ]
    if setting.name in _PASS_LISTS:
        remarks += [_about_pass(one) for one in _harmful(setting.value or "")]
    return remarks


_DESCRIBED = re.compile(r"(?<![\w.])(-?\d+) = [a-z]")
"""A value that a description explains: `0 = off; 1 = on`."""


def _undescribed(flag: Flag, value: str | None) -> list[Remark]:
    """That a number is none of those that the flag's own description explains one by
    one. XLA reads it all the same.
    """
    described = [int(one) for one in _DESCRIBED.findall(flag.about)]
    if (
        len(described) < 3
        or not re.fullmatch(r"[+-]?\d+", value or "")
        or int(value or "") in described
    ):
        return []
    text = (
        f"its description knows {min(described)} to {max(described)}, and not {value}"
    )
    return [Remark("value", WARNING, text)]


def _harmful(passes: str) -> list[Pass]:
    """Passes of a list that must stay on, by XLA's names or by those of their
    classes.
    """
    given = {
        re.split(r"[^\w-]", one.strip(), maxsplit=1)[0].lower()
        for one in passes.split(",")
    }
    return [one for one in advice().passes if given & {one.title.lower(), *one.names}]


def _about_pass(one: Pass) -> Remark:
    text = f"{one.title} ({', '.join(one.names)}) must stay on: without it {one.cost}"
    return about_value(WARNING, text, advice().passes_source)


def _written(name: str, value: str | None) -> str:
    return f"--{name}" if value is None else f"--{name}={value}"


# One environment variable against what is known about it.

_FAMILIES = ("TF_", "JAX_", "XLA_", "NCCL_", "CUDA_", "LIBTPU_")


def check_variable(
    setting: Setting, jaxlib: str, suggestions: Suggestions
) -> tuple[str, list[Remark]]:
    """What the variable is for, and what is wrong with it. jaxlib: the version that
    reads it.
    """
    variable, value = variables().get(setting.name), setting.value or ""
    if variable is None:
        return "", [_unknown(setting, suggestions)]
    if variable.gone:
        return variable.about, [
            Remark("removed", WARNING, variable.gone, "", variable.source)
        ]
    remarks = _names(variable, value, jaxlib)
    fault = fault_of_variable(variable, value)
    if fault:
        text = f"{fault}; {variable.consequence}" if variable.consequence else fault
        remarks.append(
            Remark(
                "value", ERROR if variable.fatal else WARNING, text, "", variable.source
            )
        )
        return variable.about, remarks
    first = variable.value_since.get(value.lower(), "")
    if first and is_newer(first, jaxlib):
        remarks.append(
            Remark(
                "value",
                ERROR,
                f"jaxlib knows the value {value} from {first} on",
                "",
                variable.source,
            )
        )
    if is_default_of_variable(variable, value):
        remarks.append(
            Remark("default", NOTE, "already the default", "", variable.source)
        )
    remarks += [
        about_value(one.level, one.text, one.source)
        for one in variable.dangers
        if one.holds(value)
    ]
    return variable.about, remarks


def _names(variable: Variable, value: str, version: str) -> list[Remark]:
    if variable.renamed and not is_newer(variable.renamed_since or "0", version):
        text = f"still read, but now called {variable.renamed}"
        return [
            Remark(
                "renamed", NOTE, text, f"{variable.renamed}={value}", variable.source
            )
        ]
    if variable.since and is_newer(variable.since, version):
        text = f"jaxlib reads it from {variable.since} on"
        return [Remark("unknown", WARNING, text, "", variable.source)]
    return []


def _unknown(setting: Setting, suggestions: Suggestions) -> Remark:
    near = suggestions.near(setting)
    instead = f"{near}={setting.value}" if near else ""
    if near or setting.name.startswith(_FAMILIES):
        text = "not a known variable; programs ignore unknown variables silently"
        return Remark("unknown", WARNING if near else NOTE, text, instead)
    return Remark(
        "unknown", NOTE, "not a known variable of TensorFlow, JAX, XLA, NCCL or CUDA"
    )


# Settings that are right one by one and wrong together: the conflicts that advice.json
# lists.


def _combined(settings: Iterable[Setting], version: str) -> tuple[Remark, ...]:
    """What is wrong with settings together, of which the last of each name counts.
    version: of jaxlib.
    """
    given = {one.name: one.value for one in settings}
    found = [
        one.remark
        for one in advice().conflicts
        if not (one.up_to and is_newer(version, one.up_to))
        and all(
            _holds(name in given, given.get(name), test)
            for name, test in one.tests.items()
        )
    ]
    return tuple(dict.fromkeys(found))


def _holds(is_given: bool, value: str | None, test: str) -> bool:
    """test: a word or two, as advice.json explains them. value: None of a flag without
    one, which is true.
    """
    how, _, wanted = test.partition(" ")
    text, on = (value or "").lower(), is_given and is_true(value)
    if how in ("=", "!="):
        return (re.fullmatch(wanted, text) is not None) == (how == "=")
    if how == ">":
        try:
            return float(text) > float(wanted)
        except ValueError:
            return False
    return {
        "on": on,
        "not": not on,
        "off": is_given and not on,
        "given": is_given,
        "missing": not text and not on,
        "set": bool(text),
        "empty": is_given and not text,
    }[how]
