"""What feeds the step: tf.data pipelines, loaders of PyTorch and Grain, Keras data sets."""

from __future__ import annotations

from functools import partial
from typing import Any

import libcst as cst

from tfadvisor.act.repair.reading.pipelines import (
    assignments,
    carrier,
    is_pipeline,
    is_random,
    links_of,
    pipeline_calls,
    stages,
)
from tfadvisor.act.repair.reading.program import (
    Program,
    called,
    expression,
    keyword,
    pairs,
    positional,
    text_of,
    walk,
    with_default,
    with_keyword,
)
from tfadvisor.act.repair.registry import Hit, Place

_AUTOTUNE = "tf.data.AUTOTUNE"
_READERS = ("iter", "fit", "experimental_distribute_dataset", "distribute_datasets_from_function", "as_numpy_iterator")
_OPTIONS = ("with_options",)


def prefetch(program: Program, _place: Place) -> list[Hit]:
    """A prefetch at the end of the pipeline that the loop or `fit` reads, so that batches are made while steps run.

    One for each pipeline that something reads and that ends without a prefetch.
    https://www.tensorflow.org/guide/data_performance#prefetching
    """
    found: dict[Any, Hit] = {}
    for read in _read(program):
        ends = [one for one in stages(program, read) if one not in _OPTIONS]
        if not is_pipeline(program, read) or "prefetch" in ends[:1]:
            continue
        place = _last_value(program, read)
        found[place] = program.hit(place, "prefetch at the end of the pipeline", {place: _prefetched})
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
    return cst.Call(cst.Attribute(node, cst.Name("prefetch")), [cst.Arg(expression(_AUTOTUNE))])


_BEFORE_CALLS = {"map": 1, "interleave": 3}
"""Positional arguments before num_parallel_calls."""


def parallel_calls(program: Program, _place: Place) -> list[Hit]:
    """`num_parallel_calls` for maps and interleaves that run one call after another.

    One for each pipeline, with all of its stages that could run in parallel.
    https://www.tensorflow.org/guide/data_performance#parallelizing_data_transformation
    """
    grouped: dict[tuple[Any, str], list[Any]] = {}
    for call in pipeline_calls(program, "map", "interleave"):
        if _is_sequential(program, call):
            grouped.setdefault(carrier(program, call), []).append(call)
    found = []
    for calls in grouped.values():
        first, last = min(program.lines(call)[0] for call in calls), max(program.lines(call)[1] for call in calls)
        changes = {call: lambda now: with_keyword(now, "num_parallel_calls", _AUTOTUNE) for call in calls}
        names = " and ".join(dict.fromkeys(called(call) for call in calls))
        found.append(Hit(first, last, f"{names} in parallel", program.changed(changes)))
    return found


def _is_sequential(program: Program, call: Any) -> bool:
    given = keyword(call, "num_parallel_calls")
    if given is None:
        return len(positional(call)) <= _BEFORE_CALLS[called(call)]
    values = [given.value]
    if isinstance(given.value, cst.Name):
        values += assignments(program, str(given.value.value))[-1:]
    return text_of(values[-1]) in ("None", "1")


_FILE_READERS = ("TFRecordDataset", "TextLineDataset")
_BEFORE_READS = 3


def parallel_reads(program: Program, _place: Place) -> list[Hit]:
    """`num_parallel_reads` for record and text files that one reader opens one after another.

    One for each reader of several files.
    https://www.tensorflow.org/api_docs/python/tf/data/TFRecordDataset
    """
    found = []
    for call in program.calls(*_FILE_READERS):
        if keyword(call, "num_parallel_reads") or not call.args or len(positional(call)) > _BEFORE_READS:
            continue
        changes = {call: lambda now: with_keyword(now, "num_parallel_reads", _AUTOTUNE)}
        found.append(program.hit(call, f"{called(call)} reads several files at once", changes))
    return found


def cache(program: Program, _place: Place) -> list[Hit]:
    """`.cache()` behind the last stage that makes the same elements in each epoch, before any repeat.

    One for each pipeline without a cache.
    Not behind a shuffle, whose order it would freeze, nor a repeat, behind which it is never full, nor anything random.
    https://www.tensorflow.org/guide/data_performance#caching
    """
    if program.calls("cache"):
        return []
    last_makers: dict[tuple[Any, str], Any] = {}
    makers = [call for call in program.calls("from_generator") if "Dataset" in text_of(call.func)]
    for call in sorted([*makers, *pipeline_calls(program, "map", "interleave")], key=program.end):
        last_makers[carrier(program, call)] = call
    found = []
    for call in last_makers.values():
        mixed = {"shuffle", "repeat"} & set(stages(program, call)[1:])
        if not mixed and (called(call) == "from_generator" or not is_random(program, call)):
            found.append(program.hit(call, f"cache behind {called(call)}", {call: _cached}))
    return found


def _cached(node: Any) -> Any:
    return cst.Call(cst.Attribute(node, cst.Name("cache")))


_WORKERS = 4
"""Where the finding prescribes no number."""


def dataloader_workers(program: Program, place: Place) -> list[Hit]:
    """Worker processes for a loader of PyTorch or Grain that loads in the training process.

    One for each loader without workers.
    https://docs.pytorch.org/docs/stable/data.html#multi-process-data-loading
    """
    found = []
    for call in program.calls("DataLoader"):
        name = "worker_count" if program.imports("grain") else "num_workers"
        given = keyword(call, name)
        if given is not None and text_of(given.value) != "0":
            continue
        workers = place.number(rf"\b{name}=(\d+)", _WORKERS)
        found.append(program.hit(call, f"{name}={workers}", {call: partial(_loaded_by, name=name, workers=workers)}))
    return found


def _loaded_by(call: Any, name: str, workers: str) -> Any:
    call = with_keyword(call, name, workers)
    return with_keyword(call, "persistent_workers", "True") if name == "num_workers" else call


def pydataset_workers(program: Program, place: Place) -> list[Hit]:
    """Workers for a `keras.utils.PyDataset`, which else makes its batches one after another.

    One for each class of batches whose `super().__init__` sets no workers.
    https://keras.io/api/utils/python_utils/#pydataset-class
    """
    found, workers = [], place.number(r"\bworkers=(\d+)", _WORKERS)
    for one in program.all(cst.ClassDef):
        if not any(text_of(base.value).split(".")[-1] == "PyDataset" for base in one.bases):
            continue
        for call in (node for node in walk(one.body) if isinstance(node, cst.Call)):
            if text_of(call.func) != "super().__init__" or "workers" in text_of(call):
                continue
            did = f"{workers} workers for {one.name.value}"
            changes = {call: partial(with_default, name="workers", value=workers)}
            found.append(program.hit(call, did, changes, (one.name.value, "__getitem__")))
    return found
