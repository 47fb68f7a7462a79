"""What to try, and how candidates differ; variables of the environment as candidates,
and flags that the installed version would refuse.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping

import msgspec

from tfadvisor.act.trial.trial_result import CHANGE, Share
from tfadvisor.advice.flags.advice import ERROR
from tfadvisor.advice.flags.check import check
from tfadvisor.advice.flags.settings import FLAG_VARIABLES
from tfadvisor.errors import UsageError

_DIGITS = 12
_ASSIGNED = re.compile(r"^([A-Za-z_][A-Za-z0-9_]*)=(.*)$", re.DOTALL)


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
    kind: str = CHANGE
    """change; of an ablation: part, switch or scale."""
    parts: tuple[str, ...] = ()
    """Of the program, that are taken out or set by hooks."""


def identity_of(candidate: Candidate) -> str:
    """Twelve digits that tell nothing of the program; alike for alike changes."""
    texts = sorted(candidate.texts.values())
    env = sorted(candidate.env.items())
    content = json.dumps([texts, env, *candidate.parts])
    return hashlib.sha256(content.encode()).hexdigest()[:_DIGITS]


def from_assignment(text: str) -> Candidate:
    """`NAME=value`. Raises UsageError."""
    found = _ASSIGNED.match(text)
    if found is None:
        raise UsageError(f"--env {text}: give a variable and its value, as NAME=value.")
    return Candidate(
        name=text,
        env={found[1]: found[2]},
        change="env",
        check="values",
    )


def environment_of(candidate: Candidate) -> dict[str, str]:
    """What is set for its runs: flags stand behind those that the user has set
    already.
    """
    found = {}
    for name, value in candidate.env.items():
        found[name] = value
        if name in FLAG_VARIABLES:
            before = os.environ.get(name, "")
            found[name] = f"{before} {value}".strip()
    return found


def refused(
    candidate: Candidate,
    versions: Mapping[str, str],
) -> str:
    """Why the version that the program runs with would not take a candidate's flags, ""
    where it would.

    A flag that XLA does not know ends the process at its start.
    """
    flags = []
    for name, value in candidate.env.items():
        if name in FLAG_VARIABLES:
            flags.append(value)
    text = " ".join(flags)
    if not text:
        return ""

    jaxlib, tensorflow = versions.get("jaxlib"), versions.get("tensorflow")
    if tensorflow and not jaxlib:
        judged = check(text, tensorflow=tensorflow)
    else:
        judged = check(text, jaxlib)

    remarks = [remark for setting in judged.settings for remark in setting.remarks]
    remarks += judged.together
    return "; ".join(remark.text for remark in remarks if remark.level == ERROR)
