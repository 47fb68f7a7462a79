"""`.map(f).batch(n)` becomes `.batch(n).map(f)`: one call a batch instead of one an example.

Right where f works on a batch as on an example. Functions whose text shows that they do not are left alone.
https://www.tensorflow.org/guide/data_performance#vectorizing_mapping
"""

from __future__ import annotations

import re
from typing import Any

import libcst as cst

from tfadvisor.act.repair.hits import Hit, Place
from tfadvisor.act.repair.reading.pipelines import functions_of_stage, pipeline_calls, text_reached
from tfadvisor.act.repair.reading.program import Change, Program, called, instead, walk

_PER_EXAMPLE = re.compile(
    r"""\[\s*[^\]"'\w]|\[\s*\d|\[[^\]"'\[:]*:        # indices and slices of an example; names of columns are none
    |axis\s*=\s*(?!-1\b)|reshape|transpose|expand_dims|squeeze|perm\s*=|@|matmul|shape\(|\.shape
    |py_function|numpy_function|parse_single_sequence|decode_(?!csv|raw)|read_file|tf\.image\.|random|flatten|padded|ensure_shape
    |tf\.stack\((?![^()]*axis=-1)""",
    re.X,
)
_PARSE_ONE = "parse_single_example"
_LITERAL_LIST = re.compile(r"(?<=[(,=\s])\[[^\[\]]*\]")


def hits(program: Program, _place: Place) -> list[Hit]:
    """One for each map of single examples right before a batch."""
    found = []
    for batch in pipeline_calls(program, "batch"):
        mapped = batch.func.value
        if not isinstance(mapped, cst.Call) or called(mapped) != "map" or not isinstance(mapped.func, cst.Attribute):
            continue
        text = _LITERAL_LIST.sub("", text_reached(program, mapped))
        parsers = _parsers(program, mapped) if _PARSE_ONE in text else []
        if _PER_EXAMPLE.search(text) or (_PARSE_ONE in text and not parsers):
            continue
        first, last = program.lines(batch)
        changes: dict[cst.CSTNode, Change] = {one: instead("parse_example") for one in parsers}
        source = program.changed({**changes, batch: _swapped})
        found.append(Hit(first, last, "batch before map", source))
    return found


def _parsers(program: Program, mapped: Any) -> list[Any]:
    """The names to change where single examples are parsed; none where other stages run the same function."""
    found = []
    functions = functions_of_stage(program, mapped)
    for function in functions:
        name = function.name.value if isinstance(function, cst.FunctionDef) else ""
        used = [
            one for one in program.all(cst.Name) if one.value == name and one is not getattr(function, "name", None)
        ]
        if name and len(used) != 1:
            return []
        parses = [one for one in walk(function) if isinstance(one, cst.Call) and called(one) == _PARSE_ONE]
        found += [one.func.attr for one in parses if isinstance(one.func, cst.Attribute)]
    return found if len(functions) == 1 and text_reached(program, mapped).count(_PARSE_ONE) == len(found) else []


def _swapped(batch: Any) -> Any:
    """The batch takes what the map took, the map takes the batch."""
    mapped = batch.func.value
    inner = batch.with_changes(func=batch.func.with_changes(value=mapped.func.value))
    return mapped.with_changes(func=mapped.func.with_changes(value=inner))
