"""Whether a version accepts a flag, and what it calls it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from tfadvisor.advice.flags.advice import Rename, advice
from tfadvisor.advice.flags.recorded import (
    Chosen,
    Flag,
    Table,
    choose,
    is_newer,
    recording,
)
from tfadvisor.advice.flags.setting_values import fault_of_flag, is_default

_LIBTPU = ("xla_tpu_", "xla_jf_", "xla_sc_", "xla_msa_", "xla_vf_")
_UNRECORDED = "a flag of libtpu, which is not recorded; it belongs in LIBTPU_INIT_ARGS"


class Acceptance(msgspec.Struct, frozen=True):
    """accepted: whether the version knows this very flag, None when nothing is recorded
    that could tell.

    name, value: what to write for it in that version: another name when it is refused
    or deprecated and has one. note: in words, with the version that was judged by when
    that is not the one asked about; "" when there is nothing to say. is_default:
    whether it changes nothing in that version. fault: what is wrong with a value that
    the version does not read, "" for nothing.
    """

    accepted: bool | None
    name: str
    value: str | None
    note: str
    is_default: bool = False
    fault: str = ""


def accepts(
    flag: str,
    jaxlib_version: str | None,
    library: str = "jaxlib",
) -> Acceptance:
    """A flag with or without dashes and `=value`, judged by the recorded version that
    is nearest to the one given.

    library: jaxlib or tensorflow. Flags of TF_XLA_FLAGS are TensorFlow's in either
    case.
    """
    name, equals, value = flag.lstrip("-").partition("=")
    given = value if equals else None
    if name.startswith(_LIBTPU):
        return Acceptance(
            accepted=None,
            name=name,
            value=given,
            note=_UNRECORDED,
        )

    table = table_of(name, library)
    asked = jaxlib_version if table.library == library else None
    chosen = choose(table.title, asked, table.versions)
    known = table.flag(name, chosen.version)
    name_then, value_then = name, given
    if known is None or known.deprecated:
        name_then, value_then = today(table, name, given, chosen.version)

    accepted = known is not None
    flag_then = table.flag(name_then, chosen.version)
    fault = ""
    if flag_then is not None and given is not None:
        fault = fault_of_flag(flag_then, value_then)
    return Acceptance(
        accepted=accepted,
        name=name_then,
        value=value_then,
        note=_note(table, name, name_then, chosen, accepted),
        is_default=_changes_nothing(flag_then, value_then),
        fault=fault,
    )


def _changes_nothing(flag: Flag | None, value: str | None) -> bool:
    """Whether a version does anyway what the value asks for."""
    if flag is None or fault_of_flag(flag, value):
        return False
    return is_default(flag, value)


def table_of(name: str, library: str) -> Table:
    """Where a flag is looked up: by its name, since the prefixes of both variables
    differ.
    """
    if name.startswith("tf_"):
        return recording().table("TF_XLA_FLAGS", "tensorflow")
    return recording().table("XLA_FLAGS", library)


def today(
    table: Table,
    name: str,
    value: str | None,
    version: str,
) -> tuple[str, str | None]:
    """Another name that a version accepts for the same flag, and the value there;
    unchanged where there is none.
    """
    seen = {name}
    waiting = [(name, value)]
    while waiting:
        before = waiting.pop(0)
        for after in _other_names(*before):
            if after[0] in seen:
                continue
            if table.flag(after[0], version) is not None:
                return after
            seen.add(after[0])
            waiting.append(after)
    return name, value


def _other_names(name: str, value: str | None) -> Iterator[tuple[str, str | None]]:
    """The same flag before and after each renaming that it had."""
    for rename in advice().renames:
        after = _other_side(rename, name, value)
        if after is not None:
            yield after


def _other_side(
    rename: Rename,
    name: str,
    value: str | None,
) -> tuple[str, str | None] | None:
    """From the old name to the new one or back, with the value; None where the value
    has no counterpart.
    """
    if name == rename.old:
        given = "true" if value is None and rename.values else value
        return _renamed(rename.new, rename.values, given)
    if name == rename.new:
        back = {new.lower(): old for old, new in rename.values.items()}
        return _renamed(rename.old, back, value)
    return None


def _renamed(
    name: str,
    values: Mapping[str, str],
    value: str | None,
) -> tuple[str, str | None] | None:
    if not values or value is None:
        return name, value
    other_spelling = {"1": "true", "0": "false"}.get(value, "")
    for spelling in (value.lower(), other_spelling):
        if spelling in values:
            return name, values[spelling]
    return None


def _note(
    table: Table,
    name: str,
    name_then: str,
    chosen: Chosen,
    accepted: bool,
) -> str:
    parts = [] if accepted else [refusal(table, name, chosen.version)]
    if name_then != name:
        parts.append(f"{table.title} {chosen.version} calls it {name_then}")
    if chosen.note:
        parts.append(chosen.note)
    return "; ".join(parts)


def refusal(
    table: Table,
    name: str,
    version: str,
) -> str:
    """Since when, or until when, or that never."""
    span = table.first_and_last(name)
    if span is None:
        return f"no recorded {table.title} accepts it"
    first, last = span
    if is_newer(first, version):
        return f"{table.title} accepts it from {first} on"
    if is_newer(version, last):
        return (
            f"{table.title} {table.next_version(last)} and newer refuse it; {last} "
            "is the last that accepts it"
        )
    return f"{table.title} {version} refuses it, though {first} to {last} have it"
