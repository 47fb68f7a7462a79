"""Arguments and surroundings that no person would choose: one line, the exit code of
the contract, never a bug of tfadvisor's.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.fleet_runs import add
from support.processes import COMMAND
from support.said import Say
from support.trace_builder import trace

LONG = "n" * 5000
NINES = "9" * 5000
NAMES: dict[str, list[str]] = {
    "analyze": ["analyze", LONG],
    "analyze a trace": ["analyze", f"/{LONG}.xplane.pb"],
    "analyze --rules": ["analyze", "{trace}", "--rules", LONG],
    "analyze --config": ["analyze", "{trace}", "--config", LONG],
    "analyze -o": ["analyze", "{trace}", "-o", f"{LONG}.json"],
    "analyze --host": ["analyze", "{trace}", "--host", LONG],
    "analyze --run": ["analyze", "{logdir}", "--run", LONG],
    "analyze --disable": ["analyze", "{trace}", "--disable", LONG],
    "analyze --source": ["analyze", "{trace}", "--source", LONG],
    "explain --source": ["explain", "a.py:1", "--trace", "{trace}", "--source", LONG],
    "analyze --format": ["analyze", "{trace}", "--format", LONG],
    "compare": ["compare", LONG, LONG],
    "compare a snapshot": ["compare", f"{LONG}.json", "{trace}"],
    "compare -o": ["compare", "{trace}", "{trace}", "-o", f"{LONG}.html"],
    "gate": ["gate", LONG],
    "gate --baseline": ["gate", "{trace}", "--baseline", LONG],
    "gate --config": ["gate", "{trace}", "--config", LONG],
    "baseline add": ["baseline", "add", LONG],
    "baseline add --store": ["baseline", "add", "{trace}", "--store", LONG],
    "baseline list --store": ["baseline", "list", "--store", LONG],
    "baseline show": ["baseline", "show", LONG],
    "baseline history": ["baseline", "history", "--store", LONG],
    "fleet": ["fleet", LONG, "-o", "{none}"],
    "fleet -o": ["fleet", "{logdir}", "-o", LONG],
    "fleet of a table": ["fleet", f"{LONG}.parquet"],
    "export": ["export", LONG, "--to", "perfetto"],
    "export -o": ["export", "{trace}", "--to", "perfetto", "-o", LONG],
    "export --to pgle": ["export", LONG, "--to", "pgle", "-o", "{none}.pb"],
    "fix": ["fix", LONG],
    "fix --source": ["fix", "{trace}", "--source", LONG],
    "rules check": ["rules", "check", LONG],
    "explain": ["explain", LONG],
    "try --from": ["try", "--from", LONG, "--", "true"],
    "try --patch": ["try", "--patch", LONG, "--", "true"],
    "try --patch a file": ["try", "--patch", f"{LONG}.diff", "--", "true"],
    "try a program": ["try", "--env", "A=1", "--", LONG],
    "run": ["run", "--", LONG],
    "run --attach": ["run", "--attach", f"{LONG}:1"],
    "mcp": ["mcp", "--root", LONG],
    "a command": [LONG],
    "an option": ["analyze", "{trace}", f"--{LONG}"],
}
NUMBERS: dict[str, list[str]] = {
    "--params": ["analyze", "{trace}", "--params", NINES],
    "--bandwidth": ["analyze", "{trace}", "--bandwidth", NINES],
    "--steps": ["analyze", "{trace}", "--steps", f"{NINES}:"],
    "--workers": ["analyze", "{trace}", "--workers", NINES],
    "--at": ["fix", "{trace}", "--at", f"x:{NINES}"],
    "--percentile": ["export", "{trace}", "--to", "pgle", "--percentile", NINES],
    "--jaxlib": [
        "export",
        "{trace}",
        "--to",
        "pgle",
        "-o",
        "{none}.pb",
        "--jaxlib",
        NINES,
    ],
    "--keep": ["baseline", "prune", "--store", "{none}", "--keep", NINES],
    "--keep of add": [
        "baseline",
        "add",
        "{trace}",
        "--store",
        "{none}",
        "--keep",
        NINES,
    ],
    "--budget": ["try", "--env", "A=1", "--budget", NINES, "--", "true"],
    "--budget of gate": ["gate", "--against", "x", "--budget", NINES, "--", "true"],
    "--after": ["run", "--after", f"-{NINES}", "--", "true"],
    "--steps of run": ["run", "--steps", NINES, "--", "true"],
    "the port of --attach": ["run", "--attach", f"localhost:{NINES}"],
    "a hunk": ["try", "--patch", "{hunk}", "--", "true"],
    "a flag": ["flags", "check", "--", f"--xla_gpu_autotune_level={NINES}"],
    "a flag's version": [
        "flags",
        "check",
        "--jaxlib",
        NINES,
        "--",
        "--xla_gpu_autotune_level=4",
    ],
    "a configuration": ["gate", "{trace}", "--config", "{toml}"],
    "a rule": ["rules", "check", "{rules}"],
    "a snapshot": ["compare", "{snapshot}", "{trace}"],
    "a report": ["try", "--from", "{snapshot}", "--", "true"],
    "a deep report": ["try", "--from", "{deep}", "--", "true"],
    "a deep snapshot": ["compare", "{deep}", "{trace}"],
    "a deep configuration": ["gate", "{trace}", "--config", "{deep}"],
}
ANYWHERE: dict[str, list[str]] = {
    "analyze": ["analyze", "{trace}"],
    "analyze -o": ["analyze", "{trace}", "-o", "x.json"],
    "compare": ["compare", "{trace}", "{trace}"],
    "gate": ["gate", "{trace}"],
    "baseline list": ["baseline", "list"],
    "baseline history": ["baseline", "history"],
    "fleet": ["fleet", "{logdir}", "-o", "x.parquet"],
    "export": ["export", "{trace}", "--to", "perfetto"],
    "fix": ["fix", "{trace}"],
    "try": ["try", "--env", "A=1", "--", sys.executable, "-c", ""],
    "rules list": ["rules", "list"],
    "explain": ["explain", "metrics"],
    "mcp": ["mcp"],
}


@pytest.fixture
def places(tmp_path: Path) -> dict[str, Path]:
    """What arguments name by a word in braces."""
    add(tmp_path / "logdir", "vision/resnet/a/2026_01_02_03_04_05")
    add(tmp_path / "logdir", "vision/resnet/a/2026_01_02_04_04_05")
    (tmp_path / "h.xplane.pb").write_bytes(
        trace().steps(3, period=100).busy("GPU:0", (0, 250)).bytes()
    )
    (tmp_path / "a.diff").write_text(
        f"--- a/x.py\n+++ b/x.py\n@@ -{NINES} +1 @@\n-a\n+b\n"
    )
    (tmp_path / "gate.toml").write_text(f"keep = {NINES}\n")
    (tmp_path / "number.json").write_text(f'{{"tfadvisor_snapshot": {NINES}}}\n')
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "a.yaml").write_text(f"id: {NINES}\n")
    (tmp_path / "deep.json").write_text("[" * 100_000)
    files = {
        "deep": "deep.json",
        "trace": "h.xplane.pb",
        "hunk": "a.diff",
        "toml": "gate.toml",
        "snapshot": "number.json",
    }
    return {
        name: tmp_path / files.get(name, name)
        for name in (*files, "logdir", "rules", "none")
    }


def filled(call: list[str], places: dict[str, Path]) -> list[str]:
    """The arguments with what their words in braces name."""
    return [one.format_map(places) if "{" in one else one for one in call]


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, in which the command is called; its cache lies elsewhere."""
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("TFADVISOR_CACHE", str(tmp_path / "cache"))
    return folder


CODES = {"fleet of a table": 3, "run --attach": 3, "a rule": 5}
"""Of calls that do not end with 2, as a mistake in the arguments does."""
FINE = {"a flag", "a flag's version", "compare", "rules list", "explain"}
"""Calls that nothing is wrong with: versions and levels have any number of digits, and
these commands need no folder.
"""
READ_FIRST = {"a snapshot", "a report", "a deep report", "a deep snapshot"}
"""Files that cannot be read, which ends with 3."""


@pytest.mark.parametrize("what", NAMES)
def test_a_name_of_5000_characters_is_one_line(
    what: str, places: dict[str, Path], work: Path, say: Say
) -> None:
    """`try` first says which file it writes."""
    code, out, err = say(*filled(NAMES[what], places))

    assert (code, out) == (CODES.get(what, 2), "")
    assert err.count("\n") == (2 if what == "try a program" else 1)
    assert all(is_short(line) for line in err.splitlines())
    assert list(work.iterdir()) == []


def is_short(line: str) -> bool:
    """Whether it is of the command and does not repeat the whole name."""
    return line.startswith("tfadvisor: ") and len(line) < 5000


@pytest.mark.usefixtures("work")
@pytest.mark.parametrize("what", NUMBERS)
def test_a_number_of_5000_digits_is_one_line(
    what: str, places: dict[str, Path], say: Say
) -> None:
    expected = 0 if what in FINE else 3 if what in READ_FIRST else CODES.get(what, 2)

    code, _, err = say(*filled(NUMBERS[what], places))

    assert code == expected
    assert all(is_short(line) for line in err.splitlines())


@pytest.mark.parametrize("what", ANYWHERE)
def test_in_a_folder_that_was_removed(
    what: str,
    places: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    say: Say,
) -> None:
    """What needs the folder says so, with code 2."""
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path)
    os.chdir("work")
    Path("../work").resolve().rmdir()

    code, _, err = say(*filled(ANYWHERE[what], places))

    assert code == (0 if what in FINE else 2)
    assert code == 0 or "was removed" in err.splitlines()[-1]


@pytest.mark.parametrize(
    "columns", ["9" * 5000, "9" * 20, "99999", "0", "-1", "x", "", "1e9", "\u0669" * 9]
)
def test_any_width_of_the_screen(columns: str) -> None:
    for call in (
        ["--help"],
        ["analyze", "--help"],
        ["flags", "check", "--", "--xla_gpu_autotune_level=4"],
    ):
        env = {**os.environ, "COLUMNS": columns, "LINES": columns}
        done = subprocess.run(
            [COMMAND, *call], env=env, capture_output=True, check=False, timeout=60
        )

        assert (done.returncode, done.stderr) == (0, b"")
        assert len(done.stdout) < 60_000_000


@pytest.mark.parametrize(
    "name", ["TFADVISOR_CACHE", "TFADVISOR_LIMITS", "HOME", "TMPDIR", "BROWSER"]
)
@pytest.mark.parametrize("value", [NINES, "/" + LONG, "\x1b]0;x\x07"])
def test_any_variable(name: str, value: str, places: dict[str, Path]) -> None:
    done = subprocess.run(
        [COMMAND, "analyze", places["trace"], "--format", "json"],
        env={**os.environ, name: value},
        capture_output=True,
        check=False,
        timeout=60,
    )

    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("level", ["1", "2"])
def test_without_asserts_and_docstrings(level: str, places: dict[str, Path]) -> None:
    """As PYTHONOPTIMIZE leaves them out, in users' shells and images."""
    reports = [
        subprocess.run(
            [COMMAND, "analyze", places["trace"], "--format", "json"],
            env={**os.environ, "PYTHONOPTIMIZE": one, "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            check=False,
            timeout=100,
        )
        for one in ("", level)
    ]

    assert [(one.returncode, one.stderr) for one in reports] == [(0, b""), (0, b"")]
    assert (
        json.loads(reports[0].stdout)["findings"]
        == json.loads(reports[1].stdout)["findings"]
    )


@pytest.mark.parametrize("kind", ["GPU", "TPU", "CUSTOM"])
def test_a_device_of_any_number(kind: str, tmp_path: Path, say: Say) -> None:
    """It is none that counts, or one like others."""
    builder = trace().steps(3, period=100).busy("GPU:0", (0, 250))
    for digits in (
        "9" * 5000,
        "9" * 19,
        "-1",
        "1e3",
        "",
        "\N{ARABIC-INDIC DIGIT NINE}",
        "0" * 30,
    ):
        builder.on_line(f"/device:{kind}:{digits}", "XLA Ops", "fusion.1", 0, 50)
    (tmp_path / "h.xplane.pb").write_bytes(builder.bytes())

    code, _, err = say("analyze", tmp_path / "h.xplane.pb")

    assert (code, err) == (0, "")
