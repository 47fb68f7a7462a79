"""A path to the files of one run: logdirs as TensorBoard knows them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from support.places import FIXTURES
from support.wire import sized

from tfadvisor.analysis import analyze
from tfadvisor.errors import TraceError, UsageError
from tfadvisor.trace.runs import Run, choose_run, find_runs, host_of, without_duplicates


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
        os.utime(
            put(tmp_path / "plugins" / "profile" / name, "h") / "h.xplane.pb",
            (when, when),
        )

    assert choose_run([tmp_path])[0].name == "second"


def test_hosts_of_a_run_come_sorted_and_one_can_be_chosen(tmp_path: Path) -> None:
    put(tmp_path / "plugins" / "profile" / "r", "b", "a", "10.0.0.1_6003")

    run, count = choose_run([tmp_path])

    assert [host_of(file) for file in run.files] == ["10.0.0.1_6003", "a", "b"]
    assert count == 1
    assert [file.name for file in choose_run([tmp_path], host="a")[0].files] == [
        "a.xplane.pb"
    ]
    with pytest.raises(UsageError, match=r"10\.0\.0\.1_6003, a, b"):
        choose_run([tmp_path], host="c")


def test_a_packed_copy_beside_the_trace_is_no_second_host(tmp_path: Path) -> None:
    put(tmp_path / "r", "a")
    (tmp_path / "r" / "a.xplane.pb.gz").write_bytes(b"x")

    assert [file.name for file in choose_run([tmp_path / "r"])[0].files] == [
        "a.xplane.pb"
    ]


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


def test_each_of_many_hosts_is_read_once_to_find_copies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hundred files of one size: a hundred reads, where pairs would take thousands.
    Files of a size of their own: none.
    """
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


def split_hosts(logdir: Path, **seconds: str) -> None:
    """Hosts of one recorded job, each below the folder that JAX names by the second it
    starts.
    """
    for host, second in seconds.items():
        folder = logdir / "plugins" / "profile" / f"2026_11_24_08_30_{second}"
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(FIXTURES / "jax-hosts-late" / f"{host}.xplane.pb.gz", folder)


def test_hosts_that_jax_put_into_folders_of_their_own_are_one_run(
    tmp_path: Path,
) -> None:
    split_hosts(tmp_path, alpha="36", beta="38", gamma="38")

    chosen, number = choose_run([tmp_path])

    assert number == 1
    assert [host_of(file) for file in chosen.files] == ["alpha", "beta", "gamma"]
    assert chosen.name == "2026_11_24_08_30_38"
    assert chosen.folders == ("2026_11_24_08_30_38", "2026_11_24_08_30_36")
    assert choose_run([tmp_path], chosen.asked_by)[0] == chosen
    alone, _ = choose_run([tmp_path], "2026_11_24_08_30_38")
    assert [host_of(file) for file in alone.files] == ["beta", "gamma"]
    report = analyze(tmp_path).report
    assert report.run.hosts == ("alpha", "beta", "gamma")
    assert any(
        "2026_11_24_08_30_36, 2026_11_24_08_30_38" in note.note
        for note in report.capture
    )


def test_other_programs_the_same_host_and_later_recordings_are_runs_of_their_own(
    tmp_path: Path,
) -> None:
    split_hosts(tmp_path, alpha="36")
    for name, source in (("38", "jax-unrolled"), ("40", "jax-hosts-late")):
        folder = tmp_path / "plugins" / "profile" / f"2026_11_24_08_30_{name}"
        folder.mkdir()
        (trace, *_) = sorted((FIXTURES / source).glob("*.xplane.pb.gz"))
        shutil.copy(
            trace,
            folder / ("other.xplane.pb.gz" if name == "38" else "alpha.xplane.pb.gz"),
        )
    later = tmp_path / "plugins" / "profile" / "2026_11_24_08_33_00"
    later.mkdir()
    shutil.copy(FIXTURES / "jax-hosts-late" / "beta.xplane.pb.gz", later)

    assert [run.name[-5:] for run in find_runs(tmp_path)] == [
        "33_00",
        "30_40",
        "30_38",
        "30_36",
    ]


def test_several_runs_can_be_named_and_are_read_as_one(tmp_path: Path) -> None:
    split_hosts(tmp_path, alpha="00")
    (tmp_path / "late").mkdir()
    shutil.copy(FIXTURES / "jax-hosts-late" / "beta.xplane.pb.gz", tmp_path / "late")

    chosen, _ = choose_run([tmp_path], "late,2026_11_24_08_30_00")

    assert [host_of(file) for file in chosen.files] == ["alpha", "beta"]
    (tmp_path / "again").mkdir()
    shutil.copy(FIXTURES / "jax-hosts-late" / "beta.xplane.pb.gz", tmp_path / "again")
    with pytest.raises(UsageError, match="host beta is in several of these runs"):
        choose_run([tmp_path], "late,again")


def test_what_names_no_program_or_cannot_be_read_is_joined_with_nothing(
    tmp_path: Path,
) -> None:
    """Two programs of TensorFlow that two machines began five seconds apart, bytes that
    are no trace, a link to nothing and a packed file that is cut.
    """
    profile = tmp_path / "plugins" / "profile"
    split_hosts(tmp_path, alpha="36")
    for second, host, source in (("38", "one", "loop"), ("43", "two", "keras")):
        folder = profile / f"2026_11_24_08_30_{second}"
        folder.mkdir()
        (trace,) = sorted((FIXTURES / f"tf-healthy-{source}").glob("*.xplane.pb.gz"))
        shutil.copy(trace, folder / f"{host}.xplane.pb.gz")
    put(profile / "2026_11_24_08_30_44", "random")
    (put(profile / "2026_11_24_08_30_45") / "link.xplane.pb").symlink_to("nowhere")
    beta = (FIXTURES / "jax-hosts-late" / "beta.xplane.pb.gz").read_bytes()
    cut = put(profile / "2026_11_24_08_30_46") / "beta.xplane.pb.gz"
    cut.write_bytes(beta[:1000])

    assert [run.folders for run in find_runs(tmp_path)] == [()] * 6


def sweep_of(tmp_path: Path, ids: tuple[int, ...], gpus: int) -> list[Run]:
    """Of two machines, each with so many GPUs, that run a program of one name on the
    devices of these ids.
    """
    devices = b"".join(sized(3, sized(1, bytes([one]))) for one in ids)
    program = sized(1, sized(15, devices))
    named = sized(2, b"jit_train_step(7)") + sized(5, sized(6, program))
    planes = sized(1, sized(2, b"/host:metadata") + sized(4, sized(2, named)))
    for number in range(gpus):
        planes += sized(1, sized(2, f"/device:GPU:{number}".encode()))
    for second in ("36", "38"):
        folder = tmp_path / "plugins" / "profile" / f"2026_11_24_08_30_{second}"
        folder.mkdir(parents=True)
        (folder / f"host{second}.xplane.pb").write_bytes(planes)
    return find_runs(tmp_path)


def test_the_same_program_on_each_machines_own_devices_is_a_sweep(
    tmp_path: Path,
) -> None:
    """Two machines of two GPUs: a program on two devices needs one of them, on four
    both; on CPUs, ids beyond the number of devices are another process's.
    """
    assert len(sweep_of(tmp_path / "a", (0, 1), gpus=2)) == 2
    assert len(sweep_of(tmp_path / "b", (0, 1, 2, 3), gpus=2)) == 1
    assert len(sweep_of(tmp_path / "c", (0, 1), gpus=0)) == 2
    assert len(sweep_of(tmp_path / "d", (0, 64), gpus=0)) == 1
    assert len(sweep_of(tmp_path / "e", (), gpus=2)) == 1
