"""The tab's analyses have a deadline and a limit of memory, say which was met, and
leave nothing when TensorBoard is killed.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.logdirs import add_run
from support.processes import marked
from support.wire import number, sized

from tfadvisor.serve.tensorboard import analyses as module
from tfadvisor.serve.tensorboard.analyses import (
    Analyses,
    Limits,
    PendingAnalysis,
    limits_of,
)
from tfadvisor.serve.tensorboard.cache import Cache, open_cache
from tfadvisor.serve.tensorboard.listing import ListedRun, Listing

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="looks for processes in /proc"
)

ASKS = """
import sys
from pathlib import Path
from tfadvisor.serve.tensorboard.analyses import Analyses
from tfadvisor.serve.tensorboard.cache import Cache
from tfadvisor.serve.tensorboard.listing import Listing
analyses = Analyses(Cache(Path(sys.argv[2])))
for listed in Listing([("", Path(sys.argv[1]))]).current().values():
    asked = analyses.page(listed)
print(flush=True)
asked.ended.wait()
"""


def listed(logdir: Path) -> ListedRun:
    return next(iter(Listing([("", logdir)]).current().values()))


def told(asked: bytes | PendingAnalysis) -> dict[str, str]:
    assert isinstance(asked, PendingAnalysis)
    assert asked.ended.wait(60)
    assert asked.error is not None
    return asked.error


def test_an_analysis_that_takes_too_long_is_ended_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_run(tmp_path / "logdir", "run")
    monkeypatch.setattr(module, "limits_of", lambda _: Limits(0.05, 1 << 40))

    error = told(Analyses(Cache(tmp_path / "cache")).page(listed(tmp_path / "logdir")))

    assert error["cause"].startswith(
        "took longer than the 0 s that any trace of this size"
    )
    assert "tfadvisor analyze PATH" in error["remedy"]
    assert [one.name for one in (tmp_path / "cache").iterdir()] == [".tfadvisor-cache"]


def test_an_analysis_that_takes_too_much_memory_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Columns of six million events have 20 bytes each, before anything is asked of
    them.
    """
    (tmp_path / "logdir").mkdir()
    events = (
        b"".join(
            sized(4, number(1, 1) + number(2, at * 1000) + number(3, 900))
            for at in range(600_000)
        )
        * 10
    )
    name = sized(4, number(1, 1) + sized(2, number(1, 1) + sized(2, b"op")))
    (tmp_path / "logdir" / "h.xplane.pb").write_bytes(
        sized(1, sized(2, b"/host:CPU") + name + sized(3, events))
    )
    monkeypatch.setattr(module, "limits_of", lambda _: Limits(60, 64 << 20))

    error = told(Analyses(Cache(tmp_path / "cache")).page(listed(tmp_path / "logdir")))

    assert (
        error["cause"].startswith(
            "needs more than the 0.1 GiB that any trace of this size"
        )
        or "not enough memory" in error["cause"]
    )


def test_limits_grow_with_the_files(tmp_path: Path) -> None:
    """A host of 50 MB and one of 30: each process gets 2 GiB and 20 times the larger,
    both together 80 s more.
    """
    for name, megabytes in (("a", 50), ("b", 30)):
        with (tmp_path / name).open("wb") as file:
            file.truncate(megabytes << 20)

    limits = limits_of({"files": [tmp_path / "a", tmp_path / "b", tmp_path / "gone"]})

    assert limits.deadline_s == 120 + 80
    assert limits.memory == (2 << 30) + 20 * (50 << 20)


def test_nothing_is_left_when_tensorboard_is_killed_and_it_answers_again(
    tmp_path: Path,
) -> None:
    for number_of_run in range(3):
        add_run(tmp_path / "logdir", f"run-{number_of_run}")
    chance = random.Random(3)
    for _ in range(3):
        with marked() as group:
            process = group.start(
                [sys.executable, "-c", ASKS, tmp_path / "logdir", tmp_path / "cache"],
                stdout=subprocess.PIPE,
            )
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(chance.uniform(0, 0.6))
            process.send_signal(signal.SIGKILL)
            process.communicate(timeout=20)

            assert group.left() == []

    cache = Cache(tmp_path / "cache")
    assert list((tmp_path / "cache").glob(".making*")) == []
    asked = Analyses(cache).page(listed(tmp_path / "logdir"))
    assert isinstance(asked, bytes) or (asked.ended.wait(60) and asked.error is None)


def test_what_another_process_is_making_stays(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    with cache.making("a" * 64) as folder:
        Cache(tmp_path)

        assert folder.is_dir()


@pytest.mark.parametrize("mode", [0o777, 0o770])
def test_a_cache_that_others_can_write_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int
) -> None:
    """They could put reports there."""
    monkeypatch.setenv("TFADVISOR_CACHE", str(tmp_path))
    (tmp_path / "tensorboard").mkdir()
    (tmp_path / "tensorboard").chmod(mode)

    assert open_cache([]).folder != tmp_path / "tensorboard"


def test_a_cache_in_a_folder_where_others_can_rename_it_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the sticky bit, as /tmp has it, they cannot."""
    shared = tmp_path / "shared"
    shared.mkdir()
    monkeypatch.setenv("TFADVISOR_CACHE", str(shared / "mine"))
    for mode, used in ((0o777, False), (0o1777, True)):
        shared.chmod(mode)

        assert (open_cache([]).folder == shared / "mine" / "tensorboard") == used


@pytest.mark.skipif(
    os.name != "posix" or os.getuid() != 0, reason="only root gives folders away"
)
def test_a_cache_of_somebody_else_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TFADVISOR_CACHE", str(tmp_path))
    (tmp_path / "tensorboard").mkdir(mode=0o700)
    os.chown(tmp_path / "tensorboard", 12345, 12345)

    assert open_cache([]).folder != tmp_path / "tensorboard"


def test_a_cache_removes_nothing_that_it_did_not_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user's folder of this name is not taken, and in a cache only what is named as
    an analysis goes.
    """
    monkeypatch.setenv("TFADVISOR_CACHE", str(tmp_path))
    logs = tmp_path / "tensorboard" / "run"
    logs.mkdir(parents=True)
    (logs / "checkpoint").write_bytes(bytes(100))

    assert open_cache([]).folder != tmp_path / "tensorboard"
    cache = Cache(tmp_path / "cache", most_bytes=10)
    shutil.copytree(logs, tmp_path / "cache" / "run")
    for key in ("a" * 64, "b" * 64):
        with cache.making(key) as made:
            (made / "report.json").write_bytes(b"[        ]")

    assert sorted(one.name for one in (tmp_path / "cache").iterdir()) == [
        ".tfadvisor-cache",
        "b" * 64,
        "run",
    ]
    assert (tmp_path / "cache" / "run" / "checkpoint").stat().st_size == 100


def test_a_cache_around_the_logdir_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TFADVISOR_CACHE", str(tmp_path))
    root = tmp_path / "tensorboard" / ".logs"
    root.mkdir(parents=True)

    assert open_cache([root]).folder != tmp_path / "tensorboard"


@pytest.mark.parametrize("name", ["summary.json", "page.json.gz"])
def test_a_cut_file_of_the_cache_is_made_again(tmp_path: Path, name: str) -> None:
    """It is no error of the tab's."""
    add_run(tmp_path / "logdir", "run")
    run, analyses = listed(tmp_path / "logdir"), Analyses(Cache(tmp_path / "cache"))
    asked = analyses.page(run)
    assert isinstance(asked, PendingAnalysis)
    assert asked.ended.wait(60)
    (file,) = (tmp_path / "cache").glob(f"*/{name}")
    file.write_bytes(file.read_bytes()[:-9])

    assert (analyses.told(run) is None) == (name == "summary.json")
    again = analyses.page(run)
    if isinstance(again, PendingAnalysis):  # a slow one is waited for
        assert again.ended.wait(60)
        again = analyses.page(run)
    assert isinstance(again, bytes)
    assert gzip.decompress(again)
    assert analyses.told(run) is not None


@pytest.mark.parametrize("harm", ["a part is gone", "a part is empty", "all is gone"])
def test_a_cache_that_lost_something_is_filled_again(tmp_path: Path, harm: str) -> None:
    """What clears old files takes them one by one, and a machine that stops leaves
    empty ones.
    """
    add_run(tmp_path / "logdir", "run")
    run, analyses = listed(tmp_path / "logdir"), Analyses(Cache(tmp_path / "cache"))
    asked = analyses.report(run)
    assert isinstance(asked, PendingAnalysis)
    assert asked.ended.wait(60)
    (report,) = (tmp_path / "cache").glob("*/report.json")
    if harm == "a part is empty":
        report.write_bytes(b"")
        (report.parent / "summary.json").write_bytes(b"")
    elif harm == "a part is gone":
        report.unlink()
    else:
        shutil.rmtree(tmp_path / "cache")

    analyses.told(run)
    again = analyses.report(run)
    if isinstance(again, PendingAnalysis):
        assert again.ended.wait(60)
        again = analyses.report(run)
    assert isinstance(again, bytes)
    assert json.loads(again)["schema_version"] == "1"


def test_only_so_many_analyses_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that were asked for first are given up."""
    monkeypatch.setattr(module, "_AT_ONCE", 0)
    add_run(tmp_path / "logdir", "run")
    run, analyses = listed(tmp_path / "logdir"), Analyses(Cache(tmp_path / "cache"))

    asked = [
        analyses.step(run, "vm", index) for index in range(module._MOST_OF_ONE + 1)
    ]

    states = [one.state for one in asked if isinstance(one, PendingAnalysis)]
    assert states == ["failed"] + ["waiting"] * module._MOST_OF_ONE


def test_a_full_disk_is_no_bug(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add_run(tmp_path / "logdir", "run")

    def full(*_: object, **__: object) -> str:
        raise OSError(28, "No space left on device", "cache")

    monkeypatch.setattr("tempfile.mkdtemp", full)

    error = told(Analyses(Cache(tmp_path / "cache")).page(listed(tmp_path / "logdir")))

    assert error["cause"].startswith(
        "could not be analysed: cache: No space left on device. The system refused"
    )
    assert "bug" not in error["remedy"]


def test_a_cache_of_ones_own_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TFADVISOR_CACHE", str(tmp_path))

    assert open_cache([]).folder == tmp_path / "tensorboard"


def test_without_a_home_there_is_a_temporary_cache(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("HOME", "XDG_CACHE_HOME", "TFADVISOR_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(
        "pwd.getpwuid", lambda _: (_ for _ in ()).throw(KeyError("nobody"))
    )

    assert open_cache([]).folder.is_dir()
