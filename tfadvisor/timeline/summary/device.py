"""One device reduced to what metrics ask: small tables whose size does not grow with the number of its events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from tfadvisor.arrays import ranks
from tfadvisor.hlo.format.find_modules import Modules
from tfadvisor.timeline.devices.collective_calls import CollectiveCalls, collective_calls
from tfadvisor.timeline.devices.launches import Launches, kept, launches_of
from tfadvisor.timeline.intervals import BoolArray, Int64Array, union, union_of
from tfadvisor.timeline.model import Device, DeviceOps, HostMemory, Steps
from tfadvisor.timeline.names.classes import DeviceClass
from tfadvisor.timeline.steps.windows import step_of
from tfadvisor.vocabulary import DeviceKind

if TYPE_CHECKING:
    import numpy.typing as npt

SMALL_KERNEL_PS = 10_000_000
"""A launch costs the host 2 to 10 µs, so below 10 µs the launch is the larger part."""

TINY_PS = 20_000_000
"""The example of TensorFlow's guide for too many ops are Muls of 21.9 µs. In healthy compiled Keras models ops below 20 µs take
2 to 4 % of the time."""


class OpTable(msgspec.Struct, frozen=True):
    """What ran in the counted steps: one row a distinct (name, op, module, program, class), shape (rows,).

    name, op, module, program: as in DeviceOps. path: likewise, of the row's last event where it has several. count:
    how often. total_ps: its summed time. small: how many took less than SMALL_KERNEL_PS.
    """

    name: npt.NDArray[np.int32]
    op: npt.NDArray[np.int32]
    module: npt.NDArray[np.int32]
    program: npt.NDArray[np.int32]
    path: npt.NDArray[np.int32]
    kind: npt.NDArray[np.int8]
    count: Int64Array
    total_ps: Int64Array
    small: Int64Array
    names: tuple[str, ...]
    program_ids: tuple[int, ...]

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.name)

    def of_class(self, kind: DeviceClass) -> npt.NDArray[np.intp]:
        """The rows of one class."""
        return np.flatnonzero(self.kind == kind)


class CopyTotals(msgspec.Struct, frozen=True):
    """The copies of one class in the counted steps. unsized: those of which the trace does not say how large they are.

    pageable, pinned: how many of them touch host memory of that kind.
    """

    count: int
    bytes: int
    unsized: int
    pageable: int
    pinned: int


class DeviceSummary(msgspec.Struct, frozen=True):
    """One active device.

    covered_ps: time in which an event of a class runs, shape (steps, DeviceClass). lengths: of the compute events in
    the counted steps, ps (see devices.launches.kept). tiny_ps: time in which a compute event shorter than TINY_PS runs, in
    the counted steps. first_start: where work in a step begins,
    -1 where none does.
    """

    name: str
    kind: DeviceKind
    model: str
    host: str
    properties: Mapping[str, float | int | str]
    ops: OpTable
    ops_by_path: OpTable
    """The same with one row more for each further path that a kernel works for."""
    covered_ps: Int64Array
    copies: Mapping[DeviceClass, CopyTotals]
    launches: Launches
    lengths: Int64Array
    tiny_ps: int
    first_start: Int64Array
    collectives: CollectiveCalls


def summarize_device(device: Device, steps: Steps, programs: Modules) -> DeviceSummary:
    """Everything but the collectives is about the counted steps. programs: of the host's trace."""
    ops = device.ops
    step = step_of(ops.start, steps)
    counted = (step >= 0) & steps.steady()[np.maximum(step, 0)] if len(steps) else np.zeros(len(ops), np.bool_)
    compute = counted & (ops.kind == DeviceClass.COMPUTE)
    first = np.full(len(steps), np.iinfo(np.int64).max)
    np.minimum.at(first, step[step >= 0], ops.start[step >= 0])
    works_on = union_of(device.compute, device.collective, device.transfer).contains(steps.starts)
    first = np.where(works_on, steps.starts, first)
    table, by_path = _op_tables(ops, counted)
    return DeviceSummary(
        name=device.name,
        kind=device.kind,
        model=device.model,
        host=device.host,
        properties=device.properties,
        ops=table,
        ops_by_path=by_path,
        covered_ps=_covered(device, steps),
        copies={kind: _copy_totals(ops, counted & (ops.kind == kind)) for kind in _copied(ops)},
        launches=launches_of(ops, compute),
        lengths=kept(ops.end[compute] - ops.start[compute]),
        tiny_ps=_tiny_ps(ops, compute, steps),
        first_start=np.where(first == np.iinfo(np.int64).max, -1, first),
        collectives=collective_calls(device, step, programs),
    )


def _tiny_ps(ops: DeviceOps, compute: BoolArray, steps: Steps) -> int:
    tiny = compute & (ops.end - ops.start < TINY_PS)
    steady = steps.steady()
    return int(union(ops.start[tiny], ops.end[tiny]).within(steps.starts[steady], steps.ends[steady]).sum())


def _op_tables(ops: DeviceOps, counted: BoolArray) -> tuple[OpTable, OpTable]:
    """(by kernel and op of a program, the same by the framework's paths too). They are one where a row has one path."""
    name, op, module, program = (column[counted] for column in (ops.name, ops.op, ops.module, ops.program))
    kind, path, length = ops.kind[counted], ops.path[counted], (ops.end - ops.start)[counted]
    if not len(name):
        nothing = np.empty(0, np.int32)
        none = np.empty(0, np.int64)
        empty = nothing, nothing, nothing, nothing, nothing, np.empty(0, np.int8), none, none, none
        table = OpTable(*empty, ops.names, ops.program_ids)
        return table, table
    width = len(ops.names) + 1
    pair = ranks(name.astype(np.int64) * width + (op + 1))
    triple = ranks(pair * width + (module + 1))
    row = ranks((triple * (len(ops.program_ids) + 1) + (program + 1)) * len(DeviceClass) + kind)
    columns = name, op, module, program, path, kind
    table = _table_of_rows(ops, row, columns, length)
    if np.array_equal(table.path[row], path):
        return table, table
    return table, _table_of_rows(ops, ranks(row * width + (path + 1)), columns, length)


def _table_of_rows(
    ops: DeviceOps, row: Int64Array, columns: tuple[npt.NDArray[Any], ...], length: Int64Array
) -> OpTable:
    """row: of each event. columns: name, op, module, program, path and class of each; a row's are those of its last."""
    rows = int(row.max()) + 1
    last = np.zeros(rows, np.int64)
    last[row] = np.arange(len(row))
    name, op, module, program, path, kind = (column[last] for column in columns)
    return OpTable(
        name=name,
        op=op,
        module=module,
        program=program,
        path=path,
        kind=kind,
        count=np.bincount(row, minlength=rows),
        total_ps=_sums(row, length, rows),
        small=np.bincount(row[length < SMALL_KERNEL_PS], minlength=rows),
        names=ops.names,
        program_ids=ops.program_ids,
    )


def _sums(row: Int64Array, values: Int64Array, rows: int) -> Int64Array:
    """Exact sums by row: np.bincount adds in doubles, which lose picoseconds above 2.5 hours of summed time."""
    out = np.zeros(rows, np.int64)
    np.add.at(out, row, values)
    return out


def _covered(device: Device, steps: Steps) -> Int64Array:
    out = np.zeros((len(steps), len(DeviceClass)), np.int64)
    for kind in DeviceClass:
        if (device.ops.kind == kind).any():
            out[:, kind] = device.ops.covered(kind).within(steps.starts, steps.ends)
    return out


def _copied(ops: DeviceOps) -> list[DeviceClass]:
    copies = (DeviceClass.H2D, DeviceClass.D2H, DeviceClass.D2D, DeviceClass.P2P, DeviceClass.OTHER_COPY)
    return [kind for kind in copies if (ops.kind == kind).any()]


def _copy_totals(ops: DeviceOps, chosen: BoolArray) -> CopyTotals:
    size, memory = ops.bytes[chosen], ops.memory[chosen]
    return CopyTotals(
        count=len(size),
        bytes=int(size[size > 0].sum()),
        unsized=int((size < 0).sum()),
        pageable=int((memory == HostMemory.PAGEABLE).sum()),
        pinned=int((memory == HostMemory.PINNED).sum()),
    )
