"""Several candidates at once."""

from __future__ import annotations

import ast
from pathlib import Path

from msgspec.structs import replace

from tfadvisor.flags.settings import FLAG_VARIABLES
from tfadvisor.trial.candidates.candidate import Candidate
from tfadvisor.trial.candidates.merging import merged
from tfadvisor.trial.running.program import source_of


def combined(one: Candidate, other: Candidate) -> Candidate | str:
    """Both, or why they cannot be had together."""
    texts = dict(one.texts)
    for real, text in other.texts.items():
        both = merged(source_of(Path(real)), texts[real], text) if real in texts else text
        if both is None:
            return "it changes the same lines"
        try:
            ast.parse(both)
        except (SyntaxError, ValueError):
            return "both changes together make no program"
        texts[real] = both
    env = dict(one.env)
    for name, value in other.env.items():
        if name in FLAG_VARIABLES and name in env:
            env[name] = f"{env[name]} {value}"
        elif env.setdefault(name, value) != value:
            return f"it sets {name} otherwise"
    checks = {one.check, other.check}
    check = "none" if "none" in checks else "values" if "values" in checks else "batches"
    return replace(one, name=f"{one.name} + {other.name}", texts=texts, env=env, rule_id="", category="", change="several",
                   promise=None, check=check, effect="; ".join(filter(None, (one.effect, other.effect))))  # fmt: skip
