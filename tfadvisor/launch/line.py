"""A report to the line that starts its run again."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

import msgspec

from tfadvisor.flags.catalogue import accepts
from tfadvisor.flags.check import Checked, check
from tfadvisor.flags.remarks import ERROR, NOTE, WARNING
from tfadvisor.flags.settings import FLAG_VARIABLES
from tfadvisor.launch.from_findings import from_findings
from tfadvisor.launch.from_machines import from_machines, machines_of
from tfadvisor.launch.setting import LeftOut, Suggested
from tfadvisor.report.model import Report

COMMAND = "python train.py"
"""Stands for the user's own."""
_LIBRARIES = {"tensorflow": "tensorflow"}


class LaunchLine(msgspec.Struct, frozen=True):
    """settings: in the order of what they save. note: by what the flags were judged, "" when by the run's own version."""

    settings: tuple[Suggested, ...]
    left_out: tuple[LeftOut, ...]
    remarks: tuple[str, ...]
    """What is worth knowing of the settings together."""
    note: str

    @property
    def text(self) -> str:
        """`XLA_FLAGS='…' NAME=value python train.py`; the command alone without settings."""
        return " ".join([assigned(self.settings), COMMAND]).strip()


def assigned(settings: Sequence[Suggested]) -> str:
    """The variables as a shell takes them, each once; the flags of one behind each other."""
    values: dict[str, list[str]] = {}
    for one in settings:
        values.setdefault(one.variable, []).append(one.written if one.variable in FLAG_VARIABLES else one.value)
    return " ".join(f"{name}={shlex.quote(' '.join(value))}" for name, value in values.items())


def launch_line(report: Report) -> LaunchLine:
    """Only settings that the run's version knows, and that change something in it."""
    library, version = _LIBRARIES.get(report.run.framework, "jaxlib"), report.run.framework_version
    kept: dict[str, Suggested] = {}
    left_out: list[LeftOut] = []
    for one in (*from_findings(report), *from_machines(machines_of(report))):
        fitted, why = _fit(one, version, library)
        if why:
            left_out.append(LeftOut(one.written, why))
            continue
        before = kept.setdefault(fitted.name, fitted)
        if before.value != fitted.value:
            why = f"{before.rule_id or 'the machines'} asks for {before.written}, which saves more"
            left_out.append(LeftOut(fitted.written, why))
    checked = _check(list(kept.values()), version, library)
    wrong = _refused(checked)
    settings = tuple(one for one in kept.values() if one.name not in wrong)
    left_out += [LeftOut(one.written, wrong[one.name]) for one in kept.values() if one.name in wrong]
    return LaunchLine(settings, tuple(dict.fromkeys(left_out)), _remarks(checked, wrong), checked.note)


def _fit(one: Suggested, version: str | None, library: str) -> tuple[Suggested, str]:
    """Under the name that the version has for it, and why it cannot be given, "" when it can."""
    if one.variable not in ("XLA_FLAGS", "TF_XLA_FLAGS"):
        return one, ""
    known = accepts(one.written, version, library)
    if known.accepted is False and known.name == one.name:
        return one, known.note
    if known.is_default:
        return one, "set so by default in that version"
    return msgspec.structs.replace(one, name=known.name, value=known.value or one.value), ""


def _check(settings: Sequence[Suggested], version: str | None, library: str) -> Checked:
    text = assigned(settings)
    return check(text, tensorflow=version) if library == "tensorflow" and version else check(text, version)


def _refused(checked: Checked) -> dict[str, str]:
    """Settings that would end the process, are not read, or are the default: name -> why."""
    return {
        judged.setting.name: remark.text
        for judged in checked.settings
        for remark in judged.remarks
        if remark.level == ERROR or remark.kind in ("unknown", "removed", "default")
    }


def _remarks(checked: Checked, wrong: dict[str, str]) -> tuple[str, ...]:
    alone = [
        f"{judged.setting.name}: {remark.text}"
        for judged in checked.settings
        for remark in judged.remarks
        if judged.setting.name not in wrong and remark.level in (WARNING, NOTE) and remark.kind != "not-recorded"
    ]
    return (*alone, *(one.text for one in checked.together))
