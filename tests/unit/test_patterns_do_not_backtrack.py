"""Every compiled pattern of the package takes time in proportion to what it looks at,
whatever that is.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import signal
from collections.abc import Iterator
from itertools import product

import pytest

import tfadvisor

try:
    from re import _parser as parser  # type: ignore[attr-defined]
except ImportError:
    import sre_parse as parser  # type: ignore[no-redef]

_LENGTH = 1 << 15
_SECONDS = 0.25
"""Of the processor, for 32 kB: what is linear takes some ms, what is square some
seconds.
"""
_UNRELATED = ("injected", "codemods.registry", "cli.entry")
"""What imports them does more than import: it heeds signals, or is another program."""


def patterns() -> dict[str, re.Pattern[str]]:
    """By module and name; of mappings and tuples each one."""
    found: dict[str, re.Pattern[str]] = {}
    for module in pkgutil.walk_packages(tfadvisor.__path__, "tfadvisor."):
        if any(word in module.name for word in _UNRELATED) or module.name.endswith(
            "__main__"
        ):
            continue
        try:
            names = vars(importlib.import_module(module.name))
        except ImportError:  # an extra that is not installed
            continue
        for name, value in names.items():
            several = (
                value.values()
                if isinstance(value, dict)
                else value
                if isinstance(value, tuple)
                else (value,)
            )
            for number, one in enumerate(several):
                if (
                    isinstance(one, re.Pattern)
                    and isinstance(one.pattern, str)
                    and one not in found.values()
                ):
                    found[
                        f"{module.name.removeprefix('tfadvisor.')}.{name}{number or ''}"
                    ] = one
    return found


PATTERNS = patterns()


def sample(parsed: object, most: int = 3) -> list[str]:
    """Texts that a part of a pattern matches, as far as worst cases need them."""
    texts = [""]
    for op, value in parsed:  # type: ignore[attr-defined]
        texts = [
            head + tail for head, tail in product(texts, piece(str(op), value, most))
        ][:most]
    return texts


def piece(op: str, value: object, most: int) -> list[str]:  # noqa: PLR0911
    if op == "LITERAL":
        return [chr(value)]  # type: ignore[arg-type]
    if op == "NOT_LITERAL":
        return ["a" if value != ord("a") else "b"]
    if op == "ANY":
        return ["a", "/"]
    if op == "IN":
        return of_set(value)
    if op == "BRANCH":
        return [text for one in value[1] for text in sample(one, 1)][:most]  # type: ignore[index]
    if op == "SUBPATTERN":
        return sample(value[-1], most)  # type: ignore[index]
    if op in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
        least, _, inner = value  # type: ignore[misc]
        return [text * max(least, 1) for text in sample(inner, most)]
    if op == "ATOMIC_GROUP":
        return sample(value, most)
    return [""]


def of_set(values: object) -> list[str]:
    pattern_negated, found = False, []
    for op, value in values:  # type: ignore[attr-defined]
        if str(op) == "NEGATE":
            pattern_negated = True
        elif str(op) == "LITERAL":
            found.append(chr(value))
        elif str(op) == "RANGE":
            found.append(chr(value[0]))
        elif str(op) == "CATEGORY":
            found.append(
                {"DIGIT": "1", "SPACE": " ", "WORD": "a"}.get(
                    str(value).rpartition("_")[2], "!"
                )
            )
    if pattern_negated:
        return [next(one for one in "a!1 /\x01" if one not in found)]
    return found[:2] + found[-1:]


def repeats(parsed: object, before: str = "") -> Iterator[tuple[str, str]]:
    """(what leads to a repetition, what it repeats) of every repetition in a
    pattern.
    """
    for op, value in parsed:  # type: ignore[attr-defined]
        name = str(op)
        if name in ("MAX_REPEAT", "MIN_REPEAT"):
            for text in sample(value[2]):
                yield before, text
            yield from repeats(value[2], before)
        elif name == "BRANCH":
            for one in value[1]:
                yield from repeats(one, before)
        elif name == "SUBPATTERN":
            yield from repeats(value[-1], before)
        elif name in ("ASSERT", "ASSERT_NOT"):
            yield from repeats(value[1], before)
        before += piece(name, value, 1)[0]


def worst_cases(pattern: re.Pattern[str]) -> set[str]:
    cases = set()
    for before, text in repeats(parser.parse(pattern.pattern, pattern.flags)):
        for pumped in (text, before, before + text, text + before):
            if pumped:
                for end in ("\x00", "!\n", "a"):
                    cases.add(before + pumped * (_LENGTH // len(pumped)) + end)
    return cases


@pytest.fixture
def hurried() -> Iterator[None]:
    """A search that takes too long ends the test: the engine looks for signals."""

    def late(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGPROF, late)
    yield
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.signal(signal.SIGPROF, before)


@pytest.mark.skipif(
    not hasattr(signal, "setitimer"), reason="counts the processor's time as POSIX does"
)
@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("name", PATTERNS)
def test_no_pattern_takes_more_than_its_share(name: str) -> None:
    slow = []
    for text in sorted(worst_cases(PATTERNS[name])):
        signal.setitimer(signal.ITIMER_PROF, _SECONDS)
        try:
            PATTERNS[name].search(text)
        except TimeoutError:
            slow.append(f"{text[:40]!r} … {text[-10:]!r}")
            break
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)

    assert slow == [], PATTERNS[name].pattern
