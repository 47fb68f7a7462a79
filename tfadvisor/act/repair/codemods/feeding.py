"""What feeds the step: tf.data pipelines."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from tfadvisor.act.repair.hits import FaultPlace, Hit
from tfadvisor.act.repair.reading.pipelines import (
    assignments,
    carrier,
    is_pipeline,
    links_of,
    pipeline_calls,
    stages,
)
from tfadvisor.act.repair.reading.program import (
    Program,
    called,
    dotted,
    keyword,
    positional,
    text_of,
)
from tfadvisor.tallies import listed

_AUTOTUNE = "tf.data.AUTOTUNE"
_READERS = (
    "iter",
    "fit",
    "experimental_distribute_dataset",
    "distribute_datasets_from_function",
    "as_numpy_iterator",
)
_OPTIONS = ("with_options",)
_HAND_ON = ("enumerate", "zip")
"""Calls that hand on the items of what they are given."""
_TAKES_A_METHOD = (ast.Call, ast.Name, ast.Attribute, ast.Subscript)


def prefetch(
    program: Program,
    _place: FaultPlace,
) -> list[Hit]:
    """A prefetch at the end of the pipeline that the loop or `fit` reads, so that
    batches are made while steps run.

    One for each pipeline that something reads and that ends without a prefetch.
    https://www.tensorflow.org/guide/data_performance#prefetching
    """
    unfetched = [
        pipeline for pipeline in _read(program) if _lacks_prefetch(program, pipeline)
    ]
    places = dict.fromkeys(_last_value(program, pipeline) for pipeline in unfetched)
    found = []
    for place in places:
        if isinstance(place, _TAKES_A_METHOD):
            edit = program.behind(place, f".prefetch({_AUTOTUNE})")
            did = "prefetch at the end of the pipeline"
            found.append(program.hit(place, did, edit))
    return found


def _lacks_prefetch(program: Program, read: Any) -> bool:
    if not is_pipeline(program, read):
        return False
    named = [stage for stage in stages(program, read) if stage not in _OPTIONS]
    return named[:1] != ["prefetch"]


def _read(program: Program) -> list[Any]:
    """Expressions that a loop, an iterator or `fit` reads."""
    found: list[Any] = []
    for loop in program.all(ast.For):
        over = loop.iter
        is_handed_on = isinstance(over, ast.Call) and called(over) in _HAND_ON
        found += over.args if is_handed_on and over.args else [over]
    for call in program.calls(*_READERS):
        if called(call) == "as_numpy_iterator":
            found.append(call.func.value)
        else:
            found += positional(call)[:1]
    return found


def _last_value(program: Program, node: Any) -> Any:
    """Of a name, what it was last given: the change belongs where the pipeline is
    built.
    """
    if not isinstance(node, ast.Name):
        return node
    given = assignments(program, node.id)
    before = [value for value in given if value.lineno < node.lineno]
    return before[-1] if before and links_of(before[-1]) else node


_BEFORE_CALLS = {"map": 1, "interleave": 3}
"""Positional arguments before num_parallel_calls."""


def parallel_calls(
    program: Program,
    _place: FaultPlace,
) -> list[Hit]:
    """`num_parallel_calls` for maps and interleaves that run one call after another.

    One for each pipeline, with all of its stages that could run in parallel.
    https://www.tensorflow.org/guide/data_performance#parallelizing_data_transformation
    """
    stages_of = pipeline_calls(program, "map", "interleave")
    sequential = [stage for stage in stages_of if _is_sequential(program, stage)]
    by_pipeline = listed((carrier(program, call), call) for call in sequential)
    return [_in_parallel(program, calls) for calls in by_pipeline.values()]


def _in_parallel(
    program: Program,
    calls: Sequence[Any],
) -> Hit:
    edits = [
        program.with_keyword(call, "num_parallel_calls", _AUTOTUNE) for call in calls
    ]
    names = " and ".join(dict.fromkeys(map(called, calls)))
    hit = program.hit(
        calls[0],
        f"{names} in parallel",
        *edits,
    )
    return replace(
        hit,
        last=max(program.lines(call)[1] for call in calls),
    )


def _is_sequential(program: Program, call: Any) -> bool:
    given = keyword(call, "num_parallel_calls")
    if given is None:
        return len(positional(call)) <= _BEFORE_CALLS[called(call)]
    values = assignments(program, dotted(given.value))
    value = values[-1] if values else given.value
    return text_of(value) in ("None", "1")
