"""A trial's result for a terminal."""

from __future__ import annotations

import pytest

from tfadvisor.act.trial.trial_page import as_text
from tfadvisor.act.trial.trial_result import Delayed, TrialResult, TriedSteps


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
