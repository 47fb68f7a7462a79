"""One flag against what a version knows."""

from __future__ import annotations

import re

from tfadvisor.flags.advice import Pass, advice
from tfadvisor.flags.catalogue import refusal, table_of, today
from tfadvisor.flags.recorded import Flag, Table, recording
from tfadvisor.flags.remarks import ERROR, NOTE, WARNING, Remark, about_value
from tfadvisor.flags.settings import Setting
from tfadvisor.flags.suggest import Suggestions
from tfadvisor.flags.values import fault_of_flag, is_default

_PASS_LISTS = ("xla_disable_hlo_passes",)


def check_flag(setting: Setting, table: Table, version: str, suggestions: Suggestions) -> tuple[str, list[Remark]]:
    """What the flag is for, and what is wrong with it.

    table, version: of XLA's flags. Those of TF_XLA_FLAGS are judged by the newest TensorFlow recorded.
    """
    if setting.variable == "LIBTPU_INIT_ARGS":
        return "", [Remark("not-recorded", NOTE, "the flags of libtpu are not recorded, so it was not checked")]
    if not setting.written.startswith("--"):
        return "", [Remark("unknown", ERROR, "flags begin with two dashes", f"--{setting.written.lstrip('-')}")]
    if setting.variable == "TF_XLA_FLAGS":
        table = recording().table("TF_XLA_FLAGS", "tensorflow")
        version = table.versions[-1]
    flag = table.flag(setting.name, version)
    if flag is None:
        return "", [_refused(setting, table, version, suggestions)]
    return flag.about, _remarks(setting, flag, table, version)


def _refused(setting: Setting, table: Table, version: str, suggestions: Suggestions) -> Remark:
    """A flag that ends the process at its start."""
    name = setting.name
    if name.startswith("xla_tpu_"):
        return Remark(
            "misplaced", ERROR, "a flag of libtpu: XLA does not know it", f"LIBTPU_INIT_ARGS={setting.written}"
        )
    other = table_of(name, table.library)
    if other.variable != setting.variable and other.first_and_last(name):
        return Remark("misplaced", ERROR, f"a flag of {other.variable}", f"{other.variable}={setting.written}")
    name_then, value_then = today(table, name, setting.value, version)
    why, source = advice().gone.get(name, ("", ""))
    if name_then != name:
        return Remark(
            "renamed", ERROR, refusal(table, name, version), _written(name_then, value_then), _source_of(name)
        )
    span = table.first_and_last(name)
    if span is not None or why:
        text = refusal(table, name, version) + (f". {why[:1].upper()}{why[1:]}" if why else _last_default(table, name))
        return Remark(
            "removed" if span is None or span[1] != table.versions[-1] else "unknown", ERROR, text, "", source
        )
    near = suggestions.flag(name)
    text = f"{table.title} {version} knows no such flag, nor does any other version recorded"
    return Remark("unknown", ERROR, text, _written(near, setting.value) if near else "")


def _last_default(table: Table, name: str) -> str:
    span = table.first_and_last(name)
    last = table.flag(name, span[1]) if span else None
    return f"; its default was then {last.default or 'empty'}" if last is not None else ""


def _remarks(setting: Setting, flag: Flag, table: Table, version: str) -> list[Remark]:
    fault = fault_of_flag(flag, setting.value)
    if fault:
        return [Remark("value", ERROR, fault)]
    remarks = []
    if flag.deprecated:
        name, value = today(table, setting.name, setting.value, version)
        remarks.append(Remark("deprecated", WARNING, flag.about, _written(name, value) if name != setting.name else ""))
    if is_default(flag, setting.value):
        remarks.append(Remark("default", NOTE, f"already the default in {table.title} {version}"))
    remarks += [
        about_value(one.level, one.text, one.source)
        for one in advice().dangers.get(setting.name, ())
        if one.holds("true" if setting.value is None else setting.value)
        and not (setting.value == "" and one.values is None)
    ]
    if setting.name in _PASS_LISTS:
        remarks += [_about_pass(one) for one in _harmful(setting.value or "")]
    return remarks


def _harmful(passes: str) -> list[Pass]:
    """Passes of a list that must stay on, by XLA's names or by those of their classes."""
    given = {re.split(r"[^\w-]", one.strip(), maxsplit=1)[0].lower() for one in passes.split(",")}
    return [one for one in advice().passes if given & {one.title.lower(), *one.names}]


def _about_pass(one: Pass) -> Remark:
    text = f"{one.title} ({', '.join(one.names)}) must stay on: without it {one.cost}"
    return about_value(WARNING, text, advice().passes_source)


def _source_of(name: str) -> str:
    return next((one.source for one in advice().renames if name in (one.old, one.new)), "")


def _written(name: str, value: str | None) -> str:
    return f"--{name}" if value is None else f"--{name}={value}"
