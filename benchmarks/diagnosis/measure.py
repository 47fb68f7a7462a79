"""Runs a program of the benchmark without the profiler and prints how long a step of
its profiled part takes, in ms.

    python measure.py STEPS programs/NAME.py LOGDIR [ARGUMENT ...]

The calls that start and stop a profiler are replaced by reading the clock, so the
number is free of the profiler's own cost and of any advisor's idea of a step. STEPS is
the number of steps between start and stop.
"""

from __future__ import annotations

import contextlib
import runpy
import sys
import time
from collections.abc import Iterator
from pathlib import Path

read: list[float] = []


def clock(*_: object, **__: object) -> None:
    read.append(time.perf_counter())


@contextlib.contextmanager
def clocked(*_: object, **__: object) -> Iterator[None]:
    clock()
    yield
    clock()


def without_jax_profiler() -> None:
    import jax

    jax.profiler.trace, jax.profiler.start_trace, jax.profiler.stop_trace = (
        clocked,
        clock,
        clock,
    )


def without_tensorflow_profiler() -> None:
    import tensorflow as tf
    from tensorflow.python.profiler import profiler_v2

    for profiler in (profiler_v2, tf.profiler.experimental):
        profiler.start, profiler.stop, profiler.Profile = clock, clock, clocked


def main(steps: int, program: Path, arguments: list[str]) -> None:
    (
        without_jax_profiler
        if program.name.startswith("jax")
        else without_tensorflow_profiler
    )()
    sys.argv = [str(program), *arguments]
    sys.path[0] = str(program.parent)
    runpy.run_path(str(program), run_name="__main__")
    begun, ended = read[
        -2:
    ]  # Keras starts and stops the profiler once more before, to warm it up
    print(f"{1e3 * (ended - begun) / steps:.3f}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
