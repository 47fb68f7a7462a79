"""TensorFlow's ops that run one by one: their kernels, and the dispatch that a compiled function would not need."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfadvisor.arrays import ranks
from tfadvisor.timeline.host.dispatches import dispatches
from tfadvisor.timeline.host.threads import Thread, Threads
from tfadvisor.timeline.intervals import EMPTY, BoolArray, Int64Array, Intervals, union, union_of
from tfadvisor.timeline.model import Steps
from tfadvisor.timeline.names.classes import HostClass
from tfadvisor.timeline.names.host import blocks_in_eager_call, is_eager_function, is_kernel_of_one_op, is_single_op

if TYPE_CHECKING:
    import numpy.typing as npt

_EAGER_PAUSE_PS = 1_000_000_000
"""Python between two ops of an eagerly run step that takes up to this long (1 ms) is the dispatch of the next op: what
`tf.function` or `jax.jit` removes. Longer pauses are the program's own work."""
_EAGER_PAUSE_BESIDE_A_FUNCTION_PS = 200_000_000
"""Where one compiled function holds most of a step's dispatch, the step is compiled. Ops that run beside it one by one leave
pauses of tens of µs; what takes longer (200 µs) is work of a callback between reads of weights."""
_STRAY_PAUSE_PS = 50_000_000_000
"""Where another program takes the core away for a moment, a pause lasts as long as the scheduler's turn. Recorded: 4 to
32 ms. What takes longer than this (50 ms) is work of the program that is not done in every step."""
_FEW_PAUSES = 4
"""Fewer pauses than this of one place do not tell how long they usually are."""
_MOST_OF_DISPATCH = 0.5
_EAGER_DISPATCHES = 8
"""A step with fewer dispatches than this is not run eagerly."""


def eager_dispatch(threads: Threads, thread: Thread, pauses: Intervals) -> Intervals:
    """Where TensorFlow dispatches ops by themselves, and the short pauses between two of them."""
    if not len(pauses):
        return EMPTY
    calls = threads.of(thread, HostClass.EAGER_OP)
    calls = calls[threads.bear(calls, is_single_op)]
    return union_of(pauses, union(threads.start[calls], threads.end[calls]))


def eager_elsewhere(threads: Threads, steps: Steps) -> Intervals:
    """Where other threads of Python run a step op by op, as one for each replica does: the driving thread waits for them."""
    found = EMPTY
    for thread in threads.threads:
        if thread.index != steps.thread and not thread.is_pipeline and len(threads.of(thread, HostClass.EAGER_OP)):
            _, between_ops = eager_pauses(threads, thread, steps)
            found = union_of(found, eager_dispatch(threads, thread, between_ops))
    return found


def eager_pauses(threads: Threads, thread: Thread, steps: Steps) -> tuple[Intervals, Intervals]:
    """Short pauses between the dispatches of one eagerly run step, or of ops beside its compiled function.

    All of them, and those between two ops that TensorFlow dispatches by themselves.
    """
    calls = dispatches(threads, thread)
    starts, ends = threads.start[calls], threads.end[calls]
    step = np.searchsorted(steps.starts, starts, side="right") - 1
    count = np.bincount(step[step >= 0], minlength=len(steps))
    eager = (step >= 0) & (count[np.maximum(step, 0)] >= _EAGER_DISPATCHES)
    length = np.where(step >= 0, ends - starts, 0)
    longest = np.zeros(len(steps), np.int64)
    single = threads.bear(calls, is_single_op)
    np.maximum.at(longest, np.maximum(step, 0), np.where(single, 0, length))
    compiled = longest >= _MOST_OF_DISPATCH * np.bincount(np.maximum(step, 0), length, len(steps))
    limit = np.where(compiled, _EAGER_PAUSE_BESIDE_A_FUNCTION_PS, _EAGER_PAUSE_PS)[np.maximum(step[1:], 0)]
    inside = (step[1:] == step[:-1]) & eager[1:]
    pause = starts[1:] - ends[:-1]
    stray = ~compiled[np.maximum(step[1:], 0)] & _strays(threads.row[calls], step, pause, inside)
    short = inside & ((pause <= limit) | stray)
    between_ops = short & single[:-1] & single[1:]
    return union(ends[:-1][short], starts[1:][short]), union(ends[:-1][between_ops], starts[1:][between_ops])


def _strays(row: npt.NDArray[np.int32], step: Int64Array, pause: Int64Array, inside: BoolArray) -> BoolArray:
    """Which pauses are long although at most steps' same place, between the same two calls, they are short: the core was
    taken away, where work of the loop would come back. row, step: of the calls. inside: pauses within one step.
    """
    if not inside.any():
        return inside
    width = int(row.max()) + 1
    pair = ranks(row[:-1].astype(np.int64) * width + row[1:])
    of_step = ranks(step[1:]) * (int(pair.max()) + 1) + pair
    order = np.argsort(of_step, kind="stable")
    first = np.searchsorted(of_step[order], of_step[order])
    place = np.empty(len(pair), np.int64)
    place[order] = np.arange(len(pair)) - first  # how many pauses of the same two calls came before it in its step
    place = np.where(inside, ranks(pair * len(pair) + place), -1)
    order = np.lexsort((pause, place))
    bounds = np.searchsorted(place[order], np.arange(int(place.max()) + 2))
    count = np.diff(bounds)
    usual = pause[order[bounds[:-1] + count // 2]]
    usual = np.where(count >= _FEW_PAUSES, usual, _STRAY_PAUSE_PS)
    return inside & (usual[np.maximum(place, 0)] <= _EAGER_PAUSE_PS) & (pause <= _STRAY_PAUSE_PS)


def named_eager_kernels(threads: Threads) -> Int64Array:
    """Positions of the ops that the eager runtime runs under their own name, as up to TensorFlow 2.8."""
    found = []
    for thread in threads.threads:
        calls = threads.of(thread, HostClass.EAGER_OP)
        calls = calls[threads.bear(calls, is_single_op)]
        ops = threads.of(thread, HostClass.OP)
        found.append(ops[union(threads.start[calls], threads.end[calls]).contains(threads.start[ops])])
    return _joined(found)


def eager_kernels(threads: Threads) -> tuple[Int64Array, Int64Array]:
    """Positions of (kernels that the eager runtime runs itself, runs of functions that it waits for).

    The op is named by the `EagerLocalExecute: Op` around the run. A run inside a GET_NEXT event is neither. TensorFlow 2.3
    to 2.8 write no event of the run itself: the call around it waits for a function as long.
    """
    if not len(threads.everywhere(HostClass.RUN_EAGER)):
        return _joined([]), calls_that_wait(threads)
    kernels, waits = [], []
    for thread in threads.threads:
        runs = threads.of(thread, HostClass.RUN_EAGER)
        if not len(runs):
            continue
        around = threads.of(thread, HostClass.EAGER_OP, HostClass.GET_NEXT)
        if not len(around):
            waits.append(runs)
            continue
        place = np.searchsorted(threads.start[around], threads.start[runs], side="right") - 1
        owner = around[np.maximum(place, 0)]
        enclosed = (place >= 0) & (threads.end[owner] >= threads.end[runs])
        plain = threads.bear(owner, is_kernel_of_one_op)
        get_next = enclosed & (threads.kind[owner] == HostClass.GET_NEXT.value)
        kernels.append(runs[enclosed & plain & ~get_next])
        waits.append(runs[~(enclosed & plain) & ~get_next])
    return _joined(kernels), _joined(waits)


def calls_that_wait(threads: Threads) -> Int64Array:
    """Positions of the eager runtime's blocking calls of functions, inside the `EagerLocalExecute: __inference_…` that names
    each; of TensorFlow 2.3 to 2.8, which write no event of the run itself.
    """
    if len(threads.everywhere(HostClass.RUN_EAGER)):
        return _joined([])
    calls = threads.named(blocks_in_eager_call)
    found = []
    for thread in threads.threads:
        lo, hi = np.searchsorted(calls, [thread.lo, thread.hi])
        around = threads.of(thread, HostClass.EAGER_OP)
        around = around[threads.bear(around, is_eager_function)]
        mine = calls[lo:hi]
        found.append(mine[union(threads.start[around], threads.end[around]).contains(threads.start[mine])])
    return _joined(found)


def _joined(parts: list[Int64Array]) -> Int64Array:
    return np.sort(np.concatenate([np.empty(0, np.int64), *parts]))
