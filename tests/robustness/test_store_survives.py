"""Whatever is kept on disk is whole before and after: killed at every system call, disk full at every write."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from support.made_runs import snapshot

from tfadvisor.errors import UsageError
from tfadvisor.files import replace_file
from tfadvisor.gate.baseline.store import add, read_store

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="kills copies of this process")

CALLS = ("open", "write", "fsync", "chmod", "replace", "rename", "unlink", "mkdir", "close")


def killed_at(number: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Adds a run in a copy of this process that is gone at the n-th call that changes the disk; whether it came so far."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    try:
        calls = count(1)
        for name in CALLS:
            real = getattr(os, name)

            def ends(*arguments: object, _real: object = real, **named: object) -> object:
                if next(calls) == number:
                    os._exit(9)
                return _real(*arguments, **named)  # type: ignore[operator]

            monkeypatch.setattr(os, name, ends)
        add(folder, [snapshot(fingerprint="b" * 32, recorded_at="2026-01-03T00:00:00+00:00")], keep=1)
    finally:
        os._exit(0)


def test_a_writer_that_is_killed_anywhere_leaves_a_store_that_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old run or the new one is there, also where the old one makes room; and the next writer is not in the way of the
    dead one's lock.
    """
    reached = 0
    for number in count(1):
        folder = tmp_path / str(number)
        add(folder, [snapshot(fingerprint="a" * 32)], keep=1)
        if not killed_at(number, folder, monkeypatch):
            break
        reached += 1
        contents = read_store(folder)
        assert contents.unusable == ()
        assert {kept.snapshot.fingerprint[0] for kept in contents.runs} in ({"a"}, {"b"}, {"a", "b"})
        add(folder, [snapshot(fingerprint="c" * 32, recorded_at="2026-01-04T00:00:00+00:00")], keep=1)
        assert "c" in {kept.snapshot.fingerprint[0] for kept in read_store(folder).runs}
    assert reached >= 5


def test_a_full_disk_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add(tmp_path, [snapshot(fingerprint="a" * 32)], keep=3)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UsageError, match="cannot be written: No space left on device"):
        add(tmp_path, [snapshot(fingerprint="b" * 32)], keep=3)

    assert [kept.snapshot.fingerprint[0] for kept in read_store(tmp_path).runs] == ["a"]
    assert list(tmp_path.rglob(".*.json.*")) == []


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """16 kB of disk, where this user may mount one."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16k", "none", place], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("no disk can be mounted here")
    yield place
    subprocess.run(["umount", place], check=True)


def test_a_report_that_does_not_fit_leaves_the_one_before(tiny_disk: Path) -> None:
    report = tiny_disk / "report.json"
    replace_file(report, "before")

    with pytest.raises(OSError, match="No space left"):
        replace_file(report, "x" * 100_000)

    assert report.read_text() == "before"
    assert list(tiny_disk.iterdir()) == [report]


def test_two_writers_lose_nothing(tmp_path: Path) -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from pathlib import Path; from support.made_runs import snapshot; "
        "from tfadvisor.gate.baseline.store import add\n"
        "for n in range(10): add(Path(sys.argv[2]), [snapshot(fingerprint=f'{sys.argv[3]}{n}' * 16)], keep=100)"
    )
    tests = str(Path(__file__).parents[1])
    both = [subprocess.Popen([sys.executable, "-c", code, tests, str(tmp_path), name]) for name in "ab"]

    assert [one.wait(60) for one in both] == [0, 0]
    assert len(read_store(tmp_path).runs) == 20
    assert read_store(tmp_path).unusable == ()
