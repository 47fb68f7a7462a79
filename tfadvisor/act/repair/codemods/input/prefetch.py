"""A prefetch at the end of the pipeline that the loop or `fit` reads, so that batches are made while steps run.

https://www.tensorflow.org/guide/data_performance#prefetching
"""

from __future__ import annotations

from typing import Any

import libcst as cst

from tfadvisor.act.repair.hits import Hit, Place
from tfadvisor.act.repair.reading.pipelines import is_pipeline, links_of, stages
from tfadvisor.act.repair.reading.program import Change, Program, called, expression, pairs, text_of

_READERS = ("iter", "fit", "experimental_distribute_dataset", "distribute_datasets_from_function", "as_numpy_iterator")
_OPTIONS = ("with_options",)


def hits(program: Program, _place: Place) -> list[Hit]:
    """One for each pipeline that something reads and that ends without a prefetch."""
    found: dict[Any, Hit] = {}
    for read in _read(program):
        ends = [one for one in stages(program, read) if one not in _OPTIONS]
        if not is_pipeline(program, read) or "prefetch" in ends[:1]:
            continue
        place = _last_value(program, read)
        first, last = program.lines(place)
        changes: dict[cst.CSTNode, Change] = {place: _prefetched}
        found[place] = Hit(first, last, "prefetch at the end of the pipeline", program.changed(changes))
    return list(found.values())


def _read(program: Program) -> list[Any]:
    """Expressions that a loop, an iterator or `fit` reads."""
    found = []
    for loop in program.all(cst.For):
        over = loop.iter
        enumerated = isinstance(over, cst.Call) and called(over) in ("enumerate", "zip") and over.args
        found += [arg.value for arg in over.args] if enumerated else [over]
    for call in program.calls(*_READERS):
        if called(call) == "as_numpy_iterator":
            found.append(call.func.value)
        elif call.args and not call.args[0].star:
            found.append(call.args[0].value)
    return found


def _last_value(program: Program, node: Any) -> Any:
    """Of a name, what it was last given: the change belongs where the pipeline is built."""
    if not isinstance(node, cst.Name):
        return node
    at = program.lines(node)[0]
    values = [
        value for target, value in pairs(program) if text_of(target) == node.value and program.lines(value)[0] < at
    ]
    return values[-1] if values and links_of(values[-1]) else node


def _prefetched(node: Any) -> Any:
    return cst.Call(cst.Attribute(node, cst.Name("prefetch")), [cst.Arg(expression("tf.data.AUTOTUNE"))])
