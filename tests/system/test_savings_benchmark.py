"""The savings benchmark: what is stored is what its pairs give, and promises about
programs left out keep to their bars.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

import pytest
from support.places import ROOT

from tfadvisor.advice.savings import PARTS, Claim, calibration

BENCHMARK = ROOT / "benchmarks" / "savings"


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> dict[str, ModuleType]:
    monkeypatch.syspath_prepend(str(BENCHMARK))
    return {name: importlib.import_module(name) for name in ("pairs", "fit", "counts")}


def pair(benchmark: dict[str, ModuleType], claim: Claim, **changes: Any) -> Any:
    """A program of 40% kernels and 60% host time, which takes 10 ms with its fault and
    5 without.
    """
    parts = {**dict.fromkeys(PARTS, 0.0), "kernels": 0.4, "host": 0.6}
    known: dict[str, Any] = {
        "program": "made",
        "batch": "diagnosis",
        "planted": "host",
        "faults": 1,
        "parts": parts,
        "tracer": 0.0,
        "said": (benchmark["pairs"].Said(claim, named=True),),
        "recorded": (5.0, 10.0),
        "calm": None,
        "traced": None,
        "told": None,
        "busy": False,
    }
    return benchmark["pairs"].Pair(**{**known, **changes})


HOST = Claim("host-work-in-loop", "host", 0.5, ("host",), (0.25, 0.475))


def test_what_is_stored_is_what_the_pairs_give(
    benchmark: dict[str, ModuleType],
) -> None:
    of_diagnosis = [
        one for one in benchmark["pairs"].kept() if one.batch == "diagnosis"
    ]
    found, stored = benchmark["fit"].fitted(of_diagnosis), calibration()

    assert len(of_diagnosis) > 50
    assert (found.devices, found.class_of, set(found.faults)) == (
        stored.devices,
        stored.class_of,
        set(stored.faults),
    )
    for name, fault in found.faults.items():
        assert fault.left == pytest.approx(stored.faults[name].left, abs=2e-3)
        assert fault.keeps == pytest.approx(stored.faults[name].keeps, abs=2e-3)
        assert fault.spread == pytest.approx(stored.faults[name].spread, abs=2e-2)


def test_promises_about_programs_left_out_keep_to_the_bars(
    benchmark: dict[str, ModuleType],
) -> None:
    of_diagnosis = [
        one for one in benchmark["pairs"].kept() if one.batch == "diagnosis"
    ]
    others = benchmark["fit"].left_out(of_diagnosis)
    judged = [
        one
        for pair in of_diagnosis
        if (
            one := benchmark["counts"].judged(
                pair, others.get(pair.program, calibration())
            )
        )
        is not None
    ]
    counts = benchmark["counts"].counts(judged)

    assert counts.inside >= 0.75
    assert counts.width <= 0.30
    assert abs(counts.bias) <= 0.04
    assert counts.median_error <= 0.08
    assert counts.p90_error <= 0.25


def test_no_blind_program_has_a_part_in_the_fit(
    benchmark: dict[str, ModuleType],
) -> None:
    pairs = benchmark["pairs"].kept()
    of_diagnosis = [one for one in pairs if one.batch == "diagnosis"]

    assert {one.batch for one in pairs} > {"diagnosis"}
    assert sum(one.pairs for one in calibration().faults.values()) <= len(of_diagnosis)


def test_the_true_saving_is_the_mean_of_logarithms_of_what_was_timed(
    benchmark: dict[str, ModuleType],
) -> None:
    """A half and an eighth remain: a quarter in the mean. Told only where nothing was
    timed without the profiler.
    """
    assert pair(
        benchmark, HOST, recorded=(5.0, 10.0), calm=(1.0, 8.0)
    ).true == pytest.approx(0.75)
    assert pair(
        benchmark, HOST, recorded=None, calm=(5.0, 10.0), traced=(1.0, 8.0)
    ).true == pytest.approx(0.75)
    assert pair(benchmark, HOST, recorded=None, traced=(1.0, 8.0), told=0.4).true == 0.4
    assert pair(benchmark, HOST, told=0.3).true == pytest.approx(0.5)
    assert pair(benchmark, HOST, recorded=None, told=0.3).true == 0.3


def test_counts_of_three_promises(benchmark: dict[str, ModuleType]) -> None:
    """0.4 in 0.3 to 0.5, 0.8 above 0.2 to 0.6, 0.1 below 0.2 to 0.4: off by 0, 40 and 20 points."""
    judged = [
        benchmark["counts"].Judged(pair(benchmark, HOST), true, (0.0, 0.0), now)
        for true, now in ((0.4, (0.3, 0.5)), (0.8, (0.2, 0.6)), (0.1, (0.2, 0.4)))
    ]

    found = benchmark["counts"].counts(judged)

    assert (found.programs, found.inside, found.below, found.above) == (
        3,
        *(pytest.approx(1 / 3),) * 3,
    )
    assert found.width == pytest.approx(0.8 / 3)
    assert found.bias == pytest.approx(-0.2 / 3)
    assert (found.median_error, found.p90_error) == (
        pytest.approx(0.2),
        pytest.approx(0.36),
    )


def test_pairs_move_a_class_away_from_what_physics_says(
    benchmark: dict[str, ModuleType],
) -> None:
    """A hundred programs of which kernels remain whole and host time goes: kernels are
    kept, more than PRIOR has it.
    """
    fit = benchmark["fit"]
    same = [
        pair(benchmark, HOST, program=f"made {number}", recorded=(4.1, 10.0))
        for number in range(100)
    ]

    before, after = (
        fit.PRIOR["host"][1]["kernels"],
        fit.fitted(same).faults["host"].keeps["kernels"],
    )

    assert before < after <= 1
    assert fit.fitted(same).faults["host"].pairs == 100
    assert fit.fitted([]).faults["host"].keeps == {
        name: pytest.approx(keep) for name, keep in fit.PRIOR["host"][1].items()
    }


def test_ranks_are_shared_by_equal_values(benchmark: dict[str, ModuleType]) -> None:
    assert benchmark["fit"].spearman([1, 2, 3], [10, 20, 30]) == pytest.approx(1)
    assert benchmark["fit"].spearman([1, 2, 3], [30, 20, 10]) == pytest.approx(-1)
    assert benchmark["fit"].spearman([1, 1, 2], [5, 5, 9]) == pytest.approx(1)
