"""How long the ops of a run without an accelerator would take undisturbed: they share its cores with everything else."""

from __future__ import annotations

import msgspec
import numpy as np

from tfadvisor.timeline.intervals import Int64Array
from tfadvisor.timeline.model import Device, DeviceOps, Steps
from tfadvisor.timeline.names.classes import DeviceClass
from tfadvisor.vocabulary import DeviceKind

START_PS = 10_000_000
"""What starting an op takes at most: below 10 µs the start is the larger part."""
_ENOUGH = 400_000
"""Events that are sorted by op at most, of steps that are alike."""
_CALM = 5
"""The fastest of so many executions of one op are those that nothing disturbed."""
_BITS = 63
"""Of a number that an op and a length share, so that one sort orders both."""


class CalmOps(msgspec.Struct, frozen=True):
    """The compute ops of counted steps, summed over all threads; zeros on an accelerator, which nothing disturbs."""

    total_ps: int = 0
    """What they took."""
    calm_ps: int = 0
    """What they would have taken, each execution as long as the fastest fifth of its op's."""
    starts_ps: int = 0
    """The first 10 µs of each."""


def calm_ops(devices: tuple[Device, ...], steps: Steps) -> CalmOps:
    """Over the devices of a host."""
    found = [_of_device(one.ops, steps) for one in devices if one.kind is DeviceKind.CPU]
    return CalmOps(*(sum(column) for column in zip(*found, strict=True))) if found else CalmOps()


def _of_device(ops: DeviceOps, steps: Steps) -> tuple[int, int, int]:
    chosen = _chosen(ops, steps)
    chosen = chosen[ops.kind[chosen] == DeviceClass.COMPUTE]
    length = ops.end[chosen] - ops.start[chosen]
    return int(length.sum()), _calm(length, _same_op(ops, chosen)), int(np.minimum(length, START_PS).sum())


def _chosen(ops: DeviceOps, steps: Steps) -> Int64Array:
    """Positions of the events of counted steps, of every second, third, ... where there are far too many."""
    counted = steps.steady()
    first = np.searchsorted(ops.start, steps.starts[counted])
    last = np.maximum(np.searchsorted(ops.start, steps.ends[counted]), first)
    every = max(-(-int((last - first).sum()) // _ENOUGH), 1)
    parts = [np.arange(lo, hi) for lo, hi in zip(first[::every].tolist(), last[::every].tolist(), strict=True)]
    return np.concatenate(parts) if parts else np.empty(0, np.int64)


def _same_op(ops: DeviceOps, chosen: Int64Array) -> Int64Array:
    """A number from 0 on for each chosen event; executions of one op of one program have the same."""
    name = np.where(ops.op[chosen] >= 0, ops.op[chosen], ops.name[chosen]).astype(np.int64)
    return (ops.program[chosen].astype(np.int64) + 1) * len(ops.names) + name


def _calm(length: Int64Array, op: Int64Array) -> int:
    """ps: each op's number of executions times the length that a fifth of them do not exceed."""
    if not len(length):
        return 0
    bits = int(length.max()).bit_length()
    if int(op.max()).bit_length() + bits <= _BITS:
        both = (op << bits) + length
        both.sort()
        op, length = both >> bits, both & ((1 << bits) - 1)
    else:
        order = np.lexsort((length, op))
        op, length = op[order], length[order]
    first = np.flatnonzero(np.append(True, op[1:] != op[:-1]))
    count = np.diff(np.append(first, len(op)))
    return int((length[first + (count - 1) // _CALM] * count).sum())
