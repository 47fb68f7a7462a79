"""The runs of a logdir are those that XProf shows, and a few more; new ones appear, and
a look costs little.
"""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path

import pytest
from support.logdirs import add_run

from tfadvisor.serve.tensorboard.listing import Listing, roots_of
from tfadvisor.trace.remote_path import place_of
from tfadvisor.trace.runs import Run, find_runs


def names(*roots: tuple[str, Path]) -> list[str]:
    return list(Listing(roots).current())


def test_runs_are_named_as_by_xprof_the_newest_first(tmp_path: Path) -> None:
    for name in (
        "2026_01_01_00_00_00",
        "train/2026_01_03_00_00_00",
        "deep/er/2026_01_02_00_00_00",
    ):
        add_run(tmp_path, name)

    assert names(("", tmp_path)) == [
        "train/2026_01_03_00_00_00",
        "deep/er/2026_01_02_00_00_00",
        "2026_01_01_00_00_00",
    ]


def test_a_run_of_many_hosts_is_one_run(tmp_path: Path) -> None:
    add_run(tmp_path, "run", "jax-hosts-late")

    (run,) = Listing([("", tmp_path)]).current().values()

    assert len(run.run.files) == 3
    assert run.bytes == sum(file.stat().st_size for file in run.run.files)


def test_traces_elsewhere_are_runs_too_but_not_for_xprof(tmp_path: Path) -> None:
    folder = add_run(tmp_path, "train/run")
    shutil.copytree(folder, tmp_path / "train" / "run")

    runs = Listing([("", tmp_path)]).current()

    assert {name: one.for_xprof for name, one in runs.items()} == {
        "train/run": False,
        "train/plugins/profile/run": True,
    }


def test_a_new_run_appears(tmp_path: Path) -> None:
    listing = Listing([("", tmp_path)])
    assert listing.current() == {}

    add_run(tmp_path, "run")

    assert list(listing.current()) == ["run"]


def test_what_is_known_comes_at_once_and_catches_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk does not answer until it may; what was known before is told
    meanwhile.
    """
    listing = Listing([("", tmp_path)])
    assert listing.current() == {}
    add_run(tmp_path, "run")
    may_answer = threading.Event()

    def slow_disk(root: Path) -> list[Run]:
        may_answer.wait(60)
        return find_runs(root)

    monkeypatch.setattr("tfadvisor.serve.tensorboard.listing.find_runs", slow_disk)
    listing._looked_at = float("-inf")

    assert listing.known() == {}
    may_answer.set()
    for thread in threading.enumerate():
        if thread.name == "tfadvisor-runs":
            thread.join()
    assert list(listing.known()) == ["run"]


def test_the_stamp_tells_that_a_file_changed(tmp_path: Path) -> None:
    (file,) = add_run(tmp_path, "run").iterdir()
    listing = Listing([("", tmp_path)])
    before = listing.current()["run"].stamp
    assert listing.current()["run"].stamp == before

    os.utime(file, ns=(0, file.stat().st_mtime_ns + 1))

    assert listing.current()["run"].stamp != before


def test_a_logdir_that_is_not_there_has_no_runs(tmp_path: Path) -> None:
    assert names(("", tmp_path / "later")) == []


def test_a_look_at_two_hundred_runs_reads_every_folder_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The logdir, and four folders a run: job, plugins, profile and the run itself."""
    for index in range(200):
        folder = tmp_path / f"job-{index}" / "plugins" / "profile" / "run"
        folder.mkdir(parents=True)
        (folder / "host.xplane.pb").write_bytes(b"\n\0")
    listing = Listing([("", tmp_path)])
    listing.current()
    read, scandir = [], os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: read.append(path) or scandir(path))

    runs = listing.current()

    assert len(runs) == 200
    assert len(read) == len(set(read)) == 1 + 4 * 200


def test_what_tensorboard_was_started_with(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"

    assert roots_of(str(one), "") == [("", one)]
    assert roots_of("", f"a:{one},{other}") == [("a/", one), ("", other)]
    assert roots_of("~/logs", None) == [("", Path.home() / "logs")]
    assert roots_of("gs://bucket/logs", None) == [("", place_of("gs://bucket/logs"))]
    assert roots_of("", f"gs://bucket/logs,b:s3://bucket/logs,c:{one}") == [
        ("", place_of("gs://bucket/logs")),
        ("b/", place_of("s3://bucket/logs")),
        ("c/", one),
    ]
    assert roots_of(None, None) == []


def test_runs_in_a_store_are_listed_and_asked_for_less_often() -> None:
    fsspec = pytest.importorskip("fsspec", reason="the extra remote is not installed")
    store = fsspec.filesystem("memory")
    store.pipe_file(
        "/tab/train/plugins/profile/2026_01_02_03_04_05/host.xplane.pb", b"12345"
    )

    listing = Listing([("", place_of("memory://tab"))])
    (listed,) = listing.current().values()
    before = listed.stamp
    store.pipe_file(
        "/tab/train/plugins/profile/2026_01_02_03_04_05/host.xplane.pb", b"123456"
    )
    listing._looked_at -= 10  # a disk would be looked at again

    assert (listed.run.name, listed.bytes, listed.for_xprof) == (
        "train/2026_01_02_03_04_05",
        5,
        True,
    )
    assert next(iter(listing.known().values())).bytes == 5
    assert next(iter(listing.current().values())).stamp != before
    store.rm("/tab", recursive=True)
