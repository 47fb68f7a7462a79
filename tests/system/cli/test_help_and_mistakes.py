"""Help, completion and what is said about mistyped names, through the installed command
and inside this process.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from support.places import FIXTURES
from support.said import Say, is_refused

from tfadvisor.cli.typer_app import app
from tfadvisor.did_you_mean import did_you_mean

pytestmark = pytest.mark.slow

COMMAND = Path(sys.executable).parent / "tfadvisor"
SLOW = FIXTURES / "jax-loader"
TERMINAL = (
    "COLUMNS",
    "NO_COLOR",
    "FORCE_COLOR",
    "GITHUB_ACTIONS",
    "PY_COLORS",
    "PYTHONIOENCODING",
    "TERMINAL_WIDTH",
)


def tfadvisor(*arguments: object, **env: str) -> subprocess.CompletedProcess[bytes]:
    """The command with these variables of the environment, and none that others set for
    a terminal.
    """
    rest = {name: value for name, value in os.environ.items() if name not in TERMINAL}
    call = [str(COMMAND), *map(str, arguments)]
    return subprocess.run(call, capture_output=True, env={**rest, **env}, check=False)


def test_alone_it_prints_help_and_ends_well(say: Say) -> None:
    code, out, err = say()

    assert (code, err) == (0, "")
    for name in ("analyze", "compare", "gate", "baseline", "export", "rules", "flags"):
        assert name in out
    assert "Exit codes:" in out


def test_help_of_all_commands_imports_no_numpy() -> None:
    code = (
        "import sys; from tfadvisor.cli.main import guarded_main; "
        "guarded_main(['--help']); "
        "sys.stderr.write(str('numpy' in sys.modules))"
    )

    done = subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True
    )

    assert done.stderr == "False"
    assert "where the step's time goes" in done.stdout


def test_a_command_imports_no_other() -> None:
    code = (
        "import sys; from tfadvisor.cli.main import guarded_main; "
        "guarded_main(['rules', 'list']); "
        "sys.stderr.write(str([name for name in sys.modules if "
        "name.startswith('tfadvisor.cli.commands.')]))"
    )

    done = subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True
    )

    assert done.stderr == "['tfadvisor.cli.commands.rules']"


def test_options_stand_in_panels(say: Say) -> None:
    _, out, _ = say("analyze", "--help")

    panels = [
        out.index(title)
        for title in (
            "What to analyse",
            "Rules ",
            "Output ",
            "Examples:",
            "Exit codes:",
        )
    ]

    assert panels == sorted(panels)
    assert (
        out.index("What to analyse")
        < out.index("--steps")
        < out.index("Rules ")
        < out.index("--fail-on")
    )


def test_square_brackets_in_a_help_are_printed(say: Say) -> None:
    """Rich would take them for a style."""
    _, out, _ = say("analyze", "--help")

    assert "read what to ignore, [[ignore]], from FILE" in " ".join(
        out.replace("│", " ").split()
    )


def every_command(command: Any, context: typer.Context) -> Iterator[Any]:
    """A command and all below it."""
    yield command
    for name in (
        command.list_commands(context) if hasattr(command, "list_commands") else ()
    ):
        yield from every_command(command.get_command(context, name), context)


def test_no_short_help_has_square_brackets_that_rich_would_drop() -> None:
    """A list of commands prints short helps, which nothing escapes."""
    top = typer.main.get_command(app)

    shorts = [one.short_help or "" for one in every_command(top, typer.Context(top))]

    assert len(shorts) > 16
    assert not [short for short in shorts if "[" in short]


def test_examples_keep_their_lines(say: Say) -> None:
    _, out, _ = say("gate", "--help")

    assert '  [budgets]\n  input_bound_fraction = "5' in out


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["analyse", SLOW], "analyze"),
        (["rules", "lst"], "list"),
        (["analyze", SLOW, "--formt", "json"], "--format"),
        (["analyze", SLOW, "--format", "jsn"], "json"),
        (["analyze", SLOW, "--fail-on", "hihg"], "high"),
        (["explain", "input-not-prefetchd"], "input-not-prefetched"),
        (["analyze", SLOW, "--disable", "input-loader-in-stp"], "input-loader-in-step"),
        (["analyze", FIXTURES, "--run", "jax-loder"], "jax-loader"),
        (["analyze", SLOW, "--host", "trac"], "trace"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_what_was_meant(say: Say, arguments: list[object], meant: str) -> None:
    is_refused(say(*arguments), 2, f"Did you mean {meant}?")


def test_nothing_near_suggests_nothing(say: Say) -> None:
    assert say("xyzzy") == (
        2,
        "",
        "tfadvisor: no command is called xyzzy. Try 'tfadvisor --help'.\n",
    )


def test_did_you_mean_ignores_case() -> None:
    assert (
        did_you_mean("Worker-1", ["worker-0", "worker-1", "chief"])
        == " Did you mean worker-1?"
    )
    assert did_you_mean("zz", ["worker-0"]) == ""


def test_a_path_alone_is_analysed(say: Say) -> None:
    code, out, _ = say(SLOW, "--format", "json")

    assert code == 0
    assert '"name": "jax-loader"' in out


@pytest.mark.parametrize("path", ["./nowhere", "here/nothing", "lost.xplane.pb"])
def test_what_looks_like_a_path_is_taken_for_one(say: Say, path: str) -> None:
    is_refused(say(path), 3, "does not exist")


def test_python_m() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tfadvisor", "--version"],
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.startswith("tfadvisor 0.")


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["an"], ["analyze"]),
        (["analyze", SLOW, "--ste"], ["--steps"]),
        (["analyze", "fix"], []),  # a shell then offers files of its own
    ],
    ids=lambda one: " ".join(str(word).rpartition("/")[2] for word in one),
)
def test_what_bash_is_offered(words: list[object], offered: list[str]) -> None:
    line = " ".join(["tfadvisor", *map(str, words)])

    done = tfadvisor(
        _TFADVISOR_COMPLETE="complete_bash", COMP_WORDS=line, COMP_CWORD=str(len(words))
    )

    assert done.stdout.decode().split() == offered
    assert done.stderr == b""


def test_fish_and_powershell_are_offered_what_it_means() -> None:
    fish = tfadvisor(
        _TFADVISOR_COMPLETE="complete_fish",
        _TYPER_COMPLETE_FISH_ACTION="get-args",
        _TYPER_COMPLETE_ARGS="tfadvisor base",
    )
    powershell = tfadvisor(
        _TFADVISOR_COMPLETE="complete_powershell",
        _TYPER_COMPLETE_ARGS="tfadvisor base",
        _TYPER_COMPLETE_WORD_TO_COMPLETE="base",
    )

    assert (
        fish.stdout.decode().strip() == "baseline\tthe runs that the gate compares with"
    )
    assert (
        powershell.stdout.decode().strip()
        == "baseline:::the runs that the gate compares with"
    )
