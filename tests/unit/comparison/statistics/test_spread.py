"""What runs show about their spread, blended with what was believed before, against
worked examples.
"""

from __future__ import annotations

from functools import lru_cache
from math import sqrt
from statistics import NormalDist

import pytest

from tfadvisor.comparison.side import Traits
from tfadvisor.comparison.statistics import spread as prediction
from tfadvisor.comparison.statistics.spread import Prior, blended, counted, nature_of
from tfadvisor.vocabulary import Better, Scatter

TIME = nature_of("ms", Traits(Better.LESS, Scatter.FACTOR))
LEVEL = 0.0045
"""What the step time is judged at: half of nine tenths of 1%."""
ORDINARY = {0.01: 0.0, 0.02: 0.05, 0.03: 0.12, 0.05: 0.30}
"""By how much a program's runs differ, and by which share of itself the smallest
visible change may rise with a run.
"""


def test_one_run_says_nothing_about_the_spread() -> None:
    known = blended([[5.0]], Prior(0.1, 1.0))

    assert (known.centre, known.runs, known.freedom) == (5.0, 1, 1.0)
    assert known.sigma == pytest.approx(0.1)


def test_levels_differ_and_scatter_does_not() -> None:
    """Deviations of 1, 0, 1 around 10 and around 20, nothing of the jump: (1 · 1² + 4 /
    0.8632) / (1 + 2 + 2).
    """
    known = blended([[9, 10, 11], [19, 20, 21]], Prior(1.0, 1.0))

    assert known.sigma == pytest.approx(sqrt((1 + 4 / 0.8632) / 5))
    assert (known.centre, known.runs) == (pytest.approx(20), 3)
    assert known.freedom == 1 + 0.5 * 4


def test_the_spread_of_earlier_levels_stays_after_an_accepted_change() -> None:
    before = blended([[9, 10, 11, 10]], Prior(5.0, 1.0))
    after = blended([[9, 10, 11, 10], [20]], Prior(5.0, 1.0))

    assert (after.sigma, after.freedom) == (pytest.approx(before.sigma), before.freedom)
    assert (after.centre, after.runs) == (20, 1)


def test_a_run_far_out_hides_nothing() -> None:
    """Five at 0, one at 100: it is drawn in to 1.75 s, so the centre is 0.35 s; s² =
    (0.25 + 3.675 s² / 0.8632) / 5.25.
    """
    known = blended([[0, 0, 0, 0, 0, 100]], Prior(1.0, 0.25))

    assert known.sigma == pytest.approx(0.502, abs=0.001)
    assert known.centre == pytest.approx(0.1757, abs=0.001)
    assert blended([[0, 0, 0, 0, 0, 1e6]], Prior(1.0, 0.25)).sigma == pytest.approx(
        known.sigma, rel=1e-6
    )


def test_what_never_differs_has_no_spread() -> None:
    assert counted([[25.0, 25.0], [30.0]], Prior(0.025, 4.0)).sigma == 0.0


def test_each_deviating_count_counts_in_full() -> None:
    """Nine of 25, one of 26: (4 · 0.025² + 9 · 0.1² + 0.9²) / (4 + 9)."""
    known = counted([[25.0] * 9 + [26.0]], Prior(0.025, 4.0))

    assert known.sigma == pytest.approx(sqrt((0.0025 + 0.9) / 13))
    assert (known.centre, known.freedom) == (25.0, 13)


@pytest.mark.parametrize(("differ", "tolerance"), ORDINARY.items())
@pytest.mark.parametrize(
    "before",
    [(), (-1.2, -0.4, 0.4, 1.2)],
    ids=["first level", "after an accepted change"],
)
def test_more_ordinary_runs_never_blind(
    differ: float,
    tolerance: float,
    before: tuple[float, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All 10! orders of ten runs that lie like normal values: each set of them plus one
    more of them, since a set shows the same in whatever order it came. The smallest
    change that can be seen falls, or rises by the tolerance at most.
    """
    monkeypatch.setattr(prediction, "t_quantile", lru_cache(prediction.t_quantile))
    earlier = [[differ * away for away in before]] if before else []
    runs = [differ * NormalDist().inv_cdf((at + 0.5) / 10) for at in range(10)]
    seen = {
        chosen: _smallest_change(runs, chosen, earlier) for chosen in range(1, 1 << 10)
    }

    rises = {
        (chosen, at): seen[chosen | 1 << at] / seen[chosen] - 1
        for chosen in seen
        for at in range(10)
        if not chosen >> at & 1
    }

    assert len(rises) == 10 * 2**9 - 10  # but for the first run
    assert max(rises.values()) <= tolerance + 1e-9
    assert seen[(1 << 10) - 1] < seen[1] / 1.3


def _smallest_change(
    runs: list[float], chosen: int, earlier: list[list[float]]
) -> float:
    """Of those runs whose bit is set."""
    present = [value for at, value in enumerate(runs) if chosen >> at & 1]
    return prediction.predict([*earlier, present], TIME).reach(LEVEL, 0.0)
