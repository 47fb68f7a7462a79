"""Streams that are closed, full or read by nobody, strange encodings, little memory, no
home: the environment's fault is never called tfadvisor's, and the exit code says what
it always says.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.places import FIXTURES
from support.processes import COMMAND
from support.said import Say, is_refused
from support.trace_builder import trace

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="needs /dev/full and ulimit -v"
)
SLOW = FIXTURES / "jax-loader"


def shell(script: str, *arguments: object, **env: str) -> tuple[int, str, str]:
    """Runs a script of bash with `$tfadvisor` and the arguments; exit code, standard
    output and standard error.
    """
    call = ["bash", "-o", "pipefail", "-c", script, "bash", *map(str, arguments)]
    done = subprocess.run(
        call,
        capture_output=True,
        env={**os.environ, "tfadvisor": str(COMMAND), **env},
        check=False,
        timeout=60,
    )
    out, err = (one.decode("utf-8", "replace") for one in (done.stdout, done.stderr))
    assert "Traceback" not in err
    assert "bug in tfadvisor" not in err
    return done.returncode, out, err


@pytest.fixture
def failing(tmp_path: Path) -> Path:
    """A configuration that the run does not meet."""
    path = tmp_path / "tfadvisor.toml"
    path.write_text("[budgets]\nstep_time_ms = 0.001\n")
    return path


GATE = '"$tfadvisor" gate "$1" --baseline "$2/none"'


@pytest.mark.parametrize(
    "closed", ["2>&-", ">&-", ">&- 2>&-", "<&- >&- 2>&-", "2>/dev/full"]
)
def test_a_passing_gate_passes_whoever_listens(tmp_path: Path, closed: str) -> None:
    assert shell(f"{GATE} {closed}", SLOW, tmp_path)[0] == 0


@pytest.mark.parametrize(
    "closed", ["2>&-", ">&-", ">/dev/full", "| head -c 1", "| true"]
)
def test_a_failing_gate_fails_whoever_listens(
    tmp_path: Path, failing: Path, closed: str
) -> None:
    assert shell(f'{GATE} --config "$3" {closed}', SLOW, tmp_path, failing)[0] == 1


@pytest.mark.parametrize(
    "command",
    [
        GATE,
        '"$tfadvisor" analyze "$1"',
        '"$tfadvisor" --help',
        '"$tfadvisor" --version',
    ],
)
def test_a_full_disk_behind_standard_output_is_told(
    tmp_path: Path, command: str
) -> None:
    code, _, err = shell(f"{command} >/dev/full", SLOW, tmp_path)

    assert (code, err) == (
        2,
        "tfadvisor: standard output cannot be written: No space left on device.\n",
    )


@pytest.mark.parametrize(
    "command",
    ['analyze "$1" --details', "--help", "analyze --help", "rules list", "--nonsense"],
)
def test_a_reader_that_leaves_is_no_error(command: str) -> None:
    code, _, err = shell(f'"$tfadvisor" {command} | true', SLOW)

    assert code == (2 if "nonsense" in command else 0)
    assert err.count("\n") == code // 2


def test_a_file_never_gets_the_number_of_a_closed_stream(tmp_path: Path) -> None:
    """A note about the trace would be written into it."""
    for number in range(2):
        run = tmp_path / "logdir" / f"2026_01_0{number + 1}_00_00_00"
        run.mkdir(parents=True)
        (run / "h.xplane.pb").write_bytes(
            trace().steps(3, period=100).busy("GPU:0", (0, 250)).bytes()
        )
    before = {file: file.read_bytes() for file in tmp_path.rglob("*.pb")}

    code, _, _ = shell(
        '"$tfadvisor" analyze "$1" -o "$2/r.json" >&- 2>&- <&-',
        tmp_path / "logdir",
        tmp_path,
    )

    assert code == 0
    assert {file: file.read_bytes() for file in tmp_path.rglob("*.pb")} == before
    assert json.loads((tmp_path / "r.json").read_text())["steps"]["count"] >= 1


@pytest.mark.parametrize(
    ("command", "encoding"),
    [
        ("analyze", "ascii"),
        ("analyze", "latin-1"),
        ("analyze", "cp1252"),
        ("analyze", "koi8-r"),
        ("analyze", "shift_jis"),
        ("analyze", "utf-16"),
        ("analyze", "utf-7"),
        ("--help", "ascii"),
    ],
)
def test_every_encoding_can_show_it(command: str, encoding: str) -> None:
    code, out, err = shell(
        f'"$tfadvisor" {command} $1',
        SLOW if command == "analyze" else "",
        PYTHONIOENCODING=encoding,
    )

    assert (code, err) == (0, "")
    assert len(out) > 500


def test_a_terminal_that_the_system_calls_ascii(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"caf\xe9-\xff")
    folder.mkdir()
    (folder / "h.xplane.pb").write_bytes(
        trace().steps(3, period=100).busy("GPU:0", (0, 250), name="größe").bytes()
    )

    code, out, _ = shell(
        '"$tfadvisor" analyze "$1" --details',
        folder,
        LC_ALL="C",
        PYTHONUTF8="0",
        PYTHONCOERCECLOCALE="0",
    )

    assert code == 0
    assert out.isascii()


@pytest.mark.parametrize("megabytes", [60, 120, 300, 700])
def test_with_little_memory_it_works_or_says_so(megabytes: int) -> None:
    """Below about 60 MB Python itself does not start."""
    code, _, err = shell(
        f'ulimit -v {megabytes << 10}; "$tfadvisor" analyze "$1"', SLOW
    )

    if "OpenBLAS error" in err:
        pytest.skip("NumPy's library ends the process before tfadvisor is imported")
    assert code in (0, 3)
    assert code == 0 or "memory" in err


def test_without_a_home(tmp_path: Path) -> None:
    code, _, err = shell(
        'env -u HOME -u USER -u LOGNAME "$tfadvisor" analyze "$1"', SLOW
    )

    assert (code, err) == (0, "")


def test_without_a_terminal_or_a_session() -> None:
    code, out, err = shell('setsid "$tfadvisor" analyze "$1" </dev/null', SLOW)

    assert (code, err) == (0, "")
    assert out.startswith("jax-loader")


HOSTILE = "run\n::error::pwned\n##[error]x ##vso[task.setvariable]y"


@pytest.mark.parametrize(
    "arguments",
    [
        "",
        "--details",
        "--format brief",
        "--format markdown",
        "--format json",
        "--host x",
    ],
)
def test_no_name_is_a_command_to_a_ci_system(
    say: Say, tmp_path: Path, arguments: str
) -> None:
    """GitHub's runner takes a line that begins with `::`, blanks before it, and `##[`
    anywhere; Azure `##vso[`.
    """
    run = tmp_path / HOSTILE
    run.mkdir()
    data = (
        trace()
        .steps(3, period=100, span=90)
        .busy("GPU:0", (0, 250), name=HOSTILE)
        .call(f"$a.py:1 {HOSTILE}", 0, 290)
    )
    (run / f"h{HOSTILE.replace('/', '')}.xplane.pb").write_bytes(data.bytes())
    (run / "broken.xplane.pb").write_bytes(b"\xff" * 100)

    _, out, err = say("analyze", run, *arguments.split())

    lines = (out + err).splitlines()
    assert [line for line in lines if line.strip().startswith("::")] == []
    assert [line for line in lines if "##[" in line or "##vso[" in line] == []
    assert all(line.startswith("tfadvisor: ") for line in err.splitlines())


def test_a_path_that_is_not_there_is_told_in_one_line(say: Say, tmp_path: Path) -> None:
    is_refused(say("analyze", tmp_path / HOSTILE), 3, "\\x0a::error::pwned")
