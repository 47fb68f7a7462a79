"""A ratio and its interval, by hand."""

from __future__ import annotations

from math import exp, log, sqrt

from pytest import approx

from tfadvisor.act.trial.effect import effect_of, smallest_seen


def test_runs_that_never_differ_are_as_sure_as_the_floor() -> None:
    """Three and three runs without scatter: sigma is the floor, 0.01; t of 4 degrees of
    freedom at 2.5% is 2.776.
    """
    effect = effect_of([10, 10, 10], [5, 5, 5])

    reach = 2.776 * 0.01 * sqrt(2 / 3)
    assert effect.ratio == approx(0.5)
    assert effect.low == approx(0.5 * exp(-reach), rel=1e-4)
    assert effect.high == approx(0.5 * exp(reach), rel=1e-4)
    assert effect.p < 1e-6


def test_few_runs_must_all_lie_on_one_side() -> None:
    """One of three runs is above one of the base, so a gain in the mean proves
    nothing.
    """
    assert effect_of([10, 10, 6], [5, 5, 6.1]).p == 1.0


def test_many_runs_are_compared_by_rank() -> None:
    """All of eight below all of eight: one way in 12,870."""
    base, new = (
        [10 + number for number in range(8)],
        [1 + number for number in range(8)],
    )

    assert effect_of(base, new).p == approx(1 / 12_870)


def test_one_disturbed_run_does_not_move_the_ratio() -> None:
    """The median of 64 pairs: eight of them hold the disturbed run."""
    new = [5.0] * 7 + [500.0]

    assert effect_of([10.0] * 8, new).ratio == approx(0.5)


def test_the_smallest_change_that_would_have_been_seen() -> None:
    """Without scatter the error is 0.01 √(2/3). t of 4 degrees of freedom is 3.747 at
    1% and 0.941 at 20%; two tests share 2%.
    """
    effect = effect_of([10] * 3, [10] * 3)

    assert smallest_seen(effect, [10] * 3, [10] * 3, 0.02) == approx(
        1 - exp(-(3.747 + 0.941) * 0.01 * sqrt(2 / 3)), rel=1e-3
    )


def test_a_machine_that_changes_its_speed_is_seen_round_by_round() -> None:
    """Each round is 10% quicker, on a machine that becomes four times slower: all with
    all that is nothing.
    """
    base = [10.0 * 1.3**number for number in range(6)]
    new = [9.0 * 1.3**number for number in range(6)]

    assert effect_of(base, new).low < 0.5
    found = effect_of(base, new, list(zip(base, new, strict=True)))
    assert (found.ratio, found.p < 0.001) == (approx(0.9), True)
    assert 0.88 < found.low < 0.9 < found.high < 0.92


def test_the_interval_is_symmetric_in_the_logarithm() -> None:
    effect = effect_of([10, 11, 12], [6, 7, 8])

    assert log(effect.ratio) - log(effect.low) == approx(
        log(effect.high) - log(effect.ratio)
    )
