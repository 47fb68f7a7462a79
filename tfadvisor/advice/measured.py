"""What was measured of a program's parts, and each of them as a finding."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from tfadvisor.advice.findings import Evidence, Finding, Fix, Location, Saving
from tfadvisor.printable import one_line
from tfadvisor.units import duration, percent
from tfadvisor.vocabulary import Severity

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


def measured_finding(
    part: MeasuredPart, base_ms: float, severity_of: Callable[[float], Severity]
) -> Finding:
    """What costs something as a finding of its own. base_ms: a step as it is."""
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


_MEASURED = "measured-"


def is_measured_part(finding: Finding) -> bool:
    """Whether an experiment with a part of the program found it."""
    return finding.rule_id.startswith(_MEASURED)


def _id_of(name: str) -> str:
    """`measured-jit-on`; of a variable without its value."""
    words = name.partition("=")[0].lower().replace(" ", "-").replace("_", "-")
    return f"{_MEASURED}{words}"


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


def bounded(saving: Saving | None, most: float) -> Saving | None:
    """What is foreseen of the input is no more than what it was measured to cost."""
    if saving is None or saving.high <= most:
        return saving

    basis = (
        f"{saving.basis}; no more than the {percent(most)} that the input takes, "
        "measured here"
    )
    return Saving(min(saving.low, most), most, basis)


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
