"""Whether a patched program comes through its first steps. Nothing is written: patched
files are read from elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tfadvisor.act.trial.one_run import StopRequest, last_line
from tfadvisor.act.trial.tried_program import TriedProgram

_SECONDS = 1.0
"""In a loop: what only sets up takes less."""
_FEWEST = 2
"""Its rounds: the second one has the values that the first one made."""


def first_broken(
    command: Sequence[str],
    patches: Sequence[tuple[str, Mapping[str, str]]],
    patience: float,
    stop: StopRequest,
) -> tuple[str, str] | None:
    """(whose patch, in words why), None where the program runs with all; "" for a
    program that fails without any.

    patches: a name each, and by real path the whole texts with it and all before it.
    patience: seconds for each run. Raises UsageError for a command that cannot be
    started, Interrupted.
    """
    program = TriedProgram(command, stop)
    last, all_texts = patches[-1]
    why = _why_broken(program, all_texts, patience)
    if not why:
        return None

    alone = _why_broken(program, {}, patience)
    if alone:
        return "", alone
    for name, texts in patches[:-1]:
        found = _why_broken(program, texts, patience)
        if found:
            return name, found
    return last, why


def _why_broken(
    program: TriedProgram,
    texts: Mapping[str, str],
    patience: float,
) -> str:
    run = program.watch(
        patience,
        _SECONDS,
        texts=texts,
        fewest=_FEWEST,
    )
    if run.code:
        return f"it ended with exit code {run.code}{last_line(run.tail)}"
    return f"it came to no step within {run.seconds:.0f} s" if run.late else ""
