"""A fix is printed where all that it needs is shown and nothing forbids it: each of
these conditions alone keeps it away.

The worlds are made by hand: what each fact and metric may be in a trace, whatever a rule
asks of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

import pytest
from msgspec.structs import replace
from support.outcome import outcome_of

import tfadvisor.metrics  # noqa: F401
from tfadvisor.advice.checking.cases import Case, metrics_of
from tfadvisor.advice.findings import Finding
from tfadvisor.advice.judging.conditions import (
    Condition,
    FactIs,
    Joined,
    Known,
    evaluate,
    names_in,
    placeholders,
)
from tfadvisor.advice.loading.catalogue import load_catalogue
from tfadvisor.advice.loading.rule import FixRule, Rule
from tfadvisor.metrics.registry import registered_facts
from tfadvisor.vocabulary import Severity

Value = str | float | None
YES_OR_NO = ("yes", "no", None)
CAUSES = (
    "converting",
    "flattening",
    "allocating",
    "logging",
    "saving",
    "sleeping",
    None,
)
COLLECTIVES = ("all-reduce", "all-gather", "reduce-scatter", "send-recv", None)
WORLD: Mapping[str, tuple[Value, ...]] = {
    "framework": ("tensorflow", "jax"),
    "device_kind": ("cpu", "gpu", "tpu"),
    "gpu_vendor": ("nvidia", "amd", None),
    "compiler": ("xla", "none", None),
    "replicas": ("one", "several", "parts", None),
    "tensor_cores": ("yes", "no", "unknown", None),
    "workload": ("inference", "unknown"),
    "entry": ("fit", "train_on_batch", "predict_on_batch", "tf.function", "jit", None),
    "keras_runs": ("compiled", "op by op", None),
    "host_cause": CAUSES,
    "launch_cause": CAUSES,
    "input_cause": CAUSES,
    "evaluated_result": ("goes into no step", "may go into the step", None),
    "host_tie": ("argument", "result", "step", None),
    "d2d_donates": ("yes", "no", "in vain", None),
    "loop_beside_rounds": YES_OR_NO,
    "driven_loop_collects": YES_OR_NO,
    "indexed_for": ("call", "unknown", None),
    "pipeline_built": ("dataset", "iterator", None),
    "both_branches_by": ("vmap", "caller", None),
    "mapped_loop_ends": ("counts", "values", None),
    "recompiled_owner": ("program", "Keras", None),
    "recompiled_arguments": ("same", "rows", "grows", "lengths", "differ", None),
    "tiny_op_in_loop": YES_OR_NO,
    "loop_gradient": YES_OR_NO,
    "far_op_sorts": ("draw", "order", None),
    "sorted_for": ("draw", "order", None),
    "number_only_kind": ("gradients", "values", None),
    "inverse_use": ("products", "unknown", None),
    "decomposition_kind": (
        "pseudo-inverse",
        "inverse",
        "least squares",
        "norm",
        "singular values",
        "eigenvalues",
        "LU factors",
        "QR factors",
        None,
    ),
    "recompiled_cause": ("function", "cache", "value", "same", None),
    "python_tracer": ("on", "off"),
    "recorded_on": ("windows", "another"),
    "recording_obstacle": ("library", "privilege", "profiler", "unknown"),
    "collective_dtype": ("f32", "bf16", None),
    "exposed_collective_kind": COLLECTIVES,
    "exposed_collective_use": ("experts", "asked for", "resharding", "unknown", None),
    "sparse_core_offload": ("by flags", "by default", "none", None),
    "late_host_class": ("input", "compute", None),
    "hideable_copies": ("in", "out", "within", "between", "offload", None),
    "input_map_again": YES_OR_NO,
    "input_root": ("none", "prefetch", "background", None),
    "input_stage_fault": (
        "generator",
        "python-function",
        "sequential-map",
        "per-element-map",
        "parallel-map",
        "windows",
        "rows",
        "source",
        "small-files",
        "parsed-text",
        "shuffle-refill",
        "batch",
        None,
    ),
    "costly_op_kind": (
        "checks for NaN and Inf",
        "summaries and printing",
        "decoding of files and records",
        "augmentation and resizing of images",
        "text",
        None,
    ),
    "cudnn_recurrence": ("used", "not used", None),
}
"""What may be said of a run; None for what its trace does not tell."""
KNOWN_OR_NOT = ("train_step (train.py:7)", None)
"""Of a fact that holds any text."""
SMALL_AND_LARGE = (
    0.0,
    0.01,
    0.2,
    0.47,
    0.7,
    1.5,
    7.0,
    9.0,
    11.0,
    40.0,
    300.0,
    2e6,
    None,
)
"""Of a metric, in whatever unit."""
RULES = load_catalogue(preview=True).rules


def preconditions(fix: FixRule) -> Iterator[Condition]:
    """What must hold, each by itself; what forbids it, negated."""
    if isinstance(fix.needs, Joined) and fix.needs.how == "all":
        yield from fix.needs.parts
    elif fix.needs is not None:
        yield fix.needs
    never = fix.never
    forbids = never.parts if isinstance(never, Joined) and never.how == "any" else None
    for part in forbids or filter(None, (never,)):
        yield Joined("not", (part,))


def may_be(name: str) -> tuple[Value, ...]:
    if name in WORLD or name.startswith("has_"):
        return WORLD.get(name, YES_OR_NO)
    return KNOWN_OR_NOT if name in registered_facts() else SMALL_AND_LARGE


def case_of(known: Mapping[str, Value]) -> Case:
    """With a number or text for all that a fix is filled with."""
    facts = {n: v for n, v in known.items() if isinstance(v, str)}
    metrics = {n: v for n, v in known.items() if isinstance(v, float)}
    return Case(name="world", expect="fired", metrics=metrics, facts=facts)


def worlds(fix: FixRule) -> Iterator[dict[str, Value]]:
    """Every way in which what its conditions name may be, the rest as it is filled."""
    given = [part for part in (fix.needs, fix.never) if part is not None]
    asked = list(dict.fromkeys(name for part in given for name in names_in(part)))
    texts = (fix.do, fix.before, fix.snippet, fix.side_effect, *fix.env.values())
    filled = {name for text in texts for name in placeholders(text)}
    rest = {n: may_be(n)[0] if n in registered_facts() else 4.0 for n in filled}
    for values in product(*map(may_be, asked)):
        yield {**rest, **dict(zip(asked, values, strict=True))}


def is_printed(rule: Rule, fix: FixRule, world: Mapping[str, Value]) -> bool:
    """Alone in a rule that fires."""
    alone = replace(
        rule,
        when=Known("step_time_ms", known=True),
        category="capture",
        fixes=(fix,),
        saving=None,
        severity=Severity.INFO,
        tier="stable",
    )
    metrics = metrics_of(case_of({**world, "step_time_ms": 10.0}))
    return isinstance(outcome_of(alone, metrics), Finding)


def world_without(fix: FixRule, broken: int | None) -> dict[str, Value] | None:
    """The first in which only the precondition of this number does not hold; all hold
    for None.
    """
    every = list(preconditions(fix))
    for world in worlds(fix):
        metrics = metrics_of(case_of(world))
        holds = [_holds(condition, metrics) for condition in every]
        if holds == [row != broken for row in range(len(every))]:
            return world
    return None


def _holds(condition: Condition, metrics: object) -> bool:
    """What is not known forbids nothing."""
    is_ban = isinstance(condition, Joined) and condition.how == "not"
    held = evaluate(condition, metrics).holds
    return held is not False if is_ban else bool(held)


EACH = [
    pytest.param(rule, fix, row, id=f"{rule.id}-{number}-{row}")
    for rule in RULES
    for number, fix in enumerate(rule.fixes, start=1)
    for row, _ in enumerate(preconditions(fix))
]


@pytest.mark.parametrize(("rule", "fix", "row"), EACH)
def test_without_one_of_its_preconditions_a_fix_is_not_printed(
    rule: Rule, fix: FixRule, row: int
) -> None:
    whole, broken = world_without(fix, None), world_without(fix, row)

    assert whole is not None and is_printed(rule, fix, whole)
    assert broken is not None and not is_printed(rule, fix, broken)


def test_every_fact_of_the_worlds_is_one_that_fixes_ask_for() -> None:
    """A name that no fix asks for any more is dropped from the table."""
    asked = {
        name
        for rule in RULES
        for fix in rule.fixes
        for condition in (fix.needs, fix.never)
        if condition is not None
        for name in names_in(condition)
    }

    assert set(WORLD) <= asked


def test_every_word_that_a_fix_asks_for_is_in_the_worlds() -> None:
    """Else a misspelt one would pass for a precondition that never holds."""
    for rule in RULES:
        for fix in rule.fixes:
            for condition in preconditions(fix):
                for part in _facts_in(condition):
                    known = may_be(part.fact)
                    assert known is KNOWN_OR_NOT or set(part.words) & set(known), fix.do


def _facts_in(condition: Condition) -> Iterator[FactIs]:
    if isinstance(condition, Joined):
        for part in condition.parts:
            yield from _facts_in(part)
    elif isinstance(condition, FactIs):
        yield condition
