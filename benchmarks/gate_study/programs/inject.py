"""What a study program can have planted in it: real work in its loop, none of it in numbers afterwards.

    program.py LOGDIR [KIND] [STEPS]

`slower-N`: every step is followed by Python work of N % of what the step just took. `recompile`: one function more is
compiled in every step. `copy`: the step copies its input once more. `dispatch`: one program more is dispatched in every step.
`collective`: the devices add up one number more. `op`: one matrix product more in the step. `launches`:
40 tiny ops dispatched one by one. `input`, `host`: Python work of half a step before the step, in a function that loads, or
after it, in one that logs.
"""

from __future__ import annotations

import sys
import time

KIND = sys.argv[2] if len(sys.argv) > 2 else "none"
LOGDIR = sys.argv[1]
STEPS = int(sys.argv[3]) if len(sys.argv) > 3 else 40
_share = float(KIND.removeprefix("slower-")) / 100 if KIND.startswith("slower-") else 0.0


def work(seconds: float) -> float:
    """Keeps Python busy for that long."""
    end, value = time.perf_counter() + seconds, 0.0
    while time.perf_counter() < end:
        value += sum(range(20))
    return value


def load_data(took: float) -> None:
    """Loads half a step long."""
    if KIND == "input":
        work(took / 2)


def log_extra(took: float) -> None:
    """Logs half a step long, or the share that is planted."""
    if KIND == "host":
        work(took / 2)
    elif _share:
        work(took * _share)


class Pace:
    """Times the step itself, so that what is planted is a share of it at the machine's present speed."""

    def __init__(self) -> None:
        self.took = 0.0
        self._begun = 0.0

    def __enter__(self) -> None:
        self._begun = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self.took = time.perf_counter() - self._begun
