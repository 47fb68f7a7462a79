"""The savings benchmark: what is stored is what its pairs give, and promises about
programs left out keep to their bars.
"""

from __future__ import annotations

import importlib
import json
from types import ModuleType
from typing import Any

import pytest
from support.places import FIXTURES, ROOT

from tfadvisor.advice.loading.catalogue import built_in_rules
from tfadvisor.advice.savings import PARTS, Claim, calibration

BENCHMARK = ROOT / "benchmarks" / "savings"
PLANTED = ROOT / "benchmarks" / "gpu-programs" / "planted.md"


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> dict[str, ModuleType]:
    monkeypatch.syspath_prepend(str(BENCHMARK))
    names = ("pairs", "fit", "counts", "gpu_rows")
    return {name: importlib.import_module(name) for name in names}


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


def test_what_is_stored_of_a_gpu_is_what_its_programs_bear_out(
    benchmark: dict[str, ModuleType],
) -> None:
    rows = benchmark["gpu_rows"].rows()

    assert calibration().held == {"gpu": benchmark["gpu_rows"].held(rows)}


def test_each_program_of_a_gpu_with_a_known_saving_is_a_row(
    benchmark: dict[str, ModuleType],
) -> None:
    """As the page of that evaluation has it, in its column of savings by the clock;
    and by the clocks of two later programs.
    """
    page = PLANTED.read_text(encoding="utf-8")
    _, _, section = page.partition("## Programs with a fault\n")
    lines = section.partition("\n## ")[0].splitlines()
    cells = (line.split("|") for line in lines if line.startswith("| `"))
    known = {
        row[1].strip(" `"): float(row[3].strip(" %")) for row in cells if row[3].strip()
    }
    steps = json.loads((PLANTED.parent / "steps_ms.json").read_text("utf-8"))
    cures = {"own-dqn": "donate-replay", "pub-seq2seq-flax": "vector-batch"}
    for program, cure in cures.items():
        known[program] = 100 * (1 - steps[program][cure] / steps[program]["original"])
    rows = benchmark["gpu_rows"].rows()
    rules = {rule.id for rule in built_in_rules()}

    assert {one.program for one in rows} == set(known)
    for one in rows:
        assert 100 * one.saves == pytest.approx(known[one.program], abs=1.0)
        assert one.fault in calibration().faults
        assert one.rule is None or one.rule in rules


def test_a_program_bears_out_what_it_saves_nine_tenths_of(
    benchmark: dict[str, ModuleType],
) -> None:
    """Of 50% that could go 45 are as much. A fault that no finding names bears none
    out.
    """
    row = benchmark["gpu_rows"].Row
    programs = [
        row("a", "host", "x", 0.5, 0.45),
        row("b", "host", "x", 0.5, 0.449),
        row("c", "host", "x", 0.2, 0.9),
        row("d", "launch", None, None, 0.9),
        row("e", "compute", "x", 0.5, 0.9),
    ]

    found = benchmark["gpu_rows"].held(programs)

    assert (found.where, found.pairs) == ("On an H200", {"compute": 1, "host": 2})


@pytest.mark.parametrize("blind", [False, True])
def test_a_recording_says_what_its_findings_may_print(
    benchmark: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch, blind: bool
) -> None:
    """jax-logging is 92% Python on the host, whose rule leaves 5% of it at least."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks" / "diagnosis"))
    pairs = benchmark["pairs"]
    metrics = pairs._metrics(FIXTURES / "jax-logging")
    said = list(
        pairs._said(metrics, built_in_rules(), {"cause": "host/work-in-loop"}, blind)
    )

    assert said[0].claim.rule == "host-work-in-loop"
    assert said[0].named is not blind
    share = metrics.value("loop_python_fraction")
    assert said[0].claim.range == pytest.approx((0.5 * share, 0.95 * share))


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
