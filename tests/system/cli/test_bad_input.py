"""Broken, empty, foreign and hostile input: one clear message, the right exit code, no
traceback, nothing written.
"""

from __future__ import annotations

import gzip
import random
import subprocess
from pathlib import Path

import pytest
from support.processes import COMMAND, WITHOUT_POWERS
from support.shared_traces import FOLDER, needs_shared_traces
from support.trace_builder import trace

from tfadvisor.cli.main import guarded_main

pytestmark = pytest.mark.slow


@pytest.fixture
def say(capsys):
    """Runs the command in this process and returns (exit code, stdout, stderr)."""

    def run(*arguments: object) -> tuple[int, str, str]:
        code = guarded_main([str(one) for one in arguments])
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return code, out, err

    return run


def good() -> bytes:
    return trace().steps(3, period=100).busy("GPU:0", (0, 250)).bytes()


def refused(say, path: Path, *words: str) -> None:
    code, out, err = say("analyze", path)
    assert (code, out) == (3, "")
    assert err.startswith("tfadvisor: ")
    assert err.count("\n") == 1
    for word in words:
        assert word in err


def test_a_missing_path(say, tmp_path: Path) -> None:
    refused(say, tmp_path / "nowhere", "nowhere", "does not exist", "Check the path")


def test_an_empty_folder(say, tmp_path: Path) -> None:
    refused(say, tmp_path, "is empty", "jax.profiler.trace")


def test_a_folder_of_something_else(say, tmp_path: Path) -> None:
    (tmp_path / "checkpoint.index").write_text("x")
    refused(say, tmp_path, "1 file but no", "xplane.pb")


def test_a_logdir_with_only_what_old_profilers_made(say, tmp_path: Path) -> None:
    (tmp_path / "host.trace.json.gz").write_bytes(b"")
    refused(say, tmp_path, "host.trace.json.gz", "Record again with TensorFlow 2.3")


@needs_shared_traces
@pytest.mark.parametrize(
    "folder", ["no-xplane-tf22", "tfprof-demo/plugins/profile/GPU-input-bound"]
)
def test_real_logdirs_without_a_trace(say, folder: str) -> None:
    refused(say, FOLDER / folder, "no `*.xplane.pb`", "Record again")


def test_an_empty_file(say, tmp_path: Path) -> None:
    path = tmp_path / "h.xplane.pb"
    path.write_bytes(b"")
    refused(say, path, "is empty")


def test_a_text_file(say, tmp_path: Path) -> None:
    path = tmp_path / "h.xplane.pb"
    path.write_text("step,loss\n1,0.5\n2,0.4\n" * 20)
    refused(say, path, "text file", "Give the")


def test_a_json_file(say, tmp_path: Path) -> None:
    path = tmp_path / "h.xplane.pb"
    path.write_text('{"traceEvents": []}')
    refused(say, path)


@needs_shared_traces
def test_a_trace_that_was_copied_as_text(say) -> None:
    (path,) = FOLDER.rglob("*CORRUPT*")
    refused(say, path, "byte 1 of 1,365,940", "copied as text", "binary")


def test_a_file_cut_at_any_byte(say, tmp_path: Path) -> None:
    """Either refused with the position, or, cut between two planes, reported on what is
    left.
    """
    data = trace().step(0, 10).busy("GPU:0", (1, 5)).bytes()
    path = tmp_path / "h.xplane.pb"
    codes = set()
    for length in range(1, len(data)):
        path.write_bytes(data[:length])
        code, out, err = say("analyze", path, "--format", "json")
        codes.add(code)
        assert code in (0, 3), length
        assert (out == "") == (code == 3)
        if code == 3:
            assert err.startswith("tfadvisor: ")
            assert err.count("\n") == 1
    assert 3 in codes


def test_a_corrupt_varint_names_its_byte(say, tmp_path: Path) -> None:
    path = tmp_path / "h.xplane.pb"
    path.write_bytes(good()[:20] + b"\xff" * 11 + good()[31:])
    refused(say, path, "byte ", " of ", "damaged")


@pytest.mark.parametrize("seed", range(5))
def test_random_bytes(say, tmp_path: Path, seed: int) -> None:
    path = tmp_path / "h.xplane.pb"
    path.write_bytes(random.Random(seed).randbytes(5000))
    refused(say, path)


def test_random_damage_never_breaks_the_chain(say, tmp_path: Path) -> None:
    """Whatever the decoder accepts, timeline, metrics and rules must survive."""
    chance = random.Random(7)
    data = good()
    path = tmp_path / "h.xplane.pb"
    for _ in range(150):
        mutant = bytearray(data)
        for _ in range(chance.randint(1, 6)):
            mutant[chance.randrange(len(mutant))] = chance.randrange(256)
        path.write_bytes(bytes(mutant))
        code, _, err = say("analyze", path, "--format", "json")
        assert code in (0, 3), err


def test_gzip_cut_short(say, tmp_path: Path) -> None:
    path = tmp_path / "h.xplane.pb.gz"
    path.write_bytes(gzip.compress(good())[:-20])
    refused(say, path, "gzip", "cut short")


def test_gzip_of_nothing(say, tmp_path: Path) -> None:
    path = tmp_path / "h.xplane.pb.gz"
    path.write_bytes(gzip.compress(b""))
    refused(say, path, "empty gzip")


def test_gzip_that_expands_without_end(say, tmp_path: Path) -> None:
    path = tmp_path / "h.xplane.pb.gz"
    with gzip.open(path, "wb", compresslevel=9) as file:
        for _ in range(300):
            file.write(b"\0" * (1 << 20))
    refused(say, path, "expands to more than")


def test_a_gzipped_trace_is_read(say, tmp_path: Path) -> None:
    path = tmp_path / "h.xplane.pb.gz"
    path.write_bytes(gzip.compress(good()))
    assert say("analyze", path)[0] == 0


def test_a_trace_without_events(say, tmp_path: Path) -> None:
    path = tmp_path / "h.xplane.pb"
    path.write_bytes(trace().empty_device("GPU:0").bytes())
    refused(say, path, "holds no events", "at least three steps")


def test_another_protobuf(say, tmp_path: Path) -> None:
    path = tmp_path / "h.xplane.pb"
    path.write_bytes(b"\x28\x01\x30\x02")
    refused(say, path, "holds no planes")


def test_a_sparse_file_of_10_gigabytes_is_refused_at_once(say, tmp_path: Path) -> None:
    path = tmp_path / "h.xplane.pb"
    with path.open("wb") as file:
        file.truncate(10 << 30)
    refused(say, path, "nothing but zeros")


def test_a_sparse_file_that_begins_like_a_trace(say, tmp_path: Path) -> None:
    path = tmp_path / "h.xplane.pb"
    path.write_bytes(good())
    with path.open("r+b") as file:
        file.truncate(10 << 30)
    refused(say, path, "byte ")


def test_a_logdir_of_a_thousand_runs(say, tmp_path: Path) -> None:
    data = good()
    for index in range(1000):
        folder = (
            tmp_path
            / "plugins"
            / "profile"
            / f"2026_01_{1 + index // 50:02d}_{index % 24:02d}_{index % 60:02d}_{index // 24:02d}"
        )
        folder.mkdir(parents=True)
        (folder / "h.xplane.pb").write_bytes(data)

    code, out, err = say("analyze", tmp_path)

    assert code == 0
    assert "1,000 runs" in err
    assert out.startswith("2026_01_20_")


def test_hostile_names_are_shown_and_do_no_harm(say, tmp_path: Path) -> None:
    name = "\x1b]0;owned\x07 [red]x[/red] <b>\u202e\r\n::error::"
    run = tmp_path / "run\x1b[31m"
    data = (
        trace()
        .steps(3, period=100, span=90)
        .busy("GPU:0", (0, 250), name=name)
        .call(f"$a.py:1 {name}", 0, 290)
        .bytes()
    )
    run.mkdir()
    (run / "h.xplane.pb").write_bytes(data)

    for form in ("text", "json", "markdown"):
        code, out, _ = say(
            "analyze", run, "--format", form, *(["--details"] if form == "text" else [])
        )
        assert code == 0
        assert not set(out) & {"\x1b", "\x07", "\u202e", "\r"}


def test_an_unreadable_path(tmp_path: Path) -> None:
    """Through the installed command; root first gives up the power to read what nobody
    may read.
    """
    file, folder = tmp_path / "h.xplane.pb", tmp_path / "logdir"
    file.write_bytes(good())
    file.chmod(0)
    folder.mkdir(mode=0)
    try:
        for path in (file, folder):
            done = subprocess.run(
                [*WITHOUT_POWERS, COMMAND, "analyze", path],
                capture_output=True,
                text=True,
                check=False,
            )
            assert (done.returncode, done.stdout) == (3, "")
            assert "Permission denied" in done.stderr
            assert "read permission" in done.stderr
    finally:
        folder.chmod(0o755)
