"""What terminals and files are given: forms by suffix, width, colours, ASCII,
signals.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

COMMAND = Path(sys.executable).parent / "tfadvisor"
FIXTURES = Path(__file__).parents[3] / "fixtures"
SLOW = FIXTURES / "jax-loader"
TERMINAL = (
    "COLUMNS",
    "NO_COLOR",
    "FORCE_COLOR",
    "TERM",
    "PYTHONIOENCODING",
    "PYTHONUTF8",
)


def environment(**env: str) -> dict[str, str]:
    return {
        **{name: value for name, value in os.environ.items() if name not in TERMINAL},
        **env,
    }


def shown(*arguments: object, **env: str) -> bytes:
    """Standard output of the command, which must end well, with these variables and no
    others for a terminal.
    """
    call = [str(COMMAND), *map(str, arguments)]
    return subprocess.run(
        call, stdout=subprocess.PIPE, env=environment(**env), check=True
    ).stdout


@pytest.mark.parametrize(
    ("name", "begins"),
    [
        ("r.json", '{\n  "schema_version"'),
        ("r.md", "## INPUT-BOUND"),
        ("r.HTML", "<!doctype html>"),
        ("r.txt", "jax-loader ·"),
        ("r.log", "jax-loader ·"),
        ("r", "jax-loader ·"),
    ],
)
def test_the_form_of_a_report_follows_the_suffix(
    tmp_path: Path, name: str, begins: str
) -> None:
    assert shown("analyze", SLOW, "-o", tmp_path / name) == b""

    assert (
        (tmp_path / name).read_text(encoding="utf-8").lower().startswith(begins.lower())
    )


def test_a_named_form_wins_over_the_suffix(tmp_path: Path) -> None:
    shown("analyze", SLOW, "-o", tmp_path / "r.json", "--format", "markdown")

    assert (tmp_path / "r.json").read_text(encoding="utf-8").startswith("## ")


def test_the_form_of_a_comparison_and_a_verdict_follows_the_suffix(
    tmp_path: Path,
) -> None:
    shown("compare", FIXTURES / "jax-healthy", SLOW, "-o", tmp_path / "c.json")
    shown("gate", SLOW, "--baseline", tmp_path / "none", "-o", tmp_path / "g.md")

    assert json.loads((tmp_path / "c.json").read_text())["change_ms"] < 0
    assert (tmp_path / "g.md").read_text(encoding="utf-8").startswith("## ")


def test_columns_are_heeded() -> None:
    """The verdict's paragraph is as wide as it may be: its next word would not have
    fitted. Nothing is wider than 110.
    """
    for columns, widest in (
        ("60", 60),
        ("100", 100),
        ("", 110),
        ("300", 110),
        ("nonsense", 110),
    ):
        lines = shown("analyze", SLOW, COLUMNS=columns).decode().splitlines()
        (at,) = [number for number, line in enumerate(lines) if "-BOUND " in line]
        following = lines[at + 1].split()[:1]  # none where the whole sentence fits

        assert len(lines[at]) <= widest
        assert not following or widest < len(f"{lines[at]} {following[0]}")


def test_colours_can_be_forced_and_forbidden() -> None:
    assert b"\x1b[" not in shown("analyze", SLOW)
    assert b"\x1b[1m" in shown("analyze", SLOW, FORCE_COLOR="1")
    assert b"\x1b[" not in shown("analyze", SLOW, FORCE_COLOR="1", NO_COLOR="1")
    assert b"\x1b[" not in shown("analyze", SLOW, FORCE_COLOR="0")


def test_coloured_text_says_the_same() -> None:
    import re

    coloured = shown("analyze", SLOW, "--details", FORCE_COLOR="1").decode()

    assert (
        re.sub("\x1b\\[[0-9;]*m", "", coloured)
        == shown("analyze", SLOW, "--details").decode()
    )


@pytest.mark.parametrize(
    "arguments", [["--details"], ["--format", "markdown"], ["--format", "json"]]
)
def test_where_utf_8_is_not_taken_all_is_ascii(arguments: list[str]) -> None:
    out = shown("analyze", SLOW, *arguments, PYTHONIOENCODING="ascii").decode()

    assert out.isascii()


def test_bars_and_dashes_have_signs_in_ascii() -> None:
    out = shown("analyze", SLOW, PYTHONIOENCODING="latin-1").decode("ascii")

    assert "jax-loader | JAX" in out
    assert "! input" in out
    assert out.count("!!!!!") >= 1


def test_help_is_ascii_where_it_must_be() -> None:
    assert shown("--help", PYTHONIOENCODING="ascii").decode("ascii").count("+-") >= 2


def test_a_page_stays_utf_8() -> None:
    page = shown("analyze", SLOW, "--format", "html", PYTHONIOENCODING="ascii")

    assert page.decode("utf-8").lower().startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)]
)
def test_a_signal_ends_it_with_its_code(number: signal.Signals, code: int) -> None:
    """While it waits for standard input, which is surely while it works."""
    call = [str(COMMAND), "flags", "check", "-"]
    with subprocess.Popen(
        call,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        text=True,
    ) as process:
        for _ in range(200):  # until it reads
            time.sleep(0.05)
            if Path(f"/proc/{process.pid}/wchan").exists() and _reads(process.pid):
                break
        process.send_signal(number)
        _, said = process.communicate(timeout=30)

    assert process.returncode == code
    assert said.startswith("tfadvisor: ")
    assert said.count("\n") == 1


def _reads(pid: int) -> bool:
    """Whether a process waits for its standard input (Linux)."""
    try:
        return Path(f"/proc/{pid}/syscall").read_text().startswith("0 0x0 ")
    except OSError:
        return False
