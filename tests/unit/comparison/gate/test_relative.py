"""Verdicts against a baseline, on made-up runs of which everything is known."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

import pytest
from msgspec.structs import replace
from support.made_runs import QUIET, UNITS, op, side, snapshot

from tfadvisor.comparison.baseline.snapshot import Snapshot, choose
from tfadvisor.comparison.gate.config import Config, Relative
from tfadvisor.comparison.gate.relative import _weights, check_relative
from tfadvisor.comparison.gate.result import Check, Outcome
from tfadvisor.report.model import MetricValue

NOISE = (0.0, 1.0, -1.0, 0.5, -0.5, 0.8, -0.8, 0.3, -0.3, 0.0)


def limits(**asked: object) -> Config:
    """A configuration with these limits: a share, or a mapping of settings."""
    relative = []
    for metric, one in asked.items():
        settings = {
            "limit": None,
            "change": None,
            "worse": None,
            "level": "error",
            "line": 0,
        }
        settings |= one if isinstance(one, dict) else {"limit": one}
        relative.append(Relative(metric, **settings))
    return replace(QUIET, relative=tuple(relative))


def ten_runs(spread: float = 1.0, times: int = 1, **known: object) -> list[Snapshot]:
    """Runs around 100 ms a step; several times ten."""
    return [snapshot(100.0 + spread * away, **known) for away in NOISE * times]


THIRTY = replace(limits(step_time_ms=0.05), keep=30)


def judge(config: Config, base: Sequence[Snapshot], *new: Snapshot) -> Check:
    (check,) = check_relative(config, (), new, choose(base, new, config.keep))
    return check


def test_over_the_limit_and_beyond_noise_fails() -> None:
    """±1 ms between runs, 120 ms now, 5% allowed."""
    check = judge(limits(step_time_ms=0.05), ten_runs(), snapshot(120.0))

    assert check.outcome is Outcome.FAIL
    assert "rose by 20% (100 ms → 120 ms); the limit is 5.0%" in check.message
    assert check.limit == pytest.approx(105.0)
    assert (check.base, check.value, check.runs) == (100.0, 120.0, 10)
    assert check.p is not None and check.p < 0.01


def test_within_the_limit_passes() -> None:
    assert (
        judge(THIRTY, ten_runs(0.5, times=3), snapshot(101.0)).outcome is Outcome.PASS
    )


def test_significant_but_within_the_limit_passes_and_says_so() -> None:
    check = judge(limits(step_time_ms=0.20), ten_runs(), snapshot(115.0))

    assert check.outcome is Outcome.PASS
    assert "more than noise, but within the limit" in check.message


def test_a_faster_step_passes() -> None:
    assert (
        judge(limits(step_time_ms=0.05), ten_runs(), snapshot(50.0)).outcome
        is Outcome.PASS
    )


def test_a_limit_finer_than_the_noise_cannot_be_told() -> None:
    """±8 ms between runs: s = 5.6%, and t(0.01; 4.75) = 3.47 times 1.05 times that is
    more than 5%.
    """
    check = judge(limits(step_time_ms=0.05), ten_runs(8.0), snapshot(103.0))

    assert check.outcome is Outcome.CANNOT_TELL
    assert check.detectable is not None and 15 < check.detectable < 30
    assert "10 baseline runs can show only changes above" in check.message
    assert "Use several --candidates" in check.message


def test_over_the_limit_but_within_the_noise_cannot_be_told() -> None:
    assert (
        judge(limits(step_time_ms=0.05), ten_runs(8.0), snapshot(112.0)).outcome
        is Outcome.CANNOT_TELL
    )


def test_far_beyond_even_a_wide_noise_fails() -> None:
    assert (
        judge(limits(step_time_ms=0.05), ten_runs(8.0), snapshot(200.0)).outcome
        is Outcome.FAIL
    )


def test_an_improvement_beyond_doubt_passes_however_wide_the_noise() -> None:
    assert (
        judge(limits(step_time_ms=0.05), ten_runs(8.0), snapshot(60.0)).outcome
        is Outcome.PASS
    )


def test_times_join_when_there_are_enough_runs() -> None:
    """One run says nothing about how much runs differ; with each further one a smaller
    change is seen.
    """
    config = limits(step_time_ms=0.05)
    seen = [
        judge(config, ten_runs()[:number], snapshot(100.0)).detectable
        for number in (1, 2, 3, 4, 5, 10)
    ]

    known = [change for change in seen if change is not None]
    assert seen[:2] == [None, None]  # not even ten times as long
    assert known == sorted(known, reverse=True)
    assert len(known) == 4 and known[1] < 100 and known[-1] < 12
    assert judge(config, ten_runs()[:1], snapshot(200.0)).outcome is Outcome.CANNOT_TELL
    assert judge(config, ten_runs()[:4], snapshot(200.0)).outcome is Outcome.FAIL


def test_the_line_says_how_many_more_runs_help() -> None:
    one = judge(limits(step_time_ms=0.05), [snapshot(100.0)], snapshot(102.0))
    six = judge(THIRTY, ten_runs()[:6], snapshot(102.0))

    assert (
        "1 baseline run cannot show yet how much runs differ. Add 4 more runs."
        in one.message
    )
    assert "6 baseline runs can show only changes above" in six.message
    assert "Add 24 more runs." in six.message


def test_ops_of_a_cpu_under_tensorflow_are_not_counted_alike() -> None:
    """24.5, then 46 in each step of one unchanged program: TensorFlow records an op while it has taken long of late."""
    runs = [
        snapshot(
            metrics={"kernels_per_step": number},
            framework="tensorflow",
            devices="1 cpu",
        )
        for number in (24.5, 46.0)
    ]

    assert (
        judge(limits(kernels_per_step=0.02), runs[:1], runs[1]).outcome
        is Outcome.NOT_APPLICABLE
    )


def test_a_count_in_which_steps_differ_is_not_compared() -> None:
    base = [snapshot(metrics={"kernels_per_step": 19.2})]
    new = snapshot(metrics={"kernels_per_step": 26.4})

    check = judge(limits(kernels_per_step=0.02), base, new)

    assert check.outcome is Outcome.NOT_APPLICABLE
    assert "steps or hosts differ in it" in check.message


def test_counts_need_one_run_only() -> None:
    base = [snapshot(metrics={"kernels_per_step": 25.0})]

    same = judge(
        limits(kernels_per_step=0.02),
        base,
        snapshot(metrics={"kernels_per_step": 25.0}),
    )
    more = judge(
        limits(kernels_per_step=0.02),
        base,
        snapshot(metrics={"kernels_per_step": 26.0}),
    )
    fewer = judge(
        limits(kernels_per_step=0.02),
        base,
        snapshot(metrics={"kernels_per_step": 13.0}),
    )

    assert (same.outcome, more.outcome, fewer.outcome) == (
        Outcome.PASS,
        Outcome.FAIL,
        Outcome.PASS,
    )
    assert same.detectable is not None and same.detectable < 0.005 * 25


def test_one_more_of_a_hundred_is_seen_at_the_second_run() -> None:
    """1% of them is less than the limit, and one more in every step is more than half
    of one.
    """
    config = limits(collectives_per_step={"limit": 0.02, "change": 0.5})

    check = judge(
        config,
        [snapshot(metrics={"collectives_per_step": 100.0})],
        snapshot(metrics={"collectives_per_step": 101.0}),
    )

    assert check.outcome is Outcome.FAIL


def test_any_retrace_is_one_too_many() -> None:
    base = [snapshot(metrics={"retraces_in_steady_state": 0.0}) for _ in range(6)]
    config = limits(retraces_in_steady_state={"change": 0.0})

    assert (
        judge(config, base, snapshot(metrics={"retraces_in_steady_state": 0.0})).outcome
        is Outcome.PASS
    )
    check = judge(config, base, snapshot(metrics={"retraces_in_steady_state": 1.0}))
    assert check.outcome is Outcome.FAIL
    assert "rose by 1 (0 → 1)" in check.message


def test_less_is_worse_for_some_metrics() -> None:
    base = [snapshot(metrics={"fp16_kernel_share": 0.9}) for _ in range(6)]
    config = limits(fp16_kernel_share={"change": 0.02})

    assert (
        judge(config, base, snapshot(metrics={"fp16_kernel_share": 0.95})).outcome
        is Outcome.PASS
    )
    check = judge(config, base, snapshot(metrics={"fp16_kernel_share": 0.5}))
    assert check.outcome is Outcome.FAIL
    assert check.limit == pytest.approx(0.88)
    assert "fell by 40 points" in check.message


def test_a_rate_that_falls_is_judged_by_factor() -> None:
    base = [snapshot(metrics={"allreduce_bus_gb_s": 400.0 + away}) for away in NOISE]
    config = limits(allreduce_bus_gb_s=0.10)

    assert (
        judge(config, base, snapshot(metrics={"allreduce_bus_gb_s": 300.0})).outcome
        is Outcome.FAIL
    )
    assert (
        judge(config, base, snapshot(metrics={"allreduce_bus_gb_s": 500.0})).outcome
        is Outcome.PASS
    )


def test_both_ways_can_be_worse() -> None:
    config = limits(step_time_ms={"limit": 0.05, "worse": "both"})

    assert judge(config, ten_runs(), snapshot(80.0)).outcome is Outcome.FAIL
    assert judge(config, ten_runs(), snapshot(120.0)).outcome is Outcome.FAIL
    assert (
        judge(replace(config, keep=30), ten_runs(0.2, times=3), snapshot(100.5)).outcome
        is Outcome.PASS
    )


def test_a_change_in_the_metrics_own_unit() -> None:
    config = limits(step_time_ms={"change": 30.0})

    assert judge(config, ten_runs(), snapshot(120.0)).outcome is Outcome.PASS
    assert judge(config, ten_runs(), snapshot(140.0)).outcome is Outcome.FAIL


def test_the_error_of_the_measurement_counts() -> None:
    """The median of 120 ms is known to ± 30 ms only: nothing can be told."""
    config = limits(step_time_ms=0.05)

    assert (
        judge(config, ten_runs(), snapshot(120.0, error=30.0)).outcome
        is Outcome.CANNOT_TELL
    )


def test_fewer_than_three_steps_cannot_be_told() -> None:
    check = judge(limits(step_time_ms=0.05), ten_runs(), snapshot(200.0, error=None))

    assert check.outcome is Outcome.CANNOT_TELL
    assert "fewer than three steps" in check.message


def test_a_level_of_warn_never_fails() -> None:
    check = judge(
        limits(step_time_ms={"limit": 0.05, "level": "warn"}),
        ten_runs(),
        snapshot(150.0),
    )

    assert check.outcome is Outcome.WARN


def test_an_accepted_change_moves_the_centre_and_keeps_the_spread() -> None:
    base = [*ten_runs(), snapshot(150.0, level=1)]

    assert (
        judge(limits(step_time_ms=0.30), base, snapshot(151.0)).outcome is Outcome.PASS
    )
    check = judge(limits(step_time_ms=0.10), base, snapshot(190.0))
    assert check.outcome is Outcome.FAIL
    assert check.base == 150.0


def test_without_a_baseline_nothing_relative_is_judged() -> None:
    assert (
        judge(limits(step_time_ms=0.05), [], snapshot(1e9)).outcome
        is Outcome.NOT_APPLICABLE
    )


def test_what_is_not_comparable_cannot_be_told() -> None:
    check = judge(
        limits(step_time_ms=0.05),
        ten_runs(),
        snapshot(100.0, devices="8 gpu NVIDIA H100"),
    )

    assert check.outcome is Outcome.CANNOT_TELL
    assert (
        "not comparable: devices: 1 gpu NVIDIA H100 in the baseline, 8 gpu NVIDIA "
        "H100 now" in check.message
    )


def test_a_metric_that_only_the_baseline_has_cannot_be_told() -> None:
    base = [snapshot(metrics={"h2d_bytes_per_step": 64.0})]

    assert (
        judge(limits(h2d_bytes_per_step=0.02), base, snapshot()).outcome
        is Outcome.CANNOT_TELL
    )
    assert (
        judge(limits(h2d_bytes_per_step=0.02), [snapshot()], base[0]).outcome
        is Outcome.NOT_APPLICABLE
    )
    assert (
        judge(limits(h2d_bytes_per_step=0.02), [snapshot()], snapshot()).outcome
        is Outcome.NOT_APPLICABLE
    )


def test_several_candidates_see_what_one_cannot() -> None:
    """±8 ms between runs; five runs 20 ms up: every one above every base run, p = 1 /
    3003.
    """
    new = [snapshot(120.0 + 8 * away) for away in NOISE[:5]]
    config = limits(step_time_ms=0.05)

    assert judge(config, ten_runs(8.0), new[0]).outcome is Outcome.CANNOT_TELL
    check = judge(config, ten_runs(8.0), *new)
    assert check.outcome is Outcome.FAIL
    assert check.p == pytest.approx(1 / 3003, rel=0.5)


def test_several_unchanged_candidates_pass_where_they_can_tell() -> None:
    new = [snapshot(100.0 + away / 2) for away in NOISE[:5]]

    assert judge(limits(step_time_ms=0.05), ten_runs(), *new).outcome is Outcome.PASS


def test_too_few_candidates_for_ranks_are_judged_by_their_middle() -> None:
    """One of 66 orders is more than 1%, so the prediction decides."""
    check = judge(
        limits(step_time_ms=0.05), ten_runs(), snapshot(118.0), snapshot(122.0)
    )

    assert check.outcome is Outcome.FAIL
    assert check.value == 120.0


def test_all_gated_metrics_share_the_rate() -> None:
    """A step time at p = 0.004 is significant alone, and not among twenty metrics of
    its kind.
    """
    base = [
        snapshot(
            100.0 + away,
            metrics={
                "input_bound_fraction": 0.3 + away / 100,
                "allreduce_bus_gb_s": 400 + 4 * away,
            },
        )
        for away in NOISE
    ]
    new = snapshot(
        104.5, metrics={"input_bound_fraction": 0.3, "allreduce_bus_gb_s": 400.0}
    )
    alone = limits(step_time_ms=0.01)
    among = limits(
        step_time_ms=0.01, input_bound_fraction={"change": 0.05}, allreduce_bus_gb_s=0.1
    )

    (single,) = check_relative(alone, (), [new], choose(base, [new], 10))
    several = check_relative(among, (), [new], choose(base, [new], 10))

    assert single.detectable is not None and several[0].detectable is not None
    assert several[0].detectable > single.detectable


OPS = [
    op(f"op.{number}", 12.0, opcode="dot", flops=1000 + number) for number in range(8)
]


def slowed(
    factor: float, ops: Sequence[object] = OPS, host: float = 4.0, extra: float = 0.0
) -> Snapshot:
    """Eight ops of 12 ms and 4 ms of host work, all slower by a factor; extra: more
    host work, not slowed.
    """
    rows = [replace(one, ms_per_step=one.ms_per_step * factor) for one in ops]
    compute = sum(one.ms_per_step for one in rows)
    total = compute + host * factor + extra
    made = side(
        total, ops=rows, classes={"compute": compute, "host": host * factor + extra}
    )
    return snapshot(of=made)


def noisy_machine() -> list[Snapshot]:
    """The same program on a machine whose speed varies by a third."""
    return [slowed(1.0 + 0.3 * away) for away in NOISE]


def test_a_machine_that_slows_all_ops_alike_is_no_regression() -> None:
    """All takes twice as long: more than the baseline's spread explains, but nothing of
    the program changed.
    """
    check = judge(limits(step_time_ms=0.05), noisy_machine(), slowed(6.0))

    assert check.outcome is Outcome.CANNOT_TELL
    assert "ops whose work did not change take" in check.message
    assert "Run again" in check.message


def test_it_is_one_where_the_machine_was_always_steady() -> None:
    assert (
        judge(
            limits(step_time_ms=0.05), [slowed(1.0) for _ in range(6)], slowed(1.5)
        ).outcome
        is Outcome.FAIL
    )


def test_host_work_is_seen_through_the_machines_noise() -> None:
    """20 ms more in a step of 100 ms to 130 ms: the noise of the step time hides it,
    that of the rest does not.
    """
    base = noisy_machine()
    check = judge(limits(step_time_ms=0.05), base, slowed(1.0, extra=20.0))

    assert check.outcome is Outcome.FAIL
    assert check.detectable_outside is not None and check.detectable is not None
    assert check.detectable_outside <= check.detectable


def test_a_new_op_is_seen_through_the_machines_noise() -> None:
    with_new = [*OPS, op("fusion.77", 24.0, opcode="fusion", flops=777)]

    assert (
        judge(limits(step_time_ms=0.05), noisy_machine(), slowed(1.1, with_new)).outcome
        is Outcome.FAIL
    )


def test_one_op_that_became_slower_is_seen_at_equal_speed() -> None:
    slower = [replace(OPS[0], ms_per_step=60.0), *OPS[1:]]

    assert (
        judge(limits(step_time_ms=0.05), noisy_machine(), slowed(1.1, slower)).outcome
        is Outcome.FAIL
    )


def test_a_regression_hidden_by_a_faster_machine_is_told_but_no_failure() -> None:
    """The machine was never that fast, so what it would take at equal speed is
    a guess.
    """
    check = judge(limits(step_time_ms=0.05), noisy_machine(), slowed(0.6, extra=20.0))

    assert check.outcome is Outcome.CANNOT_TELL
    assert "as on a faster machine" in check.message


def test_a_regression_on_a_machine_that_was_as_fast_before_fails() -> None:
    """100 ms at the machine's usual speed; at 0.75 of that 75 ms and 25 ms more, so 33%
    at equal speed.
    """
    check = judge(limits(step_time_ms=0.05), noisy_machine(), slowed(0.75, extra=25.0))

    assert check.outcome is Outcome.FAIL
    assert (
        "step_time_ms is unchanged at 100 ms on a machine that was 25% faster; at "
        "equal speed it is" in check.message
    )


def test_with_few_ops_nothing_tells_the_machine_from_the_program() -> None:
    two = OPS[:2]
    base = [slowed(1.0 + 0.01 * away, two) for away in NOISE]

    assert (
        judge(limits(step_time_ms=0.05), base, slowed(1.5, two)).outcome is Outcome.FAIL
    )


def test_made_metrics_have_units() -> None:
    assert set(UNITS) >= set(snapshot().side.metrics)


@pytest.mark.parametrize(
    ("exact", "others", "expected"),
    [
        (
            ("kernels_per_step",),
            ("step_time_ms",),
            {"kernels_per_step": 0.1, "step_time_ms": 0.9},
        ),
        (
            ("kernels_per_step", "h2d_bytes_per_step"),
            ("step_time_ms", "input_bound_fraction", "allreduce_bus_gb_s"),
            {
                "kernels_per_step": 0.05,
                "h2d_bytes_per_step": 0.05,
                "step_time_ms": 0.3,
                "input_bound_fraction": 0.3,
                "allreduce_bus_gb_s": 0.3,
            },
        ),
        (("kernels_per_step",), (), {"kernels_per_step": 1.0}),
        (
            (),
            ("step_time_ms", "input_bound_fraction"),
            {"step_time_ms": 1.0, "input_bound_fraction": 1.0},
        ),
    ],
)
def test_what_hardly_scatters_gets_a_tenth_of_the_promised_rate(
    exact: tuple[str, ...], others: tuple[str, ...], expected: dict[str, float]
) -> None:
    """One kind alone shares all of it evenly."""
    asked = {
        one.metric: one
        for one in limits(**dict.fromkeys((*exact, *others), 0.1)).relative
    }
    run = snapshot(metrics={name: 1.0 for name in expected if name != "step_time_ms"})

    assert _weights(asked, run) == pytest.approx(expected)


def test_a_change_of_exactly_the_limit_passes() -> None:
    """25 kernels, one more allowed."""
    base = [snapshot(metrics={"kernels_per_step": 25.0}) for _ in range(6)]
    config = limits(kernels_per_step={"change": 1.0})

    assert (
        judge(config, base, snapshot(metrics={"kernels_per_step": 26.0})).outcome
        is Outcome.PASS
    )
    assert (
        judge(config, base, snapshot(metrics={"kernels_per_step": 27.0})).outcome
        is Outcome.FAIL
    )


def test_the_baseline_is_that_of_the_present_level() -> None:
    """The metric was there before an accepted change, and is not since."""
    base = [snapshot(metrics={"h2d_bytes_per_step": 64.0}), snapshot(level=1)]
    now = snapshot(metrics={"h2d_bytes_per_step": 64.0})

    assert (
        judge(limits(h2d_bytes_per_step=0.02), base, now).outcome
        is Outcome.NOT_APPLICABLE
    )
    assert (
        judge(limits(h2d_bytes_per_step=0.02), base, snapshot()).outcome
        is Outcome.NOT_APPLICABLE
    )


def test_without_a_baseline_the_check_says_so() -> None:
    assert (
        "there is no baseline yet"
        in judge(limits(step_time_ms=0.05), [], snapshot()).message
    )


@pytest.mark.parametrize(
    ("metrics", "words"),
    [
        (
            {
                "h2d_bytes_per_step": MetricValue(
                    None, "bytes", "no copy was recorded", ""
                )
            },
            "no copy was recorded",
        ),
        (
            {"h2d_bytes_per_step": MetricValue(None, "bytes", "", "")},
            "this trace does not give it",
        ),
        ({}, "this trace does not give it"),
    ],
)
def test_a_metric_that_is_gone_says_why(
    metrics: dict[str, MetricValue], words: str
) -> None:
    report, new = SimpleNamespace(metrics=metrics), snapshot()
    base = choose([snapshot(metrics={"h2d_bytes_per_step": 64.0})], [new], 10)

    (check,) = check_relative(limits(h2d_bytes_per_step=0.02), (report,), [new], base)  # type: ignore[arg-type]

    assert check.outcome is Outcome.CANNOT_TELL
    assert check.message == f"h2d_bytes_per_step: {words}."


def test_a_machine_that_is_slow_as_often_before_is_no_reason_to_doubt() -> None:
    """40% over the middle of runs that differ by 30%: nothing unusual, and at equal
    speed nothing changed.
    """
    assert (
        judge(limits(step_time_ms=0.20), noisy_machine(), slowed(1.4)).outcome
        is Outcome.PASS
    )


def test_a_slower_machine_within_the_limit_passes() -> None:
    """20% slower than a machine that was always alike is no accident; half is
    allowed.
    """
    assert (
        judge(
            limits(step_time_ms=0.5), [slowed(1.0) for _ in range(6)], slowed(1.2)
        ).outcome
        is Outcome.PASS
    )


def test_only_what_moved_for_the_better_beyond_doubt_is_called_improved() -> None:
    assert judge(limits(step_time_ms=0.05), ten_runs(), snapshot(50.0)).improved
    assert not judge(THIRTY, ten_runs(0.5, times=3), snapshot(100.0)).improved
    assert not judge(limits(step_time_ms=0.05), ten_runs(), snapshot(120.0)).improved


STEADY_OPS = [
    op(f"op.{number}", 6.0, opcode="dot", flops=1000 + number) for number in range(8)
]


def uneven_host(ms: float) -> Snapshot:
    """48 ms in ops that always take as long, the rest on the host."""
    return slowed(1.0, STEADY_OPS, host=ms - 48.0)


def test_a_step_that_only_may_have_improved_is_not_called_so() -> None:
    """±8 ms on the host: at 1% runs within 20% are no surprise (t is 3.47), at 0.5% for
    each of two tests 24% (4.16).
    """
    base = [uneven_host(100.0 + 8 * away) for away in NOISE]
    perhaps, surely = (
        judge(limits(step_time_ms=0.02), base, uneven_host(ms)) for ms in (80.5, 70.0)
    )

    assert (perhaps.outcome, perhaps.improved) == (Outcome.CANNOT_TELL, False)
    assert (surely.outcome, surely.improved) == (Outcome.PASS, True)


def test_a_step_that_is_longer_at_equal_speed_is_not_laid_upon_the_machine() -> None:
    """25% more on the host: too much for noise as measured, not for each of two tests
    at half the rate.
    """
    base = [uneven_host(100.0 + 8 * away) for away in NOISE]
    check = judge(limits(step_time_ms=0.02), base, uneven_host(125.0))

    assert check.outcome is Outcome.CANNOT_TELL
    assert "10 baseline runs can show only changes above" in check.message


@pytest.mark.parametrize(
    ("spread", "ms", "outcome"),
    [(1.0, 101.0, Outcome.PASS), (8.0, 103.0, Outcome.CANNOT_TELL)],
)
def test_a_level_of_warn_changes_failures_only(
    spread: float, ms: float, outcome: Outcome
) -> None:
    config = limits(
        step_time_ms={"limit": 0.05 if spread > 1 else 0.2, "level": "warn"}
    )

    assert judge(config, ten_runs(spread), snapshot(ms)).outcome is outcome


def with_first_op(ms: float, factor: float = 1.0, extra: float = 0.0) -> Snapshot:
    """Eight ops of which the first takes this long and the others 12 ms, all at the
    machine's speed.
    """
    return slowed(factor, [replace(OPS[0], ms_per_step=ms), *OPS[1:]], extra=extra)


def test_the_noise_that_is_told_is_that_of_any_change_and_not_that_outside_of_the_ops() -> (
    None
):
    """The first op varies by 4 ms, which does not blur what lies outside of the ops; 40
    ms more on the host.
    """
    check = judge(
        limits(step_time_ms=0.05),
        [with_first_op(12.0 + 4 * away) for away in NOISE],
        with_first_op(12.0, extra=40.0),
    )

    assert check.outcome is Outcome.FAIL
    assert check.detectable is not None and check.detectable_outside is not None
    assert f"an unchanged program stay within {check.detectable:.0f}%" in check.message
    assert check.detectable_outside < check.detectable / 2


def test_at_equal_speed_is_at_that_of_the_median_op() -> None:
    """As fast as 0.75 of before, but for the first op's 6 ms and 19 on the host: 100 ms
    / 0.75, 33% more.

    All ops together take 78 ms, 0.8125 of 96, which would make it 23%.
    """
    check = judge(
        limits(step_time_ms=0.05),
        noisy_machine(),
        with_first_op(20.0, 0.75, extra=19.0),
    )

    assert check.outcome is Outcome.FAIL
    assert (
        "on a machine that was 25% faster; at equal speed it is 33% worse"
        in check.message
    )


def test_on_a_faster_machine_than_ever_it_is_a_guess_by_the_median_op() -> None:
    """At 0.6 of before, but for the first op's 6 ms and 34 on the host: 100 ms / 0.6,
    67% more; by all ops 51%.
    """
    check = judge(
        limits(step_time_ms=0.05), noisy_machine(), with_first_op(22.0, 0.6, extra=34.0)
    )

    assert check.outcome is Outcome.CANNOT_TELL
    assert (
        "take 40% less time, as on a faster machine; at equal speed it would be 67% "
        "worse" in check.message
    )


def test_one_op_that_became_faster_beyond_its_noise_passes() -> None:
    """An op of 60 ± 8 ms takes 20, far less than in any run. Outside of the ops the
    step takes 3% more, which decides nothing.
    """
    base = [heavy(60.0 + 8 * away) for away in NOISE]

    assert judge(limits(step_time_ms=0.05), base, heavy(20.0)).outcome is Outcome.PASS


def heavy(ms: float) -> Snapshot:
    """One op of this length beside eight of 4.5 ms, and 4 ms of host work."""
    return slowed(
        1.0,
        [
            op("op.heavy", ms, opcode="dot", flops=9),
            *(replace(one, ms_per_step=4.5) for one in OPS),
        ],
    )
