"""A penalty on a whole table of embeddings becomes one on the rows that the batch looks up.

https://keras.io/api/layers/core_layers/embedding/
"""

from __future__ import annotations

from typing import Any

import libcst as cst

from tfadvisor.repair.hits import Hit, Place
from tfadvisor.repair.reading.program import Change, Program, called, dotted, instead, text_of, walk

_LOOKUPS = ("embedding_lookup", "gather")
_OF_TABLE, _OF_ROWS = "embeddings_regularizer", "activity_regularizer"


def hits(program: Program, _place: Place) -> list[Hit]:
    """One for all layers that are given such a penalty, and one for each `l2_loss` of a table."""
    found = []
    changes: dict[cst.CSTNode, Change] = {}
    for arg in program.all(cst.Arg):
        if arg.keyword is not None and arg.keyword.value == _OF_TABLE and text_of(arg.value) != "None":
            changes[arg.keyword] = lambda _: cst.Name(_OF_ROWS)
    for one in program.all(cst.DictElement):
        if text_of(one.key).strip("\"'") == _OF_TABLE:
            changes[one.key] = instead(f'"{_OF_ROWS}"')
    if changes and _OF_ROWS not in program.source:
        first, last = program.lines(next(iter(changes)))
        found.append(Hit(first, last, "a penalty on the rows of the batch", program.changed(changes)))
    for call in program.calls("l2_loss"):
        rows = _rows_of(program, call)
        if rows:
            first, last = program.lines(call)
            source = program.changed({call.args[0].value: instead(rows)})
            found.append(Hit(first, last, f"a penalty on {rows} instead of the whole table", source))
    return found


def _rows_of(program: Program, call: Any) -> str:
    """The one name that gets rows of this table in the same function, before."""
    table = call.args[0].value if len(call.args) == 1 else None
    function = program.inside(call, cst.FunctionDef)
    if table is None or function is None or not dotted(table):
        return ""
    found = []
    for one in walk(function.body):
        if isinstance(one, cst.Assign) and isinstance(one.value, cst.Call) and called(one.value) in _LOOKUPS:
            looked_up = one.value.args[0].value if one.value.args else None
            behind = program.lines(one)[0] < program.lines(call)[0]
            if looked_up is not None and text_of(looked_up) == text_of(table) and behind:
                found.append(one.targets[0].target)
    return str(found[0].value) if len(found) == 1 and isinstance(found[0], cst.Name) else ""
