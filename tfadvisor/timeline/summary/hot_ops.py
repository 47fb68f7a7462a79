"""The ops that take most of a device's time, with cost and place, and what they take in
undisturbed steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np
from msgspec.structs import replace

from tfadvisor.arrays import NO_VALUES, Int64Array, changes, descending, ranks
from tfadvisor.errors import TraceError
from tfadvisor.tallies import listed
from tfadvisor.timeline.names.classes import DeviceClass
from tfadvisor.timeline.names.device_events import opcode_and_effect, proven_product
from tfadvisor.timeline.summary.device import OpTable
from tfadvisor.timeline.timeline_parts import (
    Device,
    DeviceOps,
    Stated,
    Steps,
    texts_of_rows,
)
from tfadvisor.vocabulary import DeviceKind

if TYPE_CHECKING:
    from tfadvisor.program import Module, Modules
    from tfadvisor.timeline.program_ops import InProgram

_MOST = 1_000
_ENOUGH = 0.98


class HotOp(msgspec.Struct, frozen=True):
    """One op with all its kernels, on one device."""

    op: str
    """Its HLO name, "" without one."""
    kernel: str
    """The one that takes most of its time."""
    module: str
    """The compiled program's name, "" without one."""
    total_ps: int
    """Summed time of its executions in the counted steps, ps."""
    count: int
    """How often it runs in them."""
    known: InProgram | None
    """What the HLO says of it, None when the trace lacks that."""
    rows: tuple[int, ...] = ()
    """Its rows of the device's OpTable, those of its copies and memsets too; empty
    where nothing is known.
    """

    def name(self) -> str:
        """The op's, else the kernel's."""
        return self.op or self.kernel

    def place(self) -> str:
        """`fusion.3 (train.py:42)`, "" where the HLO does not tell the line."""
        if self.known and self.known.file:
            return f"{self.name()} ({self.known.file}:{self.known.line})"
        return ""


class HotOps(msgspec.Struct, frozen=True):
    """The ops that take most of one device's time."""

    ops: tuple[HotOp, ...]
    """The hottest first, until 98% of compute_ps or a thousand are named."""
    compute_ps: int
    """Summed time of all compute ops in the counted steps, ps."""
    parameters: int | None
    """Elements of what the program that takes most time updates, None when its
    arguments have no telling names.
    """
    why: str
    """The reason then, else ""."""
    updates_nothing: bool = False
    """Whether the HLO of that program says that it returns none of its floating-point
    arguments.
    """


def hot_ops(
    table: OpTable,
    programs: Modules,
    stated: Stated,
) -> HotOps:
    """Of one device. Without HLO in the trace only names and times are known, and what
    the profiler stated.
    """
    rows = table.of_class(DeviceClass.COMPUTE)
    rows = rows[descending(table.total_ps[rows])]
    if not len(rows):
        return HotOps((), 0, None, "no op begins in a counted step")
    place = np.arange(len(rows))
    owner = table.owner()[rows]
    group = ranks(
        np.where(
            table.op[rows] >= 0,
            table.op[rows] * (owner.max() + 2) + owner + 1,
            -1 - place,
        )
    )
    time = np.zeros(group.max() + 1, np.int64)
    count = np.zeros(group.max() + 1, np.int64)
    first = np.full(group.max() + 1, len(rows))
    np.add.at(time, group, table.total_ps[rows])
    np.maximum.at(count, group, table.count[rows])
    np.minimum.at(first, group, place)
    order = descending(time)[:_MOST]
    before = np.cumsum(time[order]) - time[order]
    total = int(time.sum())
    chosen = order[before < _ENOUGH * total]
    lead = rows[first[chosen]]
    columns = zip(
        texts_of_rows(table.names, table.op[lead]),
        texts_of_rows(table.names, table.name[lead]),
        texts_of_rows(table.names, table.module[lead]),
        time[chosen].tolist(),
        count[chosen].tolist(),
        strict=True,
    )
    found = [HotOp(*column, known=None) for column in columns]
    if programs.keys or stated:
        alike = _rows_alike(table)
        pairs = zip(lead.tolist(), found, strict=True)
        found = [
            _with_what_is_known(own, table, row, alike[row], programs, stated)
            for row, own in pairs
        ]
    return HotOps(tuple(found), total, *_parameters(table, rows, programs))


def _with_what_is_known(
    own: HotOp,
    table: OpTable,
    row: int,
    alike: tuple[int, ...],
    programs: Modules,
    stated: Stated,
) -> HotOp:
    """An op with what its program says of it, else the profiler. alike: the rows that
    are of the same op.
    """
    if table.program[row] >= 0:
        program_id = table.program_ids[table.program[row]]
    else:
        program_id = None
    said = stated.get((own.kernel, program_id)) or stated.get((own.kernel, None))
    if said:
        own = replace(own, known=_told(own.kernel, *said), rows=alike)
    try:
        program = program_of_row(table, row, programs)
        if program is None:
            return own
        from tfadvisor.timeline.program_ops import (
            OpsOfProgram,
        )  # only with HLO in the trace

        name, known = OpsOfProgram.of(program).find(own.op or own.kernel)
    except TraceError:
        return own
    if known is None:
        return own
    module = own.module or program.name
    return replace(own, op=name, module=module, known=known, rows=alike)


def _told(
    instruction: str,
    category: str,
    flops: int,
    moved: int,
) -> InProgram:
    """What the profiler itself says of an op."""
    from tfadvisor.program import Cost
    from tfadvisor.program.matrix_products import DotSize
    from tfadvisor.timeline.program_ops import InProgram

    product = proven_product(instruction, flops)
    sizes: tuple[DotSize, ...] = ()
    if product is not None:
        sizes = (DotSize(1, product.m, product.n, product.k, product.dtype),)
    opcode, effect = opcode_and_effect(category)
    return InProgram(
        opcode,
        effect,
        Cost(flops, moved),
        None,
        sizes,
        product.dtype if product else "",
        stated=True,
    )


def _rows_alike(table: OpTable) -> list[tuple[int, ...]]:
    """Of each row those of the same op of the same program, whatever their class; of a
    kernel without an op, its own.
    """
    pairs = list(zip(table.op.tolist(), table.owner().tolist(), strict=True))
    rows = listed((pair, row) for row, pair in enumerate(pairs))
    alike = {pair: tuple(same) for pair, same in rows.items()}
    return [
        alike[op, owner] if op >= 0 else (row,) for row, (op, owner) in enumerate(pairs)
    ]


def program_of_row(
    table: OpTable,
    row: int,
    programs: Modules,
) -> Module | None:
    """The program of a row; None when the trace names none, or several of one name."""
    if not programs.keys:
        return None
    name = table.names[table.module[row]] if table.module[row] >= 0 else ""
    if table.program[row] >= 0:
        return programs.of_program(table.program_ids[table.program[row]], name)
    named = programs.named(name) if name else ()
    return named[0] if len(named) == 1 else None


def hottest_program(
    table: OpTable, programs: Modules, kind: DeviceClass = DeviceClass.COMPUTE
) -> Module | None:
    """The program whose ops of a class take most time; None where the trace lacks it or
    holds it damaged.
    """
    try:
        return _hottest(table, table.of_class(kind), programs)
    except TraceError:
        return None


def _hottest(
    table: OpTable,
    rows: np.ndarray,
    programs: Modules,
) -> Module | None:
    """Raises TraceError for damaged bytes."""
    owner = table.owner()[rows]
    rows = rows[owner >= 0]
    owner = owner[owner >= 0]
    if not programs.keys or not len(rows):
        return None
    time = np.bincount(ranks(owner), table.total_ps[rows])
    return program_of_row(
        table,
        int(rows[ranks(owner) == int(np.argmax(time))][0]),
        programs,
    )


def _parameters(
    table: OpTable,
    rows: np.ndarray,
    programs: Modules,
) -> tuple[int | None, str, bool]:
    """(elements, "", False) of the program that takes most time, or (None, why not,
    whether it updates nothing).
    """
    try:
        program = _hottest(table, rows, programs)
        if program is None:
            return None, "the trace carries no HLO of the step's program", False
        from tfadvisor.program.parameters import (
            parameter_summary,
        )  # only with HLO in the trace

        found = parameter_summary(program)
    except TraceError as error:
        return None, error.cause.rstrip("."), False
    if not found.elements:
        return (
            None,
            f"{program.name} returns no floating-point argument, so it is not a "
            "training step",
            True,
        )
    if not found.is_named:
        return (
            None,
            f"the arguments of {program.name} have no names that distinguish "
            "parameters from the optimizer's state",
            False,
        )
    return found.elements, "", False


# How long the ops of a run without an accelerator would take undisturbed: they share
# its cores with everything else.


START_PS = 10_000_000
"""What starting an op takes at most: below 10 µs the start is the larger part."""
_ENOUGH_CALM_OPS = 400_000
"""Events that are sorted by op at most, of steps that are alike."""
_CALM = 5
"""The fastest of so many executions of one op are those that nothing disturbed."""
_BITS = 63
"""Of a number that an op and a length share, so that one sort orders both."""


class CalmOps(msgspec.Struct, frozen=True):
    """The compute ops of counted steps, summed over all threads; zeros on an
    accelerator, which nothing disturbs.
    """

    total_ps: int = 0
    """What they took."""
    calm_ps: int = 0
    """What they would have taken, each execution as long as the fastest fifth of its
    op's.
    """
    starts_ps: int = 0
    """The first 10 µs of each."""


def calm_ops(devices: tuple[Device, ...], steps: Steps) -> CalmOps:
    """Over the devices of a host."""
    found = [
        _of_device(device.ops, steps)
        for device in devices
        if device.kind is DeviceKind.CPU
    ]
    if found:
        return CalmOps(*(sum(column) for column in zip(*found, strict=True)))
    return CalmOps()


def _of_device(ops: DeviceOps, steps: Steps) -> tuple[int, int, int]:
    chosen = _chosen(ops, steps)
    chosen = chosen[ops.kind[chosen] == DeviceClass.COMPUTE]
    length = ops.end[chosen] - ops.start[chosen]
    return (
        int(length.sum()),
        _calm(length, _same_op(ops, chosen)),
        int(np.minimum(length, START_PS).sum()),
    )


def _chosen(ops: DeviceOps, steps: Steps) -> Int64Array:
    """Positions of the events of counted steps, of every second, third, ... where there
    are far too many.
    """
    counted = steps.steady()
    first = np.searchsorted(ops.start, steps.starts[counted])
    last = np.maximum(np.searchsorted(ops.start, steps.ends[counted]), first)
    every = max(-(-int((last - first).sum()) // _ENOUGH_CALM_OPS), 1)
    parts = [
        np.arange(lo, hi)
        for lo, hi in zip(first[::every].tolist(), last[::every].tolist(), strict=True)
    ]
    return np.concatenate(parts) if parts else NO_VALUES


def _same_op(ops: DeviceOps, chosen: Int64Array) -> Int64Array:
    """A number from 0 on for each chosen event; executions of one op of one program
    have the same.
    """
    name = np.where(ops.op[chosen] >= 0, ops.op[chosen], ops.name[chosen]).astype(
        np.int64
    )
    program = (ops.program if ops.program_ids else ops.module)[chosen]
    return (program.astype(np.int64) + 1) * len(ops.names) + name


def _calm(length: Int64Array, op: Int64Array) -> int:
    """ps: each op's number of executions times the length that a fifth of them do not
    exceed.
    """
    if not len(length):
        return 0
    bits = int(length.max()).bit_length()
    if int(op.max()).bit_length() + bits <= _BITS:
        both = (op << bits) + length
        both.sort()
        op = both >> bits
        length = both & ((1 << bits) - 1)
    else:
        order = np.lexsort((length, op))
        op = op[order]
        length = length[order]
    first = np.flatnonzero(changes(op))
    count = np.diff(np.append(first, len(op)))
    return int((length[first + (count - 1) // _CALM] * count).sum())
