"""What feeds the step: tf.data pipelines, loaders of PyTorch and Grain, Keras data sets."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

import libcst as cst

from tfadvisor.act.repair.reading.pipelines import (
    assignments,
    carrier,
    functions_of_stage,
    is_pipeline,
    is_random,
    links_of,
    pipeline_calls,
    stages,
    text_reached,
)
from tfadvisor.act.repair.reading.program import (
    Change,
    Program,
    called,
    expression,
    instead,
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


_PER_EXAMPLE = re.compile(
    r"""\[\s*[^\]"'\w]|\[\s*\d|\[[^\]"'\[:]*:        # indices and slices of an example; names of columns are none
    |axis\s*=\s*(?!-1\b)|reshape|transpose|expand_dims|squeeze|perm\s*=|@|matmul|shape\(|\.shape
    |py_function|numpy_function|parse_single_sequence|decode_(?!csv|raw)|read_file|tf\.image\.|random|flatten|padded|ensure_shape
    |tf\.stack\((?![^()]*axis=-1)""",
    re.X,
)
_PARSE_ONE = "parse_single_example"
_LITERAL_LIST = re.compile(r"(?<=[(,=\s])\[[^\[\]]*\]")


def batch_before_map(program: Program, _place: Place) -> list[Hit]:
    """`.map(f).batch(n)` becomes `.batch(n).map(f)`: one call a batch instead of one an example.

    One for each map of single examples right before a batch.
    Right where f works on a batch as on an example. Functions whose text shows that they do not are left alone.
    https://www.tensorflow.org/guide/data_performance#vectorizing_mapping
    """
    found = []
    for batch in pipeline_calls(program, "batch"):
        mapped = batch.func.value
        if not isinstance(mapped, cst.Call) or called(mapped) != "map" or not isinstance(mapped.func, cst.Attribute):
            continue
        text = _LITERAL_LIST.sub("", text_reached(program, mapped))
        parsers = _parsers(program, mapped) if _PARSE_ONE in text else []
        if _PER_EXAMPLE.search(text) or (_PARSE_ONE in text and not parsers):
            continue
        changes: dict[cst.CSTNode, Change] = {one: instead("parse_example") for one in parsers}
        found.append(program.hit(batch, "batch before map", {**changes, batch: _before_its_map}))
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


def _before_its_map(batch: Any) -> Any:
    """The batch takes what the map took, the map takes the batch."""
    mapped = batch.func.value
    inner = batch.with_changes(func=batch.func.with_changes(value=mapped.func.value))
    return mapped.with_changes(func=mapped.func.with_changes(value=inner))


def shuffle_before_map(program: Program, _place: Place) -> list[Hit]:
    """`.map(f).shuffle(n)` becomes `.shuffle(n).map(f)`: the buffer fills with what is cheap to make.

    One for each shuffle right behind a map.
    Shuffling picks by place, so the elements come in the same order. Only where f makes one element of one, without chance.
    https://www.tensorflow.org/guide/data_performance#reducing_memory_footprint
    """
    found = []
    for shuffle in pipeline_calls(program, "shuffle"):
        mapped = shuffle.func.value
        if not isinstance(mapped, cst.Call) or called(mapped) != "map" or is_random(program, mapped):
            continue
        found.append(program.hit(shuffle, "shuffle before map", {shuffle: _before_its_map}))
    return found


def cache(program: Program, _place: Place) -> list[Hit]:
    """`.cache()` behind the last stage that makes the same elements in each epoch, before any repeat.

    One for each pipeline without a cache.
    Not behind a shuffle, whose order it would freeze: a map behind one goes before it. Not behind anything random.
    https://www.tensorflow.org/guide/data_performance#caching
    """
    last_makers: dict[tuple[Any, str], Any] = {}
    makers = [call for call in program.calls("from_generator") if "Dataset" in text_of(call.func)]
    for call in sorted([*makers, *pipeline_calls(program, "map", "interleave")], key=program.end):
        last_makers[carrier(program, call)] = call
    if program.calls("cache"):
        return []
    found = []
    for call in last_makers.values():
        before = stages(program, call)[1:]
        if called(call) != "from_generator" and is_random(program, call):
            continue
        if "shuffle" in before:
            hit = _before_shuffle(program, call)
            found += [] if hit is None else [hit]
            continue
        changes = _with_repeat_behind(program, call) if "repeat" in before else {call: _cached}
        if changes:
            found.append(program.hit(call, f"cache behind {called(call)}", changes))
    return found


def _before_shuffle(program: Program, call: Any) -> Hit | None:
    """A map right behind shuffle and repeat goes before them, with its cache: elements keep their order."""
    mixed, node = [], call.func.value if isinstance(call.func, cst.Attribute) else None
    while isinstance(node, cst.Call) and called(node) in ("shuffle", "repeat") and isinstance(node.func, cst.Attribute):
        mixed.append(node)
        node = node.func.value
    if called(call) != "map" or not mixed or "shuffle" in stages(program, node) or "repeat" in stages(program, node):
        return None

    def moved(now: Any) -> Any:
        inner = now.func.value
        later = []
        for _ in mixed:
            later.append(inner)
            inner = inner.func.value
        inner = _cached(now.with_changes(func=now.func.with_changes(value=inner)))
        for one in reversed(later):
            inner = one.with_changes(func=one.func.with_changes(value=inner))
        return inner

    return program.hit(call, "map and cache before shuffle", {call: moved})


def _cached(node: Any) -> Any:
    return cst.Call(cst.Attribute(node, cst.Name("cache")))


def _with_repeat_behind(program: Program, call: Any) -> dict[cst.CSTNode, Change]:
    """A repeat without end comes behind the cache, which would never be full before it."""
    _, name = carrier(program, call)
    endless = [
        one
        for one in pipeline_calls(program, "repeat")
        if not one.args and program.lines(one)[0] <= program.lines(call)[1] and carrier(program, one)[1] == name
    ]
    if len(endless) != 1:
        return {}
    return {
        endless[0]: lambda now: now.func.value,
        call: lambda now: cst.Call(cst.Attribute(_cached(now), cst.Name("repeat"))),
    }


_WORKERS = 4
"""Where the finding prescribes no number."""
_THREADS, _BUFFER = "16", "64"
_FEW = ("0", "1")


def dataloader_workers(program: Program, place: Place) -> list[Hit]:
    """Worker processes for a loader of PyTorch or Grain that loads in the training process, threads for Grain that reads by one.

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
    return found or _reading_by_one(program)


def _reading_by_one(program: Program) -> list[Hit]:
    """Grain reads elements by several threads in their order, unless an option says otherwise."""
    found = []
    for call in program.calls("ReadOptions") if program.imports("grain") else ():
        threads = keyword(call, "num_threads")
        if threads is not None and text_of(threads.value) in _FEW:
            found.append(program.hit(call, f"num_threads={_THREADS}", {call: _with_threads}))
    return found


def _with_threads(call: Any) -> Any:
    call = with_keyword(call, "num_threads", _THREADS)
    buffer = keyword(call, "prefetch_buffer_size")
    small = buffer is not None and text_of(buffer.value).isdigit() and int(text_of(buffer.value)) < int(_BUFFER)
    return with_keyword(call, "prefetch_buffer_size", _BUFFER) if small else call


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
