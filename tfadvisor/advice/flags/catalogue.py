"""Whether a version accepts a flag, what it calls it, and which values it takes."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from tfadvisor.advice.flags.advice import Rename, Variable, advice
from tfadvisor.advice.flags.recorded import (
    Chosen,
    Flag,
    Table,
    Words,
    choose,
    is_newer,
    recording,
)

_LIBTPU = ("xla_tpu_", "xla_jf_", "xla_sc_", "xla_msa_", "xla_vf_")


class Acceptance(msgspec.Struct, frozen=True):
    """accepted: whether the version knows this very flag, None when nothing is recorded
    that could tell.

    name, value: what to write for it in that version: another name when it is refused
    or deprecated and has one. note: in words, with the version that was judged by when
    that is not the one asked about; "" when there is nothing to say. is_default:
    whether it changes nothing in that version.
    """

    accepted: bool | None
    name: str
    value: str | None
    note: str
    is_default: bool = False


def accepts(
    flag: str, jaxlib_version: str | None, library: str = "jaxlib"
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
            None,
            name,
            given,
            "a flag of libtpu, which is not recorded; it belongs in LIBTPU_INIT_ARGS",
        )
    table = table_of(name, library)
    chosen = choose(
        table.title,
        jaxlib_version if table.library == library else None,
        table.versions,
    )
    known = table.flag(name, chosen.version)
    stays = known is not None and not known.deprecated
    name_then, value_then = (
        (name, given) if stays else today(table, name, given, chosen.version)
    )
    accepted, flag_then = known is not None, table.flag(name_then, chosen.version)
    changes_nothing = (
        flag_then is not None
        and not fault_of_flag(flag_then, value_then)
        and is_default(flag_then, value_then)
    )
    return Acceptance(
        accepted,
        name_then,
        value_then,
        _note(table, name, name_then, chosen, accepted),
        changes_nothing,
    )


def table_of(name: str, library: str) -> Table:
    """Where a flag is looked up: by its name, since the prefixes of both variables
    differ.
    """
    if name.startswith("tf_"):
        return recording().table("TF_XLA_FLAGS", "tensorflow")
    return recording().table("XLA_FLAGS", library)


def today(
    table: Table, name: str, value: str | None, version: str
) -> tuple[str, str | None]:
    """Another name that a version accepts for the same flag, and the value there;
    unchanged where there is none.
    """
    seen, waiting = {name}, [(name, value)]
    while waiting:
        name_then, value_then = waiting.pop(0)
        for rename in advice().renames:
            after = _other_side(rename, name_then, value_then)
            if after is not None and after[0] not in seen:
                if table.flag(after[0], version) is not None:
                    return after
                seen.add(after[0])
                waiting.append(after)
    return name, value


def _other_side(
    rename: Rename, name: str, value: str | None
) -> tuple[str, str | None] | None:
    """From the old name to the new one or back, with the value; None where the value
    has no counterpart.
    """
    if name == rename.old:
        return _renamed(
            rename.new,
            rename.values,
            "true" if value is None and rename.values else value,
        )
    if name == rename.new:
        return _renamed(
            rename.old, {new.lower(): old for old, new in rename.values.items()}, value
        )
    return None


def _renamed(
    name: str, values: Mapping[str, str], value: str | None
) -> tuple[str, str | None] | None:
    if not values or value is None:
        return name, value
    for spelling in (value.lower(), {"1": "true", "0": "false"}.get(value, "")):
        if spelling in values:
            return name, values[spelling]
    return None


def _note(
    table: Table, name: str, name_then: str, chosen: Chosen, accepted: bool
) -> str:
    parts = [] if accepted else [refusal(table, name, chosen.version)]
    if name_then != name:
        parts.append(f"{table.title} {chosen.version} calls it {name_then}")
    if chosen.note:
        parts.append(chosen.note)
    return "; ".join(parts)


def refusal(table: Table, name: str, version: str) -> str:
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


# Whether a flag or variable takes a value, and whether the value is what it has anyway.

_LIMITS = {"int32": 31, "int64": 63}
_WHOLE = re.compile(r"[+-]?\d{1,30}")
_TRUE, _FALSE = ("true", "1"), ("false", "0")
_NCCL_FUNCTIONS = (
    "allgather",
    "allreduce",
    "broadcast",
    "reduce",
    "reducescatter",
    "alltoall",
    "sendrecv",
)
"""NCCL 2.24 and newer take lists by function: `allreduce:tree,ring;broadcast:ring`."""
_VMODULE = re.compile(r"^[^=,\s]+=\d+(,[^=,\s]+=\d+)*")


def fault_of_flag(flag: Flag, value: str | None) -> str:
    """What is wrong with a value, "" when XLA reads it. As tried: true, false, 1 and 0
    in any case, no other word.
    """
    if flag.kind == "bool":
        fits = value is None or value.lower() in (*_TRUE, *_FALSE)
        return (
            ""
            if fits
            else f"{value!r} is neither true nor false; XLA takes true, false, 1 and 0"
        )
    if value is None:
        return (
            f"needs `=` and a value ({flag.kind}); without it XLA takes it for an "
            "unknown flag"
        )
    if flag.kind in _LIMITS:
        bits = _LIMITS[flag.kind]
        if _WHOLE.fullmatch(value) is None:
            return f"{value!r} is not a whole number"
        return (
            ""
            if -(1 << bits) <= int(value) < 1 << bits
            else f"{value} does not fit into {flag.kind}"
        )
    if flag.kind == "float":
        return "" if _is_number(value) else f"{value!r} is not a number"
    return _fault_of_words(flag.words, value) if flag.words is not None else ""


def _fault_of_words(words: Words, value: str) -> str:
    if value == "":
        return "" if words.empty else f"must not be empty: {_named(words)}"
    given = value.split(",") if words.several else [value]
    if words.loose:
        given = [word.strip() for word in given if word.strip()]
    signed = [word for word in given if words.signs and word[:1] in ("+", "-")]
    if signed and len(signed) < len(given):
        return "either every word has a sign, + or -, or none has"
    for word in given:
        if not _is_one_of(words, word[1:] if signed else word):
            return f"{word!r} is not accepted: {_named(words)}"
    return ""


def _is_one_of(words: Words, word: str) -> bool:
    if words.any_case:
        word = word.upper()
        return any(
            word in (one.upper(), (words.prefix + one).upper()) for one in words.words
        )
    return any(word in (one, words.prefix + one) for one in words.words)


def _named(words: Words) -> str:
    several = ", several joined by commas" if words.several else ""
    return f"one of {', '.join(words.words)}{several}"


def is_default(flag: Flag, value: str | None) -> bool:
    """Whether a value that XLA reads changes nothing."""
    given = "true" if value is None else value
    if flag.kind == "bool":
        return (given.lower() in _TRUE) == (flag.default.lower() in _TRUE)
    if flag.kind in (*_LIMITS, "float"):
        return _is_number(flag.default) and float(given) == float(flag.default)
    if flag.words is None:
        return given == flag.default
    if flag.words.several:
        parts, default = {*_parts(given)}, {*_parts(flag.default)}
        added = {part.removeprefix("+") for part in parts if part.startswith("+")}
        return parts == default or (len(added) == len(parts) and added <= default)
    return flag.default.upper() == given.upper() or flag.default.upper().endswith(
        f"_{given.upper()}"
    )


def _parts(text: str) -> list[str]:
    return [word.strip().upper() for word in text.split(",")]


def fault_of_variable(variable: Variable, value: str) -> str:
    """What is wrong with a value, "" when it is one of those that the variable
    takes.
    """
    if variable.kind in ("int", "float"):
        return _fault_of_number(variable, value)
    if variable.kind == "vmodule":
        return (
            ""
            if _VMODULE.fullmatch(value)
            else f"{value!r} is not a list of `file=level`"
        )
    if variable.kind == "nccl-list":
        known = ("", *variable.values, *_NCCL_FUNCTIONS)
        wrong = [
            word for word in re.split(r"[,;:^]", value.lower()) if word not in known
        ]
        return f"{wrong[0]!r} is none of {', '.join(variable.values)}" if wrong else ""
    any_case = variable.kind in ("words-any-case", "tensorflow-bool", "jax-bool")
    values = (
        [one.lower() for one in variable.values] if any_case else list(variable.values)
    )
    fits = not values or (value.lower() if any_case else value) in values
    return "" if fits else f"{value!r} is none of {', '.join(variable.values)}"


def _fault_of_number(variable: Variable, value: str) -> str:
    if variable.kind == "int" and _WHOLE.fullmatch(value) is None:
        return f"{value!r} is not a whole number"
    if not _is_number(value):
        return f"{value!r} is not a number"
    least, most = variable.bounds or (float("-inf"), float("inf"))
    return (
        ""
        if least <= float(value) <= most
        else f"{value} is not between {least:,g} and {most:,g}"
    )


def is_default_of_variable(variable: Variable, value: str) -> bool:
    """Whether a value is what holds without the variable."""
    if variable.default is None:
        return False
    if variable.kind.endswith("bool"):
        return is_true(value) == is_true(variable.default)
    if _is_number(variable.default):
        return _is_number(value) and float(value) == float(variable.default)
    return value.lower() == variable.default.lower()


def is_true(value: str | None) -> bool:
    """The words that XLA, TensorFlow or JAX take for true; a flag without a value is
    true.
    """
    return value is None or value.lower() in ("1", "true", "t", "yes", "y", "on")


def _is_number(value: str) -> bool:
    if value != value.strip() or "_" in value:
        return False
    try:
        float(value)
    except ValueError:
        return False
    return True
