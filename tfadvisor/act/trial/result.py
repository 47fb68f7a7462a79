"""What a trial found, for the terminal, for JSON and for the ledger."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from statistics import median
from typing import Any

import msgspec

from tfadvisor.comparison.ledger import FORM, OUTCOMES, Entry
from tfadvisor.printable import one_line, plain
from tfadvisor.report.model import Tool
from tfadvisor.text_page import DIM, PLAIN, TITLE, Screen, TextPage
from tfadvisor.units import duration, percent
from tfadvisor.version import VERSION

SCHEMA_VERSION = "1"
BETTER, NOT_BETTER, OPEN, BROKEN = OUTCOMES
SAME, DIFFERS, NOT_CHECKED = "same", "differs", "not checked"
_MOST_PLACES = 6


class Share(msgspec.Struct, frozen=True):
    """A range of shares of step time."""

    low: float
    """0..1; below 0 is slower."""
    high: float
    """0..1."""


class Ratio(msgspec.Struct, frozen=True):
    """New step time over old, and where it lies with 95% confidence."""

    estimate: float
    low: float
    high: float


class TriedSteps(msgspec.Struct, frozen=True):
    """What was timed, the same in all arms."""

    told_by: str
    """`train.py:41 in train`, or Keras' fit."""
    warm: int
    """Steps set aside first."""
    timed: int
    """Steps that are timed in each run."""
    between: float = 0.0
    """Share of the program's time, as it is, between the loop's turns: ends of epochs,
    which are in no step.
    """


class Arm(msgspec.Struct, frozen=True):
    """One candidate."""

    name: str
    rule_id: str
    """Of the finding that asks for it, "" for none."""
    category: str
    """Of that finding, "" for none."""
    change: str
    """The codemod's name, or patch, env, `pass NAME`."""
    identity: str
    """Changes that are alike have the same, whatever they are called."""
    outcome: str
    """better, not better, cannot tell or broken."""
    why: str
    """Why it is broken, "" for any other."""
    ratio: Ratio | None
    """None where fewer than two runs gave a step time."""
    p: float | None
    """Probability of such a gain between forms that are alike."""
    predicted: Share | None
    """What its finding promised."""
    check: str
    """same, differs or not checked: the values of the first steps beside those of the
    program as it is.
    """
    effect: str
    """What else changes, in words; "" for nothing that is known."""
    step_ms: tuple[float, ...]
    """Of each run."""
    smallest_change: float | None
    """The gain that so many runs would have shown four times in five, as a share of
    step time.
    """
    kind: str = "change"
    """change; of an ablation: part (what the program does, taken out), switch (a
    setting) or scale (less to do).
    """
    took: int = 0
    """How often its hook took effect in one run, 0 where there is no hook."""
    places: tuple[str, ...] = ()
    """Lines of the program where it did, as `train.py:41`; none where a framework's own
    code was hooked.
    """

    @property
    def saving(self) -> Share | None:
        """Of step time, with 95% confidence."""
        return (
            None
            if self.ratio is None
            else Share(1 - self.ratio.high, 1 - self.ratio.low)
        )


class TrialResult(msgspec.Struct, frozen=True):
    """outcome: winner, none better or cannot tell."""

    outcome: str
    summary: str
    command: tuple[str, ...]
    versions: Mapping[str, str]
    """Of Python and of what the program imports."""
    device: str
    """The kind of the first device, "" where it is not known."""
    steps: TriedSteps
    base_step_ms: tuple[float, ...]
    """Of each run of the program as it is."""
    arms: tuple[Arm, ...]
    complete: bool
    """Whether neither the budget nor the user ended it early."""
    seconds: float
    """By the wall clock."""
    profile: str = ""
    """Of an ablation: what each part costs, in words."""
    tool: Tool = Tool("tfadvisor", VERSION)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON, `schema_version` first."""
        whole: dict[str, Any] = plain(self)
        return {"schema_version": SCHEMA_VERSION, "tool": whole.pop("tool"), **whole}


# A trial in words.


WINNER, NONE_BETTER, CANNOT_TELL = "winner", "none better", "cannot tell"


def summary_of(arms: Sequence[Arm], complete: bool) -> tuple[str, str]:
    """(outcome, one sentence)."""
    better = [one for one in arms if one.outcome == BETTER and one.ratio is not None]
    if better:
        first = min(better, key=lambda one: one.ratio.estimate if one.ratio else 1.0)
        return WINNER, f"{first.name}: {gain(first.ratio)}."
    undecided = [one for one in arms if one.outcome == OPEN]
    if not undecided:
        return NONE_BETTER, "No candidate is better than the program as it is."
    seen = [one.smallest_change for one in undecided if one.smallest_change is not None]
    reach = (
        f" A gain of {percent(max(seen))} would have been seen."
        if seen
        else " There are too few runs."
    )
    why = "" if complete else " It was ended early."
    return (
        CANNOT_TELL,
        f"Cannot tell whether {_names(undecided)} "
        f"{'is' if len(undecided) == 1 else 'are'} better.{reach}{why}",
    )


def gain(ratio: Ratio | None) -> str:
    """`38% of step time saved (34 to 42)`, `12% slower (8 to 15)`."""
    if ratio is None:
        return "no step time"
    low, high = 1 - ratio.high, 1 - ratio.low
    if ratio.estimate <= 1:
        return (
            f"{percent(1 - ratio.estimate)} of step time saved ({_plain(low)} to "
            f"{_plain(high)})"
        )
    return (
        f"{percent(ratio.estimate - 1)} slower ({_plain(ratio.low - 1)} to "
        f"{_plain(ratio.high - 1)})"
    )


def at_lines(places: Sequence[str]) -> str:
    """` (train.py:41, 43 and 2 more)`, "" for no line."""
    shown: list[str] = []
    for place in places[:_MOST_PLACES]:
        file, _, line = place.rpartition(":")
        shown.append(
            line
            if shown and file == places[len(shown) - 1].rpartition(":")[0]
            else place
        )
    more = f" and {len(places) - len(shown)} more" if len(places) > len(shown) else ""
    return f" ({one_line(', '.join(shown))}{more})" if shown else ""


def promised(share: Share) -> str:
    """`20 to 40`."""
    return f"{_plain(share.low)} to {_plain(share.high)}"


def outcome_words(arm: Arm) -> str:
    """Where it stands."""
    words = {
        BETTER: "better",
        NOT_BETTER: "not better",
        OPEN: "cannot tell",
        BROKEN: "dropped",
    }
    if arm.kind == "part":
        words |= {BETTER: "costs", NOT_BETTER: "costs little"}
    return "scale" if arm.kind == "scale" and arm.ratio else words[arm.outcome]


def _names(arms: Sequence[Arm]) -> str:
    shown = [one.name for one in arms[:3]]
    more = f" and {len(arms) - 3} more" if len(arms) > 3 else ""
    return ", ".join(shown) + more


def _plain(share: float) -> str:
    return f"{share * 100:.0f}"


# A trial's result for a terminal.

_STYLES = {BETTER: "bold green", OPEN: "bold yellow", BROKEN: "bold red"}
_INDENT = 13
_TOLD = 0.02
"""From this share on the time between epochs has a line."""
_DOES = {"part": "in this arm", "scale": "in this arm", "switch": "to do"}


def as_text(result: TrialResult, screen: Screen = PLAIN) -> str:
    """The best first."""
    page = TextPage(screen)
    page.hanging("", (one_line(result.profile or result.summary), TITLE), 0)
    page.hanging("", (_about(result), DIM), 0)
    if result.steps.between >= _TOLD:
        between = (
            f"{percent(result.steps.between)} of the time is between turns of this loop"
        )
        page.line((f"{between}, as at ends of epochs: in no step", DIM))
    page.line()
    shown = [
        one
        for one in result.arms
        if one.kind == "change" or one.step_ms or one.outcome != BROKEN
    ]
    for arm in sorted(
        shown,
        key=lambda one: (one.ratio is None, one.ratio.estimate if one.ratio else 0.0),
    ):
        _arm(page, arm)
    for arm in result.arms:
        if arm not in shown:
            label = "dropped" if arm.took else "not here"
            page.hanging(
                (label, DIM),
                (f"{one_line(arm.name)}: {one_line(arm.why)}", DIM),
                _INDENT,
            )
    return page.text()


def _about(result: TrialResult) -> str:
    runs, steps = len(result.base_step_ms), result.steps
    step = f"{duration(median(result.base_step_ms))} a step" if runs else "never timed"
    ended = "" if result.complete else "; ended early"
    return (
        f"as it is {step} in {runs} run{'s' if runs != 1 else ''} of {steps.timed:,} "
        f"steps ({steps.told_by}),"
        f" {result.seconds:.0f} s in all{ended}"
    )


def _arm(page: TextPage, arm: Arm) -> None:
    words = one_line(arm.why) if arm.outcome == BROKEN else gain(arm.ratio)
    if arm.kind == "scale" and arm.ratio is not None:
        words = (
            f"takes {percent(arm.ratio.estimate)} of the time "
            f"({_plain(arm.ratio.low)} to {_plain(arm.ratio.high)})"
        )
    page.hanging(
        (outcome_words(arm), _STYLES.get(arm.outcome, DIM)),
        f"{one_line(arm.name)}: {words}",
        _INDENT,
    )
    notes = []
    if arm.predicted is not None:
        notes.append(f"predicted {promised(arm.predicted)}")
    if arm.outcome == OPEN and arm.smallest_change is not None:
        notes.append(f"a gain of {percent(arm.smallest_change)} would have been seen")
    if arm.outcome != BROKEN:
        notes.append(
            "results not checked"
            if arm.check == NOT_CHECKED
            else f"results {arm.check}"
        )
        notes.append(f"{len(arm.step_ms)} run{'s' if len(arm.step_ms) != 1 else ''}")
    if arm.effect:
        notes.append(
            f"{_DOES.get(arm.kind, 'changes')}: "
            f"{one_line(arm.effect)}{at_lines(arm.places)}"
        )
    if notes:
        page.hanging("", ("; ".join(notes), DIM), _INDENT)


# What a trial leaves in the ledger.


def entries_of(result: TrialResult, sketch: Sequence[int]) -> list[Entry]:
    """One for each candidate that ran."""
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    trial = secrets.token_hex(6)
    return [
        Entry(
            form=FORM,
            at=now,
            tool=VERSION,
            trial=trial,
            program=tuple(sketch),
            rule=one.rule_id,
            category=one.category,
            change=one.change,
            identity=one.identity,
            versions=result.versions,
            device=result.device,
            predicted=(one.predicted.low, one.predicted.high)
            if one.predicted
            else None,
            ratio=one.ratio.estimate if one.ratio else None,
            interval=(one.ratio.low, one.ratio.high) if one.ratio else None,
            runs=(len(result.base_step_ms), len(one.step_ms)),
            outcome=one.outcome,
            check=one.check,
        )
        for one in result.arms
        if one.ratio is not None or one.outcome == BROKEN
    ]
