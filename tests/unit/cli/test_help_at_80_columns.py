"""`--help` on a terminal of 80 columns: no line is wider and no word is broken."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
import typer.main

from tfadvisor.cli.main import guarded_main
from tfadvisor.cli.typer_app import app

WIDTH = 80
_BOXES = re.compile("[─│╭╮╰╯]")


def paths(command: object, at: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """What a user types to reach a command and each below it."""
    yield at
    if hasattr(command, "list_commands"):
        for name in command.list_commands(None):
            yield from paths(command.get_command(None, name), (*at, name))


COMMANDS = list(paths(typer.main.get_command(app)))


def command_at(path: tuple[str, ...]) -> object:
    command = typer.main.get_command(app)
    for name in path:
        command = command.get_command(None, name)
    return command


@pytest.fixture
def printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> object:
    def of(path: tuple[str, ...]) -> str:
        monkeypatch.setenv("COLUMNS", str(WIDTH))
        monkeypatch.delenv("FORCE_COLOR", raising=False)
        monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
        assert guarded_main([*path, "--help"]) == 0
        return capsys.readouterr().out

    return of


def test_all_commands_are_looked_at() -> None:
    assert ("baseline", "history") in COMMANDS
    assert len(COMMANDS) > 24


def test_the_five_commands_of_a_beginner_come_first(printed) -> None:
    shown = _BOXES.sub(" ", printed(()))
    first = [
        shown.index(f"\n  {name} ") for name in ("run", "analyze", "fix", "try", "gate")
    ]

    assert max(first) < shown.index(" More ") < shown.index("\n  compare ")


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_no_line_is_wider(printed, path: tuple[str, ...]) -> None:
    wide = [line for line in printed(path).splitlines() if len(line) > WIDTH]

    assert wide == []


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_no_word_is_broken(printed, path: tuple[str, ...]) -> None:
    """Each word of what a command declares is there as a whole."""
    command = command_at(path)
    texts = [command.help or ""]
    for param in command.params:
        if getattr(param, "hidden", False):
            continue
        texts += [param.help or "", param.metavar or "", *param.opts]
    if hasattr(command, "list_commands"):
        for name in command.list_commands(None):
            texts += [name, command.get_command(None, name).short_help or ""]

    shown = set(_BOXES.sub(" ", printed(path)).split())
    words = {word for text in texts for word in text.split()}
    arguments = {param.name for param in command.params}  # shown as their metavars

    assert words - shown - arguments == set()
