"""Samples of a program on paper: what its main thread was in, one after another."""

from __future__ import annotations

from collections.abc import Iterable

from tfadvisor.trace.samples import VERSION, Samples

EVERY_NS = 10_000_000
"""A hundred samples a second."""
HOME = "/home/me/"
KERAS = "/venv/lib/python3.11/site-packages/keras/src/"
TENSORFLOW = "/venv/lib/python3.11/site-packages/tensorflow/python/"
_FOLDERS = {
    "keras/": KERAS,
    "tensorflow/": TENSORFLOW,
}


def frames(calls: str) -> tuple[tuple[str, str, int], ...]:
    """`train.py:<module>:40 tensorflow/eager/execute.py:quick_execute:53`, outermost
    first; files of the program have no folder here.
    """
    found = []
    for call in calls.split():
        file, function, line = call.rsplit(":", 2)
        for short, long in _FOLDERS.items():
            if file.startswith(short):
                file = long + file.removeprefix(short)
        name = file if file.startswith(("/", "<")) else f"{HOME}{file}"
        found.append((name, function, int(line)))
    return tuple(found)


def sampled(
    script: Iterable[tuple[str, int]],
    first_step: int = 0,
    recorded: Iterable[tuple[int, int]] = (),
    beside: Iterable[tuple[str, int]] = (),
    **known: object,
) -> Samples:
    """script: calls, and for how many samples in a row. first_step: the number of the
    sample at which the steps begin. recorded: from which sample to which a profiler was
    at work. beside: as script, of another thread.
    """
    began = 10**18
    numbers: dict[tuple[str, str, int], int] = {}
    stacks: dict[tuple[int, ...], int] = {}
    rows = []
    ends = []
    for thread, calls_of_thread in enumerate((script, beside)):
        at = 0
        for calls, count in calls_of_thread:
            calling = frames(calls)
            frame = tuple(numbers.setdefault(call, len(numbers)) for call in calling)
            stack = stacks.setdefault(frame, len(stacks))
            rows.append((at * EVERY_NS // 1000, thread, stack, count))
            at += count
        ends.append(at)
    at = max(ends)
    rows.sort()
    windows = [(began + a * EVERY_NS, began + b * EVERY_NS) for a, b in recorded]
    return Samples(
        version=VERSION,
        every_ns=EVERY_NS,
        began_ns=began,
        ended_ns=began + max(at - 1, 0) * EVERY_NS,
        first_step_ns=began + first_step * EVERY_NS,
        frames=list(numbers),
        stacks=[list(stack) for stack in stacks],
        threads=[("MainThread", True, "1"), ("", False, "1")],
        samples=rows,
        recorded_ns=windows,
        **known,  # type: ignore[arg-type]
    )
