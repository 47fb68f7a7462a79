"""Python that an input pipeline runs on its own threads, by samples of these."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import PurePath
from typing import TYPE_CHECKING

import numpy as np

from tfadvisor.causes.account import PipelinePython
from tfadvisor.causes.own_lines import innermost_own, own_lines
from tfadvisor.causes.sampled_stacks import NOBODY, Sampled, Stacks, sampled_of
from tfadvisor.trace.samples import Samples

if TYPE_CHECKING:
    from tfadvisor.arrays import Int64Array

_RUNS = re.compile(
    r"tensorflow/python/ops/script_ops\.py|keras/.*/(?:py_dataset_adapter|data_utils)\.py"
)
"""Files of TensorFlow and Keras that call the program's Python for a pipeline."""
_ADAPTER = "py_dataset_adapter.py"
_WAITS = frozenset("threading.py queue.py connection.py selectors.py pool.py".split())
"""Files in which a thread that has nothing to do waits."""
_FRAMEWORKS = frozenset({"tensorflow", "keras", "tf_keras"})
_INSTALLED = re.compile(r"(?:site|dist)-packages/([^/]+)/")
_MOSTLY = 0.5
_FEWEST = 20
"""Samples, without which nothing is said."""


def pipeline_python(
    stacks: Stacks, samples: Samples, since_us: int
) -> PipelinePython | None:
    """since_us: the first step. None where no pipeline was seen to run Python."""
    whole = _of_other_threads(samples)
    asks = np.array([_asks(stacks, row) for row in range(len(stacks.depth))], np.bool_)
    mine = whole.only((whole.at_us >= since_us) & asks[whole.stack])
    if mine.seen.sum() < _FEWEST:
        return None
    total = int(mine.us.sum())
    innermost = innermost_own(stacks, mine)
    is_own = innermost != NOBODY
    return PipelinePython(
        seconds=total / 1e6,
        lines=own_lines(stacks, mine, total),
        own=float(mine.us[is_own].sum() / total),
        around=_around(stacks, mine.only(~is_own)) / total,
        library=_library(stacks, mine, innermost),
        adapter=_adapter(stacks, mine),
    )


def _of_other_threads(samples: Samples) -> Sampled:
    """One after the other; what is missing between two samples of a thread is none."""
    threads = range(1, max(len(samples.threads), 2))
    parts = [sampled_of(samples, thread) for thread in threads]
    seen = np.concatenate([part.seen for part in parts])
    return Sampled(
        number=np.concatenate([part.number for part in parts]),
        at_us=np.concatenate([part.at_us for part in parts]),
        us=seen * max(samples.every_ns // 1000, 1),
        seen=seen,
        stack=np.concatenate([part.stack for part in parts]),
        is_pause=np.concatenate([part.is_pause for part in parts]),
    )


def _asks(stacks: Stacks, row: int) -> bool:
    """Whether a pipeline runs Python in a stack, and does not wait in it."""
    calls = [stacks.frames[number] for number in _calls(stacks, row)]
    if not calls or PurePath(calls[-1].file).name in _WAITS:
        return False
    return any(_RUNS.search(call.file.replace("\\", "/")) for call in calls)


def _calls(stacks: Stacks, row: int) -> list[int]:
    return [int(number) for number in stacks.frame[row, : stacks.depth[row]]]


def _around(stacks: Stacks, sampled: Sampled) -> float:
    """us in which the innermost frame is the framework's."""
    packages = [_package(stacks, stack) for stack in range(len(stacks.depth))]
    is_framework = np.array([package in _FRAMEWORKS for package in packages], np.bool_)
    return float(sampled.us[is_framework[sampled.stack]].sum())


def _package(stacks: Stacks, row: int) -> str:
    """The installed one of a stack's innermost frame, "" for none."""
    calls = _calls(stacks, row)
    if not calls:
        return ""
    found = _INSTALLED.search(stacks.frames[calls[-1]].file.replace("\\", "/"))
    return found[1] if found else ""


def _library(stacks: Stacks, sampled: Sampled, innermost: Int64Array) -> str:
    """In which the innermost frames of the first line lie for the most part."""
    own = innermost != NOBODY
    if not own.any():
        return ""
    us = np.bincount(innermost[own], weights=sampled.us[own])
    first = sampled.only(innermost == us.argmax())
    time: Counter[str] = Counter()
    for stack, part in zip(first.stack.tolist(), first.us.tolist(), strict=True):
        time[_package(stacks, stack)] += part
    name, most = time.most_common(1)[0]
    return name if most >= _MOSTLY * sum(time.values()) else ""


def _adapter(stacks: Stacks, sampled: Sampled) -> str:
    for stack in dict.fromkeys(sampled.stack.tolist()):
        for number in _calls(stacks, stack):
            frame = stacks.frames[number]
            if PurePath(frame.file).name == _ADAPTER:
                return f"{_ADAPTER} {frame.function}"
    return ""
