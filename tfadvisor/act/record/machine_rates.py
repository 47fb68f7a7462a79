"""How fast this machine moves data and multiplies, measured while nothing else runs:
what a CPU can do stands on no data sheet that a trace names.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import asdict

from tfadvisor.act.record.injected.tfadvisor_hook.letters import (
    read_letter,
    write_letter,
)
from tfadvisor.memory_limits import free_memory
from tfadvisor.trace.counters import ENDING, MachineRates

_SECONDS = 0.8
"""For each of the two measurements."""
_LARGE = 256 << 20
"""Bytes that a core copies, with their copy: more than it has of the caches."""
_OF_FREE = 8
"""A measurement takes at most this part of the memory that is free."""
_ALONE = 0.7
"""Of the cores' time, what a round must have had to tell what they can do."""
_SIDE = 1024
"""Of the matrices: a product of them takes 0.1 s on a core of 2011."""
FloatArray = np.ndarray[Any, Any]


def add_rates(folder: Path) -> bool:
    """Measures this machine and writes its rates beside the traces of a run, into each
    file of counters; whether there is one. Takes two seconds. Raises OSError.
    """
    letters = [(file, read_letter(str(file))) for file in _counters_in(folder)]
    known = [(file, letter) for file, letter in letters if letter is not None]
    rates = measured_rates(_usable_cores(known[0][1])) if known else None
    if rates is None:
        return False
    for file, letter in known:
        write_letter(str(file), {**letter, "rates": asdict(rates)})
    return True


def measured_rates(cores: float) -> MachineRates | None:
    """The highest that was seen in two seconds. None where other processes had these
    cores meanwhile, or no memory is left to measure it in.
    """
    try:
        moved = _bytes_per_s(cores)
        multiplied = _flops(cores)
    except MemoryError:
        return None
    if moved is None or multiplied is None:
        return None
    return MachineRates(moved, multiplied)


def _counters_in(folder: Path) -> Iterator[Path]:
    yield from sorted(folder.glob(f"*{ENDING}"))


def _usable_cores(letter: dict[str, Any]) -> float:
    """Those that the program may run on, or its quota where that is less."""
    settings = letter.get("settings") or {}
    allowed = settings.get("allowed_cores") or os.cpu_count() or 1
    return float(min(allowed, settings.get("quota_cores") or allowed))


def _bytes_per_s(cores: float) -> float | None:
    """Read and written by copies, one a core."""
    threads = _threads(cores)
    each = max(min(_LARGE, free_memory() // _OF_FREE // threads), 1 << 20)
    pairs = [np.ones((2, each // 8), np.float32) for _ in range(threads)]
    seconds = _shortest(_copy, pairs, cores)
    moved = sum(pair.nbytes for pair in pairs)
    return None if seconds is None else moved / seconds


def _copy(pair: FloatArray) -> None:
    np.copyto(pair[1], pair[0])  # without the interpreter's lock


def _flops(cores: float) -> float | None:
    """Of matrix products, one a core: NumPy's library may have a single thread."""
    threads = _threads(cores)
    matrices = [np.full((3, _SIDE, _SIDE), 0.5, np.float32) for _ in range(threads)]
    seconds = _shortest(_multiply, matrices, cores)
    return None if seconds is None else 2.0 * threads * _SIDE**3 / seconds


def _multiply(matrices: FloatArray) -> None:
    left, right, result = matrices
    np.matmul(left, right, out=result)  # without the interpreter's lock


def _threads(cores: float) -> int:
    return max(round(cores), 1)


def _shortest(
    work: Callable[[FloatArray], None], data: Sequence[FloatArray], cores: float
) -> float | None:
    """Seconds of the fastest of as many rounds as fit, of those that had the cores for
    themselves; None where none had. A round works on all data, with a thread for each.
    """
    with ThreadPoolExecutor(len(data)) as pool:
        list(pool.map(work, data))
        until = time.perf_counter() + _SECONDS
        alone: list[float] = []
        while True:
            start, used = time.perf_counter(), time.process_time()
            list(pool.map(work, data))
            seconds = max(time.perf_counter() - start, 1e-9)
            if time.process_time() - used >= _ALONE * seconds * cores:
                alone.append(seconds)
            if time.perf_counter() >= until:
                return min(alone, default=None)
