"""A trial's result for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from tfadvisor.act.trial.trial_result import (
    BETTER,
    BROKEN,
    CHANGE,
    NOT_CHECKED,
    OPEN,
    PART,
    SCALE,
    SWITCH,
    Arm,
    Delayed,
    TrialResult,
)
from tfadvisor.act.trial.trial_words import (
    NOT_SURE,
    gain,
    is_likely,
    outcome_words,
    promised,
    scaled,
)
from tfadvisor.advice.measured import at_lines
from tfadvisor.printable import one_line
from tfadvisor.text_page import DIM, PLAIN, TITLE, Screen, TextPage
from tfadvisor.units import counted, duration, percent

_STYLES = {BETTER: "bold green", OPEN: "bold yellow", BROKEN: "bold red"}
_INDENT = 13
_MOST_NAMED = 3
_WORTH_A_LINE = 0.02
"""From this share on the time between epochs has a line."""
_HALF, _LITTLE = 0.5, 0.25
"""A statement is on the critical path where the whole interval of its factor lies above
the one, hidden where it lies below the other.
"""
_TOO_WIDE = 0.5
"""Such an interval says neither."""
_DOES = {PART: "in this arm", SCALE: "in this arm", SWITCH: "to do"}


def as_text(
    result: TrialResult,
    screen: Screen = PLAIN,
) -> str:
    """The best first."""
    page = TextPage(screen)
    page.hanging(
        "",
        (one_line(result.profile or result.summary), TITLE),
        0,
    )
    page.hanging(
        "",
        (_about(result), DIM),
        0,
    )
    if result.steps.between >= _WORTH_A_LINE:
        page.line((_between(result.steps.between), DIM))
    page.line()

    for arm in sorted(filter(_is_shown, result.arms), key=_rank):
        _arm(page, arm)
    for arm in result.arms:
        if not _is_shown(arm):
            label = "dropped" if arm.took else "not here"
            words = f"{one_line(arm.name)}: {one_line(arm.why)}"
            page.hanging(
                (label, DIM),
                (words, DIM),
                _INDENT,
            )
    for delayed in sorted(result.delays, key=lambda delay: -delay.factor):
        _delayed(page, delayed)
    return page.text()


def _delayed(page: TextPage, delayed: Delayed) -> None:
    """`on the path  train.py:41: a delay of 2 ms makes a round 1.9 ms longer`."""
    longer = delayed.factor * delayed.delay_ms
    words = (
        f"{one_line(delayed.place)}: a delay of {duration(delayed.delay_ms)} makes a "
        f"round {duration(max(longer, 0.0))} longer: {delayed.factor:.2f} of it "
        f"({delayed.low:.2f} to {delayed.high:.2f})"
    )
    page.hanging(
        (_on_path(delayed), DIM),
        words,
        _INDENT,
    )


def _on_path(delayed: Delayed) -> str:
    """What its interval says of the critical path."""
    if delayed.high - delayed.low > _TOO_WIDE:
        return "cannot tell"
    if delayed.low >= _HALF:
        return "on the path"
    return "hidden" if delayed.high <= _LITTLE else "in part"


def _is_shown(arm: Arm) -> bool:
    """Whether it was tried, or somebody asked for it alone."""
    return arm.kind == CHANGE or bool(arm.step_ms) or arm.outcome != BROKEN


def _rank(arm: Arm) -> tuple[bool, float]:
    if arm.ratio is None:
        return True, 0.0
    return False, arm.ratio.estimate


def _between(share: float) -> str:
    return (
        f"{percent(share)} of the time is between turns of this loop, as at ends of "
        "epochs: in no step, --epochs counts it"
    )


def _about(result: TrialResult) -> str:
    steps, runs = result.steps, result.base_step_ms
    step = f"{duration(median(runs))} a step" if runs else "never timed"
    ended = "" if result.complete else "; ended early"
    timed = _runs(len(runs), steps.in_turns)
    if steps.whole_turns:
        step += ", with what lies between epochs,"
    return (
        f"as it is {step} in {timed} of {steps.timed:,} steps "
        f"({steps.told_by}), {result.seconds:.0f} s in all{ended}"
    )


def _runs(number: int, in_turns: bool) -> str:
    """`3 runs`, or blocks of one."""
    noun = "block" if in_turns else "run"
    return counted(str(number), noun, f"{noun}s")


def _arm(page: TextPage, arm: Arm) -> None:
    words = gain(arm.ratio)
    if arm.kind == SCALE and arm.ratio is not None:
        words = scaled(arm.ratio)
    elif arm.outcome == BROKEN:
        words = one_line(arm.why)

    label = outcome_words(arm), _STYLES.get(arm.outcome, DIM)
    page.hanging(label, f"{one_line(arm.name)}: {words}", _INDENT)
    notes = _notes(arm)
    if notes:
        page.hanging(
            "",
            ("; ".join(notes), DIM),
            _INDENT,
        )
    if arm.less:
        page.hanging("", f"does less: {_few(arm.less)}", _INDENT)


def _few(less: Sequence[str]) -> str:
    shown = "; ".join(map(one_line, less[:_MOST_NAMED]))
    more = len(less) - _MOST_NAMED
    return f"{shown}; {more:,} more" if more > 0 else shown


def _notes(arm: Arm) -> list[str]:
    notes = []
    if arm.predicted is not None:
        notes.append(f"predicted {promised(arm.predicted)}")
    if arm.outcome == OPEN and is_likely(arm):
        notes.append(f"likely, and {NOT_SURE}")
    elif arm.outcome == OPEN and arm.smallest_change is not None:
        notes.append(f"a gain of {percent(arm.smallest_change)} would have been seen")
    if arm.outcome != BROKEN:
        is_checked = arm.check != NOT_CHECKED
        notes.append(f"results {arm.check}" if is_checked else "results not checked")
        notes.append(_runs(len(arm.step_ms), arm.in_turns))
    if arm.effect:
        does = _DOES.get(arm.kind, "changes")
        notes.append(f"{does}: {one_line(arm.effect)}{at_lines(arm.places)}")
    return notes
