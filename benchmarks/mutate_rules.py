"""Do the rules' cases notice when a rule is changed? Breaks every condition in every
small way and runs the cases.

    python benchmarks/mutate_rules.py [RULES] [--show] [--least 0.95] [--each 0.90]

A mutant is one rule with one change: a threshold nudged to either side, a comparison
replaced by another, a word left out, `known` turned round, `all` and `any` exchanged, a
part dropped. It is killed when one of the rule's cases fails. Prints the rate by rule
and in all, with --show the survivors. Exit code 1 when the rate is below --least, or a
rule's below --each.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec.structs import replace

import tfadvisor.metrics  # noqa: F401
from tfadvisor.advice.checking.cases import load_cases, metrics_of, run_case
from tfadvisor.advice.judging.conditions import (
    Compare,
    Condition,
    FactIs,
    Joined,
    Known,
)
from tfadvisor.advice.loading.catalogue import checked, is_rule
from tfadvisor.advice.loading.rule import Rule
from tfadvisor.advice.loading.yaml_marks import load

COMPARISONS = ("above", "at_least", "below", "at_most")
NUDGE = 0.02


class Score(msgspec.Struct, frozen=True):
    """Of one rule: how many of its mutants the cases kill, and what the others are."""

    rule: str
    killed: int
    survivors: tuple[str, ...]

    @property
    def mutants(self) -> int:
        """All of them."""
        return self.killed + len(self.survivors)

    @property
    def rate(self) -> float:
        """1 when none survives."""
        return self.killed / max(self.mutants, 1)


def mutants(condition: Condition) -> Iterator[tuple[str, Condition]]:
    """(what was changed, the changed condition): one change each."""
    if isinstance(condition, Compare):
        for bound in nudged(condition.bound):
            yield (
                f"{condition.metric} {condition.operator} {bound:g}",
                replace(condition, bound=bound),
            )
        for operator in COMPARISONS:
            if operator != condition.operator:
                yield (
                    f"{condition.metric} {operator} {condition.bound:g}",
                    replace(condition, operator=operator),
                )
    elif isinstance(condition, FactIs):
        for index, word in enumerate(condition.words):
            rest = condition.words[:index] + condition.words[index + 1 :]
            yield f"{condition.fact} never {word}", replace(condition, words=rest)
        yield f"{condition.fact} not in {condition.words}", Joined("not", (condition,))
    elif isinstance(condition, Known):
        yield (
            f"{condition.name} known {not condition.known}",
            replace(condition, known=not condition.known),
        )
    else:
        yield from of_joined(condition)


def nudged(bound: float) -> tuple[float, float]:
    """A little below and above: one for whole numbers, 2% for others."""
    step = max(1.0, bound * NUDGE) if float(bound).is_integer() else abs(bound) * NUDGE
    return bound - step, bound + step


def of_joined(condition: Joined) -> Iterator[tuple[str, Condition]]:
    """Of all, any and not: exchanged, and with each part dropped or changed."""
    if condition.how == "not":
        yield "not left out", condition.parts[0]
    elif len(condition.parts) > 1:
        yield (
            f"{condition.how} of {len(condition.parts)} exchanged",
            replace(condition, how="any" if condition.how == "all" else "all"),
        )
        for index in range(len(condition.parts)):
            rest = condition.parts[:index] + condition.parts[index + 1 :]
            yield (
                f"part {index} of {condition.how} dropped",
                replace(condition, parts=rest),
            )
    for index, part in enumerate(condition.parts):
        for what, changed in mutants(part):
            parts = (*condition.parts[:index], changed, *condition.parts[index + 1 :])
            yield f"{condition.how}.{index}: {what}", replace(condition, parts=parts)


def score(rule: Rule, file: Path) -> Score:
    """Runs the cases beside a rule's file on each of its mutants."""
    cases = [
        (case, metrics_of(case))
        for case in load_cases(file.with_name(f"{file.stem}.cases.yaml"))
    ]
    killed, survivors = 0, []
    for what, condition in mutants(rule.when):
        mutant = replace(rule, when=condition)
        if any(run_case(mutant, case, metrics) is not None for case, metrics in cases):
            killed += 1
        else:
            survivors.append(what)
    return Score(rule.id, killed, tuple(survivors))


def scores(folder: Path) -> list[Score]:
    """Of every rule below a folder, by id."""
    files = sorted(
        (path for path in folder.rglob("*.yaml") if is_rule(path.name)),
        key=lambda path: path.stem,
    )
    return [
        score(checked(load(file.read_text(encoding="utf-8"), str(file))), file)
        for file in files
    ]


def main() -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "rules", nargs="?", type=Path, default=Path(__file__).parents[1] / "rules"
    )
    parser.add_argument("--show", action="store_true", help="name the survivors")
    parser.add_argument(
        "--least", type=float, default=0.95, help="rate below which the whole fails"
    )
    parser.add_argument(
        "--each", type=float, default=0.90, help="rate below which a rule fails"
    )
    given = parser.parse_args()
    found = scores(given.rules)
    for one in found:
        print(f"{one.rate:7.1%}  {one.killed:4d} of {one.mutants:4d}  {one.rule}")
        for survivor in one.survivors if given.show else ():
            print(f"             survives: {survivor}")
    killed, made = sum(one.killed for one in found), sum(one.mutants for one in found)
    print(
        f"{killed / max(made, 1):7.1%}  {killed} of {made} mutants killed, "
        f"{len(found)} rules"
    )
    return int(
        killed < given.least * made or any(one.rate < given.each for one in found)
    )


if __name__ == "__main__":
    sys.exit(main())
