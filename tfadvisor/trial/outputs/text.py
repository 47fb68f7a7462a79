"""A trial's result for a terminal, and as JSON."""

from __future__ import annotations

import json
from statistics import median

from tfadvisor.report.printable import one_line
from tfadvisor.report.terminal_text import DIM, PLAIN, TITLE, Screen, TextPage
from tfadvisor.trial.result import BETTER, BROKEN, NOT_CHECKED, OPEN, Arm, TrialResult
from tfadvisor.trial.wording import gain, outcome_words, promised
from tfadvisor.units import duration, percent

_STYLES = {BETTER: "bold green", OPEN: "bold yellow", BROKEN: "bold red"}
_INDENT = 13


def as_json(result: TrialResult) -> str:
    """With a line's end."""
    return json.dumps(result.to_dict(), indent=2) + "\n"


def as_text(result: TrialResult, screen: Screen = PLAIN) -> str:
    """The best first."""
    page = TextPage(screen)
    page.hanging("", (one_line(result.summary), TITLE), 0)
    page.hanging("", (_about(result), DIM), 0)
    page.line()
    for arm in sorted(result.arms, key=lambda one: (one.ratio is None, one.ratio.estimate if one.ratio else 0.0)):
        _arm(page, arm)
    best = result.together
    if best is not None:
        page.line()
        page.hanging("together", f"{' + '.join(map(one_line, best.names))}: {gain(best.ratio)}", _INDENT)
        for name, why in best.left_out.items():
            page.hanging("", f"without {one_line(name)}: {one_line(why)}", _INDENT)
    return page.text()


def _about(result: TrialResult) -> str:
    runs, steps = len(result.base_step_ms), result.steps
    step = f"{duration(median(result.base_step_ms))} a step" if runs else "never timed"
    ended = "" if result.complete else "; ended early"
    return (
        f"as it is {step} in {runs} run{'s' if runs != 1 else ''} of {steps.timed:,} steps ({steps.told_by}),"
        f" {result.seconds:.0f} s in all{ended}"
    )


def _arm(page: TextPage, arm: Arm) -> None:
    words = one_line(arm.why) if arm.outcome == BROKEN else gain(arm.ratio)
    page.hanging((outcome_words(arm), _STYLES.get(arm.outcome, DIM)), f"{one_line(arm.name)}: {words}", _INDENT)
    notes = []
    if arm.predicted is not None:
        notes.append(f"predicted {promised(arm.predicted)}")
    if arm.outcome == OPEN and arm.smallest_change is not None:
        notes.append(f"a gain of {percent(arm.smallest_change)} would have been seen")
    if arm.outcome != BROKEN:
        notes.append("results not checked" if arm.check == NOT_CHECKED else f"results {arm.check}")
        notes.append(f"{len(arm.step_ms)} run{'s' if len(arm.step_ms) != 1 else ''}")
    if arm.effect:
        notes.append(f"changes: {one_line(arm.effect)}")
    if notes:
        page.hanging("", ("; ".join(notes), DIM), _INDENT)
