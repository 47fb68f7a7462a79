"""Of every fixture and shared trace: where the step goes adds up at each level, and agrees with the breakdown."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.places import FIXTURES

import tfadvisor

FOLDERS = sorted({file.parent for file in FIXTURES.rglob("*.xplane.pb*")})


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.relative_to(FIXTURES).as_posix())
def test_every_level_adds_up(folder: Path) -> None:
    report = tfadvisor.analyze(folder)

    assert sum(one.fraction for one in report.attribution) == pytest.approx(1, abs=1e-6)
    told = {one.kind: one.fraction for one in report.attribution}
    assert {kind: told.get(kind, 0.0) for kind in report.breakdown} == pytest.approx(dict(report.breakdown), abs=1e-6)
    for kind in report.attribution:
        assert sum(one.fraction for one in kind.parts) == pytest.approx(kind.fraction, abs=1e-6), kind.kind
        assert all(one.fraction >= 0 for one in kind.parts)
        for activity in kind.parts:
            assert activity.activity
            if activity.parts:
                parts = sum(one.fraction for one in activity.parts)
                assert parts == pytest.approx(activity.fraction, abs=1e-6), activity.activity


@pytest.mark.parametrize(
    ("fixture", "kind", "activity"),
    [
        ("jax-logging", "host", "log_metrics (program.py:28)"),
        ("jax-loader", "input", "load_batch (program.py:25)"),
        ("jax-recompile", "compile", "compiles train_step"),
        ("jax-4dev-many-small", "collective", "all-reduce"),
        ("tf-python-map", "input", "tf.data ParallelMap"),
        ("tf-generator", "input", "tf.data Generator"),
        ("tf-no-prefetch", "compute", "_MklMatMul"),
    ],
)
def test_what_is_planted_is_what_takes_most(fixture: str, kind: str, activity: str) -> None:
    report = tfadvisor.analyze(FIXTURES / fixture)

    (found,) = [one for one in report.attribution if one.kind == kind]
    assert found.parts[0].activity == activity
