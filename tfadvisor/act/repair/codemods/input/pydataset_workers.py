"""Workers for a `keras.utils.PyDataset`, which else makes its batches one after another.

https://keras.io/api/utils/python_utils/#pydataset-class
"""

from __future__ import annotations

from functools import partial
from typing import Any

import libcst as cst

from tfadvisor.act.repair.hits import Hit, Place
from tfadvisor.act.repair.reading.program import Program, expression, text_of, walk, with_keyword

_WORKERS = 4
"""Where the finding prescribes no number."""


def hits(program: Program, place: Place) -> list[Hit]:
    """One for each class of batches whose `super().__init__` sets no workers."""
    found, workers = [], place.number(r"\bworkers=(\d+)", _WORKERS)
    for one in program.all(cst.ClassDef):
        if not any(text_of(base.value).split(".")[-1] == "PyDataset" for base in one.bases):
            continue
        for call in (node for node in walk(one.body) if isinstance(node, cst.Call)):
            if text_of(call.func) != "super().__init__" or "workers" in text_of(call):
                continue
            first, last = program.lines(call)
            did = f"{workers} workers for {one.name.value}"
            source = program.changed({call: partial(_with_workers, workers=workers)})
            found.append(Hit(first, last, did, source, (one.name.value, "__getitem__")))
    return found


def _with_workers(call: Any, workers: str) -> Any:
    """Before `**kwargs`, so that a caller may still say otherwise."""
    given = next((arg for arg in call.args if arg.star == "**"), None)
    if given is None:
        return with_keyword(call, "workers", workers)
    merged = expression(f'{{"workers": {workers}, **{text_of(given.value)}}}')
    return call.with_changes(args=[arg.with_changes(value=merged) if arg is given else arg for arg in call.args])
