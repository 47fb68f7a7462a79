"""A rule has few fixes, and only recordings confirm it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

import tfadvisor.metrics  # noqa: F401
from tfadvisor.advice.checking.standards import MOST_FIXES, shortcomings
from tfadvisor.advice.loading.catalogue import load_catalogue
from tfadvisor.advice.loading.rule import Rule

RULES = load_catalogue(preview=True).rules
RULE = next(one for one in RULES if one.id == "few-steps")


def test_six_fixes_are_several_causes() -> None:
    fix = RULE.fixes[0]

    assert list(shortcomings(replace(RULE, fixes=(fix,) * MOST_FIXES))) == []
    (found,) = shortcomings(replace(RULE, fixes=(fix,) * (MOST_FIXES + 1)))
    assert found.startswith("has 6 fixes: a rule has at most 5")


@pytest.mark.parametrize(
    ("named", "recorded"),
    [
        ("fixtures/jax-loader", True),
        ("fixtures/gpu/jax-lm", True),
        ("public trace gpu-keras-2020/ssc-t4-input-8s", True),
        ("public program tf_vae", True),
        ("first sight, batch 9: tf_orderbook_lstm", True),
        ("tests/unit/advice/test_from_trace_to_finding.py", False),
        ("built trace hbm-bound-tpu", False),
        ("fixture jax-unrolled", False),
        ("first sight: tf_lakes_manager", False),
        ("a public trace", False),
    ],
)
def test_only_recordings_confirm_a_rule(named: str, recorded: bool) -> None:
    found = list(shortcomings(replace(RULE, confirmed=(named,))))

    assert found == [] if recorded else "names no recording" in found[0]


@pytest.mark.parametrize("rule", RULES, ids=lambda one: one.id)
def test_the_catalogue_keeps_to_it(rule: Rule) -> None:
    assert list(shortcomings(rule)) == []
