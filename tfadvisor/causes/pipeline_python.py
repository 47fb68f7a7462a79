"""Python that an input pipeline runs on its own threads, by samples of these."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import TYPE_CHECKING

import numpy as np

from tfadvisor.arrays import BoolArray, Int64Array, distinct, falses
from tfadvisor.causes.account import PipelinePython
from tfadvisor.causes.own_calls import own_calls
from tfadvisor.causes.own_lines import innermost_own, own_lines
from tfadvisor.causes.sampled_stacks import NOBODY, Frame, Sampled, Stacks
from tfadvisor.trace.samples import Samples

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tfadvisor.arrays import BoolArray, Int64Array

_RUNS = re.compile(
    r"tensorflow/python/ops/script_ops\.py"
    r"|keras/(?:\w+/){1,6}(?:py_dataset_adapter|data_utils)\.py"
)
"""Files of TensorFlow and Keras that call the program's Python for a pipeline."""
_ADAPTER = "py_dataset_adapter.py"
_OF_GENERATORS = "generator_data_adapter.py"
"""Of Keras, which wants whole batches of a generator."""
_WAITS = frozenset("threading.py queue.py connection.py selectors.py pool.py".split())
"""Files in which a thread that has nothing to do waits."""
_FRAMEWORKS = ("tensorflow", "keras", "tf_keras")
_INSTALLED = re.compile(r"(?:site|dist)-packages/([^/]+)/")
_MOSTLY = 0.5
_FEWEST = 20
"""Samples, without which nothing is said."""


def pipeline_python(
    stacks: Stacks,
    samples: Samples,
    since_us: int,
) -> PipelinePython | None:
    """since_us: the first step. None where no pipeline was seen to run Python."""
    whole = _of_other_threads(samples)
    asks = _asks(stacks)
    mine = whole.only((whole.at_us >= since_us) & asks[whole.stack])
    if mine.seen.sum() < _FEWEST:
        return None
    total = int(mine.us.sum())
    lines = innermost_own(stacks, mine)
    is_own = lines != NOBODY
    packages = np.array([*map(_package, stacks.frames), ""])
    package = packages[stacks.innermost[mine.stack]]
    is_around = ~is_own & np.isin(package, _FRAMEWORKS)
    return PipelinePython(
        seconds=total / 1e6,
        lines=own_lines(stacks, mine, total),
        own=float(mine.us[is_own].sum() / total),
        around=float(mine.us[is_around].sum() / total),
        library=_library(mine.us[is_own], lines[is_own], package[is_own]),
        adapter=_adapter(stacks, mine, _ADAPTER),
        generator=_adapter(stacks, mine, _OF_GENERATORS),
        calls=own_calls(stacks, mine, mine),
    )


def _of_other_threads(samples: Samples) -> Sampled:
    """What is missing between two samples of a thread is none."""
    rows = [row for row in samples.samples if row[1] != 0]
    at, _, stack, seen = np.array(rows, np.int64).reshape(-1, 4).T
    return Sampled(
        number=np.arange(len(at), dtype=np.int64),
        at_us=at,
        us=seen * max(samples.every_ns // 1000, 1),
        seen=seen,
        stack=stack,
        is_pause=falses(at),
    )


def _asks(stacks: Stacks) -> BoolArray:
    """Of each stack whether a pipeline runs Python in it, and does not wait."""
    runs = stacks.of_frames(
        _RUNS.search(_path(call)) is not None for call in stacks.frames
    )
    waits = stacks.of_frames(
        PurePath(call.file).name in _WAITS for call in stacks.frames
    )
    is_run = (runs[stacks.frame] > 0).any(axis=1)
    return np.asarray(is_run & ~(waits[stacks.innermost] > 0))


def _path(call: Frame) -> str:
    return call.file.replace("\\", "/")


def _package(call: Frame) -> str:
    """The installed one that a function is of, "" for none."""
    found = _INSTALLED.search(_path(call))
    return found[1] if found else ""


def _library(
    us: Int64Array,
    lines: Int64Array,
    package: NDArray[np.str_],
) -> str:
    """In which the innermost frames of the first line lie for the most part."""
    if not len(lines):
        return ""
    first = lines == np.bincount(lines, weights=us).argmax()
    names, which = np.unique(package[first], return_inverse=True)
    time = np.bincount(which, weights=us[first])
    best = int(time.argmax())
    return str(names[best]) if time[best] >= _MOSTLY * time.sum() else ""


def _adapter(
    stacks: Stacks,
    sampled: Sampled,
    file: str,
) -> str:
    """The first function of a file of Keras that is met; "" for none."""
    seen = stacks.frame[distinct(sampled.stack)]
    for key in distinct(seen[seen != NOBODY]).tolist():
        call = stacks.frames[key]
        if PurePath(call.file).name == file:
            return f"{file} {call.function}"
    return ""
