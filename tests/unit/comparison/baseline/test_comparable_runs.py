"""What a run is compared with, and what it must not be compared with."""

from __future__ import annotations

import pytest
from support.made_runs import snapshot

from tfadvisor.comparison.baseline.snapshot import choose, may_differ, must_be_alike


@pytest.mark.parametrize(
    ("known", "words"),
    [
        ({"model": "bert"}, "model: default in the baseline, bert now"),
        ({"framework": "tensorflow"}, "framework: jax in the baseline, tensorflow now"),
        (
            {"devices": "8 gpu NVIDIA H100"},
            "devices: 1 gpu NVIDIA H100 in the baseline, 8 gpu NVIDIA H100 now",
        ),
        ({"hosts": 2}, "hosts: 1 in the baseline, 2 now"),
        (
            {"labels": {"batch": "256"}},
            "label batch: not given in the baseline, 256 now",
        ),
    ],
)
def test_what_must_be_alike(known: dict[str, object], words: str) -> None:
    base, new = snapshot(40.0), snapshot(40.0, **known)

    assert must_be_alike(base.key, new.key) == (words,)
    assert must_be_alike(base.key, base.key) == ()


def test_what_may_differ_is_told() -> None:
    base = snapshot(
        about={
            "framework version": "0.9",
            "model parameters": "1e+06",
            "precision": "bf16",
        }
    )
    new = snapshot(about={"framework version": "0.10", "model parameters": "1.01e+06"})

    assert may_differ(base, new) == (
        "framework version: 0.9 in the baseline, 0.10 now",
        "precision: bf16 in the baseline, unknown now",
    )


def test_a_first_run_has_no_baseline_and_is_told_so() -> None:
    found = choose([], [snapshot()], 10)

    assert (found.runs, found.refused) == ((), ())
    assert found.notices[0] == (
        "The store held no run of model default to compare this one with. "
        "`tfadvisor gate --add` adds each run that does not fail."
    )


def test_another_models_store_names_the_models_that_it_has() -> None:
    found = choose([snapshot(model="bert"), snapshot(model="gpt")], [snapshot()], 10)

    assert "holds bert, gpt; --model chooses" in found.notices[0]


def test_runs_that_are_not_comparable_are_refused_with_the_differences() -> None:
    found = choose(
        [snapshot(devices="1 gpu NVIDIA A100"), snapshot(hosts=4)], [snapshot()], 10
    )

    assert found.runs == ()
    assert found.refused == ("hosts: 4 in the baseline, 1 now",)


def test_only_comparable_runs_count_and_the_latest() -> None:
    stored = [snapshot(float(ms)) for ms in range(1, 6)] + [
        snapshot(99.0, devices="none")
    ]

    assert [run.side.median_ms for run in choose(stored, [snapshot()], 3).runs] == [
        3.0,
        4.0,
        5.0,
    ]


def test_a_trace_is_not_compared_with_itself() -> None:
    run, other = snapshot(40.0), snapshot(41.0)

    assert choose([run, other], [run], 10).runs == (other,)
    assert "also holds this trace" in choose([run, other], [run], 10).notices[0]
    assert "nothing to compare" in choose([run], [run], 10).refused[0]


def test_candidates_must_be_alike_among_themselves() -> None:
    found = choose([snapshot()], [snapshot(), snapshot(hosts=2)], 10)

    assert found.runs == ()
    assert found.refused == ("candidates differ: hosts: 1 in the baseline, 2 now",)


def test_the_typical_run_is_the_middle_one_of_the_present_level() -> None:
    stored = [
        snapshot(ms, level=level)
        for ms, level in ((10.0, 0), (11.0, 0), (50.0, 1), (90.0, 1), (52.0, 1))
    ]

    found = choose(stored, [snapshot()], 10)

    assert found.typical().side.median_ms == 52.0
    assert [run.side.median_ms for run in found.present()] == [50.0, 90.0, 52.0]
