"""What each finding saves, how severe and how sure it is, and in which order they
stand.

All of it is decided here, once, from what the rules saw in the trace and from what is
known beside it. Nothing changes a finding afterwards.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import permutations

import msgspec
from msgspec.structs import replace

from tfadvisor.advice.evidence import NOTHING_MORE, Evidence
from tfadvisor.advice.findings import (
    SURE,
    UNSURE,
    Broken,
    CaptureNote,
    Finding,
    Fix,
    Location,
    NotApplicable,
    Plan,
    Saving,
    Tried,
)
from tfadvisor.advice.findings import Evidence as Seen
from tfadvisor.advice.judging.cause import LOSSES, Cause
from tfadvisor.advice.judging.claims import SharedOut, shared_out
from tfadvisor.advice.judging.conditions import fill
from tfadvisor.advice.judging.judge_rules import Fired, broken_by
from tfadvisor.advice.judging.judged import Judged, is_few, is_guessed
from tfadvisor.advice.loading.rule import Rule
from tfadvisor.advice.measured import bounded, measured_finding
from tfadvisor.advice.once_a_line import once_a_line
from tfadvisor.advice.op_by_op import with_its_cure
from tfadvisor.advice.outside import MADE_ANEW, Outside, covers_all_of
from tfadvisor.advice.savings import LARGE, Calibration, Foreseen, foresee, plan_of
from tfadvisor.metrics import Metrics
from tfadvisor.vocabulary import Severity

_SIZES = (
    (0.5, Severity.CRITICAL),
    (0.2, Severity.HIGH),
    (0.1, Severity.MEDIUM),
    (0.03, Severity.LOW),
)
"""Shares of step time from which what could be saved is critical, high, medium or low.
20% is where XProf calls a run highly input-bound, 10% is the launch gap that
TensorFlow's guide calls worth fixing, 3% is where XProf starts to warn."""
_PLACE = re.compile(r"^(?P<function>.*) \((?P<file>[^()]+):(?P<line>\d{1,9})\)$")
_LINE = re.compile(r"^(?P<function>)(?P<file>[^()\s]+\.py):(?P<line>\d{1,9})$")
"""Of a script, outside of all functions: `train.py:42`, but not the op
`dense/MatMul:0`.
"""
Measure = Callable[[Judged], float]
"""By what findings are put in order."""


class Ranking(msgspec.Struct, frozen=True):
    """Findings as they are reported, and what did not become one."""

    findings: tuple[Finding, ...]
    """In the order of the report."""
    plan: Plan | None
    """None where fewer than two findings save anything."""
    not_applicable: tuple[NotApplicable, ...]
    broken: tuple[Broken, ...]
    notes: tuple[CaptureNote, ...]
    """What was left out, and why."""
    last_resorts: tuple[Finding, ...] = ()
    """Questions about work of unknown use, for the end of the report: no verdict rests
    on them.
    """


def ranked(
    fired: Fired,
    metrics: Metrics,
    known: Calibration,
    evidence: Evidence = NOTHING_MORE,
    cause: Cause | None = None,
) -> Ranking:
    """The findings of the rules that fired. cause: what the run is bound by, where that
    is known.
    """
    heard = shared(fired, metrics, evidence)
    foreseen = foresee(heard.kept, metrics, known, _ordered_by(evidence))

    findings: list[Finding] = []
    broken = list(fired.broken)
    for found in foreseen:
        try:
            findings.append(_finding(found, metrics, evidence))
        except Exception as error:
            broken.append(broken_by(found.judged.rule, error))
    python = (metrics.value("loop_python_fraction") or 0.0) * evidence.steps_of_run
    findings = [
        finding
        for finding in findings
        if not covers_all_of(evidence.outside, finding, python)
    ]
    placed = _led_by(cause, findings, metrics)
    for part in _measured_parts(evidence):
        placed = _inserted(placed, part, lambda other: other.size)
    for outside in evidence.outside:
        if _waits_for_devices(outside, metrics, evidence):
            continue
        placed = _with_part_of_run(placed, outside, evidence)
    asked, placed = _last_resorts_apart(placed, fired)
    placed = once_a_line(placed)
    return Ranking(
        findings=placed,
        plan=plan_of(placed),
        not_applicable=(*fired.not_applicable, *heard.spent),
        broken=tuple(broken),
        notes=_notes(fired, evidence),
        last_resorts=_without_answer(asked, placed, evidence),
    )


_FAR_LARGER = 2.0
"""Times what the largest named change is about: then the larger part has no answer."""


def _last_resorts_apart(
    findings: tuple[Finding, ...], fired: Fired
) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
    """(Those of rules that are a last resort, the others)."""
    last = {judged.rule.id for judged in fired.judged if judged.rule.last_resort}
    asked = tuple(each for each in findings if each.rule_id in last)
    return asked, tuple(each for each in findings if each.rule_id not in last)


def _without_answer(
    asked: tuple[Finding, ...], findings: tuple[Finding, ...], evidence: Evidence
) -> tuple[Finding, ...]:
    """Those questions beside which no change of the same size is named."""
    changes = (
        finding
        for finding in findings
        if any(fix.kind != "command" for fix in finding.fixes)
    )
    named = max((_about_of_run(each, evidence) for each in changes), default=0.0)
    return tuple(
        each for each in asked if _about_of_run(each, evidence) >= _FAR_LARGER * named
    )


def _about_of_run(finding: Finding, evidence: Evidence) -> float:
    """The share of the run that a finding is about, or that its change saves."""
    share = max(finding.takes or 0.0, finding.saves)
    return share if finding.is_outside else share * evidence.steps_of_run


def shared(
    fired: Fired, metrics: Metrics, evidence: Evidence = NOTHING_MORE
) -> SharedOut:
    """Those that are heard, the largest first, with the step's time shared out among
    them.
    """
    heard = [
        _corrected(judged, metrics, evidence)
        for judged in fired.judged
        if evidence.why_ignored(judged.rule.id) is None
        and not _is_seen(judged, evidence)
    ]
    by_size = _in_order(heard, evidence, lambda judged: judged.own.high)
    proven = {judged.rule.id for judged in by_size if _is_proven(judged, evidence)}
    return shared_out(by_size, metrics, proven)


def _is_seen(judged: Judged, evidence: Evidence) -> bool:
    """Whether samples of the whole run tell the same better than a window does."""
    return judged.rule.only_without_samples and evidence.account is not None


def _is_proven(judged: Judged, evidence: Evidence) -> bool:
    """Whether it was seen in this trace or measured, so that what others say of the
    same time takes none from it.
    """
    if evidence.won(judged.rule.id) is not None:
        return True
    return judged.rule.proof == "shown" and not judged.rule.is_preview


# What is known beside the trace.


def _corrected(judged: Judged, metrics: Metrics, evidence: Evidence) -> Judged:
    """With what the unrecorded program shows of the function that it is about."""
    places = [
        _in_its_function(place, evidence) for place in locations_of(judged, metrics)
    ]
    for correction in evidence.corrections:
        is_here = any(map(correction.is_about, places))
        if is_here != correction.is_larger:
            continue
        by = correction.factor
        own = replace(judged.own, low=judged.own.low * by, high=judged.own.high * by)
        takes = None if judged.takes is None else judged.takes * by
        judged = replace(
            judged, own=own, takes=takes, correction=judged.correction * by
        )
    return judged


def _in_its_function(place: Location, evidence: Evidence) -> Location:
    """With the function that holds its line, which some frames do not name."""
    if place.op or evidence.source is None or not place.line:
        return place
    found = evidence.source.function_at(place.file, place.line)
    return place if found is None else replace(place, op=found.name)


def _notes(fired: Fired, evidence: Evidence) -> tuple[CaptureNote, ...]:
    notes: list[CaptureNote] = []
    for judged in fired.judged:
        why = evidence.why_ignored(judged.rule.id)
        if why is not None:
            notes.append(
                CaptureNote(judged.rule.id, f"{judged.rule.id}: {why}", "", "")
            )
    return tuple(notes)


# The order.


def _ordered_by(
    evidence: Evidence,
) -> Callable[[Sequence[Judged], Measure], list[Judged]]:
    return lambda judged, measure: _in_order(judged, evidence, measure)


def _in_order(
    judged: Sequence[Judged], evidence: Evidence, measure: Measure
) -> list[Judged]:
    """What the trace shows or was measured on this program, then rules that are not
    proven yet, then questions, then notes that change nothing by themselves; of each
    kind what is sure first, then what is worth a change, then the largest, equal ones
    by severity, then by id.
    """

    def key(candidate: Judged) -> tuple[int, bool, bool, float, float, float, int, str]:
        won = evidence.won(candidate.rule.id)
        size = measure(candidate) if won is None else won.high
        size = min(size, evidence.most(candidate.rule.category))
        own = candidate.own
        return (
            3 if _is_note(candidate, won) else _kind(candidate.rule, won),
            not _is_sure(candidate, won),
            _is_small(severity(candidate, won)),
            -size,
            -own.high,
            -own.low,
            -severity(candidate).rank,
            candidate.rule.id,
        )

    return sorted(judged, key=key)


def _is_small(severe: Severity) -> bool:
    """A rule may say so of what takes much: its cure gives up something else."""
    return severe.rank < Severity.MEDIUM.rank


def _kind(rule: Rule, won: Tried | None) -> int:
    """What comes first has the lowest. A question that was measured is answered."""
    if rule.is_likely and won is None:
        return 2
    return 1 if rule.is_preview else 0


def _is_note(judged: Judged, won: Tried | None) -> bool:
    return judged.rule.severity is Severity.INFO and won is None


def _is_sure(judged: Judged, won: Tried | None) -> bool:
    return judged.is_sure or won is not None


def _led_by(
    cause: Cause | None, findings: Sequence[Finding], metrics: Metrics
) -> tuple[Finding, ...]:
    """What explains the run's lost time comes first where the steps are few or guessed.
    Otherwise one does that may save as much as the first: neither's range leaves out
    what the other is expected to save.
    """
    if cause is None:
        return tuple(findings)
    own = (
        finding
        for finding in findings
        if cause.bottleneck in finding.claims
        and finding.size > 0
        and finding.bears_verdict
    )
    first = next(own, None)
    if first is None:
        return tuple(findings)
    is_weak = is_few(metrics) or is_guessed(metrics)
    is_larger = first.size >= findings[0].size
    if cause.bottleneck in LOSSES and is_weak and is_larger:
        return _with_first(first, findings)
    if _tied(first, findings[0]):
        return _with_first(first, findings)
    return tuple(findings)


def _with_first(first: Finding, findings: Sequence[Finding]) -> tuple[Finding, ...]:
    return (first, *(finding for finding in findings if finding is not first))


def _tied(finding: Finding, other: Finding) -> bool:
    if finding.saving is None or other.saving is None:
        return False
    pairs = permutations((finding.saving, other.saving))
    return all(first.low <= second.middle <= first.high for first, second in pairs)


# How severe.


def severity_of(size: float) -> Severity:
    """Of a finding that could save this share of step time, where nothing else
    speaks.
    """
    for bound, severity in _SIZES:
        if size >= bound:
            return severity
    return Severity.INFO


def severity(
    judged: Judged, won: Tried | None = None, steps_of_run: float = 1.0
) -> Severity:
    """By its share of the run alone: how sure it is stands beside it. What only a
    document or nothing yet vouches for has a ceiling, unless it was measured on this
    program.
    """
    if won is not None:
        return severity_of(won.high * steps_of_run)
    rule = judged.rule
    if rule.severity is not None:
        return _lower(rule.severity, Severity.LOW) if rule.is_preview else rule.severity
    reached = severity_of(judged.own.high * steps_of_run)
    if judged.is_capped:
        most = Severity.LOW if rule.at_most is None else rule.at_most.severity
        reached = _lower(reached, most)
    if rule.is_likely or rule.is_preview or judged.is_of_one_step:
        reached = _lower(reached, Severity.LOW)
    if rule.proof == "documented":
        reached = _lower(reached, Severity.MEDIUM)
    return reached


def _lower(reached: Severity, other: Severity) -> Severity:
    return min(reached, other, key=lambda severity: severity.rank)


# The finding, in words.


def _finding(found: Foreseen, metrics: Metrics, evidence: Evidence) -> Finding:
    judged, rule = found.judged, found.judged.rule
    tried = evidence.tried.get(rule.id)
    won = evidence.won(rule.id)
    evidence_of = (_seen(name, metrics) for name in rule.evidence)
    saving = bounded(_printed(found, won), evidence.most(rule.category))
    severe = severity(judged, won, evidence.steps_of_run)
    few = None if won is not None else _in_few_steps(judged, metrics)
    if few is not None:
        saving, severe = None, min(severe, Severity.HIGH, key=lambda size: size.rank)
    return Finding(
        rule_id=rule.id,
        category=rule.category,
        severity=severe,
        title=fill(rule.title, metrics),
        summary=f"{fill(rule.summary, metrics)} {judged.left_out}".rstrip(),
        evidence=tuple(seen for seen in evidence_of if seen is not None),
        saving=saving,
        fixes=judged.fixes,
        locations=locations_of(judged, metrics),
        source=rule.source,
        caveat=judged.caveat,
        claims=judged.claims,
        proof=rule.proof if won is None else "measured",
        takes=judged.takes,
        certainty=SURE if _is_sure(judged, won) else UNSURE,
        few_steps=few or msgspec.UNSET,
        ask=_question(judged, metrics) if won is None else msgspec.UNSET,
        tier=rule.tier if rule.is_preview else msgspec.UNSET,
        tried=tried if tried is not None else msgspec.UNSET,
    )


def _in_few_steps(judged: Judged, metrics: Metrics) -> str | None:
    """Where the time that it is about lies; None for most of the steps."""
    found = [
        metrics.fact(name)
        for name in (f"{kind}_in_few_steps" for kind in judged.claims)
        if metrics.has_fact(name)
    ]
    is_all = len(found) == len(judged.claims) and all(found)
    return found[0] if found and is_all else None


def finding_alone(judged: Judged, metrics: Metrics) -> Finding:
    """Of one rule by itself, without a saving."""
    return _finding(Foreseen(judged, None), metrics, NOTHING_MORE)


def _question(judged: Judged, metrics: Metrics) -> str | msgspec.UnsetType:
    return fill(judged.rule.ask, metrics) if judged.rule.is_likely else msgspec.UNSET


def _printed(found: Foreseen, won: Tried | None) -> Saving | None:
    """What was measured on this program, else what is borne out by others."""
    if won is not None:
        basis = f"Measured here, at {won.at}."
        return Saving(max(won.low, 0.0), max(won.high, 0.0), basis)
    saving = found.saving
    if saving is None or saving.high <= 0:
        return None
    is_minor = severity(found.judged).rank <= Severity.LOW.rank
    if is_minor and saving.high >= LARGE:
        return None
    return saving


def _seen(name: str, metrics: Metrics) -> Seen | None:
    if metrics.has_fact(name):
        text = metrics.fact(name)
        return (
            None if text is None else Seen(None, name.replace("_", " "), text, "text")
        )
    measured = metrics[name]
    if measured.value is None:
        return None
    return Seen(name, measured.about, measured.value, measured.unit.value)


def locations_of(judged: Judged, metrics: Metrics) -> tuple[Location, ...]:
    """Where in the program, as far as this trace names a line."""
    found = (_location(name, metrics) for name in judged.rule.locations)
    return tuple(place for place in found if place is not None)


def _location(name: str, metrics: Metrics) -> Location | None:
    text = metrics.place(name)
    place = _PLACE.match(text) or _LINE.match(text)
    if place is None:
        return None
    return Location(
        place.group("file"), int(place.group("line")), place.group("function")
    )


# What no rule found.


def _is_found_in_steps(
    outside: Outside, part: Finding, findings: tuple[Finding, ...]
) -> bool:
    """Whether a finding about the steps says it better."""
    if part.category == "launch" and any(map(_launches_in_steps, findings)):
        return True
    return outside.in_steps and any(_cures_the_same(each, part) for each in findings)


def _with_part_of_run(
    findings: tuple[Finding, ...], outside: Outside, evidence: Evidence
) -> tuple[Finding, ...]:
    """In its place by its share of the run. What compiles in the steps too is one
    finding: the one that knows what is compiled anew, and why.
    """
    part = outside.finding(severity_of(outside.share))
    if _is_found_in_steps(outside, part, findings):
        if not outside.in_steps:
            return findings
        return tuple(with_its_cure(each, part) for each in findings)
    same = next((each for each in findings if _compiles_in_steps(each, part)), None)
    if same is None:
        return _inserted(findings, part, lambda other: _of_run(other, evidence))

    joined = replace(
        same,
        severity=max(same.severity, part.severity, key=lambda severity: severity.rank),
        summary=_with_its_run(same.summary, outside),
        locations=same.locations or part.locations,
        fixes=_fixes_of(same, part),
    )
    others = tuple(each for each in findings if each is not same)

    def size(finding: Finding) -> float:
        return outside.share if finding is joined else _of_run(finding, evidence)

    return _inserted(others, joined, size)


def _with_its_run(summary: str, outside: Outside) -> str:
    """The largest part of the run, of several that compile."""
    of_run = " Of the run: "
    return summary if of_run in summary else f"{summary}{of_run}{outside.how}"


def _fixes_of(rule: Finding, part: Finding) -> tuple[Fix, ...]:
    """Those of a rule; where it does not see what compiles again, and samples with the
    source do, theirs.
    """
    is_known = any(fix.cures == MADE_ANEW for fix in part.fixes)
    knows_none = all(fix.kind != "code" for fix in rule.fixes)
    return part.fixes if is_known and knows_none else rule.fixes


_MEANWHILE = 2.0
"""Times the devices' idle time that ops one by one may take beside what they do
meanwhile.
"""


def _waits_for_devices(outside: Outside, metrics: Metrics, evidence: Evidence) -> bool:
    """Whether ops that Python runs one by one take far more of the steps than the
    devices are idle: the call of one returns late where what is queued has to end. A
    window without such ops says nothing of them, nor does one of parts of a round.
    """
    is_part = evidence.is_of_parts(metrics.value("step_time_ms"))
    if is_part or metrics.value("ops_one_by_one") == 0:
        return False
    idle = 1 - (metrics.value("compute_fraction") or 0.0)
    is_by_op = outside.in_steps and outside.category == "launch"
    return is_by_op and outside.share > _MEANWHILE * idle


def _launches_in_steps(finding: Finding) -> bool:
    """Whether a rule says what each step launches."""
    is_worth_it = finding.severity.rank >= Severity.MEDIUM.rank
    return finding.category == "launch" and is_worth_it and not finding.is_outside


def _cures_the_same(finding: Finding, part: Finding) -> bool:
    """Whether a rule says it of the steps of the trace."""
    cured = {fix.cures for fix in part.fixes if fix.cures}
    return not finding.is_outside and any(fix.cures in cured for fix in finding.fixes)


def _compiles_in_steps(finding: Finding, part: Finding) -> bool:
    is_of_rule = not finding.is_outside
    return is_of_rule and finding.category == part.category == "compile"


def _inserted(
    findings: tuple[Finding, ...], new: Finding, size: Callable[[Finding], float]
) -> tuple[Finding, ...]:
    """Before what is no larger than it, or less worth a change."""
    rows = (
        row
        for row, other in enumerate(findings)
        if other.is_question
        or size(other) <= size(new)
        or (_is_small(other.severity) and not _is_small(new.severity))
    )
    at = next(rows, len(findings))
    return (*findings[:at], new, *findings[at:])


def _measured_parts(evidence: Evidence) -> Iterator[Finding]:
    """Parts of this program that experiments took out."""
    measured = evidence.measured
    if measured is not None:
        for part in measured.parts:
            yield measured_finding(part, measured.step_ms, severity_of)


def _of_run(finding: Finding, evidence: Evidence) -> float:
    if finding.is_outside:
        return finding.takes or 0.0
    return finding.size * evidence.steps_of_run
