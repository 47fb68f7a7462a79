"""The folder of snapshots: what stays, what two writers do to it, and what is
left out.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.made_runs import snapshot
from support.places import ROOT

from tfadvisor.comparison.baseline.snapshot_json import as_text
from tfadvisor.comparison.baseline.store import (
    accept,
    add,
    leave_pending,
    pending,
    read_store,
)
from tfadvisor.errors import UsageError
from tfadvisor.files import only_writer, replace_file


def recorded(day: int) -> str:
    return f"2026-01-{day:02d}T00:00:00+00:00"


def times(folder: Path) -> list[float]:
    return [kept.snapshot.side.median_ms for kept in read_store(folder).runs]


def test_a_store_begins_empty_and_returns_what_was_added(tmp_path: Path) -> None:
    store = tmp_path / "deep" / "store"
    assert read_store(store).runs == ()

    added, known = add(
        store,
        [
            snapshot(40.0, recorded_at=recorded(1)),
            snapshot(41.0, recorded_at=recorded(2)),
        ],
        10,
    )

    assert (len(added), known) == (2, [])
    assert times(store) == [40.0, 41.0]
    assert all(kept.snapshot.added_at for kept in read_store(store).runs)


def test_the_latest_runs_stay(tmp_path: Path) -> None:
    for day in range(1, 8):
        add(tmp_path, [snapshot(float(day), recorded_at=recorded(day))], 3)

    assert times(tmp_path) == [5.0, 6.0, 7.0]


def test_every_baseline_keeps_its_own(tmp_path: Path) -> None:
    for day in range(1, 5):
        add(tmp_path, [snapshot(float(day), recorded_at=recorded(day))], 2)
        add(
            tmp_path, [snapshot(float(day), model="bert", recorded_at=recorded(day))], 2
        )
        add(
            tmp_path,
            [
                snapshot(
                    float(day), devices="8 gpu NVIDIA H100", recorded_at=recorded(day)
                )
            ],
            2,
        )

    assert len(read_store(tmp_path).runs) == 6


def test_the_same_trace_is_added_once(tmp_path: Path) -> None:
    run = snapshot(40.0)
    add(tmp_path, [run], 10)

    added, known = add(tmp_path, [run], 10)

    assert added == []
    assert [kept.snapshot.fingerprint for kept in known] == [run.fingerprint]
    assert len(times(tmp_path)) == 1


def test_an_accepted_run_begins_a_level(tmp_path: Path) -> None:
    add(
        tmp_path,
        [
            snapshot(40.0, recorded_at=recorded(1)),
            snapshot(41.0, recorded_at=recorded(2)),
        ],
        10,
    )
    changed = snapshot(60.0, recorded_at=recorded(3))
    leave_pending(tmp_path, changed)
    assert [one.side.median_ms for one in pending(tmp_path, None)] == [60.0]
    assert pending(tmp_path, "bert") == []

    accept(tmp_path, pending(tmp_path, None), 10, "larger batch")
    add(tmp_path, [snapshot(61.0, recorded_at=recorded(4))], 10)

    levels = [
        (kept.snapshot.side.median_ms, kept.snapshot.level, kept.snapshot.note)
        for kept in read_store(tmp_path).runs
    ]
    assert levels == [
        (40.0, 0, ""),
        (41.0, 0, ""),
        (60.0, 1, "larger batch"),
        (61.0, 1, ""),
    ]
    assert pending(tmp_path, None) == []


def test_names_cannot_leave_the_store(tmp_path: Path) -> None:
    store = tmp_path / "store"
    for model in (
        "../../evil",
        "..",
        "/etc/passwd",
        ".pending",
        "a\x00b",
        "ä/ö",
        "x" * 500,
    ):
        add(
            store,
            [
                snapshot(
                    40.0,
                    model=model,
                    fingerprint="../../f" * 4,
                    recorded_at="../../../x",
                )
            ],
            10,
        )

    assert len(read_store(store).runs) == 7
    assert [path.name for path in tmp_path.iterdir()] == ["store"]


def test_files_that_cannot_be_used_are_named_and_left_out(tmp_path: Path) -> None:
    add(tmp_path, [snapshot(40.0)], 10)
    good = as_text(snapshot(41.0))
    (tmp_path / "default" / "cut.json").write_text(good[: len(good) // 2])
    (tmp_path / "default" / "foreign.json").write_text('{"tfadvisor_snapshot": 99}')
    (tmp_path / "default" / "binary.json").write_bytes(b"\xff\xfe\x00\x01")
    (tmp_path / "default" / "huge.json").write_bytes(b" " * (2 << 20))
    (tmp_path / "default" / "folder.json").mkdir()
    (tmp_path / "default" / "notes.txt").write_text("not mine")

    contents = read_store(tmp_path)

    assert len(contents.runs) == 1
    assert [file.name for file, _ in contents.unusable] == [
        "binary.json",
        "cut.json",
        "folder.json",
        "foreign.json",
        "huge.json",
    ]


def test_a_file_is_whole_or_not_there(tmp_path: Path) -> None:
    target = tmp_path / "a.json"
    replace_file(target, "one")
    with pytest.raises(UnicodeEncodeError):
        replace_file(target, "\ud800")

    assert target.read_text() == "one"
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


def test_a_store_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(UsageError, match="cannot be written"):
        add(tmp_path / "file" / "store", [snapshot(1.0)], 10)


def test_nothing_is_left_pending_where_there_is_no_store(tmp_path: Path) -> None:
    leave_pending(tmp_path / "absent", snapshot(1.0))

    assert not (tmp_path / "absent").exists()


def test_who_waits_too_long_for_another_writer_is_told(tmp_path: Path) -> None:
    with (
        only_writer(tmp_path),
        pytest.raises(UsageError, match="another process"),
        only_writer(tmp_path, patience_s=0.1),
    ):
        pass
    with only_writer(tmp_path, patience_s=0.1):
        pass


WRITER = """
import sys
sys.path.insert(0, sys.argv[3])
from pathlib import Path
from support.made_runs import snapshot
from tfadvisor.comparison.baseline.store import add

who = int(sys.argv[2])
for number in range(25):
    run = snapshot(float(number + 1), fingerprint=f"{who:016x}{number:016x}", recorded_at=f"2026-01-01T00:{number:02d}:{who:02d}")
    add(Path(sys.argv[1]), [run], 40)
"""


def test_two_processes_write_at_once_and_nothing_is_lost(tmp_path: Path) -> None:
    """50 runs by two writers into a baseline that keeps 40: the 40 latest of both, each
    file whole.
    """
    tests = str(ROOT / "tests")
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), str(who), tests])
        for who in (1, 2)
    ]
    assert [writer.wait(60) for writer in writers] == [0, 0]

    contents = read_store(tmp_path)

    assert contents.unusable == ()
    assert len(contents.runs) == 40
    assert {kept.snapshot.fingerprint[:16] for kept in contents.runs} == {
        f"{who:016x}" for who in (1, 2)
    }
    assert not [path for path in tmp_path.rglob("*") if path.name.startswith(".2026")]


def test_a_writer_that_died_holds_nobody_up(tmp_path: Path) -> None:
    """The lock file stays behind; the lock does not."""
    code = (
        "import os, sys; from pathlib import Path; from tfadvisor.files import "
        "only_writer\n"
        "with only_writer(Path(sys.argv[1])): os._exit(1)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
    assert (tmp_path / ".lock").exists()

    with only_writer(tmp_path, patience_s=1.0):
        pass
