"""Which tips of the source documents the rules cover, and why some have no rule of
their own (rules/coverage.yaml).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from tfadvisor.advice.loading.catalogue import COVERAGE, rules_folder
from tfadvisor.advice.loading.rule import Rule
from tfadvisor.advice.loading.yaml_marks import load


class Covered(msgspec.Struct, frozen=True):
    """tip: its id. cited_by: the rules whose source names it. given_in, reason: where
    else its advice is given, and why.
    """

    tip: str
    about: str
    cited_by: tuple[str, ...]
    given_in: tuple[str, ...]
    reason: str


def covered(rules: Sequence[Rule], file: Path | None = None) -> list[Covered]:
    """Every tip of the list, in its order. file: the list, the built-in one by default.
    Raises RuleError when it is wrong.
    """
    file = file or rules_folder() / COVERAGE
    marked = load(file.read_text(encoding="utf-8"), str(file))
    ids = {rule.id for rule in rules}
    found = []
    for tip, entry in marked.data.items():
        for key in entry:
            if key not in ("about", "given_in", "reason"):
                raise marked.error(
                    f"{tip}.{key}",
                    "is not a field here; known are about, given_in, reason",
                )
        given = tuple(entry.get("given_in", ()))
        for rule in given:
            if rule not in ids:
                raise marked.error(f"{tip}.given_in", f"no rule is called {rule}")
        cited = tuple(
            rule.id
            for rule in rules
            if any(source.section == tip for source in rule.source)
        )
        found.append(
            Covered(
                tip,
                str(entry.get("about", "")),
                cited,
                given,
                str(entry.get("reason", "")).strip(),
            )
        )
    return found
