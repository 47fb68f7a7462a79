"""What to try: variables, flags, changed files, the fixes of findings; and how
candidates differ.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher

import msgspec

from tfadvisor.act.trial.result import Share
from tfadvisor.advice.flags.advice import ERROR
from tfadvisor.advice.flags.check import check
from tfadvisor.advice.flags.settings import FLAG_VARIABLES
from tfadvisor.errors import UsageError


class Candidate(msgspec.Struct, frozen=True):
    """A change of the program or of its environment."""

    name: str
    """As the user knows it, one of a trial."""
    texts: Mapping[str, str] = {}
    """By real path, the whole file with the change."""
    env: Mapping[str, str] = {}
    """Variables that are set."""
    rule_id: str = ""
    """Of the finding that asks for it, "" for none."""
    category: str = ""
    """Of that finding."""
    change: str = ""
    """The codemod, or the kind of the change: patch, env, `pass NAME`."""
    promise: Share | None = None
    """What its finding says that it would save."""
    check: str = "values"
    """What must stay as it is: batches, values or none."""
    effect: str = ""
    """What else changes, in words."""
    kind: str = "change"
    """change; of an ablation: part, switch or scale."""
    parts: tuple[str, ...] = ()
    """Of the program, that are taken out or set by hooks."""


# What a change is, as a short number that tells nothing of the program.


def identity_of(candidate: Candidate) -> str:
    """Twelve digits; alike for alike changes."""
    said = json.dumps(
        [
            sorted(candidate.texts.values()),
            sorted(candidate.env.items()),
            *candidate.parts,
        ]
    )
    return hashlib.sha256(said.encode()).hexdigest()[:12]


# Which line of a text became which.

_LINES = re.compile(r"[^\n]*\n|[^\n]+")


def loop_after(base: str, line: int, other: str) -> int | None:
    """Where the loop at a line of a text begins in another form of it; None where it is
    gone.

    It is the loop that shares most of its lines with the old one, and stands where that
    stood if several do.
    """
    if base == other:
        return line
    old = _loops(base).get(line)
    if old is None:
        return None
    origin = _origins(_LINES.findall(base), _LINES.findall(other))
    best, best_shared = None, 0.0
    for first, last in _loops(other).items():
        lines = {origin.get(at, -at) for at in range(first, last + 1)}
        shared = len(lines & set(range(line, old + 1))) / len(
            lines | set(range(line, old + 1))
        )
        if shared > best_shared:
            best, best_shared = first, shared
    return best


def _loops(text: str) -> dict[int, int]:
    """First and last lines."""
    tree = ast.parse(text)
    return {
        one.lineno: one.end_lineno or one.lineno
        for one in ast.walk(tree)
        if isinstance(one, ast.For | ast.While)
    }


def _origins(base: Sequence[str], other: Sequence[str]) -> dict[int, int]:
    """Lines of the other form that are in the first one, from 1; a line that was
    replaced by one line is that line.
    """
    found: dict[int, int] = {}
    for tag, a, b, c, d in SequenceMatcher(
        None, base, other, autojunk=False
    ).get_opcodes():
        if tag == "equal" or (tag == "replace" and b - a == d - c):
            found |= {c + at + 1: a + at + 1 for at in range(d - c)}
    return found


# Variables of the environment as candidates, and flags that the installed version would
# refuse.

_ASSIGNED = re.compile(r"^([A-Za-z_][A-Za-z0-9_]*)=(.*)$", re.DOTALL)


def from_assignment(text: str) -> Candidate:
    """`NAME=value`. Raises UsageError."""
    found = _ASSIGNED.match(text)
    if found is None:
        raise UsageError(f"--env {text}: give a variable and its value, as NAME=value.")
    return Candidate(name=text, env={found[1]: found[2]}, change="env", check="values")


def environment_of(candidate: Candidate) -> dict[str, str]:
    """What is set for its runs: flags stand behind those that the user has set
    already.
    """
    return {
        name: f"{os.environ.get(name, '')} {value}".strip()
        if name in FLAG_VARIABLES
        else value
        for name, value in candidate.env.items()
    }


def refused(candidate: Candidate, versions: Mapping[str, str]) -> str:
    """Why the version that the program runs with would not take a candidate's flags, ""
    where it would.

    A flag that XLA does not know ends the process at its start.
    """
    text = " ".join(
        value for name, value in candidate.env.items() if name in FLAG_VARIABLES
    )
    if not text:
        return ""
    jaxlib, tensorflow = versions.get("jaxlib"), versions.get("tensorflow")
    judged = (
        check(text, tensorflow=tensorflow)
        if tensorflow and not jaxlib
        else check(text, jaxlib)
    )
    wrong = [
        remark.text
        for one in judged.settings
        for remark in one.remarks
        if remark.level == ERROR
    ]
    return "; ".join(
        [*wrong, *(one.text for one in judged.together if one.level == ERROR)]
    )
