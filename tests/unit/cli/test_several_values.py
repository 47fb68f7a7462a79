"""`--attach a b` is `--attach a --attach b`, and a program's own words stay."""

from __future__ import annotations

from typing import Any

import pytest
import typer.main

from tfadvisor.cli.commands import gate, run
from tfadvisor.cli.typer_commands import spread


def given(module: Any, flag: str, *words: str) -> list[str]:
    command = typer.main.get_command(module.app)
    context = command.context_class(command, **command.context_settings)
    return spread(command, context, words, flag)


@pytest.mark.parametrize(
    ("words", "taken"),
    [
        ("--attach a:1", "--attach a:1"),
        ("--attach a:1 b:2", "--attach a:1 --attach b:2"),
        ("--attach a:1 b:2 -o x.html", "--attach a:1 --attach b:2 -o x.html"),
        ("-o x.html --attach a:1 b:2", "-o x.html --attach a:1 --attach b:2"),
        ("--ablate --attach a:1 b:2", "--ablate --attach a:1 --attach b:2"),
        ("-- python train.py --attach a b", "-- python train.py --attach a b"),
        ("python train.py --attach a b", "python train.py --attach a b"),
        ("--steps 9 prog --attach a b", "--steps 9 prog --attach a b"),
        ("--attach", "--attach"),
    ],
)
def test_addresses(words: str, taken: str) -> None:
    assert given(run, "--attach", *words.split()) == taken.split()


@pytest.mark.parametrize(
    ("words", "taken"),
    [
        ("a --candidates b c", "a --candidates b --candidates c"),
        ("--candidates b c --add d", "--candidates b --candidates c --add d"),
        ("a --candidates b -o c", "a --candidates b -o c"),
    ],
)
def test_candidates(words: str, taken: str) -> None:
    assert given(gate, "--candidates", *words.split()) == taken.split()
