"""Snapshots: what is kept of a report, and files from elsewhere."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest
from msgspec.structs import replace
from support.golden_reports import report_of
from support.made_runs import op, snapshot
from support.places import FIXTURES
from support.trace_builder import trace

import tfadvisor
from tfadvisor.causes.account import STEPS, BeforeSteps, RunAccount, RunPart
from tfadvisor.comparison.baseline import snapshot as snapshot_file
from tfadvisor.comparison.baseline.snapshot import snapshot_of
from tfadvisor.comparison.baseline.snapshot_json import (
    SnapshotError,
    as_text,
    from_text,
)
from tfadvisor.comparison.baseline.store import add
from tfadvisor.errors import TraceError, UsageError
from tfadvisor.vocabulary import TIME_CLASSES

OF_JAX_HEALTHY = "8d3ef0ec5a978388789a9e859c1109a6"
"""The fingerprint of fixtures/jax-healthy as the first version stored it."""


@pytest.mark.parametrize(("times", "is_whole"), [(4.9, True), (5.0, False)])
def test_parts_of_a_round_are_no_steps_to_compare(times: float, is_whole: bool) -> None:
    """times: as long as a recorded step is a round of the loop."""
    report = report_of(FIXTURES / "jax-healthy")
    assert report.steps.time_ms is not None
    steps = RunPart(STEPS, STEPS, 1.0, 10.0, 1000)
    round_ms = times * report.steps.time_ms.median
    account = RunAccount(
        *(10.0, "first step", 1.0, (steps,), 1000, 0.0, BeforeSteps(0.0, ())),
        step_ms=round_ms,
    )
    report = replace(report, run_account=account)

    if is_whole:
        assert snapshot_of(report).side.median_ms == report.steps.time_ms.median
    else:
        with pytest.raises(TraceError, match="no whole step of the program's loop"):
            snapshot_of(report)


def test_what_is_written_is_read_again() -> None:
    made = snapshot(
        40.0,
        labels={"batch": "256"},
        about={"precision": "bf16"},
        metrics={"kernels_per_step": 25.0, "fp16_kernel_share": 0.1 + 0.2},
        ops=[
            op(
                "dot.1",
                3.0,
                2.0,
                share=0.75,
                opcode="dot",
                flops=10**12,
                bytes=64,
                file="a.py",
                line=7,
            ),
            op("k\x1b[31m", 1.0, share=0.25),
        ],
    )

    read = from_text(as_text(made))

    assert replace(read, side=made.side) == made
    assert read.side.ops == made.side.ops
    assert read.side.metrics == pytest.approx(made.side.metrics)
    assert read.side.traits == made.side.traits
    assert as_text(read) == as_text(made)


@pytest.mark.parametrize(
    "name", ["jax-healthy", "tf-tiny-ops", "tf-workers-late", "jax-4dev-imbalance"]
)
def test_a_report_becomes_a_small_snapshot(name: str) -> None:
    report = report_of(FIXTURES / name)

    made = snapshot_of(report)

    assert len(as_text(made)) < 16_000
    assert made.side.mean_ms == report.steps.time_ms.mean
    assert sum(made.side.class_ms.values()) == pytest.approx(made.side.mean_ms)
    assert made.side.metrics["step_time_ms"] == report.metrics["step_time_ms"].value
    everything = sum(one.ms_per_step for one in made.side.ops) + sum(
        made.side.rest_ms.values()
    )
    assert everything == pytest.approx(report.ops[0].ms_per_step / report.ops[0].share)


def test_fingerprints_hash_every_class_in_the_order_of_the_first_version() -> None:
    assert sorted(snapshot_file._CLASSES_HASHED) == sorted(TIME_CLASSES)
    report = report_of(FIXTURES / "jax-healthy")
    assert snapshot_of(report).fingerprint == OF_JAX_HEALTHY


def test_ops_beyond_the_hottest_are_summed_up() -> None:
    made = snapshot_of(report_of(FIXTURES / "tf-tiny-ops"))

    assert len(made.side.ops) == 80
    assert made.side.rest_ms["compute"] > 0


def test_the_key_tells_what_ran_where() -> None:
    builder = trace()
    for host in ("a", "b"):
        builder.host(host).steps(3, period=100).busy(
            "GPU:0", (0, 50), (100, 150), (200, 250)
        )

    made = snapshot_of(builder.report(), "bert", {"batch": "8"})

    assert (made.key.model, made.key.hosts, made.key.labels) == (
        "bert",
        2,
        {"batch": "8"},
    )
    assert made.key.devices.startswith("2 gpu")


def test_a_copy_of_a_trace_has_the_same_fingerprint_and_another_run_has_not(
    tmp_path: Path,
) -> None:
    data = (FIXTURES / "jax-healthy" / "trace.xplane.pb.gz").read_bytes()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "other-name.xplane.pb.gz").write_bytes(data)

    first = snapshot_of(report_of(FIXTURES / "jax-healthy"))
    copy = snapshot_of(tfadvisor.analyze(tmp_path / "elsewhere").report)
    other = snapshot_of(report_of(FIXTURES / "jax-healthy-async"))

    assert first.fingerprint == copy.fingerprint != other.fingerprint


def test_runs_of_the_same_step_times_but_other_kernels_are_two_runs() -> None:
    prints = set()
    for end in (50, 60):
        built = (
            trace()
            .steps(3, period=100)
            .busy("GPU:0", (0, end), (100, 100 + end), (200, 200 + end))
        )
        prints.add(snapshot_of(built.report()).fingerprint)

    assert len(prints) == 2


def test_errors_come_from_the_steps() -> None:
    """Ten steps of jax-healthy: the median's error, and that of the share of every
    class.
    """
    made = snapshot_of(report_of(FIXTURES / "jax-healthy"))

    assert made.errors["step_time_ms"] == made.side.median_error_ms
    assert 0 < made.errors["compute_fraction"] < 0.05


GOOD = as_text(snapshot(40.0, metrics={"kernels_per_step": 25.0}, ops=[op("dot", 3.0)]))


def test_a_snapshot_cut_anywhere_is_refused() -> None:
    for length in range(len(GOOD.rstrip()) - 1):
        with pytest.raises(SnapshotError):
            from_text(GOOD[:length])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"tfadvisor_snapshot": 2}, "of format 2"),
        (
            {"tfadvisor_snapshot": "\x1b[31m" * 100},
            "`int`, got `str` - at `$.tfadvisor_snapshot`",
        ),
        ({"key": 3}, "`object`, got `int` - at `$.key`"),
        ({"key": {}}, "missing required field `model` - at `$.key`"),
        ({"level": -1}, "`int` >= 0 - at `$.level`"),
        ({"level": True}, "`int`, got `bool` - at `$.level`"),
        ({"step_ms": {"mean": 0, "median": 1}}, "`float` > 0.0 - at `$.step_ms.mean`"),
        ({"step_ms": {"mean": 1e400, "median": 1}}, "not JSON"),
        ({"step_ms": {"mean": 10**400, "median": 1}}, "at `$.step_ms.mean`"),
        (
            {"step_ms": {"mean": "1", "median": 1}},
            "`float`, got `str` - at `$.step_ms.mean`",
        ),
        (
            {"metrics": {"kernels_per_step": [1]}},
            "at least length 4, got 1 - at `$.metrics[...]`",
        ),
        (
            {"metrics": {"kernels_per_step": 1}},
            "`array`, got `int` - at `$.metrics[...]`",
        ),
        (
            {"metrics": {"kernels_per_step": [1, "count", "worse", "exact"]}},
            "'worse' - at `$.metrics[...][2]`",
        ),
        ({"ops": [[1]]}, "length 10, got 1 - at `$.ops[0]`"),
        ({"ops": {}}, "`array`, got `object` - at `$.ops`"),
        ({"ops": [[]] * 5000}, "length <= 2000 - at `$.ops`"),
        (
            {"ops": [["a", "compute", "x", 1, None, None, None, None, None, None]]},
            "`float`, got `str` - at `$.ops[0][2]`",
        ),
        (
            {"ops": [[None, "compute", 1, 1, None, None, None, None, None, None]]},
            "`str`, got `null` - at `$.ops[0][0]`",
        ),
        ({"findings": [["a"]]}, "at least length 5, got 1 - at `$.findings[0]`"),
        ({"about": {"a": 1}}, "`str`, got `int` - at `$.about[...]`"),
        ({"name": "x" * 5000}, "length <= 4000 - at `$.name`"),
        ({"class_ms": None}, "`object`, got `null` - at `$.class_ms`"),
    ],
)
def test_a_snapshot_of_something_else_is_refused(
    change: dict[str, object], words: str
) -> None:
    with pytest.raises(SnapshotError, match=re.escape(words)):
        from_text(json.dumps({**json.loads(GOOD), **change}))


@pytest.mark.parametrize(
    "text",
    ["", "[]", "null", "3", '"x"', "[" * 100_000, '{"a": 1}', "\x00", "x" * (2 << 20)],
)
def test_what_is_no_snapshot_is_refused(text: str) -> None:
    with pytest.raises(SnapshotError):
        from_text(text)


def test_damaged_snapshots_are_read_as_they_stand_or_refused() -> None:
    chance = random.Random(1)
    read = refused = 0
    for _ in range(300):
        damaged = list(GOOD)
        for _ in range(chance.randint(1, 5)):
            damaged[chance.randrange(len(damaged))] = chance.choice(
                '0-1e"{}[],:\\\x00aé '
            )
        try:
            written = as_text(from_text("".join(damaged)))
        except SnapshotError:
            refused += 1
        else:
            read += 1
            assert as_text(from_text(written)) == written
    assert min(read, refused) > 10


def test_what_could_not_be_read_again_is_not_written(tmp_path: Path) -> None:
    long = replace(snapshot(), key=replace(snapshot().key, model="m" * 5000))

    with pytest.raises(
        UsageError,
        match=r"is not written, since it could not be read again: .*length <= 4000",
    ):
        add(tmp_path, [long], 10)

    assert list(tmp_path.rglob("*.json")) == []
