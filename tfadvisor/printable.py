"""Text from traces made harmless for a terminal, a page or Markdown."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from tfadvisor.patterns import pattern

_CONTROL = pattern(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)

_LONGEST_WORD, _LONGEST, _LONGEST_LOOKED_AT = 300, 4_000, 20_000
"""Characters of a name, of a line, and of what is made into a line."""
_BREAK = pattern("[\n\x0b\x0c\x85\u2028\u2029]")
_BAR = "\N{DIVIDES}"
_COMMAND = pattern(r"^\s*:(?=:)|#(?=#\w*\[)", re.M)


def printable(text: str) -> str:
    """Control and direction-changing characters as `\\x1b`; tab and newline stay."""
    return _CONTROL.sub(_escaped, text)


def in_utf8(text: str) -> str:
    """A name from the system as text that can be written anywhere: what is no UTF-8 in
    it is replaced.
    """
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def in_one_message(text: str) -> str:
    """For a line on standard error: printable, line ends shown as well, so that no name
    begins its own line.
    """
    shown = _BREAK.sub(_escaped, printable(text[:_LONGEST_LOOKED_AT]))
    return without_commands(cut(shown, _LONGEST))


def _escaped(match: re.Match[str]) -> str:
    return f"\\x{ord(match.group()):02x}"


def without_commands(text: str, escape: str = "\\x{:02x}") -> str:
    """Text whose lines are no commands to GitHub (`::error::` at their beginning,
    `##[`), Azure or TeamCity (`##vso[`).

    escape: how the character that makes it a command is written instead.
    """

    def harmless(match: re.Match[str]) -> str:
        command = match.group()
        return command[:-1] + escape.format(ord(command[-1]))

    return _COMMAND.sub(harmless, text)


def one_line(text: str) -> str:
    """Printable, with every run of white space as one blank. What is longer than
    anybody reads is cut.
    """
    words = printable(text[:_LONGEST_LOOKED_AT]).split()
    line = " ".join(cut(word, _LONGEST_WORD) for word in words)
    return cut(line, _LONGEST)


def cut(text: str, most: int) -> str:
    """At most so many characters, the last one an ellipsis where some are missing."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def in_code(
    text: str,
    *,
    in_table: bool = False,
) -> str:
    """On one line, as a code span of Markdown: no character in it means anything.

    in_table: inside a table's cell, which ends at every bar that no rule of escaping
    makes safe everywhere.
    """
    words = one_line(text) or " "
    runs = re.findall("`+", words)
    fence = "`" * (max(map(len, runs), default=0) + 1)
    space = " " if words.startswith("`") or words.endswith("`") else ""
    if in_table:
        words = words.replace("|", _BAR)
    return f"{fence}{space}{words}{space}{fence}"


def in_markdown(text: str) -> str:
    """On one line, without meaning for Markdown, and without links and mentions."""
    escaped = re.sub(r"([\\`*_{}\[\]()<>#+!|~])", r"\\\1", one_line(text))
    return re.sub(r"(?<=:)(?=//)|(?<=@)(?=\w)", "\u200b", escaped)


# Records as plain data: dicts, lists, numbers and texts, as they stand in JSON.


def plain(value: Any) -> Any:
    """A record and all that it holds as JSON has it: enums by value. Raises TypeError
    for anything else.
    """
    return msgspec.to_builtins(value, enc_hook=_unknown)


def _unknown(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "item"):  # a number of NumPy's
        return value.item()
    raise TypeError(f"{type(value).__name__} is not plain data")


# Names of kernels as a reader says them: demangled C++ without what every kernel of its
# library has, HLO without its shapes.

_HLO = pattern(r"^%?([\w.\-]+) = ")
_TELLING = pattern(
    r"\bscalar_(\w+?)_op\b|\bTensor((?!Assign|Cwise|Map\b|Layout|Forced|EvalTo|Reshaping)[A-Z]\w*?)Op\b"
    r"|\b(\w+(?:Reducer|Functor|Distribution)|cutlass_\w+)\b"
)
"""What tells instances of one template apart: Eigen's operations, functors, the
products that CUTLASS is instantiated for.
"""
_MOST_TELLING = 3


@lru_cache(maxsize=1 << 14)
def short_kernel(name: str, longest: int = 60) -> str:
    """`void Eigen::internal::EigenMetaKernel<…scalar_product_op<…>…>(…)` ->
    `EigenMetaKernel<…product…>`, `%copy-done.4 = f32[5,1024]… copy-done(…)` ->
    `copy-done.4`. Cut in the middle.
    """
    hlo = _HLO.match(name)
    if hlo:
        return hlo.group(1)
    if _is_function(name):
        name = _short_function(name)
    return cut_middle(name.removesuffix(".kd"), longest)


def _is_function(name: str) -> bool:
    return "::" in name or "<" in name


def _short_function(name: str) -> str:
    """Of a C++ function: its own name, and what tells instances of it apart."""
    plain = name.removeprefix("void ").replace("(anonymous namespace)::", "")
    path = re.split(r"[<(]", plain, maxsplit=1)[0]
    rest = plain[len(path) :]
    inside = rest.partition(">(")[0] if rest.startswith("<") else ""

    words: dict[str, None] = {}
    for found in _TELLING.findall(inside):
        words[next(filter(None, found))] = None

    head = path.rpartition("::")[2] or path
    telling = "…".join(list(words)[:_MOST_TELLING])
    return f"{head}<…{telling}…>" if telling else head


def cut_middle(text: str, most: int) -> str:
    """At most so many characters, both ends whole: names that begin alike differ at
    their ends.
    """
    if len(text) <= most:
        return text
    return f"{text[: most // 2 - 1]}…{text[-(most // 2) :]}"


# Names of many ops and kernels side by side.

_WORD = pattern(r"[A-Za-z]+|\d+|.", re.S)
_LEAST_BEGINNING, _MOST_PARTS = 8, 32
_WHOLE = 400
"""Characters that it may take at most until names no longer look alike."""


def names_apart(names: Iterable[str], most: int) -> dict[str, str]:
    """What each of these is called where they stand together: short, and no two alike.

    most: characters; more only where so many do not tell a name from the others. What
    is cut is never what differs.
    """
    whole = list(dict.fromkeys(names))
    ends = _ends(whole)
    plain = {name: ends.get(name) or short_kernel(name, _WHOLE) for name in whole}
    found = {name: cut_middle(plain[name], most) for name in whole}
    for group in _alike(found):
        found.update(_apart(group, plain, most))
    for group in _alike(found):
        found.update((name, name) for name in group)
    return found


def _ends(names: Sequence[str]) -> dict[str, str]:
    """Of each path the last parts, two at least, with which no other path ends."""
    paths = [name.split("/") for name in names if _is_path(name)]
    count = Counter(
        "/".join(parts[-many:]) for parts in paths for many in range(2, len(parts) + 1)
    )
    found = {}
    for parts in paths:
        ends = ("/".join(parts[-many:]) for many in range(2, len(parts)))
        whole = "/".join(parts)
        found[whole] = next((end for end in ends if count[end] == 1), whole)
    return found


def _is_path(name: str) -> bool:
    is_text = _is_function(name) or " = " in name
    return 0 < name.count("/") < _MOST_PARTS and not is_text


def _alike(found: Mapping[str, str]) -> list[list[str]]:
    groups: dict[str, list[str]] = {}
    for name, short in found.items():
        groups.setdefault(short, []).append(name)
    return [group for group in groups.values() if len(group) > 1]


def _apart(
    group: Sequence[str],
    plain: Mapping[str, str],
    most: int,
) -> dict[str, str]:
    """Names of which only the middle differs, with that middle."""
    if len({plain[name] for name in group}) == len(group):
        parts = _middles([plain[name] for name in group])
    else:
        parts = [(f"{plain[name]}…", own, "") for name, own in _own_words(group)]

    found = {}
    for name, (before, differs, after) in zip(group, parts, strict=True):
        found[name] = _around(before, differs, after, most)
    for alike in _alike(found):
        if most < _WHOLE:
            found.update(_apart(alike, plain, 2 * most))
    return found


def _middles(texts: Sequence[str]) -> list[tuple[str, str, str]]:
    """(how all of them begin, what is between, how all of them end), by words."""
    words = [_WORD.findall(text[:_LONGEST_LOOKED_AT]) for text in texts]
    lead = _alike_at_first(words)
    tail = _alike_at_first([parts[lead:][::-1] for parts in words])
    found = []
    for parts in words:
        end = len(parts) - tail
        found.append((parts[:lead], parts[lead:end], parts[end:]))
    return [("".join(a), "".join(b), "".join(c)) for a, b, c in found]


def _alike_at_first(words: Sequence[Sequence[str]]) -> int:
    """How many words all of them begin with."""
    places = enumerate(zip(*words, strict=False))
    differ = (at for at, column in places if len(set(column)) > 1)
    return next(differ, min(map(len, words)))


def _own_words(names: Sequence[str]) -> list[tuple[str, str]]:
    """(name, its words that not all of them have; where those do not tell it from the
    others, from the first word that differs to the last).
    """
    words = [dict.fromkeys(re.findall(r"\w+", name)) for name in names]
    shared = set(words[0]).intersection(*words)
    own = []
    for mine in words:
        own.append("…".join(word for word in mine if word not in shared))
    if len(set(own)) < len(names):
        own = [middle for _, middle, _ in _middles(names)]
    return list(zip(names, own, strict=True))


def _around(before: str, differs: str, after: str, most: int) -> str:
    """What differs whole, if it fits, and as much around it as there is room for."""
    differs = cut_middle(differs, max(most - _LEAST_BEGINNING, 3))
    room = most - len(differs)
    for_after = min(len(after), room // 2)
    shown = cut_middle(before, room - for_after)
    return f"{shown}{differs}{cut_middle(after, room - len(shown))}"
