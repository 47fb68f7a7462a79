"""A trial's result for a terminal."""

from __future__ import annotations

import pytest

from tfadvisor.act.trial.trial_page import as_text
from tfadvisor.act.trial.trial_result import (
    OPEN,
    Arm,
    Delayed,
    StepRatio,
    TrialResult,
    TriedSteps,
)
from tfadvisor.act.trial.trial_words import summary_of


@pytest.mark.parametrize(
    ("low", "high", "label"),
    [
        (0.9, 1.1, "on the path"),
        (-0.1, 0.2, "hidden"),
        (0.2, 0.5, "in part"),
        (-0.3, 1.4, "cannot tell"),
    ],
)
def test_a_delay_is_on_the_path_where_its_interval_says_so(
    low: float, high: float, label: str
) -> None:
    """A factor of 1 is all of the delay, 0 none of it."""
    delayed = Delayed("train.py:41", 2.0, (low + high) / 2, low, high)
    steps = TriedSteps("train.py:40 in main", 3, 15, in_turns=True)
    result = TrialResult(
        "none better", "", (), {}, "cpu", steps, (20.0,), (), True, 9.0, "", (delayed,)
    )

    (line,) = [line for line in as_text(result).splitlines() if "a delay of" in line]
    assert line.startswith(label)


@pytest.mark.parametrize(
    ("high", "said", "not_said"),
    [
        (0.75, "likely, and not as sure as a winner must be", "would have been seen"),
        (1.05, "a gain of 68% would have been seen", "likely"),
    ],
)
def test_a_gain_that_its_interval_shows_is_likely_where_it_is_no_winner(
    high: float, said: str, not_said: str
) -> None:
    """54% are saved, 25 to 72 or -5 to 72, where a gain of 68% decides: never `a gain of
    68% would have been seen` of one that is likely.
    """
    arm = Arm(
        name="fix.diff",
        rule_id="",
        category="",
        change="patch",
        identity="",
        outcome=OPEN,
        why="",
        ratio=StepRatio(0.46, 0.28, high),
        p=0.02,
        predicted=None,
        check="same",
        effect="",
        step_ms=(50.0, 52.0),
        smallest_change=0.68,
    )
    steps = TriedSteps("train.py:40 in main", 3, 15)
    outcome, summary = summary_of((arm,), complete=True)
    result = TrialResult(
        outcome, summary, (), {}, "cpu", steps, (110.0,), (arm,), True, 9.0
    )

    text = " ".join(as_text(result).split())

    assert said in text
    assert not_said not in text.lower()
    assert ("Likely for fix.diff" in summary) is (high < 1)
