"""Whether a flag or variable takes a value, and whether the value is what it has anyway."""

from __future__ import annotations

import re

from tfadvisor.flags.advice import Variable
from tfadvisor.flags.recorded import Flag, Words

_LIMITS = {"int32": 31, "int64": 63}
_WHOLE = re.compile(r"[+-]?\d{1,30}")
_TRUE, _FALSE = ("true", "1"), ("false", "0")
_NCCL_FUNCTIONS = ("allgather", "allreduce", "broadcast", "reduce", "reducescatter", "alltoall", "sendrecv")
_VMODULE = re.compile(r"[^=,\s]+=\d+(,[^=,\s]+=\d+)*")


def fault_of_flag(flag: Flag, value: str | None) -> str:
    """What is wrong with a value, "" when XLA reads it. As tried: true, false, 1 and 0 in any case, no other word."""
    if flag.kind == "bool":
        fits = value is None or value.lower() in (*_TRUE, *_FALSE)
        return "" if fits else f"{value!r} is neither true nor false; XLA takes true, false, 1 and 0"
    if value is None:
        return f"needs `=` and a value ({flag.kind}); without it XLA takes it for an unknown flag"
    if flag.kind in _LIMITS:
        bits = _LIMITS[flag.kind]
        if _WHOLE.fullmatch(value) is None:
            return f"{value!r} is not a whole number"
        return "" if -(1 << bits) <= int(value) < 1 << bits else f"{value} does not fit into {flag.kind}"
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
        return any(word in (one.upper(), (words.prefix + one).upper()) for one in words.words)
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
    return flag.default.upper() == given.upper() or flag.default.upper().endswith(f"_{given.upper()}")


def _parts(text: str) -> list[str]:
    return [word.strip().upper() for word in text.split(",")]


def fault_of_variable(variable: Variable, value: str) -> str:
    """What is wrong with a value, "" when it is one of those that the variable takes."""
    if variable.kind in ("int", "float"):
        return _fault_of_number(variable, value)
    if variable.kind == "vmodule":
        return "" if _VMODULE.fullmatch(value) else f"{value!r} is not a list of `file=level`"
    if variable.kind == "nccl-list":
        wrong = [word for word in re.split(r"[,;:^]", value.lower()) if word and word not in _known_to_nccl(variable)]
        return f"{wrong[0]!r} is none of {', '.join(variable.values)}" if wrong else ""
    any_case = variable.kind in ("words-any-case", "tensorflow-bool", "jax-bool")
    values = [one.lower() for one in variable.values] if any_case else list(variable.values)
    fits = not values or (value.lower() if any_case else value) in values
    return "" if fits else f"{value!r} is none of {', '.join(variable.values)}"


def _fault_of_number(variable: Variable, value: str) -> str:
    if variable.kind == "int" and _WHOLE.fullmatch(value) is None:
        return f"{value!r} is not a whole number"
    if not _is_number(value):
        return f"{value!r} is not a number"
    least, most = variable.bounds or (float("-inf"), float("inf"))
    return "" if least <= float(value) <= most else f"{value} is not between {least:,g} and {most:,g}"


def _known_to_nccl(variable: Variable) -> tuple[str, ...]:
    """NCCL 2.24 and newer take lists by function: `allreduce:tree,ring;broadcast:ring`."""
    return (*variable.values, *_NCCL_FUNCTIONS)


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
    """The words that XLA, TensorFlow or JAX take for true; a flag without a value is true."""
    return value is None or value.lower() in ("1", "true", "t", "yes", "y", "on")


def _is_number(value: str) -> bool:
    if value != value.strip() or "_" in value:
        return False
    try:
        float(value)
    except ValueError:
        return False
    return True
