"""A path to the files of one run: logdirs as TensorBoard knows them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tfadvisor.errors import TraceError, UsageError
from tfadvisor.trace.runs import choose_run, find_runs, host_of, without_duplicates


def put(folder: Path, *hosts: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for host in hosts:
        (folder / f"{host}.xplane.pb").write_bytes(host.encode())
    return folder


def test_runs_are_named_as_the_profile_plugin_names_them(tmp_path: Path) -> None:
    put(tmp_path / "plugins" / "profile" / "2026_01_01_00_00_00", "h")
    put(tmp_path / "train" / "plugins" / "profile" / "2026_01_02_00_00_00", "h")
    put(tmp_path / "deep" / "er" / "plugins" / "profile" / "custom", "h")

    assert {run.name for run in find_runs(tmp_path)} == {
        "2026_01_01_00_00_00",
        "train/2026_01_02_00_00_00",
        "deep/er/custom",
    }


def test_the_newest_run_is_the_one_with_the_latest_session_name(tmp_path: Path) -> None:
    """File times are lost in copies, so the name counts where it is a time."""
    old = put(tmp_path / "plugins" / "profile" / "2024_06_01_10_00_00", "h")
    put(tmp_path / "plugins" / "profile" / "2024_05_01_10_00_00", "h")
    os.utime(old / "h.xplane.pb", (0, 0))

    assert choose_run([tmp_path])[0].name == "2024_06_01_10_00_00"


def test_names_that_are_no_time_go_by_their_files(tmp_path: Path) -> None:
    for name, when in (("first", 1000), ("second", 2000)):
        os.utime(put(tmp_path / "plugins" / "profile" / name, "h") / "h.xplane.pb", (when, when))

    assert choose_run([tmp_path])[0].name == "second"


def test_hosts_of_a_run_come_sorted_and_one_can_be_chosen(tmp_path: Path) -> None:
    put(tmp_path / "plugins" / "profile" / "r", "b", "a", "10.0.0.1_6003")

    run, count = choose_run([tmp_path])

    assert [host_of(file) for file in run.files] == ["10.0.0.1_6003", "a", "b"]
    assert count == 1
    assert [file.name for file in choose_run([tmp_path], host="a")[0].files] == ["a.xplane.pb"]
    with pytest.raises(UsageError, match=r"10\.0\.0\.1_6003, a, b"):
        choose_run([tmp_path], host="c")


def test_a_packed_copy_beside_the_trace_is_no_second_host(tmp_path: Path) -> None:
    put(tmp_path / "r", "a")
    (tmp_path / "r" / "a.xplane.pb.gz").write_bytes(b"x")

    assert [file.name for file in choose_run([tmp_path / "r"])[0].files] == ["a.xplane.pb"]


def test_a_run_in_several_places_must_be_named_in_full(tmp_path: Path) -> None:
    for part in ("train", "validation"):
        put(tmp_path / part / "plugins" / "profile" / "r", "h")

    with pytest.raises(UsageError, match="several places"):
        choose_run([tmp_path], run="r")
    assert choose_run([tmp_path], run="train/r")[0].name == "train/r"


def test_a_link_that_leads_back_is_followed_once(tmp_path: Path) -> None:
    put(tmp_path / "plugins" / "profile" / "r", "h")
    (tmp_path / "again").symlink_to(tmp_path)

    assert len(find_runs(tmp_path)) == 1


def test_copies_of_a_host_file_are_told_apart_from_hosts(tmp_path: Path) -> None:
    folder = put(tmp_path, "a", "b")
    (folder / "copy.xplane.pb").write_bytes(b"a")

    kept, left_out = without_duplicates(sorted(folder.iterdir()))

    assert [file.name for file in kept] == ["a.xplane.pb", "b.xplane.pb"]
    assert [file.name for file in left_out] == ["copy.xplane.pb"]


def test_each_of_many_hosts_is_read_once_to_find_copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred files of one size: a hundred reads, where pairs would take thousands. Files of a size of their own: none."""
    folder = put(tmp_path, *(f"{number:03}" for number in range(100)))
    (folder / "alone.xplane.pb").write_bytes(b"longer")
    opened: list[str] = []
    opens = Path.open

    def counting(self: Path, *args: str) -> object:
        opened.append(self.name)
        return opens(self, *args)

    for number in range(100):
        (folder / f"{number:03}.xplane.pb").write_bytes(b"%03d" % number)
    monkeypatch.setattr(Path, "open", counting)
    kept, left_out = without_duplicates(sorted(folder.iterdir()))

    assert (len(kept), left_out) == (101, ())
    assert len(opened) == 100
    assert "alone.xplane.pb" not in opened


def test_nothing_to_read_is_said_with_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="is empty"):
        choose_run([tmp_path])
    with pytest.raises(TraceError, match="does not exist"):
        choose_run([tmp_path / "nowhere"])
