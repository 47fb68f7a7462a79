"""How long the ops of a run without an accelerator would take undisturbed: they share its cores with everything else."""

from __future__ import annotations

import msgspec
import numpy as np

from tfadvisor.timeline.intervals import BoolArray, Int64Array
from tfadvisor.timeline.model import Device, DeviceOps, Steps
from tfadvisor.timeline.names.classes import DeviceClass
from tfadvisor.timeline.steps.windows import in_counted_steps
from tfadvisor.vocabulary import DeviceKind

START_PS = 10_000_000
"""What starting an op takes at most: below 10 µs the start is the larger part."""
_CALM = 5
"""The fastest of so many executions of one op are those that nothing disturbed."""


class CalmOps(msgspec.Struct, frozen=True):
    """The compute ops of the counted steps, summed over all threads; zeros on an accelerator, which nothing disturbs."""

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
    chosen = (ops.kind == DeviceClass.COMPUTE) & in_counted_steps(ops.start, steps)
    length = (ops.end - ops.start)[chosen]
    return int(length.sum()), _calm(length, _same_op(ops, chosen)), int(np.minimum(length, START_PS).sum())


def _same_op(ops: DeviceOps, chosen: BoolArray) -> Int64Array:
    """A number for each chosen event; executions of one op of one program have the same."""
    name = np.where(ops.op >= 0, ops.op, ops.name)[chosen].astype(np.int64)
    return name + (ops.program[chosen].astype(np.int64) << 32)


def _calm(length: Int64Array, op: Int64Array) -> int:
    """ps: each op's number of executions times the length that a fifth of them do not exceed."""
    if not len(length):
        return 0
    order = np.lexsort((length, op))
    ordered = op[order]
    first = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    count = np.diff(np.append(first, len(ordered)))
    return int((length[order][first + (count - 1) // _CALM] * count).sum())
