"""What each part of a program costs: arms with one part taken out, the profile that
they make in words, and what goes into a report.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

import msgspec

from tfadvisor.act.trial.candidates import Candidate
from tfadvisor.act.trial.injected.tfadvisor_trial_hook import program_parts as hooks
from tfadvisor.act.trial.orders import ProcessAnswer
from tfadvisor.act.trial.trial_result import (
    BETTER,
    BROKEN,
    NOT_BETTER,
    PART,
    SCALE,
    SWITCH,
    Arm,
    StepRatio,
    TrialResult,
)
from tfadvisor.advice.measured import Measured, MeasuredPart, less_words
from tfadvisor.units import percent

STAGES = (3, 5)
"""Rounds after which to look: a share is asked for, and no small gain."""
ONE_DEVICE = "one device"
_HARDLY_LESS = 0.85
"""Half of the batch takes so much of the time: the step hardly depends on its size.
Launches are one reason, weights that are read another: the arm does not tell them
apart."""
_WHY_NOT_HALF = (
    ", so its size hardly matters (is it launches, or weights that are read?)"
)
_EXPLAINED = 0.3
"""Parts that do not depend on the batch and cost so much leave that open."""
_WORSE = 0.02
"""From here on it is said that a switch makes a step longer."""


class AblationPart(msgspec.Struct, frozen=True):
    """What can be taken out of a program, or set in it."""

    name: str
    kind: str
    """part: something that the program does; switch: a setting; scale: how much there
    is to do.
    """
    category: str
    """Of a finding about it."""
    does: str
    """What the arm does; of a switch the change to make."""
    never: str
    """Why its hook never took effect, as the end of a sentence that begins with "the
    program".
    """
    check: str = "none"


PARTS = (
    AblationPart(
        name=hooks.INPUT,
        kind=PART,
        category="input",
        does="the first batch again and again",
        never="reads no data set, and its loop makes no batch that is recognised",
    ),
    AblationPart(
        name=hooks.CALLBACKS,
        kind=PART,
        category="host",
        does="no callbacks, prints, logs or summaries",
        never="has no callback, and prints, logs and writes nothing in its steps",
        check="values",
    ),
    AblationPart(
        name=hooks.CHECKPOINTS,
        kind=PART,
        category="host",
        does="no checkpoint is kept",
        never="keeps none in its steps",
        check="values",
    ),
    AblationPart(
        name=hooks.EVALUATION,
        kind=PART,
        category="host",
        does="the first evaluation stands in for later ones",
        never="evaluates nothing in its steps",
    ),
    AblationPart(
        name=hooks.READS,
        kind=PART,
        category="host",
        does="the first value read at each place stands in for later ones, and nothing "
        "is waited for",
        never="reads no value of the device in its steps",
    ),
    AblationPart(
        name=hooks.BEHIND,
        kind=PART,
        category="host",
        does="nothing behind the step that the next round does not need",
        never="does nothing behind its step, or no step is recognised",
    ),
    AblationPart(
        name=hooks.HALF,
        kind=SCALE,
        category="launch",
        does="half of each batch",
        never="hands its step no batch that can be halved",
    ),
    AblationPart(
        name=hooks.JIT_ON,
        kind=SWITCH,
        category="launch",
        does="pass jit_compile=True to compile() or tf.function",
        never="has no tf.function or model that could have it and has not",
        check="values",
    ),
    AblationPart(
        name=hooks.JIT_OFF,
        kind=SWITCH,
        category="compute",
        does="pass jit_compile=False to compile() or tf.function",
        never="uses no jit_compile",
        check="values",
    ),
    AblationPart(
        name=hooks.EAGER_OFF,
        kind=SWITCH,
        category="launch",
        does="take run_eagerly=True out",
        never="sets run_eagerly nowhere",
        check="values",
    ),
    AblationPart(
        name=hooks.COMPILED,
        kind=SWITCH,
        category="launch",
        does="wrap the step's function in tf.function or jax.jit",
        never="calls no function of its own as its step that is not compiled",
        check="values",
    ),
    AblationPart(
        name=hooks.APPLIED,
        kind=SWITCH,
        category="launch",
        does="wrap the network's apply in jax.jit where it is called outside of "
        "compiled functions",
        never="calls no apply of a network outside of compiled functions",
        check="values",
    ),
    AblationPart(
        name=hooks.EIGHT_STEPS,
        kind=SWITCH,
        category="host",
        does="pass steps_per_execution=8 to compile()",
        never="calls no compile() of Keras",
        check="values",
    ),
    AblationPart(
        name=hooks.ONE_BATCH,
        kind=SWITCH,
        category="host",
        does="call model.predict_on_batch(x) where model.predict(x) is given a few "
        "rows",
        never="calls predict of Keras for a few rows nowhere in its steps",
        check="values",
    ),
    AblationPart(
        name=hooks.PRECISION,
        kind=SWITCH,
        category="precision",
        does='call keras.config.set_dtype_policy("mixed_bfloat16") first',
        never="makes no layers of Keras",
    ),
    AblationPart(
        name=hooks.PREFETCH,
        kind=SWITCH,
        category="input",
        does="end the data set with .prefetch(tf.data.AUTOTUNE), and pass "
        "num_parallel_calls=tf.data.AUTOTUNE to map",
        never="reads no data set of tf.data that lacks them",
        check="values",
    ),
)
BY_NAME = {part.name: part for part in PARTS}
HOOKED = tuple(BY_NAME)


def arms_for(
    answers: Sequence[ProcessAnswer],
) -> tuple[tuple[Candidate, ...], dict[str, str]]:
    """(candidates, why some of them are not in this program). answers: of the run in
    which all hooks counted.
    """
    missing = {}
    for name in BY_NAME:
        if not sum(answer.took.get(name, 0) for answer in answers):
            missing[name] = not_here(name)
    if answers[0].devices <= 1:
        missing[ONE_DEVICE] = "it uses one device as it is"
    return (*map(_without, PARTS), _on_one_device(answers[0].device)), missing


def _without(part: AblationPart) -> Candidate:
    return Candidate(
        part.name,
        category=part.category,
        change="ablation",
        check=part.check,
        effect=part.does,
        kind=part.kind,
        parts=(part.name,),
    )


def _on_one_device(kind: str) -> Candidate:
    """kind: of the program's devices."""
    env = {"CUDA_VISIBLE_DEVICES": "0"}
    if kind.lower() in ("", "cpu"):
        env = {"XLA_FLAGS": "--xla_force_host_platform_device_count=1"}
    return Candidate(
        ONE_DEVICE,
        env=env,
        category="imbalance",
        change="ablation",
        check="none",
        kind=SCALE,
    )


def not_here(name: str) -> str:
    """Why an arm does not apply."""
    return f"the program {BY_NAME[name].never}"


# The table in one sentence: a causal profile.


def profile_of(arms: Sequence[Arm]) -> str:
    """`input 42% (38 to 45), callbacks 11% (8 to 13); half the batch takes 93% of the
    time; jit on saves 57%`.
    """
    ratios = _ratios_of(arms)
    parts = [tried.name for tried in arms if _is_part(tried, ratios)]
    costs = {}
    for name in parts:
        if ratios[name].high < 1:
            costs[name] = ratios[name]

    sentences = []
    if costs:
        sentences.append(_costs_in_words(costs))
    elif parts:
        sentences.append("no part that was taken out costs anything that shows")

    explained = sum(1 - ratio.estimate for ratio in costs.values())
    for arm in arms:
        if arm.name in ratios:
            sentences.append(_in_words(arm, ratios[arm.name], explained))
    return "; ".join(filter(None, sentences))


def _ratios_of(arms: Sequence[Arm]) -> dict[str, StepRatio]:
    """By name, of those that were measured."""
    found = {}
    for arm in arms:
        if arm.outcome != BROKEN and arm.ratio is not None:
            found[arm.name] = arm.ratio
    return found


def _is_part(
    arm: Arm,
    ratios: dict[str, StepRatio],
) -> bool:
    return arm.kind == PART and arm.name in ratios


def _costs_in_words(costs: dict[str, StepRatio]) -> str:
    """The most expensive first."""
    by_cost = sorted(
        costs,
        key=lambda name: (costs[name].estimate, name),
    )
    return ", ".join(f"{name} {share(costs[name])}" for name in by_cost)


def _in_words(
    arm: Arm,
    ratio: StepRatio,
    explained: float,
) -> str:
    """Of a switch or a scale; "" where there is nothing to say. explained: what parts
    cost.
    """
    if arm.kind == SCALE:
        hardly = arm.name == hooks.HALF and ratio.low >= _HARDLY_LESS
        why = _WHY_NOT_HALF if hardly and explained < _EXPLAINED else ""
        return f"{arm.name} takes {percent(ratio.estimate)} of the time{why}"
    if arm.kind != SWITCH:
        return ""
    if arm.outcome == BETTER:
        return f"{arm.name} saves {share(ratio)}"
    if ratio.low > 1 + _WORSE:
        return f"{arm.name} makes a step {percent(ratio.estimate - 1)} longer"
    return ""


def share(ratio: StepRatio) -> str:
    """`42% (38 to 45)`, of step time."""
    return less_words(ratio.estimate, ratio.low, ratio.high)


# What a report is told.


def measured_in(result: TrialResult) -> Measured:
    """What parts cost, and what that bounds."""
    shorter = [tried for tried in result.arms if tried.outcome == BETTER]
    parts = [_part(tried) for tried in shorter if tried.kind in (PART, SWITCH)]
    at_most = {}
    for arm in result.arms:
        known = arm.outcome in (BETTER, NOT_BETTER)
        if arm.name == hooks.INPUT and known and arm.ratio is not None:
            at_most[BY_NAME[arm.name].category] = max(1 - arm.ratio.low, 0.0)
    return Measured(
        step_ms=median(result.base_step_ms),
        parts=tuple(part for part in parts if part is not None),
        at_most=at_most,
        between=result.steps.between,
        loop=result.steps.told_by,
    )


def _part(arm: Arm) -> MeasuredPart | None:
    if arm.ratio is None:
        return None
    return MeasuredPart(
        name=arm.name,
        category=arm.category,
        is_part=arm.kind == PART,
        effect=arm.effect,
        places=arm.places,
        check=arm.check,
        step_ms=median(arm.step_ms),
        ratio=arm.ratio.estimate,
        low=arm.ratio.low,
        high=arm.ratio.high,
    )
