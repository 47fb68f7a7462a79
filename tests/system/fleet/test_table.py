"""The table: a row a run, broken ones too; the same whatever the order; only what is
new is read.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from support.engines import Here
from support.fleet_runs import add

from tfadvisor.errors import UsageError
from tfadvisor.fleet.build import Labels, TableUpdate, bring_up_to_date, find_tasks
from tfadvisor.fleet.table import read_table
from tfadvisor.fleet.work import HowToRead, Row, row_of


def made(
    logs: Path, output: Path, engine: Here | None = None, how: HowToRead | None = None
) -> TableUpdate:
    known = read_table(output) if output.exists() else ()
    found = find_tasks([logs], Labels("{team}/{model}/{job}"), how or HowToRead())
    return bring_up_to_date(
        known, found, engine or Here(), output, lambda done, total: None
    )


def rows(output: Path) -> dict[str, Row]:
    """By the run's name."""
    return {row.run: row for row in read_table(output)}


def test_a_row_says_what_the_report_says(logs: Path, tmp_path: Path) -> None:
    """Each step of 100 µs has 20 of compute; nothing is known about the other 80."""
    output = tmp_path / "runs.parquet"
    made(logs, output)

    row = rows(output)["vision/resnet/b/2026_01_03_03_04_05"]
    assert (row.team, row.model, row.job) == ("vision", "resnet", "b")
    assert (row.hosts, row.devices, row.device_kind) == (2, 2, "gpu")
    assert row.step_time_ms == pytest.approx(0.1)
    assert row.compute == pytest.approx(0.2)
    classes = (
        row.compute,
        row.collective,
        row.transfer,
        row.input,
        row.launch,
        row.compile,
        row.host,
        row.idle,
    )
    assert sum(one for one in classes if one is not None) == pytest.approx(1)
    assert row.healthy is False
    assert row.error is None
    assert row.there


def test_a_broken_trace_is_a_row_with_its_error(logs: Path, tmp_path: Path) -> None:
    output = tmp_path / "runs.parquet"
    outcome = made(logs, output)

    row = rows(output)["text/bert/b/2026_01_05_03_04_05"]
    assert [one.run for one in outcome.failed] == [row.run]
    assert row.error_kind == "trace"
    assert row.error is not None and "is cut short or damaged" in row.error
    assert (row.verdict, row.step_time_ms, row.team) == (None, None, "text")


def test_the_same_bytes_whatever_the_order(logs: Path, tmp_path: Path) -> None:
    for seed in range(3):
        made(logs, tmp_path / f"{seed}.parquet", Here(seed))

    one, *others = ((tmp_path / f"{seed}.parquet").read_bytes() for seed in range(3))
    assert others == [one, one]


def test_the_same_bytes_from_several_processes(logs: Path, tmp_path: Path, say) -> None:
    for workers in (1, 3):
        code, _, err = say(
            "fleet", logs, "-o", tmp_path / f"{workers}.parquet", "--workers", workers
        )
        assert code == 0, err

    assert (tmp_path / "1.parquet").read_bytes() == (
        tmp_path / "3.parquet"
    ).read_bytes()


def test_what_is_known_is_not_read_again(logs: Path, tmp_path: Path) -> None:
    output, engine = tmp_path / "runs.parquet", Here()
    made(logs, output)
    before = output.stat().st_mtime_ns

    outcome = made(logs, output, engine)

    assert engine.asked == []
    assert (outcome.rows, outcome.read) == (4, 0)
    assert output.stat().st_mtime_ns == before  # not even written


def test_what_is_new_or_changed_is_read(logs: Path, tmp_path: Path) -> None:
    output, engine = tmp_path / "runs.parquet", Here()
    made(logs, output)
    add(logs, "text/bert/c/2026_01_06_03_04_05")
    (changed,) = (logs / "text/bert/a/plugins/profile/2026_01_04_03_04_05").iterdir()
    os.utime(changed, ns=(1, 1))

    assert made(logs, output, engine).read == len(engine.asked) == 2
    assert len(rows(output)) == 5


def test_other_rules_are_asked_of_every_run(logs: Path, tmp_path: Path) -> None:
    output, engine = tmp_path / "runs.parquet", Here()
    made(logs, output)

    made(logs, output, engine, HowToRead(disabled=("eager-execution",)))

    assert len(engine.asked) == 4


def test_a_run_that_is_gone_stays_and_is_marked(logs: Path, tmp_path: Path) -> None:
    output = tmp_path / "runs.parquet"
    made(logs, output)
    shutil.rmtree(logs / "vision/resnet/a")

    outcome = made(logs, output)

    row = rows(output)["vision/resnet/a/2026_01_02_03_04_05"]
    assert (outcome.gone, outcome.read) == (1, 0)
    assert (row.there, row.step_time_ms) == (False, pytest.approx(0.1))


def test_rows_of_other_sources_stay_as_they_are(logs: Path, tmp_path: Path) -> None:
    output = tmp_path / "runs.parquet"
    made(logs / "vision", output)

    outcome = made(logs / "text", output)

    assert (outcome.rows, outcome.gone) == (4, 0)


def test_a_run_whose_processes_were_killed_is_tried_again_next_time(
    logs: Path, tmp_path: Path
) -> None:
    output, engine = tmp_path / "runs.parquet", Here()
    made(logs, output, Here(lost=(0,)))
    assert [row.error_kind for row in read_table(output) if row.error].count(
        "killed"
    ) == 1

    made(logs, output, engine)

    assert len(engine.asked) == 1
    assert "killed" not in [row.error_kind for row in read_table(output)]


def test_an_interrupted_pass_has_not_been_for_nothing(
    logs: Path, tmp_path: Path
) -> None:
    output, engine = tmp_path / "runs.parquet", Here()
    with pytest.raises(KeyboardInterrupt):
        made(logs, output, Here(interrupted_after=3))

    made(logs, output, engine)

    assert len(engine.asked) == 1


def test_labels_that_name_something_else(logs: Path) -> None:
    with pytest.raises(
        UsageError, match=r"each part must be \{team\}, \{model\}, \{job\}"
    ):
        Labels("{owner}/{model}")


def test_without_labels_the_first_folder_is_the_model(logs: Path) -> None:
    tasks = find_tasks([logs / "vision"], Labels(None), HowToRead()).tasks

    assert [dict(task.labels) for task in tasks] == [
        {"model": "resnet"},
        {"model": "resnet"},
    ]


def test_something_else_is_not_overwritten(logs: Path, tmp_path: Path, say) -> None:
    (tmp_path / "notes.parquet").write_text("mine")

    code, _, err = say("fleet", logs, "-o", tmp_path / "notes.parquet")

    assert code == 2
    assert "is no table of runs" in err
    assert (tmp_path / "notes.parquet").read_text() == "mine"


def test_nothing_is_written_into_what_is_read(logs: Path, say) -> None:
    code, _, err = say("fleet", logs, "-o", logs / "runs.parquet")

    assert code == 2
    assert "nothing is written into what is analysed" in err


def test_a_source_without_a_run(tmp_path: Path, say) -> None:
    (tmp_path / "empty").mkdir()

    code, _, err = say("fleet", tmp_path / "empty", "-o", tmp_path / "runs.parquet")

    assert code == 3
    assert "is empty" in err
    assert not (tmp_path / "runs.parquet").exists()


def test_every_field_is_a_column_and_every_class_of_time_has_one(
    logs: Path, tmp_path: Path
) -> None:
    from tfadvisor.vocabulary import TIME_CLASSES

    made(logs, tmp_path / "runs.parquet")

    columns = pq.read_schema(tmp_path / "runs.parquet").names
    assert tuple(columns) == Row.__struct_fields__
    assert set(TIME_CLASSES) <= set(columns)


@pytest.mark.parametrize(
    ("work", "why"),
    [
        (
            lambda *_, **__: re.match(r"(a|a)+$", "a" * 40 + "b"),
            "took longer than any run of its size needs.",
        ),
        (
            lambda *_, **__: bytearray(8 << 30),
            "needs more memory than there is, or than any run of its size.",
        ),
    ],
    ids=["time", "memory"],
)
def test_a_run_that_would_take_everything_is_a_row_with_its_error(
    logs: Path, monkeypatch: pytest.MonkeyPatch, work: Callable[..., object], why: str
) -> None:
    monkeypatch.setattr("tfadvisor.memory_limits._SHORTEST_DEADLINE_S", 0.3)
    monkeypatch.setattr("tfadvisor.analysis.conclude", work)
    monkeypatch.delenv("TFADVISOR_LIMITS", raising=False)
    signal.signal(
        signal.SIGALRM, signal.SIG_DFL
    )  # another test of this process may have left a handler of its own

    row = row_of(find_tasks([logs], Labels(None), HowToRead()).tasks[0])

    assert (row.error, row.error_kind) == (why, "killed")
    assert signal.getsignal(signal.SIGALRM) == signal.SIG_DFL
    assert resource.getrlimit(resource.RLIMIT_DATA)[0] == resource.RLIM_INFINITY


def test_without_pyarrow_it_says_what_to_install(
    logs: Path, tmp_path: Path, say, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    code, out, err = say("fleet", logs, "-o", tmp_path / "runs.parquet")

    assert (code, out) == (2, "")
    assert "pip install 'tfadvisor[fleet]'" in err
