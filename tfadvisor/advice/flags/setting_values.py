"""Whether a flag or variable takes a value, and whether the value is what it has
anyway.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from tfadvisor.advice.flags.advice import Variable
from tfadvisor.advice.flags.recorded import Flag, Words

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
        return _fault_of_bool(value)
    if value is None:
        return (
            f"needs `=` and a value ({flag.kind}); without it XLA takes it for an "
            "unknown flag"
        )
    if flag.kind in _LIMITS:
        return _fault_of_whole_number(value, flag.kind)
    if flag.kind == "float":
        return "" if _is_number(value) else f"{value!r} is not a number"
    if flag.words is None:
        return ""
    return _fault_of_words(flag.words, value)


def _fault_of_bool(value: str | None) -> str:
    if value is None or value.lower() in (*_TRUE, *_FALSE):
        return ""
    return f"{value!r} is neither true nor false; XLA takes true, false, 1 and 0"


def _fault_of_whole_number(value: str, kind: str) -> str:
    if _WHOLE.fullmatch(value) is None:
        return f"{value!r} is not a whole number"
    most = 1 << _LIMITS[kind]
    if -most <= int(value) < most:
        return ""
    return f"{value} does not fit into {kind}"


def _fault_of_words(words: Words, value: str) -> str:
    if value == "":
        return "" if words.empty else f"must not be empty: {_named(words)}"

    given = _given_words(words, value)
    signed = [word for word in given if words.signs and word.startswith(("+", "-"))]
    if signed and len(signed) < len(given):
        return "either every word has a sign, + or -, or none has"

    for word in given:
        bare = word[1:] if signed else word
        if not _is_one_of(words, bare):
            return f"{word!r} is not accepted: {_named(words)}"
    return ""


def _given_words(words: Words, value: str) -> list[str]:
    given = value.split(",") if words.several else [value]
    if not words.loose:
        return given
    stripped = (word.strip() for word in given)
    return [word for word in stripped if word]


def _is_one_of(words: Words, word: str) -> bool:
    if words.any_case:
        word = word.upper()
        return any(
            word in (accepted.upper(), (words.prefix + accepted).upper())
            for accepted in words.words
        )
    return any(word in (accepted, words.prefix + accepted) for accepted in words.words)


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
        return _adds_nothing(given, flag.default)

    wanted = given.upper()
    default = flag.default.upper()
    return default == wanted or default.endswith(f"_{wanted}")


def _adds_nothing(given: str, default: str) -> bool:
    """Of lists of words: whether they are the same, or only add what is there."""
    parts = set(_parts(given))
    present = set(_parts(default))
    if parts == present:
        return True
    added = {part.removeprefix("+") for part in parts if part.startswith("+")}
    return len(added) == len(parts) and added <= present


def _parts(text: str) -> list[str]:
    return [word.strip().upper() for word in text.split(",")]


def fault_of_variable(variable: Variable, value: str) -> str:
    """What is wrong with a value, "" when it is one of those that the variable
    takes.
    """
    ask = _BY_KIND.get(variable.kind, _fault_of_a_word)
    return ask(variable, value)


def _fault_of_levels(variable: Variable, value: str) -> str:
    if _VMODULE.fullmatch(value):
        return ""
    return f"{value!r} is not a list of `file=level`"


def _fault_of_an_nccl_list(variable: Variable, value: str) -> str:
    known = ("", *variable.values, *_NCCL_FUNCTIONS)
    for word in re.split(r"[,;:^]", value.lower()):
        if word not in known:
            return _none_of(word, variable)
    return ""


def _fault_of_a_word(variable: Variable, value: str) -> str:
    values: Sequence[str] = variable.values
    given = value
    if variable.kind in _ANY_CASE:
        values = [accepted.lower() for accepted in values]
        given = value.lower()
    if not values or given in values:
        return ""
    return _none_of(value, variable)


def _none_of(word: str, variable: Variable) -> str:
    return f"{word!r} is none of {', '.join(variable.values)}"


def _fault_of_number(variable: Variable, value: str) -> str:
    if variable.kind == "int" and _WHOLE.fullmatch(value) is None:
        return f"{value!r} is not a whole number"
    if not _is_number(value):
        return f"{value!r} is not a number"
    if variable.bounds is None:
        return ""
    least, most = variable.bounds
    if least <= float(value) <= most:
        return ""
    return f"{value} is not between {least:,g} and {most:,g}"


_ANY_CASE = ("words-any-case", "tensorflow-bool", "jax-bool")
_BY_KIND: Mapping[str, Callable[[Variable, str], str]] = {
    "int": _fault_of_number,
    "float": _fault_of_number,
    "vmodule": _fault_of_levels,
    "nccl-list": _fault_of_an_nccl_list,
}


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
