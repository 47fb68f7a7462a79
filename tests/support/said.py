"""What the command says, run in this process."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import pytest

from tfadvisor.cli.main import guarded_main


class Said(NamedTuple):
    """One call: its exit code, standard output and standard error."""

    code: int
    out: str
    err: str


class Say(Protocol):
    """Runs the command with these arguments."""

    def __call__(self, *arguments: object) -> Said:
        """A mistake of the user is never called a bug."""
        ...


def sayer(capsys: pytest.CaptureFixture[str]) -> Say:
    """What runs the command and reads what it said."""

    def run(*arguments: object) -> Said:
        code = guarded_main([str(one) for one in arguments])
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        assert "bug in tfadvisor" not in err, err[-300:]
        return Said(code, out, err)

    return run


def is_refused(said: Said, code: int, *words: str) -> None:
    """Nothing on standard output, and one line that holds these words on the other."""
    assert (said.code, said.out) == (code, "")
    assert said.err.startswith("tfadvisor: ")
    assert (said.err.count("\n"), said.err[-1]) == (1, "\n")
    for word in words:
        assert word in said.err
