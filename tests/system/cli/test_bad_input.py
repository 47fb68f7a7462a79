"""Broken, empty, foreign and hostile input: one clear message, the right exit code, no
traceback, nothing written.
"""

from __future__ import annotations

import gzip
import os
import random
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.processes import COMMAND, WITHOUT_POWERS
from support.said import Say, is_refused
from support.shared_traces import FOLDER, needs_shared_traces
from support.trace_builder import trace


def waits_for_ever(*_: object) -> None:
    raise TimeoutError("four minutes have passed: the input is waited for")


@pytest.fixture(autouse=True)
def at_once() -> Iterator[None]:
    """Waiting for ever fails the test, and not the process that runs it."""
    before = signal.signal(signal.SIGALRM, waits_for_ever)
    signal.alarm(240)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def good() -> bytes:
    return trace().steps(3, period=100).busy("GPU:0", (0, 250)).bytes()


def holding(data: bytes, name: str = "h.xplane.pb") -> Callable[[Path], Path]:
    """Makes a file of these bytes in a folder and returns its path."""

    def made(folder: Path) -> Path:
        (folder / name).write_bytes(data)
        return folder / name

    return made


def beside(name: str, data: bytes = b"") -> Callable[[Path], Path]:
    """The folder of such a file."""
    return lambda folder: holding(data, name)(folder).parent


def pipe(folder: Path) -> Path:
    os.mkfifo(folder / "pipe.xplane.pb")
    return folder / "pipe.xplane.pb"


def zeros(begin: bytes) -> Callable[[Path], Path]:
    """A sparse file of 10 GB that begins like this."""

    def made(folder: Path) -> Path:
        path = holding(begin)(folder)
        with path.open("r+b") as file:
            file.truncate(10 << 30)
        return path

    return made


def packed_without_end(folder: Path) -> Path:
    path = folder / "h.xplane.pb.gz"
    with gzip.open(path, "wb", compresslevel=9) as file:
        for _ in range(300):
            file.write(b"\0" * (1 << 20))
    return path


ENDLESS_NUMBER = good()[:20] + b"\xff" * 11 + good()[31:]
CSV = b"step,loss\n1,0.5\n2,0.4\n" * 20
GZ = "h.xplane.pb.gz"
REFUSED: dict[str, tuple[Callable[[Path], Path], tuple[str, ...]]] = {
    "nothing": (lambda it: it / "no", ("no", "does not exist", "Check the path")),
    "an empty folder": (lambda it: it, ("is empty", "jax.profiler.trace")),
    "a folder of something else": (
        beside("checkpoint.index", b"x"),
        ("1 file but no", "xplane.pb"),
    ),
    "what old profilers made": (
        beside("host.trace.json.gz"),
        ("host.trace.json.gz", "Record again with TensorFlow 2.3"),
    ),
    "an empty file": (holding(b""), ("is empty",)),
    "a text": (holding(CSV), ("text file", "Give the")),
    "JSON": (holding(b'{"traceEvents": []}'), ()),
    "an endless number": (holding(ENDLESS_NUMBER), ("byte ", " of ", "damaged")),
    "random bytes": (holding(random.Random(1).randbytes(5000)), ("byte ",)),
    "another protobuf": (holding(b"\x28\x01\x30\x02"), ("holds no planes",)),
    "no events": (
        holding(trace().empty_device("GPU:0").bytes()),
        ("holds no events", "at least three steps"),
    ),
    "a cut gzip": (holding(gzip.compress(good())[:-20], GZ), ("gzip", "cut short")),
    "a gzip of nothing": (holding(gzip.compress(b""), GZ), ("empty gzip",)),
    "a gzip of 300 MB": (packed_without_end, ("expands to more than",)),
    "zeros": (zeros(b""), ("nothing but zeros",)),
    "a trace, then zeros": (zeros(good()), ("byte ",)),
    "a pipe": (pipe, ("it is a pipe, not a file",)),
    "a pipe in a logdir": (lambda it: pipe(it).parent, ("it is a pipe, not a file",)),
    **{
        path: (lambda _, path=path: Path(path), ("it is a device, not a file",))
        for path in ("/dev/zero", "/dev/tty", "/dev/full")
    },
    **{
        path: (lambda _, path=path: Path(path), ())
        for path in ("/proc/kmsg", "/proc/self/mem", "/proc/self/environ")
    },
    **{
        path: (lambda _, path=path: Path(path), ("is a folder of the system",))
        for path in ("/proc", "/proc/self", "/sys", "/dev")
    },
}
"""What is given in place of a trace, and words of the line that refuses it."""


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_no_trace_is_refused_in_one_line(
    say: Say, tmp_path: Path, what: str
) -> None:
    made, words = REFUSED[what]

    is_refused(say("analyze", made(tmp_path)), 3, *words)


def test_a_socket_is_refused(
    say: Say, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # a socket's name may have 108 bytes
    with socket.socket(socket.AF_UNIX) as one:
        one.bind("s.xplane.pb")

        is_refused(say("analyze", "s.xplane.pb"), 3, "it is a socket, not a file")


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("nowhere", "no such file or folder"),
        ("h.xplane.pb", "it is no Python file"),
        ("/dev/null", "it is no file and no folder"),
    ],
)
def test_a_source_that_is_none_is_a_mistake(
    say: Say, tmp_path: Path, source: str, why: str
) -> None:
    path = holding(good())(tmp_path)
    remedy = "Name the program's script, or its folder."
    for call in (("analyze", path), ("explain", "train.py:1", "--trace", path)):
        is_refused(say(*call, "--source", tmp_path / source), 2, why, remedy)


def test_a_source_may_be_a_script(say: Say, tmp_path: Path) -> None:
    path = holding(good())(tmp_path)
    (tmp_path / "train.py").write_text("x = 1\n", encoding="utf-8")

    assert say("analyze", path, "--source", tmp_path / "train.py").code == 0


@needs_shared_traces
@pytest.mark.parametrize(
    "folder", ["no-xplane-tf22", "tfprof-demo/plugins/profile/GPU-input-bound"]
)
def test_real_logdirs_without_a_trace(say: Say, folder: str) -> None:
    is_refused(say("analyze", FOLDER / folder), 3, "no `*.xplane.pb`", "Record again")


@needs_shared_traces
def test_a_trace_that_was_copied_as_text(say: Say) -> None:
    (path,) = FOLDER.rglob("*CORRUPT*")

    is_refused(
        say("analyze", path), 3, "byte 1 of 1,365,940", "copied as text", "binary"
    )


@pytest.mark.slow
def test_a_file_cut_at_any_byte(say: Say, tmp_path: Path) -> None:
    """Either refused with the position, or, cut between two planes, reported on what is
    left.
    """
    data = trace().step(0, 10).busy("GPU:0", (1, 5)).bytes()
    refused = 0
    for length in range(1, len(data)):
        said = say("analyze", holding(data[:length])(tmp_path), "--format", "json")
        if said.code:
            is_refused(said, 3)
            refused += 1
        else:
            assert said.out
    assert 0 < refused < len(data) - 1


@pytest.mark.slow
def test_random_damage_never_breaks_the_chain(say: Say, tmp_path: Path) -> None:
    """Whatever the decoder accepts, timeline, metrics and rules must survive."""
    chance = random.Random(7)
    data = good()
    codes = set()
    for _ in range(150):
        mutant = bytearray(data)
        for _ in range(chance.randint(1, 6)):
            mutant[chance.randrange(len(mutant))] = chance.randrange(256)
        path = holding(bytes(mutant))(tmp_path)
        codes.add(say("analyze", path, "--format", "json").code)
    assert codes == {0, 3}


def test_a_gzipped_trace_is_read(say: Say, tmp_path: Path) -> None:
    assert say("analyze", holding(gzip.compress(good()), GZ)(tmp_path)).code == 0


@pytest.mark.slow
def test_a_logdir_of_a_thousand_runs(say: Say, tmp_path: Path) -> None:
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


def test_hostile_names_are_shown_and_do_no_harm(say: Say, tmp_path: Path) -> None:
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
