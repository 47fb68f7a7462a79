"""Whatever is kept on disk is whole before and after: killed at every system call, disk
full at every write.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.disk_faults import built, failed_calls

from tfadvisor.comparison.baseline.store import read_store
from tfadvisor.files import replace_file

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(sys.platform != "linux", reason="loads a library before libc"),
]

SCENARIOS = {
    "a baseline that takes a run": 6,
    "a first baseline": 8,
    "a baseline that accepts": 6,
    "a baseline that loses a run": 3,
    "what the gate left to accept": 5,
    "the ledger": 5,
    "the tab's cache": 8,
    "a patched program": 4,
    "a page": 4,
    "a report": 4,
    "a timeline": 4,
    "a recording from another disk": 4,
    "a fleet's table": 4,
}
"""With as many calls as they make at least: where the layer sees none, nothing is
tested. 4: open, write, sync, rename.
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file layer that fails on request."""
    made = built(tmp_path_factory.mktemp("faults"))
    if made is None:
        pytest.skip("no C compiler is here")
    return made


@pytest.mark.parametrize("mode", ["killed", "torn", "full"])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_what_is_kept_is_whole_at_every_call_that_changes_the_disk(
    library: Path, tmp_path: Path, scenario: str, mode: str
) -> None:
    """killed: before the call; torn: with half of a write on the disk; full: from the
    call on there is no room, which is told in one line. After each, readers find what
    was there before or after, and the next writer works.
    """
    assert failed_calls(library, scenario, mode, tmp_path) >= SCENARIOS[scenario]


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """16 kB of disk, where this user may mount one."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16k", "none", place],
        capture_output=True,
        check=False,
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
        "import sys; sys.path.insert(0, sys.argv[1]); from pathlib import Path; from "
        "support.made_runs import snapshot; "
        "from tfadvisor.comparison.baseline.store import add\n"
        "for n in range(10): add(Path(sys.argv[2]), "
        "[snapshot(fingerprint=f'{sys.argv[3]}{n}' * 16)], keep=100)"
    )
    tests = str(Path(__file__).parents[2])
    both = [
        subprocess.Popen([sys.executable, "-c", code, tests, str(tmp_path), name])
        for name in "ab"
    ]

    assert [one.wait(60) for one in both] == [0, 0]
    assert len(read_store(tmp_path).runs) == 20
    assert read_store(tmp_path).unusable == ()
