"""A rule has few fixes, each for a cause that is shown, and only recordings confirm it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

import tfadvisor.metrics  # noqa: F401
from tfadvisor.advice.checking.standards import MOST_FIXES, shortcomings
from tfadvisor.advice.judging.conditions import Compare, FactIs, Joined
from tfadvisor.advice.loading.catalogue import load_catalogue
from tfadvisor.advice.loading.rule import FixRule, Rule

RULES = load_catalogue(preview=True).rules
RULE = next(one for one in RULES if one.id == "few-steps")
TWO = "a = 1\nb = 2\n"
JAX = FactIs("framework", ("jax",))
BUSY = Compare("device_busy_fraction", "below", 0.5, "half")


def fix(**changes: object) -> FixRule:
    whole = FixRule(
        kind="code",
        cures="a cause",
        do="Do something else.",
        before=TWO,
        snippet=TWO,
        valid_for="any framework",
    )
    return replace(whole, **changes)


def lacks(one: FixRule) -> list[str]:
    return list(shortcomings(replace(RULE, fixes=(one,))))


def test_five_fixes_are_several_causes() -> None:
    assert list(shortcomings(replace(RULE, fixes=(fix(),) * MOST_FIXES))) == []
    (found,) = shortcomings(replace(RULE, fixes=(fix(),) * 5))
    assert found.startswith("has 5 fixes: a rule has at most 4")


def test_a_fix_names_the_cause_that_it_cures() -> None:
    (found,) = lacks(fix(cures=" "))

    assert found.startswith("fix 1 names no cause")


@pytest.mark.parametrize("field", ["before", "snippet"])
@pytest.mark.parametrize(
    ("lines", "is_wrong"), [(1, 1), (2, 0), (6, 0), (7, 1), (0, 1)]
)
def test_a_fix_has_two_to_six_lines_before_and_after(
    field: str, lines: int, is_wrong: int
) -> None:
    found = lacks(fix(**{field: "x = 1\n" * lines}))

    assert [f"has {lines} lines of `{field}`" in one for one in found] == [
        True
    ] * is_wrong


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"snippet": "x = 1\nmodel.compile(jit_compile=True)"}, "compiles"),
        ({"snippet": "@tf.function\ndef step(x): ..."}, "compiles"),
        ({"snippet": "step = jax.jit(step)\nstep(x)"}, "compiles"),
        ({"snippet": "x = x.astype(jnp.bfloat16)\ny = x"}, "changes precision"),
        ({"snippet": "set_global_policy('mixed_float16')\ny = x"}, "changes precision"),
        ({"snippet": "batch_size = 64\ny = x"}, "changes the batch size"),
        ({"do": "Use a larger batch."}, "changes the batch size"),
        ({"snippet": "f(steps_per_execution=8)\ny = x"}, "changes steps per execution"),
        ({"snippet": "d = d.prefetch(2)\ny = x"}, "changes an input pipeline"),
        ({"snippet": "d = d.map(f)\ny = x"}, "changes an input pipeline"),
        ({"snippet": "if step % 100 == 0:\n    log()"}, "changes how often"),
        ({"do": "Log once in many steps."}, "changes how often"),
    ],
)
def test_what_harms_elsewhere_needs_its_preconditions(
    changed: dict[str, str], what: str
) -> None:
    """The framework alone is none: it says whose words they are."""
    (bare,) = lacks(fix(**changed))
    (for_jax,) = lacks(fix(**changed, needs=JAX))

    assert bare.startswith(f"fix 1 {what}")
    assert for_jax == bare
    assert lacks(fix(**changed, needs=BUSY)) == []
    assert lacks(fix(**changed, needs=Joined("all", (JAX, BUSY)))) == []
    assert lacks(fix(**changed, never=BUSY)) == []


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
