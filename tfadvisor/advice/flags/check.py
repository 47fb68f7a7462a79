"""All that is wrong with flags and variables that a user means to set."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from tfadvisor.advice.flags.acceptance import refusal, table_of, today
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
from tfadvisor.advice.flags.recorded import (
    Flag,
    Table,
    choose,
    is_newer,
    order,
    recording,
)
from tfadvisor.advice.flags.setting_values import (
    fault_of_flag,
    fault_of_variable,
    is_default,
    is_default_of_variable,
    is_true,
)
from tfadvisor.advice.flags.settings import Given, Setting, Suggestions, take_apart
from tfadvisor.printable import cut

_ADD_UP = ("xla_disable_hlo_passes", "xla_enable_hlo_passes_only")
"""Flags whose later values are added to the earlier ones; tried with jaxlib 0.9.2."""


class JudgedSetting(msgspec.Struct, frozen=True):
    """One setting, what it is for ("" when nobody knows) and what there is to say about
    it.
    """

    setting: Setting
    about: str
    remarks: tuple[Remark, ...]

    @property
    def level(self) -> str:
        """The worst of its remarks, "ok" without any."""
        found = {remark.level for remark in self.remarks}
        for level in LEVELS:
            if level in found:
                return level
        return "ok"


class CheckedFlags(msgspec.Struct, frozen=True):
    """library, version, note: by what XLA's flags were judged, and why by that.
    together: about several settings.
    """

    library: str
    version: str
    note: str
    settings: tuple[JudgedSetting, ...]
    together: tuple[Remark, ...]

    def has(self, level: str) -> bool:
        """Whether any remark is at least that bad."""
        bad = LEVELS[: LEVELS.index(level) + 1]
        return any(remark.level in bad for remark in self.all_remarks())

    def all_remarks(self) -> list[Remark]:
        """About single settings and about several."""
        return [
            *(remark for judged in self.settings for remark in judged.remarks),
            *self.together,
        ]


def check(
    text: str,
    jaxlib: str | None = None,
    tensorflow: str | None = None,
) -> CheckedFlags:
    """Flags of XLA are judged by jaxlib, or by TensorFlow when its version is given.

    Raises UsageError for a text that no shell could read.
    """
    given = take_apart(text)
    library, asked = "jaxlib", jaxlib
    if tensorflow is not None:
        library, asked = "tensorflow", tensorflow
    table = recording().table("XLA_FLAGS", library)
    chosen = choose(table.title, asked, table.versions)

    settings = [_in_its_variable(setting) for setting in given.settings]
    version = jaxlib_of(jaxlib)
    judged = _judge(settings, table, chosen.version, version)
    has_flags = any(setting.variable == "XLA_FLAGS" for setting in settings)
    return CheckedFlags(
        library=table.title,
        version=chosen.version,
        note=chosen.note if has_flags else "",
        settings=tuple(_with_repetitions(judged)),
        together=(*_unread(given), *_combined(settings, version)),
    )


def jaxlib_of(asked: str | None) -> str:
    """The user's jaxlib by which variables are judged; the newest recorded when it is
    not known.
    """
    if asked is not None and order(asked):
        return asked
    return recording().table("XLA_FLAGS", "jaxlib").versions[-1]


def _judge(
    settings: Sequence[Setting],
    table: Table,
    version: str,
    jaxlib: str,
) -> list[JudgedSetting]:
    suggestions = Suggestions(table, version)
    judged = []
    for setting in settings:
        if setting.is_flag:
            about, remarks = check_flag(setting, table, version, suggestions)
        else:
            about, remarks = check_variable(setting, jaxlib, suggestions)
        judged.append(JudgedSetting(setting, about, tuple(remarks)))
    return judged


def _in_its_variable(setting: Setting) -> Setting:
    """A flag that was given without a variable belongs to the one that its name
    tells.
    """
    if setting.variable:
        return setting
    is_tensorflows = setting.name.startswith("tf_")
    variable = "TF_XLA_FLAGS" if is_tensorflows else "XLA_FLAGS"
    return replace(setting, variable=variable)


def _with_repetitions(judged: Sequence[JudgedSetting]) -> Iterator[JudgedSetting]:
    """Each with what there is to say where it is given again further on."""
    last = {
        (checked.setting.variable, checked.setting.name): checked.setting
        for checked in judged
    }
    for checked in judged:
        counts = last[checked.setting.variable, checked.setting.name]
        again = _repeated(checked.setting, counts)
        yield replace(checked, remarks=(*again, *checked.remarks))


def _repeated(setting: Setting, counts: Setting) -> list[Remark]:
    """counts: the last of the same name."""
    if counts is setting or setting.name in _ADD_UP:
        return []
    if counts.value == setting.value:
        return [
            Remark(
                kind="duplicate",
                level=NOTE,
                text="given again further on",
            )
        ]
    text = f"has no effect: {counts.written} comes later, and the last one counts"
    return [
        Remark(
            kind="conflict",
            level=WARNING,
            text=text,
        )
    ]


def _unread(given: Given) -> list[Remark]:
    return [
        Remark(
            kind="unread",
            level=NOTE if unread.harmless else ERROR,
            text=f"not read: {cut(unread.words, 80)} ({unread.why})",
            instead=unread.instead,
        )
        for unread in given.unread
    ]


# One flag against what a version knows.

_PASS_LISTS = ("xla_disable_hlo_passes",)


def check_flag(
    setting: Setting,
    table: Table,
    version: str,
    suggestions: Suggestions,
) -> tuple[str, list[Remark]]:
    """What the flag is for, and what is wrong with it.

    table, version: of XLA's flags. Those of TF_XLA_FLAGS are judged by the newest
    TensorFlow recorded.
    """
    if setting.variable == "LIBTPU_INIT_ARGS":
        return "", [
            Remark(
                kind="not-recorded",
                level=NOTE,
                text="the flags of libtpu are not recorded, so it was not checked",
            )
        ]
    if not setting.written.startswith("--"):
        return "", [
            Remark(
                kind="unknown",
                level=ERROR,
                text="flags begin with two dashes",
                instead=f"--{setting.written.lstrip('-')}",
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
    setting: Setting,
    table: Table,
    version: str,
    suggestions: Suggestions,
) -> Remark:
    """A flag that ends the process at its start."""
    return (
        _misplaced(setting, table)
        or _renamed_flag(setting, table, version)
        or _of_another_version(setting, table, version)
        or _unheard_of(setting, table, version, suggestions)
    )


def _misplaced(setting: Setting, table: Table) -> Remark | None:
    """That it belongs in another variable."""
    if setting.name.startswith("xla_tpu_"):
        text = "a flag of libtpu: XLA does not know it"
        instead = f"LIBTPU_INIT_ARGS={setting.written}"
        return Remark(
            kind="misplaced",
            level=ERROR,
            text=text,
            instead=instead,
        )
    other = table_of(setting.name, table.library)
    if other.variable == setting.variable or not other.first_and_last(setting.name):
        return None
    instead = f"{other.variable}={setting.written}"
    return Remark(
        kind="misplaced",
        level=ERROR,
        text=f"a flag of {other.variable}",
        instead=instead,
    )


def _renamed_flag(
    setting: Setting,
    table: Table,
    version: str,
) -> Remark | None:
    """That the version has another name for it."""
    name_then, value_then = today(table, setting.name, setting.value, version)
    if name_then == setting.name:
        return None
    source = ""
    for rename in advice().renames:
        if setting.name in (rename.old, rename.new):
            source = rename.source
            break
    return Remark(
        kind="renamed",
        level=ERROR,
        text=refusal(table, setting.name, version),
        instead=_written(name_then, value_then),
        source=source,
    )


def _of_another_version(
    setting: Setting,
    table: Table,
    version: str,
) -> Remark | None:
    """That other versions have it, or had it."""
    why, source = advice().gone.get(setting.name, ("", ""))
    span = table.first_and_last(setting.name)
    if span is None and not why:
        return None
    text = refusal(table, setting.name, version)
    text += (
        f". {why[:1].upper()}{why[1:]}" if why else _last_default(table, setting.name)
    )
    is_to_come = span is not None and span[1] == table.versions[-1]
    return Remark(
        kind="unknown" if is_to_come else "removed",
        level=ERROR,
        text=text,
        source=source,
    )


def _unheard_of(
    setting: Setting,
    table: Table,
    version: str,
    suggestions: Suggestions,
) -> Remark:
    near = suggestions.near(setting)
    text = (
        f"{table.title} {version} knows no such flag, nor does any other version "
        "recorded"
    )
    return Remark(
        kind="unknown",
        level=ERROR,
        text=text,
        instead=_written(near, setting.value) if near else "",
    )


def _last_default(table: Table, name: str) -> str:
    span = table.first_and_last(name)
    last = table.flag(name, span[1]) if span else None
    if last is None:
        return ""
    return f"; its default was then {last.default or 'empty'}"


def _remarks(
    setting: Setting,
    flag: Flag,
    table: Table,
    version: str,
) -> list[Remark]:
    fault = fault_of_flag(flag, setting.value)
    if fault:
        return [
            Remark(
                kind="value",
                level=ERROR,
                text=fault,
            )
        ]
    return [
        *_undescribed(flag, setting.value),
        *_deprecated(setting, flag, table, version),
        *_about_default(setting, flag, table, version),
        *_dangers(setting),
        *_about_passes(setting),
    ]


def _deprecated(
    setting: Setting,
    flag: Flag,
    table: Table,
    version: str,
) -> Iterator[Remark]:
    if flag.deprecated:
        name, value = today(table, setting.name, setting.value, version)
        instead = _written(name, value) if name != setting.name else ""
        yield Remark(
            kind="deprecated",
            level=WARNING,
            text=flag.about,
            instead=instead,
        )


def _about_default(
    setting: Setting,
    flag: Flag,
    table: Table,
    version: str,
) -> Iterator[Remark]:
    if is_default(flag, setting.value):
        text = f"already the default in {table.title} {version}"
        yield Remark(
            kind="default",
            level=NOTE,
            text=text,
        )


def _dangers(setting: Setting) -> Iterator[Remark]:
    """Of its value; an empty one is no value."""
    value = "true" if setting.value is None else setting.value
    for danger in advice().dangers.get(setting.name, ()):
        is_about_any_value = danger.values is None
        if danger.holds(value) and not (value == "" and is_about_any_value):
            yield about_value(danger.level, danger.text, danger.source)


def _about_passes(setting: Setting) -> Iterator[Remark]:
    if setting.name not in _PASS_LISTS:
        return
    for xla_pass in _harmful(setting.value or ""):
        names = ", ".join(xla_pass.names)
        text = f"{xla_pass.title} ({names}) must stay on: without it {xla_pass.cost}"
        yield about_value(WARNING, text, advice().passes_source)


_DESCRIBED = re.compile(r"(?<![\w.])(-?\d+) = [a-z]")
"""A value that a description explains: `0 = off; 1 = on`."""
_EXPLAINED = 3
"""From so many on, a description lists all values."""


def _undescribed(flag: Flag, value: str | None) -> list[Remark]:
    """That a number is none of those that the flag's own description explains one by
    one. XLA reads it all the same.
    """
    described = [int(number) for number in _DESCRIBED.findall(flag.about)]
    is_number = re.fullmatch(r"[+-]?\d+", value or "") is not None
    if len(described) < _EXPLAINED or not is_number or int(value or "") in described:
        return []
    least, most = min(described), max(described)
    text = f"its description knows {least} to {most}, and not {value}"
    return [
        Remark(
            kind="value",
            level=WARNING,
            text=text,
        )
    ]


def _harmful(passes: str) -> list[Pass]:
    """Passes of a list that must stay on, by XLA's names or by those of their
    classes.
    """
    given = {
        re.split(r"[^\w-]", part.strip(), maxsplit=1)[0].lower()
        for part in passes.split(",")
    }
    return [
        xla_pass
        for xla_pass in advice().passes
        if given & {xla_pass.title.lower(), *xla_pass.names}
    ]


def _written(name: str, value: str | None) -> str:
    return f"--{name}" if value is None else f"--{name}={value}"


# One environment variable against what is known about it.

_FAMILIES = ("TF_", "JAX_", "XLA_", "NCCL_", "CUDA_", "LIBTPU_")


def check_variable(
    setting: Setting,
    jaxlib: str,
    suggestions: Suggestions,
) -> tuple[str, list[Remark]]:
    """What the variable is for, and what is wrong with it. jaxlib: the version that
    reads it.
    """
    variable = variables().get(setting.name)
    value = setting.value or ""
    if variable is None:
        return "", [_unknown(setting, suggestions)]
    if variable.gone:
        gone = Remark(
            kind="removed",
            level=WARNING,
            text=variable.gone,
            source=variable.source,
        )
        return variable.about, [gone]

    names = _names(variable, value, jaxlib)
    fault = _fault_remark(variable, value)
    if fault is not None:
        return variable.about, [*names, fault]
    return variable.about, [*names, *_about_variables_value(variable, value, jaxlib)]


def _fault_remark(variable: Variable, value: str) -> Remark | None:
    fault = fault_of_variable(variable, value)
    if not fault:
        return None
    text = f"{fault}; {variable.consequence}" if variable.consequence else fault
    level = ERROR if variable.fatal else WARNING
    return Remark(
        kind="value",
        level=level,
        text=text,
        source=variable.source,
    )


def _about_variables_value(
    variable: Variable,
    value: str,
    jaxlib: str,
) -> Iterator[Remark]:
    """Of one that the variable takes."""
    first = variable.value_since.get(value.lower(), "")
    if first and is_newer(first, jaxlib):
        text = f"jaxlib knows the value {value} from {first} on"
        yield Remark(
            kind="value",
            level=ERROR,
            text=text,
            source=variable.source,
        )
    if is_default_of_variable(variable, value):
        yield Remark(
            kind="default",
            level=NOTE,
            text="already the default",
            source=variable.source,
        )
    for danger in variable.dangers:
        if danger.holds(value):
            yield about_value(danger.level, danger.text, danger.source)


def _names(
    variable: Variable,
    value: str,
    version: str,
) -> list[Remark]:
    if variable.renamed and not is_newer(variable.renamed_since or "0", version):
        text = f"still read, but now called {variable.renamed}"
        instead = f"{variable.renamed}={value}"
        return [
            Remark(
                kind="renamed",
                level=NOTE,
                text=text,
                instead=instead,
                source=variable.source,
            )
        ]
    if variable.since and is_newer(variable.since, version):
        text = f"jaxlib reads it from {variable.since} on"
        return [
            Remark(
                kind="unknown",
                level=WARNING,
                text=text,
                source=variable.source,
            )
        ]
    return []


def _unknown(setting: Setting, suggestions: Suggestions) -> Remark:
    near = suggestions.near(setting)
    instead = f"{near}={setting.value}" if near else ""
    if near or setting.name.startswith(_FAMILIES):
        text = "not a known variable; programs ignore unknown variables silently"
        return Remark(
            kind="unknown",
            level=WARNING if near else NOTE,
            text=text,
            instead=instead,
        )
    return Remark(
        kind="unknown",
        level=NOTE,
        text="not a known variable of TensorFlow, JAX, XLA, NCCL or CUDA",
    )


# Settings that are right one by one and wrong together: the conflicts that advice.json
# lists.


def _combined(settings: Iterable[Setting], version: str) -> tuple[Remark, ...]:
    """What is wrong with settings together, of which the last of each name counts.
    version: of jaxlib.
    """
    given = {setting.name: setting.value for setting in settings}
    found: list[Remark] = []
    for conflict in advice().conflicts:
        is_over = conflict.up_to and is_newer(version, conflict.up_to)
        if not is_over and _all_hold(conflict.tests, given):
            found.append(conflict.remark)
    return tuple(dict.fromkeys(found))


def _all_hold(tests: Mapping[str, str], given: Mapping[str, str | None]) -> bool:
    """tests: by the name of the setting that they are about."""
    return all(
        _holds(name in given, given.get(name), test) for name, test in tests.items()
    )


def _holds(
    is_given: bool,
    value: str | None,
    test: str,
) -> bool:
    """test: a word or two, as advice.json explains them. value: None of a flag without
    one, which is true.
    """
    how, _, wanted = test.partition(" ")
    text = (value or "").lower()
    on = is_given and is_true(value)
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
