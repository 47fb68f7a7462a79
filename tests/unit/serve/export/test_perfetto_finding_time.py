"""A finding is marked in the time that it claims: what its saving was taken from, and
no other.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.perfetto_reader import read
from support.places import FIXTURES
from support.trace_builder import trace

import tfadvisor
from tfadvisor.advice.judging.claims import classes_of
from tfadvisor.advice.loading.catalogue import load_catalogue
from tfadvisor.advice.loading.rule import Rule
from tfadvisor.cli.main import guarded_main
from tfadvisor.serve.export.perfetto_conclusions import claimed
from tfadvisor.timeline.intervals import Intervals
from tfadvisor.vocabulary import TimeClass

EVERYWHERE = {
    one: Intervals(np.array([10 * one]), np.array([10 * one + 15])) for one in TimeClass
}
"""Each class for 15 from its place on, so that each overlaps the next by 5, as on two
devices.
"""


@pytest.mark.parametrize("rule", load_catalogue().rules, ids=lambda rule: rule.id)
def test_every_rule_is_marked_in_the_classes_that_it_claims(rule: Rule) -> None:
    marked = dict(claimed(EVERYWHERE, classes_of(rule)))

    assert {one.label for one in marked} == set(classes_of(rule))


def test_one_instant_is_marked_as_one_class() -> None:
    """Compute from 0 to 15, transfer from 20 to 35, compile from 30 to 45: it loses
    what transfer has.
    """
    marked = dict(claimed(EVERYWHERE, ("compile", "transfer", "compute")))

    pieces = {
        one.label: list(zip(of.starts.tolist(), of.ends.tolist(), strict=True))
        for one, of in marked.items()
    }
    assert pieces == {
        "compute": [(0, 15)],
        "transfer": [(20, 35)],
        "compile": [(35, 45)],
    }


def test_the_exported_marks_are_those_of_the_report(tmp_path: Path) -> None:
    """One finding of two classes, one of a single one; both on the one host of
    the run.
    """
    folder, target = FIXTURES / "tf-tiny-ops", tmp_path / "run.pftrace"
    claims = {
        one.title: one.claims
        for one in tfadvisor.analyze(folder).findings
        if one.category != "capture"
    }

    assert (
        guarded_main(["export", str(folder), "--to", "perfetto", "-o", str(target)])
        == 0
    )

    found = read(target)
    tracks = {
        track.name.partition(": ")[2]: found.on(track.name)
        for track in found.children("Findings")
    }
    marks = {
        title: {one.name for one in slices if one.depth == 1}
        for title, slices in tracks.items()
    }
    assert marks == {title: set(names) for title, names in claims.items()}
    assert {"launch", "compute"} in marks.values()


def test_idle_time_is_marked_where_a_finding_claims_it(tmp_path: Path) -> None:
    """Steps of 100 µs: the kernel launched at 1 begins at 40 and ends at 70, and the
    host blocks until 99.
    """
    builder = trace()
    for start in range(0, 500, 100):
        builder.step(start, start + 100).call(
            "$api.py:1 block_until_ready", start + 1, start + 99
        )
        builder.kernel(
            "GPU:0", "matmul", start + 40, start + 70, launched=(start, start + 1)
        )
    target = tmp_path / "run.pftrace"

    guarded_main(
        [
            "export",
            str(builder.write(tmp_path / "run")),
            "--to",
            "perfetto",
            "-o",
            str(target),
        ]
    )

    found = read(target)
    (track,) = found.children("Findings")
    inside = [
        (one.name, one.start // 1000, one.end // 1000)
        for one in found.on(track.name)
        if one.depth == 1
    ]
    assert inside[:4] == [
        ("launch", 0, 40),
        ("idle", 70, 99),
        ("launch", 100, 140),
        ("idle", 170, 199),
    ]
