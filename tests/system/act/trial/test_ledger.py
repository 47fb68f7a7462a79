"""The ledger: what is kept, what survives writers that are killed, what it says
later.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from pytest import approx
from support.places import FIXTURES
from support.tried_programs import Place

from tfadvisor.analysis import Options, analyze_run
from tfadvisor.comparison.ledger import (
    Entry,
    append,
    promises_words,
    read,
    sketch_of,
)
from tfadvisor.report.forms.terminal import as_text
from tfadvisor.report.model import Report
from tfadvisor.trace.runs import choose_run


def entry(**more: Any) -> Entry:
    given = {
        "form": 1, "at": "2026-01-02T03:04:05+00:00", "tool": "1", "trial": "t1", "program": (), "rule": "input-not-prefetched",
        "category": "input", "change": "prefetch", "identity": "0", "versions": {"jax": "0.10.2"}, "device": "cpu",
        "predicted": (0.2, 0.4), "ratio": 0.62, "interval": (0.58, 0.66), "runs": (5, 5), "outcome": "better", "check": "same",
    }  # fmt: skip
    return Entry(**{**given, **more})


def test_what_is_written_is_read(tmp_path: Path) -> None:
    file = tmp_path / ".tfadvisor" / "ledger.jsonl"

    append(file, [entry(), entry(rule="other")])
    append(file, [entry(rule="third")])

    assert [one.rule for one in read(file).entries] == [
        "input-not-prefetched",
        "other",
        "third",
    ]


def test_no_ledger_is_an_empty_one(tmp_path: Path) -> None:
    assert read(tmp_path / "none.jsonl").entries == ()


def test_a_line_that_was_cut_short_costs_no_other(tmp_path: Path) -> None:
    """The next writer begins a line of its own."""
    file = tmp_path / "ledger.jsonl"
    append(file, [entry()])
    with file.open("ab") as raw:
        raw.write(b'{"form":1,"at":"20')

    append(file, [entry(rule="after")])

    found = read(file)
    assert [one.rule for one in found.entries] == ["input-not-prefetched", "after"]
    assert found.unread == 1


def test_lines_of_a_newer_version_are_left_and_counted(tmp_path: Path) -> None:
    file = tmp_path / "ledger.jsonl"
    append(file, [entry(form=2), entry()])

    assert (len(read(file).entries), read(file).unread) == (1, 1)


@pytest.mark.parametrize(
    "change",
    [
        {"ratio": 1e308},
        {"predicted": [-1e308, 1e308]},
        {"interval": [0, 1e999]},
    ],
    ids=str,
)
def test_lines_that_nobody_wrote_are_left_and_counted(
    tmp_path: Path, change: dict[str, object]
) -> None:
    file = tmp_path / "ledger.jsonl"
    append(file, [entry()])
    line = json.dumps(json.loads(file.read_text()) | change)
    file.write_text(line.replace("Infinity", "1e999") + "\n")

    assert (read(file).entries, read(file).unread) == ((), 1)


def test_an_unknown_field_of_any_depth_is_passed_over_or_counted(
    tmp_path: Path,
) -> None:
    """Python 3.14 has the stack for it, older ones have not."""
    file = tmp_path / "ledger.jsonl"
    append(file, [entry()])
    line = file.read_text().rstrip()[:-1]
    file.write_text(line + ',"more":' + "[" * 100_000 + "]" * 100_000 + "}\n")

    found = read(file)
    assert len(found.entries) + found.unread == 1


def write_many(file: Path, name: str, count: int) -> None:
    for _ in range(count):
        append(file, [entry(rule=name)])


def test_two_writers_lose_nothing(tmp_path: Path) -> None:
    file = tmp_path / "ledger.jsonl"
    start = multiprocessing.get_context("fork").Process
    writers = [start(target=write_many, args=(file, name, 40)) for name in ("a", "b")]
    for one in writers:
        one.start()
    for one in writers:
        one.join()

    names = [one.rule for one in read(file).entries]
    assert (names.count("a"), names.count("b"), read(file).unread) == (40, 40, 0)


def test_a_writer_that_is_killed_costs_at_most_its_own_line(tmp_path: Path) -> None:
    file = tmp_path / "ledger.jsonl"
    writer = multiprocessing.get_context("fork").Process(
        target=write_many, args=(file, "killed", 100_000)
    )
    writer.start()
    until = time.monotonic() + 20
    while not file.exists() or file.stat().st_size < 20_000:
        assert time.monotonic() < until
        time.sleep(0.01)
    os.kill(writer.pid or 0, signal.SIGKILL)
    writer.join()

    append(file, [entry(rule="after")])

    found = read(file)
    assert found.entries[-1].rule == "after"
    assert found.unread <= 1


def test_how_true_the_promises_were() -> None:
    """20 to 40% promised and 38% measured, 50 to 70% promised and 40% measured."""
    entries = [
        entry(),
        entry(rule="other", category="host", predicted=(0.5, 0.7), ratio=0.6),
        entry(rule="", predicted=None),
    ]

    assert promises_words(entries).startswith("1 of 2 predicted savings came true")
    assert promises_words(entries[2:]) == ""


def test_of_several_changes_for_a_finding_the_best_keeps_its_promise() -> None:
    entries = [
        entry(ratio=0.9),
        entry(ratio=0.7, change="cache"),
        entry(trial="t2", ratio=0.95),
    ]

    assert promises_words(entries).startswith("1 of 2 ")


def report_of(fixture: str, ledger: Path | None = None) -> Report:
    run, _ = choose_run([FIXTURES / fixture])
    return analyze_run(run, Options(ledger=ledger))


def test_a_later_report_of_the_same_program_tells_what_was_measured(
    tmp_path: Path,
) -> None:
    before = report_of("tf-no-prefetch")
    append(tmp_path / "ledger.jsonl", [entry(program=sketch_of(before))])

    report = report_of("tf-no-prefetch", tmp_path / "ledger.jsonl")

    (finding,) = [
        one for one in report.findings if one.rule_id == "input-not-prefetched"
    ]
    assert finding.tried.measured == approx(0.38)
    assert "tried: 38% measured (34 to 42), predicted 20 to 40" in as_text(report)
    assert "tried" not in as_text(before)


def test_the_newest_trial_counts(tmp_path: Path) -> None:
    known = entry(program=sketch_of(report_of("tf-no-prefetch")))
    newer = replace(known, trial="t2", ratio=0.8, interval=(0.78, 0.82))
    append(tmp_path / "ledger.jsonl", [known, newer])

    report = report_of("tf-no-prefetch", tmp_path / "ledger.jsonl")

    assert "tried: 20% measured (18 to 22)" in as_text(report)


@pytest.mark.parametrize("other", ["jax-loader", "tf-generator", "jax-logging"])
def test_a_report_of_another_program_does_not(other: str, tmp_path: Path) -> None:
    known = entry(program=sketch_of(report_of("tf-no-prefetch")))
    append(tmp_path / "ledger.jsonl", [known])

    assert report_of(other, tmp_path / "ledger.jsonl") == report_of(other)


def test_a_ledger_tells_nothing_of_the_program(place: Place) -> None:
    place.patch("fix.diff", "work(12)", "work(4)")

    place.run(
        "try",
        "--patch",
        "fix.diff",
        "--env",
        "SECRET=word",
        "--",
        "python3",
        "train.py",
        5000,
    )

    text = (place.folder / ".tfadvisor" / "ledger.jsonl").read_text()
    assert text.count("\n") == 3  # each change, and both together
    assert not [
        one
        for one in ("train", "fix.diff", "SECRET", "word", "load", str(place.folder))
        if one in text
    ]


def test_a_trial_says_what_the_ledger_holds(place: Place) -> None:
    append(place.folder / ".tfadvisor" / "ledger.jsonl", [entry()])

    code, out, err = place.run("try", "--env", "A=1", "--", "python3", "train.py", 5000)

    assert code in (1, 4)
    assert "predicted" not in out
    assert (
        "tfadvisor: .tfadvisor/ledger.jsonl: 1 of 1 predicted saving came true" in err
    )
