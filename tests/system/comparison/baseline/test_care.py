"""Looking after a store: names, days, what is taken out, many writers, and what is
stored today.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace
from support.made_runs import side, snapshot
from support.places import ROOT

from tfadvisor.comparison.baseline.snapshot import Origin, Snapshot
from tfadvisor.comparison.baseline.snapshot_json import as_text, from_text
from tfadvisor.comparison.baseline.store import add, named, prune, read_store, remove
from tfadvisor.comparison.side import KnownFinding, Traits
from tfadvisor.errors import UsageError
from tfadvisor.vocabulary import Better, Scatter

STORED = Path(__file__).parent / "stored"


def on(
    day: int,
    ms: float = 100.0,
    commit: str = "",
    findings: tuple[KnownFinding, ...] = (),
    model: str = "m",
) -> Snapshot:
    made = snapshot(
        of=side(ms, findings=findings),
        recorded_at=f"2026-01-{day:02d}T00:00:00+00:00",
        model=model,
    )
    return replace(made, origin=Origin(commit=commit, branch="main", machine="host-1"))


def days(folder: Path) -> list[str]:
    return [kept.snapshot.recorded_at[8:10] for kept in read_store(folder).runs]


def test_a_run_is_named_by_file_fingerprint_or_commit(tmp_path: Path) -> None:
    add(tmp_path, [on(1, commit="aaaa111"), on(2, commit="bbbb222")], 10)
    first, second = read_store(tmp_path).runs

    for name in (
        first.file.name,
        first.file.stem[:11],
        first.snapshot.fingerprint[:8],
        "aaaa",
        str(first.file),
    ):
        assert named(tmp_path, [name]) == [first]
    assert named(tmp_path, ["bbbb", "aaaa"]) == [second, first]
    with pytest.raises(UsageError, match="fits 2 runs"):
        named(tmp_path, ["2026"])
    with pytest.raises(UsageError, match="is no run of it"):
        named(tmp_path, [""])


def test_a_wrong_name_takes_nothing_out(tmp_path: Path) -> None:
    add(tmp_path, [on(1, commit="aaaa"), on(2, commit="bbbb")], 10)
    with pytest.raises(UsageError):
        remove(tmp_path, ["aaaa", "cccc"])
    assert days(tmp_path) == ["01", "02"]

    remove(tmp_path, ["aaaa"])

    assert days(tmp_path) == ["02"]


def test_pruning_leaves_the_latest_of_each_baseline(tmp_path: Path) -> None:
    add(tmp_path, [on(day) for day in (1, 2, 3)] + [on(4, model="other")], 10)

    assert [
        kept.snapshot.recorded_at[8:10] for kept in prune(tmp_path, 1, "other")
    ] == []
    assert [kept.snapshot.recorded_at[8:10] for kept in prune(tmp_path, 1, None)] == [
        "01",
        "02",
    ]
    assert days(tmp_path) == ["03", "04"]


JOB = """
import os, sys, time
sys.path.insert(0, sys.argv[3])
from pathlib import Path
from support.made_runs import snapshot
import tfadvisor.files
from tfadvisor.comparison.baseline.store import add

who = int(sys.argv[2])
run = snapshot(float(who + 1), fingerprint=f"{who:032x}", recorded_at=f"2026-01-01T00:00:{who:02d}")
if who == 0:
    def hang(*_: object) -> None:
        print("written and not in place", flush=True)
        time.sleep(600)
    os.replace = hang
add(Path(sys.argv[1]), [run], 30)
"""


@pytest.mark.nightly
def test_twenty_jobs_add_at_once_while_one_is_killed_in_the_middle(
    tmp_path: Path,
) -> None:
    """The first has written its file, but not put it in place, and holds the lock; then
    comes SIGKILL, and the others go on.
    """
    start = [sys.executable, "-c", JOB, str(tmp_path)]
    tests = str(ROOT / "tests")
    (tmp_path / ".gitignore").write_text(
        ""
    )  # there already, so that only the snapshot is put in place
    killed = subprocess.Popen([*start, "0", tests], stdout=subprocess.PIPE, text=True)
    assert killed.stdout is not None and killed.stdout.readline().startswith("written")
    others = [subprocess.Popen([*start, str(who), tests]) for who in range(1, 21)]
    os.kill(killed.pid, signal.SIGKILL)

    assert [one.wait(100) for one in others] == [0] * 20
    killed.wait(10)
    killed.stdout.close()
    contents = read_store(tmp_path)

    assert contents.unusable == ()
    assert {kept.snapshot.side.median_ms for kept in contents.runs} == {
        float(who + 1) for who in range(1, 21)
    }


def test_todays_snapshots_are_read_for_ever() -> None:
    """All that is stored, as of this version; a test of its own for the next one, and
    this stays.
    """
    text = (STORED / "snapshot.json").read_text(encoding="utf-8")
    read = from_text(text)

    (found,) = read.side.findings
    assert (found.rule_id, found.severity, found.claims, found.takes) == (
        "largest-compute",
        "info",
        "compute",
        0.61,
    )
    assert read.side.traits["step_time_ms"] == Traits(Better.LESS, Scatter.FACTOR)
    assert read.origin == Origin(
        "0123456789abcdef0123456789abcdef01234567", "main", "host-1"
    )
    assert (read.key.labels, read.side.median_error_ms) == (
        {"batch": "256"},
        0.926493311,
    )
    assert from_text(as_text(read)) == read
