"""What feeds the step: tf.data pipelines."""

from __future__ import annotations

import ast
from typing import Any

from msgspec.structs import replace

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
from tfadvisor.act.repair.registry import Hit, Place
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
_TAKES_A_METHOD = (ast.Call, ast.Name, ast.Attribute, ast.Subscript)


def prefetch(program: Program, _place: Place) -> list[Hit]:
    """A prefetch at the end of the pipeline that the loop or `fit` reads, so that
    batches are made while steps run.

    One for each pipeline that something reads and that ends without a prefetch.
    https://www.tensorflow.org/guide/data_performance#prefetching
    """
    places = dict.fromkeys(
        _last_value(program, read)
        for read in _read(program)
        if is_pipeline(program, read)
        and [one for one in stages(program, read) if one not in _OPTIONS][:1]
        != ["prefetch"]
    )
    return [
        program.hit(
            place,
            "prefetch at the end of the pipeline",
            program.behind(place, f".prefetch({_AUTOTUNE})"),
        )
        for place in places
        if isinstance(place, _TAKES_A_METHOD)
    ]


def _read(program: Program) -> list[Any]:
    """Expressions that a loop, an iterator or `fit` reads."""
    found: list[Any] = []
    for loop in program.all(ast.For):
        over = loop.iter
        enumerated = (
            isinstance(over, ast.Call)
            and called(over) in ("enumerate", "zip")
            and over.args
        )
        found += over.args if enumerated else [over]
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
    values = [
        value for value in assignments(program, node.id) if value.lineno < node.lineno
    ]
    return values[-1] if values and links_of(values[-1]) else node


_BEFORE_CALLS = {"map": 1, "interleave": 3}
"""Positional arguments before num_parallel_calls."""


def parallel_calls(program: Program, _place: Place) -> list[Hit]:
    """`num_parallel_calls` for maps and interleaves that run one call after another.

    One for each pipeline, with all of its stages that could run in parallel.
    https://www.tensorflow.org/guide/data_performance#parallelizing_data_transformation
    """
    sequential = (
        call
        for call in pipeline_calls(program, "map", "interleave")
        if _is_sequential(program, call)
    )
    grouped = listed((carrier(program, call), call) for call in sequential)
    found = []
    for calls in grouped.values():
        edits = [
            program.with_keyword(call, "num_parallel_calls", _AUTOTUNE)
            for call in calls
        ]
        names = " and ".join(dict.fromkeys(map(called, calls)))
        last = max(program.lines(call)[1] for call in calls)
        found.append(
            replace(program.hit(calls[0], f"{names} in parallel", *edits), last=last)
        )
    return found


def _is_sequential(program: Program, call: Any) -> bool:
    given = keyword(call, "num_parallel_calls")
    if given is None:
        return len(positional(call)) <= _BEFORE_CALLS[called(call)]
    values = [given.value, *assignments(program, dotted(given.value))[-1:]]
    return text_of(values[-1]) in ("None", "1")
