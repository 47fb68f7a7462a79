"""Worker processes for a loader of PyTorch or Grain that loads in the training process, threads for Grain that reads by one.

https://docs.pytorch.org/docs/stable/data.html#multi-process-data-loading
"""

from __future__ import annotations

from functools import partial
from typing import Any

from tfadvisor.act.repair.hits import Hit, Place
from tfadvisor.act.repair.reading.program import Program, keyword, text_of, with_keyword

_WORKERS = 4
"""Where the finding prescribes no number."""
_THREADS, _BUFFER = "16", "64"
_FEW = ("0", "1")


def hits(program: Program, place: Place) -> list[Hit]:
    """One for each loader without workers."""
    found = []
    for call in program.calls("DataLoader"):
        name = "worker_count" if program.imports("grain") else "num_workers"
        given = keyword(call, name)
        if given is not None and text_of(given.value) != "0":
            continue
        workers = place.number(rf"\b{name}=(\d+)", _WORKERS)
        source = program.changed({call: partial(_with_workers, name=name, workers=workers)})
        first, last = program.lines(call)
        found.append(Hit(first, last, f"{name}={workers}", source))
    return found or _reading_by_one(program)


def _reading_by_one(program: Program) -> list[Hit]:
    """Grain reads elements by several threads in their order, unless an option says otherwise."""
    found = []
    for call in program.calls("ReadOptions") if program.imports("grain") else ():
        threads = keyword(call, "num_threads")
        if threads is not None and text_of(threads.value) in _FEW:
            first, last = program.lines(call)
            source = program.changed({call: _with_threads})
            found.append(Hit(first, last, f"num_threads={_THREADS}", source))
    return found


def _with_threads(call: Any) -> Any:
    call = with_keyword(call, "num_threads", _THREADS)
    buffer = keyword(call, "prefetch_buffer_size")
    small = buffer is not None and text_of(buffer.value).isdigit() and int(text_of(buffer.value)) < int(_BUFFER)
    return with_keyword(call, "prefetch_buffer_size", _BUFFER) if small else call


def _with_workers(call: Any, name: str, workers: str) -> Any:
    call = with_keyword(call, name, workers)
    return with_keyword(call, "persistent_workers", "True") if name == "num_workers" else call
