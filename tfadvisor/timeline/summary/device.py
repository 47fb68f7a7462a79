"""One device reduced to what metrics ask: small tables whose size does not grow with
the number of its events.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from msgspec.structs import replace

from tfadvisor.arrays import (
    BoolArray,
    Int8Array,
    Int32Array,
    Int64Array,
    distinct,
    falses,
    is_in,
    of_most,
    true_at,
    zeros,
)
from tfadvisor.memory_limits import give_back
from tfadvisor.program import Modules
from tfadvisor.timeline.devices.collective_calls import (
    CollectiveCalls,
    collective_calls,
)
from tfadvisor.timeline.devices.gpu import capability
from tfadvisor.timeline.devices.launches import Launches, launches_of
from tfadvisor.timeline.intervals import union, union_of
from tfadvisor.timeline.names.classes import COPIES, DeviceClass
from tfadvisor.timeline.names.device_events import is_done_half, is_span
from tfadvisor.timeline.names.kernel_launches import KernelLaunch, kernel_launch
from tfadvisor.timeline.sketches import Distribution, distribution
from tfadvisor.timeline.sweeps import alike
from tfadvisor.timeline.timeline_parts import (
    Device,
    DeviceOps,
    HostMemory,
    Steps,
    module_names,
    modules_of_few_ops,
)
from tfadvisor.vocabulary import DeviceKind

if TYPE_CHECKING:
    import numpy.typing as npt

SMALL_KERNEL_PS = 10_000_000
"""A launch costs the host 2 to 10 µs, so below 10 µs the launch is the larger part."""

TINY_PS = 20_000_000
"""The example of TensorFlow's guide for too many ops are Muls of 21.9 µs. In healthy
compiled Keras models ops below 20 µs take 2 to 4 % of the time."""


Program = tuple[str, int]
"""Its module's name, "" without one, and its id in the trace, 0 without one."""


class OpTable(msgspec.Struct, frozen=True):
    """What ran in the counted steps: one row a distinct (name, op, module, program,
    class), shape (rows,).

    name, op, module, program: as in DeviceOps. path: as there, of the row's last event
    where it has several. count: how often. total_ps: its summed time. small: how many
    took less than SMALL_KERNEL_PS. details: index into names of how it was launched, -1
    where the trace does not say; of several ways the one that takes most time. ways:
    how many there are.
    """

    name: Int32Array
    op: Int32Array
    module: Int32Array
    program: Int32Array
    path: Int32Array
    kind: Int8Array
    count: Int64Array
    total_ps: Int64Array
    small: Int64Array
    details: Int32Array
    ways: Int64Array
    names: tuple[str, ...]
    program_ids: tuple[int, ...]

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.name)

    def of_class(self, kind: DeviceClass) -> npt.NDArray[np.intp]:
        """The rows of one class."""
        return true_at(self.kind == kind.value)

    def owner(self) -> Int64Array:
        """A number for each row's pair of module and program, of which a trace may
        state only one; below 0 without both.
        """
        return (self.module + 1) * np.int64(len(self.program_ids) + 1) + self.program

    def module_of(self) -> Callable[[int], str]:
        """What the program of a row is called, "" without one; with its id where
        several have one name: `jit_f(7)`.
        """
        return module_names(self.module, self.program, self.names, self.program_ids)

    def modules_of_few_ops(self) -> Int64Array:
        """Of those that run here, the modules that hold hardly more than one op."""
        return modules_of_few_ops(self.name, self.module, self.program)

    def whole_programs(self) -> BoolArray:
        """Which rows stand for programs whose ops the trace does not name: they bear
        the program's name as their own.
        """
        return np.asarray(self.name == self.module, np.bool_)


class CopyTotals(msgspec.Struct, frozen=True):
    """The copies of one class in the counted steps. unsized: those of which the trace
    does not say how large they are.

    pageable, pinned: how many of them touch host memory of that kind.
    """

    count: int
    bytes: int
    unsized: int
    pageable: int
    pinned: int


class DeviceSummary(msgspec.Struct, frozen=True):
    """One active device.

    covered_ps: time in which an event of a class runs, shape (steps, DeviceClass).
    lengths: of the compute events in the counted steps, ps. tiny_ps: time in which a
    compute event shorter than TINY_PS runs, in the counted steps. sparse_ps: time of
    these in which a sparse core runs ops. first_start: where work in a step begins, -1
    where none does.
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
    lengths: Distribution
    tiny_ps: int
    sparse_ps: int
    in_turn: float
    """Share of its kernels' time outside of the busiest stream, 0 where two kernels
    ever ran at the same time.
    """
    kernels_of_most: int
    """In more than half of the counted steps; 0 where steps differ."""
    first_start: Int64Array
    collectives: CollectiveCalls
    steps_of_program: Mapping[Program, int]
    """In how many counted steps ops of each begin."""

    def steps_with(self, row: int) -> int:
        """In how many counted steps ops of the program of a row of `ops` begin."""
        return self.steps_of_program[_program_at(self.ops, row)]

    def launch_of(self, table: OpTable, row: int) -> KernelLaunch | None:
        """How the kernel of a row of one of the tables was launched, None where the
        trace does not say.
        """
        text = table.details[row]
        if text >= 0:
            return kernel_launch(table.names[text], capability(self.properties))
        return None


def summarize_device(
    device: Device,
    steps: Steps,
    programs: Modules,
    most: int,
) -> DeviceSummary:
    """Everything but the collectives is about the counted steps. programs: of the
    host's trace. most: values of a distribution that are kept.
    """
    ops = device.ops
    lo, hi = _bounds(ops, steps)
    of_steps = list(
        zip(lo[steps.steady()].tolist(), hi[steps.steady()].tolist(), strict=True)
    )
    counted = falses(ops)
    for begin, end in of_steps:
        counted[begin:end] = True
    compute = counted & (ops.kind == DeviceClass.COMPUTE.value)
    kernels = [np.count_nonzero(compute[begin:end]) for begin, end in of_steps]
    spans, waits = _of_pairs(ops)
    first = ops.start[np.minimum(lo, len(ops) - 1)] if len(ops) else zeros(steps)
    works_on = union_of(device.compute, device.collective, device.transfer).contains(
        steps.starts
    )
    first = np.where(works_on, steps.starts, np.where(lo < hi, first, -1))
    table, by_path = _op_tables(ops, counted & ~spans)
    give_back(len(ops))
    return DeviceSummary(
        name=device.name,
        kind=device.kind,
        model=device.model,
        host=device.host,
        properties=device.properties,
        ops=table,
        ops_by_path=by_path,
        covered_ps=_covered(device, steps),
        copies={
            kind: _copy_totals(
                ops,
                counted & ~spans & ~waits & (ops.kind == kind.value),
            )
            for kind in COPIES
            if kind is not DeviceClass.MEMSET and (ops.kind == kind.value).any()
        },
        launches=launches_of(ops, compute, most),
        kernels_of_most=of_most(np.array(kernels, np.int64)),
        lengths=distribution((ops.end - ops.start)[compute], most),
        tiny_ps=_tiny_ps(ops, compute, steps),
        sparse_ps=steps.spent_on(device.sparse),
        in_turn=_in_turn(ops) if device.kind is DeviceKind.GPU else 0.0,
        first_start=first,
        collectives=collective_calls(device, steps, programs),
        steps_of_program=_steps_of_programs(
            ops, lo[steps.steady()], hi[steps.steady()]
        ),
    )


def _steps_of_programs(
    ops: DeviceOps, lo: npt.NDArray[np.intp], hi: npt.NDArray[np.intp]
) -> dict[Program, int]:
    """lo, hi: the events of each counted step. Where a step or a program begins is
    looked at, since one program's ops follow each other.
    """
    if not len(lo):
        return {}
    begins = np.flatnonzero(
        (np.diff(ops.module, prepend=-2) != 0) | (np.diff(ops.program, prepend=-2) != 0)
    )
    begins = distinct(np.concatenate((begins, lo[lo < hi])))
    step = np.searchsorted(hi, begins, side="right")
    inside = (step < len(hi)) & (begins >= lo[np.minimum(step, len(lo) - 1)])
    found = {
        (_program_at(ops, at), number)
        for at, number in zip(
            begins[inside].tolist(), step[inside].tolist(), strict=True
        )
    }
    return Counter(program for program, _ in found)


def _program_at(ops: DeviceOps | OpTable, row: int) -> Program:
    """Of an event or a row of a table."""
    module, program = ops.module[row], ops.program[row]
    name = ops.names[module] if module >= 0 else ""
    return name, ops.program_ids[program] if program >= 0 else 0


def sharing(device: DeviceSummary, held: dict[object, object]) -> DeviceSummary:
    """The device with columns of its tables that are those of an earlier one, where
    they are equal: most devices of a host run the same programs. held: what the devices
    so far have, by what it contains.
    """
    ops = _shared(device.ops, held)
    if device.ops_by_path is device.ops:
        by_path = ops
    else:
        by_path = _shared(device.ops_by_path, held)
    return replace(device, ops=ops, ops_by_path=by_path)


def _shared(table: OpTable, held: dict[object, object]) -> OpTable:
    columns = {}
    for name in table.__struct_fields__:
        column = getattr(table, name)
        if isinstance(column, np.ndarray):
            key = (column.dtype.str, column.tobytes())
        else:
            key = column
        columns[name] = held.setdefault(key, column)
    return OpTable(**columns)  # type: ignore[arg-type]


def _in_turn(ops: DeviceOps) -> float:
    kernels = is_in(ops.kind, (DeviceClass.COMPUTE, DeviceClass.COLLECTIVE)) & (
        ops.end > ops.start
    )
    mine = slice(None) if kernels.all() else kernels
    start, end, stream = ops.start[mine], ops.end[mine], ops.stream[mine]
    if (stream == stream[:1]).all() or (start[1:] < end[:-1]).any():
        return 0.0
    column = np.ascontiguousarray(ops.stream, np.int32)
    _, _, time, _ = alike((column,), ops.start, ops.end, kernels.view(np.uint8), 0)
    return float(1 - time.max() / time.sum())


def _tiny_ps(
    ops: DeviceOps,
    compute: BoolArray,
    steps: Steps,
) -> int:
    tiny = compute & (ops.end - ops.start < TINY_PS)
    return steps.spent_on(union(ops.start[tiny], ops.end[tiny]))


def _bounds(
    ops: DeviceOps,
    steps: Steps,
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """The events lo[i] .. hi[i] - 1 begin in step i and in no later one."""
    if len(steps):
        until = np.minimum(
            steps.ends,
            np.append(steps.starts[1:], np.iinfo(np.int64).max),
        )
    else:
        until = steps.ends
    lo = np.searchsorted(ops.start, steps.starts)
    return lo, np.maximum(np.searchsorted(ops.start, until), lo)


def _of_pairs(ops: DeviceOps) -> tuple[BoolArray, BoolArray]:
    """Of asynchronous copies on a device whose line of ops shows where each is started
    and waited for: (the events that show them as a whole on another line, the waits).
    The time of the one holds that of the other, and both are one copy.
    """
    copies = is_in(ops.kind, COPIES)
    pairs = ops.name.astype(np.int64) * (len(ops.names) + 1) + ops.op + 1
    whole = [
        pair
        for pair in distinct(pairs[copies & (ops.op >= 0)]).tolist()
        if is_span(
            ops.names[pair // (len(ops.names) + 1)],
            ops.names[pair % (len(ops.names) + 1) - 1],
        )
    ]
    ends = [
        row
        for row in distinct(ops.name[copies]).tolist()
        if is_done_half(ops.names[row])
    ]
    waits = copies & is_in(ops.name, ends)
    return (copies & is_in(pairs, whole) if waits.any() else falses(ops)), waits


class _Alike(msgspec.Struct, frozen=True):
    """Sums over a device's counted events that are alike in all that its tables tell
    apart, in the order of their first events.
    """

    columns: tuple[Int32Array, ...]
    """name, op, module, program, kind, path of each group."""
    details: Int32Array
    """How it was launched."""
    last: Int64Array
    """The last event."""
    count: Int64Array
    total: Int64Array
    """ps."""
    small: Int64Array
    """How many are shorter than a small kernel."""


def _op_tables(ops: DeviceOps, counted: BoolArray) -> tuple[OpTable, OpTable]:
    """(by kernel and op of a program, the same by the framework's paths too). They are
    one where a row has one path. One pass over the events; the tables are sums over
    what it finds.
    """
    kind = ops.kind.astype(np.int32)
    columns = (ops.name, ops.op, ops.module, ops.program, kind, ops.path, ops.details)
    varied = tuple(column for column in columns if column.strides != (0,))
    chosen = counted.view(np.uint8)
    last, *sums = alike(varied, ops.start, ops.end, chosen, SMALL_KERNEL_PS)
    *names, details = (column[last] for column in columns)
    groups = _Alike(tuple(names), details, last, *sums)
    table = _table(ops, groups, groups.columns[:-1])
    by_path = table
    if ops.path.strides != (0,):
        by_path = _table(ops, groups, groups.columns)
    own = _with_own_names(table)
    return own, own if len(by_path) == len(table) else _with_own_names(by_path)


def _table(
    ops: DeviceOps,
    groups: _Alike,
    columns: tuple[Int32Array, ...],
) -> OpTable:
    """One row for all groups with the same columns, rows in the columns' order, the
    first one leading.
    """
    last, count, total, small = groups.last, groups.count, groups.total, groups.small
    details, ways = groups.details, last
    if len(last):
        order = np.lexsort(columns[::-1])
        first = true_at(_changes(columns, order))
        details, ways = _launches(groups, columns)
        last = np.maximum.reduceat(last[order], first)
        count, total, small = (
            np.add.reduceat(column[order], first) for column in (count, total, small)
        )
    return OpTable(
        name=ops.name[last],
        op=ops.op[last],
        module=ops.module[last],
        program=ops.program[last],
        path=ops.path[last],
        kind=ops.kind[last],
        count=count,
        total_ps=total,
        small=small,
        details=details,
        ways=ways,
        names=ops.names,
        program_ids=ops.program_ids,
    )


def _changes(columns: tuple[Int32Array, ...], order: Int64Array) -> BoolArray:
    """Where in this order another row begins."""
    differ = [column[order][1:] != column[order][:-1] for column in columns]
    return np.append(True, np.logical_or.reduce(differ))


def _launches(
    groups: _Alike,
    columns: tuple[Int32Array, ...],
) -> tuple[Int32Array, Int64Array]:
    """(details of the launch that takes most of a row's time, how many different ones
    it has), in the order of the rows. Of equal ones the one that came last.
    """
    apart = (*columns, groups.details)
    order = np.lexsort(apart[::-1])
    first = true_at(_changes(apart, order))
    lead = np.minimum.reduceat(order, first)
    total = np.add.reduceat(groups.total[order], first)
    by_first = np.argsort(lead)
    lead = lead[by_first]
    keys = (total[by_first], *(column[lead] for column in columns[::-1]))
    lead = lead[np.lexsort(keys)]
    end = true_at(np.append(_changes(columns, lead)[1:], True))
    return groups.details[lead[end]], np.diff(end, prepend=-1)


def _with_own_names(table: OpTable) -> OpTable:
    """The table with the names that a row needs: a trace has thousands, and the table
    outlives it.
    """
    columns = ("name", "op", "module", "path", "details")
    rows = distinct(
        np.concatenate([getattr(table, column_name) for column_name in columns])
    )
    rows = rows[rows >= 0]
    moved = {
        column_name: np.where(
            getattr(table, column_name) >= 0,
            np.searchsorted(rows, getattr(table, column_name)),
            -1,
        )
        for column_name in columns
    }
    names = tuple(table.names[row] for row in rows.tolist())
    return replace(
        table,
        names=names,
        **{
            column_name: column.astype(np.int32)
            for column_name, column in moved.items()
        },
    )


def _covered(device: Device, steps: Steps) -> Int64Array:
    out = np.zeros((len(steps), len(DeviceClass)), np.int64)
    for kind in DeviceClass:
        if (device.ops.kind == kind.value).any():
            out[:, kind] = device.ops.covered(kind).within(steps.starts, steps.ends)
    return out


def _copy_totals(ops: DeviceOps, chosen: BoolArray) -> CopyTotals:
    size = ops.bytes[chosen]
    memory = ops.memory[chosen]
    return CopyTotals(
        count=len(size),
        bytes=int(size[size > 0].sum()),
        unsized=int((size < 0).sum()),
        pageable=int((memory == HostMemory.PAGEABLE.value).sum()),
        pinned=int((memory == HostMemory.PINNED.value).sum()),
    )
