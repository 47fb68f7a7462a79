"""The cases notice when a rule is changed: every condition broken in every
small way.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest
from support.places import ROOT, RULES

import tfadvisor.metrics  # noqa: F401
from tfadvisor.advice.judging.conditions import Compare, FactIs, Joined, Known


@pytest.fixture(scope="module")
def mutating() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "mutate_rules", ROOT / "benchmarks" / "mutate_rules.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["mutate_rules"] = module
    spec.loader.exec_module(module)
    return module


def test_the_cases_kill_the_mutants_of_every_rule(mutating: ModuleType) -> None:
    scores = mutating.scores(RULES)
    killed, made = sum(one.killed for one in scores), sum(one.mutants for one in scores)

    assert killed >= 0.95 * made
    assert [(one.rule, one.survivors) for one in scores if one.rate < 0.9] == []


@pytest.mark.parametrize(
    ("condition", "number"),
    [
        (Compare("step_time_ms", "above", 1), 2 + 3),
        (FactIs("framework", ("jax", "unknown")), 2 + 1),
        (Known("step_time_ms", True), 1),
        (Joined("not", (Known("step_time_ms", True),)), 1 + 1),
        (Joined("all", (Known("step_time_ms", True),)), 1),
        (
            Joined("any", (Known("step_time_ms", True), Known("framework", True))),
            1 + 2 + 2,
        ),
    ],
)
def test_each_way_of_breaking_a_condition(
    mutating: ModuleType, condition, number: int
) -> None:
    made = list(mutating.mutants(condition))

    assert len(made) == number
    assert all(changed != condition for _, changed in made)
    assert len({what for what, _ in made}) == number


def test_a_mutant_without_a_case_at_the_bound_survives(
    mutating: ModuleType, tmp_path: Path
) -> None:
    text = (RULES / "capture" / "profiler-errors.yaml").read_text()
    lines = text.splitlines(keepends=True)
    rule = "".join(line for line in lines if "_device, known" not in line)
    (tmp_path / "profiler-errors.yaml").write_text(rule)
    (tmp_path / "profiler-errors.cases.yaml").write_text(
        "- {name: few, metrics: {profiler_errors: 0}, facts: {framework: jax}, "
        "expect: quiet}\n"
        "- {name: many, metrics: {profiler_errors: 9}, facts: {framework: jax}, "
        "expect: fired}\n"
    )

    (score,) = mutating.scores(tmp_path)

    assert score.survivors == ("all.0: profiler_errors above 1",)
    assert score.rate == pytest.approx(4 / 5)
