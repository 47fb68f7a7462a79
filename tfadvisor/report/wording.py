"""Sentences that the terminal and the Markdown report share."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import msgspec

from tfadvisor.advice.findings import (
    SURE,
    Evidence,
    Finding,
    Location,
    PlanStep,
    Saving,
)
from tfadvisor.causes import OPS_ONE_BY_ONE, Done
from tfadvisor.printable import cut, one_line
from tfadvisor.report.model import ActivityTime, PlacedTime, Report, RunInfo, StepsInfo
from tfadvisor.report.of_the_run import unrecorded_words
from tfadvisor.report.source_lines import SourceLine, lines_at
from tfadvisor.tallies import listed
from tfadvisor.units import Unit, counted, duration, in_words, percent
from tfadvisor.vocabulary import FRAMEWORKS, TIME_CLASSES, VERDICTS


def verdict_name(report: Report) -> str:
    """`INPUT-BOUND`; a compute-bound run with nothing to change is `HEALTHY`, if the
    devices are known to be near their limits.
    """
    bottleneck = report.verdict.bottleneck
    if bottleneck == "compute" and report.verdict.healthy and not is_dim(report):
        bottleneck = "none"
    return VERDICTS[bottleneck].name.upper()


_HALF = 0.5
"""Of the step, from where on its devices are near their limits, as for a verdict."""


def is_dim(report: Report) -> bool:
    """Whether the trace does not show half of the step to be near the devices' limits:
    they may compute what nobody needs, and slowly.
    """
    near = report.metrics.get("near_limit_fraction")
    return near is None or near.value is None or near.value < _HALF


def run_line(report: Report) -> str:
    """`2026_01_02_03_04_05 · JAX 0.10.2 · 1 host, CPU:0`."""
    run = report.run
    framework = FRAMEWORKS.get(run.framework, "")
    if framework and run.framework_version:
        framework = f"{framework} {one_line(run.framework_version)}"
    hosts = f"{len(run.hosts)} hosts" if len(run.hosts) > 1 else one_line(run.hosts[0])
    return " · ".join(
        part
        for part in (one_line(run.name), framework, hosts, _devices(report))
        if part
    )


def head_line(report: Report) -> str:
    """`jax-pictures · JAX 0.11.2 · 1 GPU (NVIDIA H200) · 11 steps of 62.0 ms`."""
    steps = report.steps
    name, *others = run_line(report).split(" · ")
    host = one_line(report.run.hosts[0])
    if len(report.run.hosts) == 1 and host in others:
        others.remove(host)
    if steps.time_ms is None:
        found = "no steps"
    elif steps.source == "whole-trace":
        found = f"no steps found in {duration(steps.time_ms.median)}"
    else:
        number = counted(str(steps.count), "step", "steps")
        found = f"{number} of {duration(steps.time_ms.median)}"
        found += (
            unrecorded_words(report) + _unlike_the_median(steps) + _in_no_step(report)
        )
    return " · ".join((name, *others, found))


def _devices(report: Report) -> str:
    by_kind = Counter(
        (device.kind.upper(), one_line(device.model)) for device in report.run.devices
    )
    parts = [
        f"{count} {kind}{f' ({model})' if model else ''}"
        for (kind, model), count in by_kind.items()
    ]
    copying = report.metrics.get("copying_accelerators")
    if parts and copying is not None and copying.value:
        parts.append(f"{copying.value:.0f} more with copies alone")
    parts += _silent(report.run)
    return ", ".join(parts) or "no device work"


def _silent(run: RunInfo) -> Iterator[str]:
    """`7 more without events`, with their hardware where no device that works has the
    same.
    """
    more = "more " if run.devices else ""
    shown = {device.model for device in run.devices}
    for hardware, count in Counter(map(one_line, run.silent)).items():
        words = f" ({hardware})" if {hardware} - shown - {""} else ""
        yield f"{count} {more}without events{words}"


def steps_line(report: Report) -> str:
    """`10 steps of 5.27 ms (marker 'train'); 2 set aside`: the median, as in
    findings.
    """
    steps = report.steps
    if steps.time_ms is None:
        return "no steps"
    if steps.source == "whole-trace":
        return (
            f"no steps found: {duration(steps.time_ms.median)} {one_line(steps.about)}"
        )
    aside = ""
    if steps.set_aside:
        reasons = ", ".join(sorted({step.reason for step in steps.set_aside}))
        aside = f"; {len(steps.set_aside)} set aside ({reasons})"
    if steps.source == "marker":
        sure = ""
    else:
        sure = f", inferred, confidence {percent(steps.confidence)}"
    number = f"{steps.count} steps" if steps.count != 1 else "1 step"
    number += (
        f" on each of {len(report.run.hosts)} hosts"
        if len(report.run.hosts) > 1
        else ""
    )
    return (
        f"{number} of {duration(steps.time_ms.median)} "
        f"({one_line(steps.about)}{sure}){aside}{_unlike_the_median(steps)}"
        f"{_in_no_step(report)}"
    )


_OF_STEPS = 0.9
"""Of the run; from there on its verdict is the step's."""
_SENTENCE_END = re.compile(r"(?<=[.!?]) (?=[A-Z])")


def verdict_sentence(report: Report) -> str:
    """The verdict in one sentence, with what one change could save; whole where it
    cannot tell, since then it says what would.
    """
    if report.verdict.bottleneck == "unknown":
        return one_line(report.verdict.summary)
    first, *others = _SENTENCE_END.split(one_line(report.verdict.summary))
    for other in others:
        if other.startswith("One change could save"):
            saves = f"{other[0].lower()}{other[1:].rstrip('.')}{_of_what(report)}."
            return f"{first.rstrip('.')}; {saves}"
    if report.verdict.healthy and is_dim(report):
        return (
            f"{first} Whether they need to, or could do it faster, this trace cannot "
            "tell."
        )
    return first


def _of_what(report: Report) -> str:
    """Where the sentence before speaks of the run."""
    account = report.run_account
    is_of_run = account is not None and account.steps < _OF_STEPS
    return " of a step" if is_of_run else ""


def passed_line(report: Report) -> str:
    """`64 checks: input 12, launch 9, …`; "" where none was made."""
    if not report.passed:
        return ""
    number = counted(str(len(report.passed)), "check", "checks")
    kinds = Counter(check.category for check in report.passed).most_common()
    return f"{number}: {', '.join(f'{kind} {count}' for kind, count in kinds)}"


_COVERS = 0.1
_LONG = 2


def _unlike_the_median(steps: StepsInfo) -> str:
    """`; 1 takes 3.36 s, all together 4.05 s`, where the median times the number of
    steps is another length; else "".
    """
    times = steps.time_ms
    if times is None or not steps.each:
        return ""
    whole = times.mean * steps.count
    if abs(whole - steps.count * times.median) <= _COVERS * whole:
        return ""
    mine = [step for step in steps.each if step.host == steps.each[0].host]
    long = [step for step in mine if step.duration_ms >= _LONG * times.median]
    together = f"all together {duration(whole)}"
    if not long:
        return f"; {together}"
    longest = duration(max(step.duration_ms for step in long))
    take = "1 takes" if len(long) == 1 else f"{len(long)} take up to"
    return f"; {take} {longest}, {together}"


def _in_no_step(report: Report) -> str:
    """`; 320 ms more in no step`, where that is much of the recorded time; else ""."""
    share = report.metrics.get("outside_steps_fraction")
    time = report.metrics.get("outside_steps_ms")
    if share is None or time is None or share.value is None or time.value is None:
        return ""
    if share.value < _COVERS:
        return ""
    return f"; {duration(time.value)} more in no step"


def tried_words(finding: Finding) -> str:
    """`38% measured (34 to 42), predicted 20 to 40`; empty when no fix of it
    was tried.
    """
    tried = finding.tried
    if isinstance(tried, msgspec.UnsetType):
        return ""
    predicted = (
        f", predicted {tried.predicted_low * 100:.0f} "
        f"to {tried.predicted_high * 100:.0f}"
    )
    return (
        f"{percent(tried.measured)} measured ({tried.low * 100:.0f} to "
        f"{tried.high * 100:.0f}){predicted}"
    )


def saving_words(saving: Saving | None) -> str:
    """`38–77% of step time`; empty when a finding saves nothing on its own."""
    if saving is None or saving.high <= 0:
        return ""
    low = percent(saving.low)
    high = percent(saving.high)
    if low == high:
        return f"up to {high} of step time"
    return f"{low.removesuffix('%')}–{high} of step time"


class PlanLine(msgspec.Struct, frozen=True):
    """A change of the plan in words. saves: on top of those before it. leaves: of the
    step then.
    """

    rule_id: str
    title: str
    saves: str
    leaves: str


def plan_lines(report: Report) -> tuple[PlanLine, ...]:
    """The changes in the order in which to make them, up to where to stop.

    Empty where fewer than two findings save something worth a change.
    """
    plan = report.plan
    if isinstance(plan, msgspec.UnsetType):
        return ()
    titles = {finding.rule_id: finding.title for finding in report.findings}
    worth = [change for change in plan.changes if change.worth]
    if report.steps.time_ms and report.steps.source != "whole-trace":
        step = report.steps.time_ms.median
    else:
        step = None
    lines = tuple(
        PlanLine(
            change.rule_id,
            one_line(titles.get(change.rule_id, change.rule_id)),
            _range(change.low, change.high),
            _remains(change, step),
        )
        for change in worth
    )
    return lines if len(lines) > 1 else ()


def plan_end(report: Report) -> str:
    """`Stop here: the 3 other findings save less than 3% each.` Empty where the plan
    leaves none out.
    """
    plan = report.plan
    if isinstance(plan, msgspec.UnsetType):
        return ""
    left = sum(not change.worth for change in plan.changes)
    if not left:
        return ""
    others = f"the {left} other findings save"
    if left == 1:
        others = "the other finding saves"
    return f"Stop here: {others} hardly anything."


def _remains(change: PlanStep, step_ms: float | None) -> str:
    """`38–77% of the step`, with a known step `1.2–2.4 ms`."""
    if step_ms is None:
        return f"{_range(change.remains_low, change.remains_high)} of the step"
    low = duration(change.remains_low * step_ms)
    high = duration(change.remains_high * step_ms)
    return low if low == high else f"{low} to {high}"


def _range(low: float, high: float) -> str:
    first = percent(low)
    last = percent(high)
    return last if first == last else f"{first.removesuffix('%')}–{last}"


def evidence_words(evidence: Evidence) -> str:
    """`input bound fraction 77%`."""
    if evidence.metric is None:
        return f"{evidence.text}: {one_line(str(evidence.value))}"
    assert isinstance(evidence.value, float)
    return (
        f"{evidence.metric.replace('_', ' ')}: "
        f"{in_words(evidence.value, Unit(evidence.unit))}"
    )


_LONGEST_LINE = 64
"""Characters of a line of the program behind its place."""


def location_words(location: Location) -> str:
    """`train.py:41 in load_batch`, as the trace names it, then the line where it is
    known: ` │ batch = load(rows)`.
    """
    if location.line is None:
        place = location.file
    else:
        place = f"{location.file}:{location.line}"
    words = f"{place} in {location.op}" if location.op else place
    if isinstance(location.text, str):
        words += f" │ {cut(location.text, _LONGEST_LINE)}"
    return words


def advice(report: Report) -> list[Finding]:
    """Findings about the program; those about the capture, and questions, have sections
    of their own.
    """
    return [
        finding
        for finding in report.findings
        if finding.category != "capture" and not finding.is_question
    ]


def questions(report: Report) -> list[Finding]:
    """What is worth checking: findings that only the user can confirm."""
    return [
        finding
        for finding in report.findings
        if finding.category != "capture" and finding.is_question
    ]


def takes_words(finding: Finding) -> str:
    """`takes 12% of the step`; empty where the trace gives no share, and of what is no
    step.
    """
    if finding.takes is None or finding.is_outside:
        return ""
    return f"takes {percent(finding.takes)} of the step"


def worth_words(finding: Finding) -> str:
    """`saves 38–77% of step time`, where nothing bears a saving out `takes 12% of the
    step`, and both where more goes than it takes; of what only a guide stands behind
    `documented, takes 12% of the step`. Empty where none is known.
    """
    if finding.few_steps is not msgspec.UNSET:
        return f"in {one_line(finding.few_steps)}"
    saving = finding.saving
    takes = finding.takes
    taken = takes_words(finding)
    if finding.is_documented:
        return f"documented, {taken}" if taken else "documented"
    words = saving_words(saving)
    if not words or saving is None:
        return taken
    if takes is not None and takes < saving.high - 0.005:
        return f"takes {percent(takes)}, saves {words}"
    return f"saves {words}"


WIDE = 2
"""Of a range whose ends are this many times apart a reader asks why."""


def is_surprising(finding: Finding) -> bool:
    """Whether its range asks for a reason: it is wide, or exceeds what is taken."""
    saving = finding.saving
    if saving is None or not worth_words(finding).endswith("of step time"):
        return False
    taken = 1.0 if finding.takes is None else finding.takes
    return saving.high >= WIDE * saving.low or saving.high > taken + 0.005


def weight_words(finding: Finding) -> str:
    """`HIGH`, and `HIGH, unsure` where the size may be another."""
    severity = finding.severity.value.upper()
    return severity if finding.certainty == SURE else f"{severity}, {finding.certainty}"


def shares(report: Report) -> list[tuple[str, float]]:
    """The breakdown's classes that take any time, in a fixed order."""
    return [
        (name, report.breakdown[name])
        for name in TIME_CLASSES
        if report.breakdown.get(name, 0) >= 0.0005
    ]


def nothing_to_change(report: Report) -> str:
    """What stands where findings would."""
    if report.verdict.healthy and not is_dim(report):
        return (
            "Found nothing to change. Whether the program uses all that it computes, "
            "no trace shows."
        )
    found = "No rule names a change for this run."
    if report.attribution:
        return f"{found} Where the step goes, above, names what takes its time."
    return found


class TimeLine(msgspec.Struct, frozen=True):
    """One activity in words. share: of the step. time: of the step of median length."""

    kind: str
    share: str
    time: str
    words: str
    cause: str
    """What it is spent on, and how often; "" for what is not known."""
    source: tuple[SourceLine, ...] = ()
    """Lines of the program at its place."""


_WORTH_A_LINE = 0.01
"""From this share of the step an activity has its own line where not all are printed.
"""
_MOSTLY, _NEARLY_ALL = 0.5, 0.95
_LEAST_WORDS = 16
"""Characters that stay before a place."""


def time_lines(
    report: Report,
    most: int,
) -> tuple[TimeLine, ...]:
    """The activities that take most of the step, whatever their class; empty without
    steps.
    """
    found = [
        (part.fraction, kind.kind, part)
        for kind in report.attribution
        for part in kind.parts
        if part.activity != OTHER
        and part.fraction >= _WORTH_A_LINE
        and not in_few_steps(part)
    ]
    found.sort(key=lambda entry: -entry[0])
    lines = []
    shown: set[tuple[str, tuple[SourceLine, ...]]] = set()
    for _, kind, part in found[:most]:
        line = time_line(kind, part)
        source = lines_at(report, part)
        key = (place_of_time(part), source)
        if source and key not in shown:
            shown.add(key)
            line = msgspec.structs.replace(line, source=source)
        lines.append(line)
    return tuple(lines)


class FewLine(msgspec.Struct, frozen=True):
    """An activity of few steps in words."""

    steps: str
    """`1 of 19 steps`."""
    time: str
    """In each of them, a mean."""
    kind: str
    words: str
    cause: str
    """What it is spent on; "" for what is not known."""


_FEW, _TELLING = 0.2, 5
"""Of at least so many steps: what lies in them alone is said of no other."""


def in_few_steps(activity: ActivityTime) -> bool:
    """Whether it lies in so few of the steps that it is no part of the usual one."""
    cause = activity.cause
    if isinstance(cause, msgspec.UnsetType) or cause.of_steps < _TELLING:
        return False
    return 0 < cause.count <= _FEW * cause.of_steps


def few_lines(report: Report, most: int) -> tuple[FewLine, ...]:
    """The activities that lie in few steps and take most time there."""
    found = [
        (kind.kind, part)
        for kind in report.attribution
        for part in kind.parts
        if part.fraction >= _WORTH_A_LINE and in_few_steps(part)
    ]
    found.sort(key=lambda entry: -entry[1].fraction)
    return tuple(few_line(report, kind, part) for kind, part in found[:most])


def few_line(report: Report, kind: str, activity_time: ActivityTime) -> FewLine:
    """Of an activity that lies in few steps."""
    cause, times = activity_time.cause, report.steps.time_ms
    assert not isinstance(cause, msgspec.UnsetType)
    assert times is not None
    each_ms = activity_time.fraction * times.mean * cause.of_steps / cause.count
    words = time_line(kind, activity_time).words
    done = ", ".join(map(_done_words, cause.does))
    steps = f"{cause.count} of {cause.of_steps} steps"
    return FewLine(steps, duration(each_ms), kind, words, done)


def time_line(kind: str, activity_time: ActivityTime) -> TimeLine:
    """`host 90% 6.10 ms save (train.py:42), most of it dump (pickle.py:12)`."""
    words = activity_time.activity
    place = place_of_time(activity_time)
    if (
        activity_time.parts
        and activity_time.parts[0].activity != OTHER
        and activity_time.parts[0].fraction >= _MOSTLY * activity_time.fraction
    ):
        first = activity_time.parts[0]
        words += (
            ": "
            if first.fraction >= _NEARLY_ALL * activity_time.fraction
            else ", most of it "
        ) + first.activity
        place = place_of_time(first) or place
    if place and place not in words:
        words += f" ({place})"
    cause = cause_words(activity_time) if activity_time.fraction >= _HAS_CAUSE else ""
    return TimeLine(
        kind,
        percent(activity_time.fraction),
        duration(activity_time.ms),
        one_line(words),
        cause,
    )


_HAS_CAUSE = 0.03
"""From this share of the step on what an activity is spent on has a line."""


def cause_words(activity_time: ActivityTime) -> str:
    """`converting Python values one by one 56% (32,768 × _dtype_and_weaktype a step)`,
    and in which steps, where these are not all of them; "" where nothing inside is
    known.
    """
    cause = activity_time.cause
    if isinstance(cause, msgspec.UnsetType):
        return ""
    done = ", ".join(
        filter(None, [_TIES.get(cause.tie or ""), *map(_done_words, cause.does)])
    )
    if cause.often in ("", "every"):
        return done
    worst = duration(cause.worst_ms)
    steps = f"in {cause.count} of {cause.of_steps} steps, at least {worst} in one"
    return f"{done}; {steps}" if done else steps


_TIES = {
    "argument": "makes an argument of the step",
    "result": "reads the step's result",
    "step": "is the step",
}


def _done_words(done: Done) -> str:
    by = one_line(done.by).partition(" (")[0]
    if done.what == OPS_ONE_BY_ONE:
        number = f"{done.count:,.0f} " if done.count >= 1 else ""  # of no step: unknown
        return f"{number}{done.what} {percent(done.fraction)}: {by}"
    if done.count >= _MANY:
        by = f"{done.count:,.0f} × {by} a step"
    return f"{done.what} {percent(done.fraction)} ({by})"


_MANY = 10
"""From this number on it is said how often an event comes in a step."""


def fitted(words: str, room: int) -> str:
    """Words in so many characters; the place in parentheses at their end is never cut,
    so that its line can be read.
    """
    start = words.rfind(" (")
    place = ""
    if words.endswith(")") and start > 0 and len(words) - start < room - _LEAST_WORDS:
        words, place = words[:start], words[start:]
    return cut(words, room - len(place)) + place


def place_of_time(placed_time: ActivityTime | PlacedTime) -> str:
    """`train.py:42`, without a line where only the file is known; "" where none is."""
    place = next(iter(placed_time.places), None)
    if place is None:
        return ""
    if place.file and place.line is not None:
        return f"{place.file}:{place.line}"
    return place.file


def bar_note(report: Report) -> str:
    """Why a verdict of imbalance tells more than the bar: that is a mean, and the late
    one waits for nobody. Else empty.
    """
    if report.verdict.bottleneck != "imbalance":
        return ""
    shares = listed(
        (step.host, step.breakdown.get("collective", 0.0)) for step in report.steps.each
    )
    share = {host: sum(found) / len(found) for host, found in shares.items()}
    if len(share) < 2:
        return (
            "The bar is the mean of all devices, and the one that the others wait "
            "for does not wait."
        )
    late = min(share, key=share.__getitem__)
    others = (sum(share.values()) - share[late]) / (len(share) - 1)
    return (
        f"The bar is the mean of all hosts. Collectives take {percent(others)} of a "
        "step on the others, most of it waiting, "
        f"and {percent(share[late])} on {one_line(late)}."
    )


OTHER = "other"
"""The last part of a list that adds up: what is too small to list."""
