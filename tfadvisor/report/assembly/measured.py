"""What was measured of a program's parts, as findings of the report that it was recorded
for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from tfadvisor.advice.evidence import BetweenTurns
from tfadvisor.advice.findings import Evidence, Finding, Fix, Location, Saving, Verdict
from tfadvisor.advice.judging.verdict import LARGE
from tfadvisor.advice.ranking import BETWEEN_TURNS, between_turns, severity_of
from tfadvisor.printable import one_line
from tfadvisor.report.model import Report
from tfadvisor.units import duration, percent

_CLAIMED = ("input", "host", "launch", "compute")
"""Categories that are classes of time."""
_MOST_PLACES = 6


class MeasuredPart(msgspec.Struct, frozen=True):
    """What was taken out of a program, or set in it, so that its step was shorter."""

    name: str
    category: str
    """Of the finding about it."""
    is_part: bool
    """Whether it is something that the program does; else a setting."""
    effect: str
    """What was done, in words."""
    places: tuple[str, ...]
    """Lines of the program where it took effect, as `train.py:41`."""
    check: str
    """Whether the program's results were the same."""
    step_ms: float
    """A step with it."""
    ratio: float
    """New step time over old."""
    low: float
    """Where the ratio lies at least."""
    high: float
    """At most."""

    @property
    def takes(self) -> float:
        """Share of the step."""
        return max(1 - self.ratio, 0.0)


class Measured(msgspec.Struct, frozen=True):
    """All that was measured of a program."""

    step_ms: float
    """A step of the program as it is."""
    parts: tuple[MeasuredPart, ...]
    at_most: Mapping[str, float]
    """By category of findings, the share of the step that they can save."""
    between: float
    """Share of the program's time between turns of the steps' loop."""
    loop: str
    """That loop, as `train.py:41 in train`."""


def with_measured(report: Report, measured: Measured) -> Report:
    """What costs something comes as a finding of its own, before what was foreseen to
    save as much; what was foreseen of the input is no more than what it costs."""
    found = [_finding(one, measured.step_ms) for one in measured.parts]
    ends = _between(report, measured)
    if not found and not measured.at_most and ends is None:
        return report

    foreseen = [_bounded(one, measured.at_most) for one in report.findings]
    verdict = _verdict_with(report.verdict, found)
    if ends is not None:
        foreseen = [one for one in foreseen if one.rule_id != BETWEEN_TURNS]
        found.append(ends)
        verdict = _verdict_beside(verdict, ends)
    return replace(
        report,
        findings=tuple(sorted((*found, *foreseen), key=_rank)),
        verdict=verdict,
    )


def _rank(one: Finding) -> tuple[bool, float, bool, float]:
    """By what it saves; of what passes in no step, by what it takes."""
    size = (one.takes or 0.0) if one.rule_id == BETWEEN_TURNS else one.saves
    return one.is_question, -round(size, 1), one.proof != "measured", -size


def _between(report: Report, measured: Measured) -> Finding | None:
    """What passes between turns of the steps' loop, by the clock, which waits for
    devices before and behind; with the lines that samples have named."""
    if measured.between < LARGE:
        return None

    known = [one for one in report.findings if one.rule_id == BETWEEN_TURNS]
    found = BetweenTurns(
        share=measured.between,
        loop=f"the loop at {measured.loop}",
        how="By the program's clock, without the profiler, which waits for the devices "
        "before and behind.",
        seen=percent(measured.between),
        places=known[0].locations if known else (),
        proof="measured",
    )
    return between_turns(found)


def _verdict_beside(verdict: Verdict, ends: Finding) -> Verdict:
    """With what passes in no step."""
    if not verdict.healthy:
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
    summary = f"{first.title}.{traced}"
    return Verdict(verdict.bottleneck, verdict.fraction, False, summary)


def _finding(part: MeasuredPart, base_ms: float) -> Finding:
    of_step = percent(1 - part.ratio)
    now, before = duration(part.step_ms), duration(base_ms)
    changed = "taken out" if part.is_part else "changed"
    title = f"{_sentence(part.name)} saves {of_step} of each step"
    if part.is_part:
        title = f"{of_step} of each step goes into {part.name}"

    saving = Saving(max(1 - part.high, 0.0), min(1 - part.low, 1.0), "measured here")
    seen = f"step as it is, and with {part.name} {changed}"
    return Finding(
        rule_id=_id_of(part.name),
        category=part.category,
        severity=severity_of(saving.high),
        title=f"{title}, by experiment",
        summary=f"Tried here: {part.effect}{at_lines(part.places)}. A step took {now} "
        f"instead of {before}, without the profiler: "
        f"{less_words(part.ratio, part.low, part.high)} less. Results: {part.check}.",
        evidence=(Evidence(None, seen, f"{before}, {now}", "text"),),
        saving=saving,
        fixes=() if part.is_part else (_fix(part),),
        locations=tuple(map(_location, part.places)),
        source=(),
        caveat="",
        claims=(part.category,) if part.category in _CLAIMED else (),
        proof="measured",
        takes=part.takes,
    )


def _id_of(name: str) -> str:
    """`measured-jit-on`; of a variable without its value."""
    words = name.partition("=")[0].lower().replace(" ", "-").replace("_", "-")
    return f"measured-{words}"


def _fix(part: MeasuredPart) -> Fix:
    return Fix(
        kind="env" if "=" in part.name else "code",
        do=_sentence(part.effect),
        snippet="",
        env={},
        valid_for="",
        side_effect="",
    )


def _location(place: str) -> Location:
    file, _, line = place.rpartition(":")
    return Location(file, int(line), "")


def _bounded(finding: Finding, at_most: Mapping[str, float]) -> Finding:
    saving, most = finding.saving, at_most.get(finding.category)
    if saving is None or most is None or saving.high <= most:
        return finding

    basis = (
        f"{saving.basis}; no more than the {percent(most)} that the input takes, "
        "measured here"
    )
    return replace(finding, saving=Saving(min(saving.low, most), most, basis))


def less_words(ratio: float, low: float, high: float) -> str:
    """`42% (38 to 45)`, of step time: by how much it is shorter."""
    least, most = 100 * (1 - high), 100 * (1 - low)
    return f"{percent(1 - ratio)} ({least:.0f} to {most:.0f})"


def at_lines(places: Sequence[str]) -> str:
    """` (train.py:41, 43 and 2 more)`, "" for no line."""
    if not places:
        return ""

    shown: list[str] = []
    file_before = ""
    for place in places[:_MOST_PLACES]:
        file, _, line = place.rpartition(":")
        shown.append(line if shown and file == file_before else place)
        file_before = file

    others = len(places) - len(shown)
    more = f" and {others} more" if others > 0 else ""
    return f" ({one_line(', '.join(shown))}{more})"


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:]
