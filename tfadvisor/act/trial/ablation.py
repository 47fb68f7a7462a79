"""What each part of a program costs: arms with one part taken out, the profile that
they make, and findings of a report.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

import msgspec
from msgspec.structs import replace

from tfadvisor.act.trial.candidates import Candidate
from tfadvisor.act.trial.injected.tfadvisor_trial_hook import parts as hooks
from tfadvisor.act.trial.result import (
    BETTER,
    BROKEN,
    NOT_BETTER,
    Arm,
    Ratio,
    TrialResult,
    at_lines,
)
from tfadvisor.act.trial.steps import Answer
from tfadvisor.advice.evidence import BetweenTurns
from tfadvisor.advice.findings import Evidence, Finding, Fix, Location, Saving, Verdict
from tfadvisor.advice.judging.verdict import LARGE
from tfadvisor.advice.ranking import BETWEEN_TURNS, between_turns, severity_of
from tfadvisor.report.model import Report
from tfadvisor.units import duration, percent

PART, SWITCH, SCALE = "part", "switch", "scale"
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


class Part(msgspec.Struct, frozen=True):
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
    Part(hooks.INPUT, PART, "input", "the first batch again and again",
         "reads no data set, and its loop makes no batch that is recognised"),
    Part(hooks.CALLBACKS, PART, "host", "no callbacks, prints, logs or summaries",
         "has no callback, and prints, logs and writes nothing in its steps", "values"),
    Part(hooks.CHECKPOINTS, PART, "host", "no checkpoint is kept", "keeps none in its steps", "values"),
    Part(hooks.EVALUATION, PART, "host", "the first evaluation stands in for later ones", "evaluates nothing in its steps"),
    Part(hooks.READS, PART, "host", "the first value read at each place stands in for later ones, and nothing is "
    "waited for",
         "reads no value of the device in its steps"),
    Part(hooks.BEHIND, PART, "host", "nothing behind the step that the next round does not need",
         "does nothing behind its step, or no step is recognised"),
    Part(hooks.HALF, SCALE, "launch", "half of each batch", "hands its step no batch that can be halved"),
    Part(hooks.JIT_ON, SWITCH, "launch", "pass jit_compile=True to compile() or tf.function",
         "has no tf.function or model that could have it and has not", "values"),
    Part(hooks.JIT_OFF, SWITCH, "compute", "pass jit_compile=False to compile() or tf.function", "uses no jit_compile", "values"),
    Part(hooks.EAGER_OFF, SWITCH, "launch", "take run_eagerly=True out", "sets run_eagerly nowhere", "values"),
    Part(hooks.COMPILED, SWITCH, "launch", "wrap the step's function in tf.function or jax.jit",
         "calls no function of its own as its step that is not compiled", "values"),
    Part(hooks.APPLIED, SWITCH, "launch", "wrap the network's apply in jax.jit where it is called outside of compiled "
    "functions",
         "calls no apply of a network outside of compiled functions", "values"),
    Part(hooks.EIGHT_STEPS, SWITCH, "host", "pass steps_per_execution=8 to compile()", "calls no compile() of Keras", "values"),
    Part(hooks.ONE_BATCH, SWITCH, "host", "call model.predict_on_batch(x) where model.predict(x) is given a few rows",
         "calls predict of Keras for a few rows nowhere in its steps", "values"),
    Part(hooks.PRECISION, SWITCH, "precision", 'call keras.config.set_dtype_policy("mixed_bfloat16") first',
         "makes no layers of Keras"),
    Part(hooks.PREFETCH, SWITCH, "input",
         "end the data set with .prefetch(tf.data.AUTOTUNE), and pass "
         "num_parallel_calls=tf.data.AUTOTUNE to map",
         "reads no data set of tf.data that lacks them", "values"),
)  # fmt: skip
BY_NAME = {one.name: one for one in PARTS}
HOOKED = tuple(BY_NAME)


def arms_for(answers: Sequence[Answer]) -> tuple[tuple[Candidate, ...], dict[str, str]]:
    """(candidates, why some of them are not in this program). answers: of the run in
    which all hooks counted.
    """
    found = [
        Candidate(one.name, category=one.category, change="ablation", check=one.check, effect=one.does, kind=one.kind,
                  parts=(one.name,))
        for one in PARTS
    ]  # fmt: skip
    took = {name: sum(one.took.get(name, 0) for one in answers) for name in BY_NAME}
    missing = {name: not_here(name) for name, times in took.items() if not times}
    on_cpu = answers[0].device.lower() in ("", "cpu")
    env = (
        {"XLA_FLAGS": "--xla_force_host_platform_device_count=1"}
        if on_cpu
        else {"CUDA_VISIBLE_DEVICES": "0"}
    )
    one = Candidate(
        ONE_DEVICE,
        env=env,
        category="imbalance",
        change="ablation",
        check="none",
        kind=SCALE,
    )
    if answers[0].devices <= 1:
        missing[ONE_DEVICE] = "it uses one device as it is"
    return (*found, one), missing


def not_here(name: str) -> str:
    """Why an arm does not apply."""
    return f"the program {BY_NAME[name].never}"


# The table in one sentence: a causal profile.


def profile_of(arms: Sequence[Arm]) -> str:
    """`input 42% (38 to 45), callbacks 11% (8 to 13); half the batch takes 93% of the
    time; jit on saves 57%`.
    """
    measured = [
        (one, one.ratio)
        for one in arms
        if one.ratio is not None and one.outcome != BROKEN
    ]
    parts = [(ratio, one.name) for one, ratio in measured if one.kind == PART]
    costs = sorted(
        (ratio.estimate, name, ratio) for ratio, name in parts if ratio.high < 1
    )
    said = (
        [", ".join(f"{name} {share(ratio)}" for _, name, ratio in costs)]
        if costs
        else []
    )
    if parts and not costs:
        said.append("no part that was taken out costs anything that shows")
    open_to_batch = sum(1 - estimate for estimate, _, _ in costs) < _EXPLAINED
    for one, ratio in measured:
        if one.kind == SCALE:
            asks = (
                one.name == hooks.HALF and ratio.low >= _HARDLY_LESS and open_to_batch
            )
            said.append(
                f"{one.name} takes {percent(ratio.estimate)} of the "
                f"time{_WHY_NOT_HALF if asks else ''}"
            )
        elif one.kind == SWITCH and one.outcome == BETTER:
            said.append(f"{one.name} saves {share(ratio)}")
        elif one.kind == SWITCH and ratio.low > 1 + _WORSE:
            said.append(f"{one.name} makes a step {percent(ratio.estimate - 1)} longer")
    return "; ".join(said)


def share(ratio: Ratio) -> str:
    """`42% (38 to 45)`, of step time."""
    return (
        f"{percent(1 - ratio.estimate)} ({100 * (1 - ratio.high):.0f} to "
        f"{100 * (1 - ratio.low):.0f})"
    )


# What was measured, as findings of the report that the program was recorded for.


def with_measured(report: Report, result: TrialResult) -> Report:
    """What costs something comes as a finding of its own, before what was foreseen to
    save as much; what was foreseen of the input is no more than what it costs."""
    base = median(result.base_step_ms)
    measured = tuple(
        _finding(one, base)
        for one in result.arms
        if one.kind in (PART, SWITCH) and one.outcome == BETTER and one.ratio
    )
    bounds = {
        BY_NAME[one.name].category: max(1 - one.ratio.low, 0.0)
        for one in result.arms
        if one.name == hooks.INPUT and one.ratio and one.outcome in (BETTER, NOT_BETTER)
    }
    ends = _between(report, result)
    foreseen = [
        _bounded(one, bounds)
        for one in report.findings
        if not ends or one.rule_id != BETWEEN_TURNS
    ]
    ranked = sorted(
        (*measured, *ends, *foreseen),
        key=lambda one: (
            one.is_question,
            -round(_ranks(one), 1),
            one.proof != "measured",
            -_ranks(one),
        ),
    )
    if not (measured or bounds or ends):
        return report
    verdict = _verdict_with(report.verdict, measured)
    return replace(
        report,
        findings=tuple(ranked),
        verdict=verdict_beside(verdict, ends[0]) if ends else verdict,
    )


def _ranks(one: Finding) -> float:
    """What it saves; of what passes in no step, what it takes."""
    return (one.takes or 0.0) if one.rule_id == BETWEEN_TURNS else one.saves


def _between(report: Report, result: TrialResult) -> tuple[Finding, ...]:
    """What passes between turns of the steps' loop, by the clock, which waits for
    devices before and behind; with the lines that samples have named."""
    share = result.steps.between
    if share < LARGE:
        return ()
    known = next((one for one in report.findings if one.rule_id == BETWEEN_TURNS), None)
    how = (
        "By the program's clock, without the profiler, which waits for the devices "
        "before and behind."
    )
    places = known.locations if known is not None else ()
    loop = f"the loop at {result.steps.told_by}"
    found = BetweenTurns(share, loop, how, percent(share), places, "measured")
    return (between_turns(found),)


def verdict_beside(verdict: Verdict, ends: Finding) -> Verdict:
    """With what passes in no step."""
    if (ends.takes or 0.0) < LARGE or not verdict.healthy:
        return verdict
    return replace(verdict, healthy=False, summary=f"{ends.title}. {verdict.summary}")


def _verdict_with(verdict: Verdict, measured: Sequence[Finding]) -> Verdict:
    """A part that takes more than what the trace calls the limit is the limit; what is
    worth a change leaves no run healthy.
    """
    first = max(measured, key=lambda one: one.saves, default=None)
    if first is None or first.saves < LARGE:
        return verdict
    is_part, takes = first.claims and not first.fixes, first.takes or 0.0
    if is_part and (verdict.healthy or takes > verdict.fraction):
        return Verdict(first.category, takes, False, f"{first.title}.")
    traced = "" if verdict.healthy else f" By the trace: {verdict.summary}"
    return Verdict(
        verdict.bottleneck, verdict.fraction, False, f"{first.title}.{traced}"
    )


def _finding(arm: Arm, base_ms: float) -> Finding:
    assert arm.ratio is not None
    low, high = max(1 - arm.ratio.high, 0.0), min(1 - arm.ratio.low, 1.0)
    of_step = percent(1 - arm.ratio.estimate)
    is_part = arm.kind == PART
    before, now, changed = (
        duration(base_ms),
        duration(median(arm.step_ms)),
        "taken out" if is_part else "changed",
    )
    fixes = (
        ()
        if is_part
        else (
            Fix(
                "env" if "=" in arm.name else "code",
                _sentence(arm.effect),
                "",
                {},
                "",
                "",
            ),
        )
    )
    title = (
        f"{of_step} of each step goes into {arm.name}"
        if is_part
        else f"{_sentence(arm.name)} saves {of_step} of each step"
    )
    return Finding(
        rule_id=f"measured-{arm.name.partition('=')[0].lower().replace(' ', '-').replace('_', '-')}",
        category=arm.category,
        severity=severity_of(high),
        title=f"{title}, by experiment",
        summary=f"Tried here: {arm.effect}{at_lines(arm.places)}. A step took {now} instead "
        f"of {before}, without the profiler: "
        f"{share(arm.ratio)} less."
        f" Results: {arm.check}.",
        evidence=(Evidence(None, f"step as it is, and with {arm.name} {changed}", f"{before}, {now}", "text"),),
        saving=Saving(low, high, "measured here"),
        fixes=fixes,
        locations=tuple(Location(file, int(line), "") for file, _, line in (one.rpartition(":") for one in arm.places)),
        source=(),
        caveat="",
        claims=(arm.category,) if arm.category in ("input", "host", "launch", "compute") else (),
        proof="measured",
        takes=max(1 - arm.ratio.estimate, 0.0),
    )  # fmt: skip


def _bounded(finding: Finding, bounds: Mapping[str, float]) -> Finding:
    saving, most = finding.saving, bounds.get(finding.category)
    if saving is None or most is None or saving.high <= most:
        return finding
    basis = (
        f"{saving.basis}; no more than the {percent(most)} that the input takes, "
        "measured here"
    )
    return replace(finding, saving=Saving(min(saving.low, most), most, basis))


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:]
