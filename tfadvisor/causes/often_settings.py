"""Settings of libraries by which a training loop saves or evaluates often, as the
program's source gives them, and the same with less.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tfadvisor.causes.called import last_name
from tfadvisor.causes.definitions import whole_number
from tfadvisor.causes.source_files import ParsedFile
from tfadvisor.causes.walked import calls_in, covers
from tfadvisor.causes.witness import functions_around
from tfadvisor.printable import cut

_WIDEST = 100


class _Saver(NamedTuple):
    """A class that saves, or says how often."""

    argument: str
    """That counts."""
    seldom: str | int
    """What is enough."""
    counts: str
    called: str
    """The call in the program during which it saves."""


_OF_KERAS = _Saver("save_freq", "epoch", "batches", "fit")
_SAVING = {
    "ModelCheckpoint": _OF_KERAS,
    "BackupAndRestore": _OF_KERAS,
    "CheckpointManagerOptions": _Saver("save_interval_steps", 1000, "steps", "save"),
}
_SELDOM = 500
"""From here on less often is not the first thing to do."""
_VALIDATES = "validation_data"
_ROWS, _EACH = 1000, 5


class OftenSetting(NamedTuple):
    """One call."""

    words: str
    """`ModelCheckpoint (train.py:32) saves after every 5 batches`, and what helps."""
    called: str
    """The call that has the time: `fit`."""
    before: str
    after: str


def saved_often(
    files: Sequence[ParsedFile], parsed: ParsedFile, line: int
) -> OftenSetting | None:
    """The only call of the files that makes what saves in a training loop, where it
    says that this comes after a few steps, and the line is of that loop.
    """
    found = [each for file in files for each in _savers(file)]
    only = found[0] if len(found) == 1 else None
    called = {last_name(call) for call in calls_in(parsed.tree) if covers(call, line)}
    return only if only is not None and only.called in called else None


def _savers(parsed: ParsedFile) -> Iterator[OftenSetting | None]:
    for call in calls_in(parsed.tree):
        name = last_name(call)
        if name not in _SAVING or not parsed.names.called(call).path:
            continue
        argument, seldom, counts, by = _SAVING[name]
        word = _keyword(call, argument)
        scopes = [parsed.tree, *functions_around(parsed.tree, call.lineno)][::-1]
        every = None if word is None else whole_number(word.value, *scopes)
        if word is None or every is None or every > _SELDOM:
            yield None
            continue
        after = copy.deepcopy(call)
        changed = _keyword(after, argument)
        assert changed is not None
        changed.value = ast.Constant(seldom)
        unit = counts if every > 1 else counts.removesuffix("es").removesuffix("s")
        yield OftenSetting(
            f"{name} ({parsed.file}:{call.lineno}) saves after every "
            f"{f'{every} ' if every > 1 else ''}{unit} "
            f"(`{argument}={ast.unparse(word.value)}`). Save less often"
            f"{_weights_alone(name, call)}.",
            by,
            cut(ast.unparse(call), _WIDEST),
            cut(ast.unparse(after), _WIDEST),
        )


def _weights_alone(name: str, call: ast.Call) -> str:
    if name != "ModelCheckpoint" or _keyword(call, "save_weights_only"):
        return ""
    return "; weights alone (save_weights_only=True) take less"


def validated_on(parsed: ParsedFile, line: int) -> OftenSetting | None:
    """The call of fit on a line that is given data to evaluate on after each epoch, and
    not how often or how many; None for others.
    """
    for call in calls_in(parsed.tree):
        word = _keyword(call, _VALIDATES)
        if last_name(call) != "fit" or word is None or not covers(call, line):
            continue
        if _keyword(call, "validation_freq") or _keyword(call, "validation_steps"):
            return None
        value = cut(ast.unparse(word.value), _WIDEST)
        return OftenSetting(
            f"fit ({parsed.file}:{call.lineno}) evaluates on all of `{value}` after "
            "each epoch. Do it less often, or on fewer rows, in larger batches.",
            "fit",
            f"{_head(call)}(..., validation_data={value})",
            f"{_head(call)}(..., validation_data={value}, validation_freq={_EACH})\n"
            f"{_of_fewer(call, word.value)}",
        )
    return None


def _head(call: ast.Call) -> str:
    return ast.unparse(call.func)


def _of_fewer(call: ast.Call, data: ast.expr) -> str:
    """The same on a part of the data: of arrays that are named, else of a dataset."""
    if not isinstance(data, ast.Tuple):
        return f"# or on fewer: {_head(call)}(..., validation_steps=20)"
    if not all(isinstance(each, ast.Name | ast.Attribute) for each in data.elts):
        return f"# or on the first {_ROWS:,} rows"
    parts = ", ".join(f"{ast.unparse(each)}[:{_ROWS}]" for each in data.elts)
    return f"# or on fewer rows: validation_data=({parts})"


def _keyword(call: ast.Call, name: str) -> ast.keyword | None:
    return next((word for word in call.keywords if word.arg == name), None)
