"""Variables of the environment as candidates, and flags that the installed version would refuse."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from tfadvisor.errors import UsageError
from tfadvisor.flags.check import check
from tfadvisor.flags.remarks import ERROR
from tfadvisor.flags.settings import FLAG_VARIABLES
from tfadvisor.trial.candidates.candidate import Candidate

_ASSIGNED = re.compile(r"^([A-Za-z_][A-Za-z0-9_]*)=(.*)$", re.DOTALL)


def from_assignment(text: str) -> Candidate:
    """`NAME=value`. Raises UsageError."""
    found = _ASSIGNED.match(text)
    if found is None:
        raise UsageError(f"--env {text}: give a variable and its value, as NAME=value.")
    return Candidate(name=text, env={found[1]: found[2]}, change="env", check="values")


def environment_of(candidate: Candidate) -> dict[str, str]:
    """What is set for its runs: flags stand behind those that the user has set already."""
    return {
        name: f"{os.environ.get(name, '')} {value}".strip() if name in FLAG_VARIABLES else value
        for name, value in candidate.env.items()
    }


def refused(candidate: Candidate, versions: Mapping[str, str]) -> str:
    """Why the version that the program runs with would not take a candidate's flags, "" where it would.

    A flag that XLA does not know ends the process at its start.
    """
    text = " ".join(value for name, value in candidate.env.items() if name in FLAG_VARIABLES)
    if not text:
        return ""
    jaxlib, tensorflow = versions.get("jaxlib"), versions.get("tensorflow")
    judged = check(text, tensorflow=tensorflow) if tensorflow and not jaxlib else check(text, jaxlib)
    wrong = [remark.text for one in judged.settings for remark in one.remarks if remark.level == ERROR]
    return "; ".join([*wrong, *(one.text for one in judged.together if one.level == ERROR)])
