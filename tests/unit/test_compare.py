"""`tfadvisor.compare` on recorded and built runs, and the comparison's forms."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from msgspec.structs import replace
from support.golden_reports import report_of
from support.made_runs import op, side, snapshot
from support.places import FIXTURES
from support.trace_builder import trace

import tfadvisor
from tfadvisor.comparing import as_snapshot, comparison_of
from tfadvisor.comparison.baseline.snapshot import CALLS
from tfadvisor.comparison.baseline.snapshot_json import as_text as snapshot_text
from tfadvisor.comparison.change_forms import as_markdown, as_text
from tfadvisor.comparison.split import compare_sides
from tfadvisor.errors import NothingToCompare
from tfadvisor.report.forms.html import as_json

ALL = sorted(
    path.name for path in FIXTURES.iterdir() if list(path.glob("*.xplane.pb.gz"))
)
REFERENCE = "jax-healthy"


@cache
def report(name: str) -> tfadvisor.Report:
    return report_of(FIXTURES / name)


@pytest.mark.parametrize("name", ALL)
def test_causes_add_up_on_every_recorded_run(name: str) -> None:
    base, new = report(REFERENCE), report(name)
    comparison = comparison_of(base, new)
    change = new.steps.time_ms.mean - base.steps.time_ms.mean

    assert comparison.change_ms == pytest.approx(change)
    assert sum(cause.change_ms for cause in comparison.causes) == pytest.approx(
        change, abs=1e-6
    )
    assert sum(one.change_ms for one in comparison.classes) == pytest.approx(
        change, abs=1e-6
    )
    assert json.loads(as_json(comparison))["schema_version"] == "1"
    assert as_text(comparison)
    assert as_markdown(comparison)


@pytest.mark.parametrize(
    ("base", "new", "first"),
    [
        ("jax-healthy", "jax-recompile", "compile"),
        ("tf-healthy-loop", "tf-python-map", "input"),
        ("jax-hosts-balanced", "jax-hosts-late", "input"),
    ],
)
def test_the_class_that_grows_most(base: str, new: str, first: str) -> None:
    classes = comparison_of(report(base), report(new)).classes

    assert max(classes, key=lambda one: one.change_ms).name == first


def test_a_trace_against_itself_is_noticed() -> None:
    comparison = comparison_of(FIXTURES / REFERENCE, FIXTURES / REFERENCE)

    assert comparison.same
    assert comparison.change_ms == 0
    assert "Both are the same trace." in as_text(comparison)


def test_reports_and_snapshots_are_sides_too(tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    file.write_text(snapshot_text(snapshot(40.0)))

    assert comparison_of(report(REFERENCE), FIXTURES / REFERENCE).same
    assert comparison_of(file, report(REFERENCE)).base.mean_ms == 40.0


def test_what_is_not_alike_is_told() -> None:
    comparison = comparison_of(report("jax-healthy"), report("tf-healthy-loop"))

    assert "framework: jax in the baseline, tensorflow now" in comparison.differences
    assert "framework: jax in the baseline" in as_text(comparison)


def test_a_snapshot_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    file.write_text('{"tfadvisor_snapshot": 9}')

    with pytest.raises(tfadvisor.TraceError, match=r"run\.json: is not a snapshot"):
        comparison_of(file, FIXTURES / REFERENCE)


def test_a_trace_without_anything_to_compare_is_refused() -> None:
    with pytest.raises(NothingToCompare, match="holds no step to compare") as error:
        comparison_of(trace().call("something", 0, 0).report(), FIXTURES / REFERENCE)
    assert error.value.exit_code == 4


def test_names_from_traces_are_escaped() -> None:
    nasty = "\x1b[31m|`<script>_*\u202e"
    base = side(100.0, ops=[op("a", 100.0)], name=nasty)
    new = side(
        150.0, ops=[op("a", 100.0), op(nasty, 50.0, file=nasty, line=3)], name=nasty
    )
    comparison = compare_sides(base, new, differences=[nasty])

    for text in (as_text(comparison), as_markdown(comparison), as_json(comparison)):
        assert "\x1b" not in text
        assert "\u202e" not in text
    assert "<script>" not in MarkdownIt("gfm-like", {"linkify": False}).render(
        as_markdown(comparison)
    )


def test_the_text_names_the_new_op_with_its_line() -> None:
    base = side(100.0, ops=[op("a", 100.0)])
    new = side(
        150.0, ops=[op("a", 100.0), op("dot.9", 50.0, 2.0, file="train.py", line=31)]
    )

    text = as_text(compare_sides(base, new))

    assert "The step takes 50 ms (50%) more: compute +50 ms." in text
    assert (
        "+50 ms      compute    dot.9: new, 50 ms per step, 2 times, train.py:31"
        in text
    )
    assert "+50 ms      total, median step time" in text


def test_the_numbers_of_a_cause_differ_by_its_change() -> None:
    """Ops run side by side: 100 ms of them take 50 of the step, 140 take 70. The step
    takes 20 more, and so does the op.
    """
    base = side(100.0, ops=[op("a", 100.0)], classes={"host": 50.0})
    new = side(120.0, ops=[op("a", 140.0)], classes={"host": 50.0})

    assert "  +20 ms      compute    a: 50 ms → 70 ms per step" in as_text(
        compare_sides(base, new)
    )


def test_the_change_is_that_of_the_median_and_long_steps_have_a_row_of_their_own() -> (
    None
):
    """The mean rises by 30 ms, the median by 10: 20 ms are of steps that are far longer
    than the middle one.
    """
    base = side(100.0, ops=[op("a", 100.0)])
    new = replace(
        side(130.0, ops=[op("a", 100.0)], classes={"compile": 30.0}), median_ms=110.0
    )

    comparison = compare_sides(base, new)
    text = as_text(comparison)

    assert "The step takes 10 ms (10%) more: compile +30 ms." in text
    assert (
        "  +30 ms      compile    0 ms → 30 ms per step in which no device works"
        in text
    )
    assert (
        "  −20 ms      steps that are far longer or shorter than the middle one" in text
    )
    assert "  +10 ms      total, median step time" in text
    assert "| **+10 ms** | | **total, median step time** |" in as_markdown(comparison)
    assert comparison.change_ms == pytest.approx(30.0)


def test_runs_on_other_devices_are_called_not_comparable_and_their_difference_no_change() -> (
    None
):
    one, other = (
        as_snapshot(FIXTURES / "jax-healthy"),
        as_snapshot(FIXTURES / "jax-loader"),
    )
    other = replace(other, key=replace(other.key, devices="1 gpu NVIDIA H100"))

    compared = comparison_of(one, other)

    assert compared.refused == (
        "devices: 1 cpu in the baseline, 1 gpu NVIDIA H100 now",
    )
    text = as_text(compared)
    assert "These runs are not comparable: devices: 1 cpu" in text
    assert "%" not in text
    assert "per step" not in text


def test_a_step_that_takes_many_times_as_long_is_said_so_and_not_in_per_cent() -> None:
    one = as_snapshot(FIXTURES / "jax-healthy")
    other = replace(
        one,
        fingerprint="another",
        side=replace(one.side, median_ms=39 * one.side.median_ms),
    )

    assert "takes 39 times as long, +" in as_text(comparison_of(one, other))


def test_classes_that_only_calls_of_python_tell_apart_change_together() -> None:
    """3 ms of loading are other Python without them: 3 ms go from host to input, and
    the step takes as long as before.
    """
    one = as_snapshot(FIXTURES / "jax-loader")
    loading = one.side.class_ms["input"]
    classes = {
        **one.side.class_ms,
        "input": 0.0,
        "host": one.side.class_ms["host"] + loading,
    }
    without = replace(
        one, fingerprint="another", about={**one.about, CALLS: "not recorded"}
    )
    without = replace(without, side=replace(without.side, class_ms=classes))

    compared = comparison_of(without, one)

    assert all(abs(cause.change_ms) < 1e-9 for cause in compared.causes)
    assert any(
        "input and launch count as host" in difference
        for difference in compared.differences
    )
