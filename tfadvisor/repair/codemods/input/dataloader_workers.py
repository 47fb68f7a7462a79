"""Worker processes for a loader of PyTorch or Grain that loads in the training process.

https://docs.pytorch.org/docs/stable/data.html#multi-process-data-loading
"""

from __future__ import annotations

from functools import partial
from typing import Any

from tfadvisor.repair.hits import Hit, Place
from tfadvisor.repair.reading.arguments import keyword, with_keyword
from tfadvisor.repair.reading.program import Program, text_of

_WORKERS = "4"


def hits(program: Program, _place: Place) -> list[Hit]:
    """One for each loader without workers."""
    found = []
    for call in program.calls("DataLoader"):
        name = "worker_count" if program.imports("grain") else "num_workers"
        given = keyword(call, name)
        if given is not None and text_of(given.value) != "0":
            continue
        source = program.changed({call: partial(_with_workers, name=name)})
        first, last = program.lines(call)
        found.append(Hit(first, last, f"{name}={_WORKERS}", source))
    return found


def _with_workers(call: Any, name: str) -> Any:
    call = with_keyword(call, name, _WORKERS)
    return with_keyword(call, "persistent_workers", "True") if name == "num_workers" else call
