"""The ops that take most of a device's time, with their cost and their place in the user's program by the trace's HLO."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np

from tfadvisor.arrays import ranks, true_at
from tfadvisor.errors import TraceError
from tfadvisor.timeline.names.classes import DeviceClass
from tfadvisor.timeline.summary.device import OpTable

if TYPE_CHECKING:
    from tfadvisor.hlo.format.find_modules import Modules
    from tfadvisor.hlo.format.module import Module
    from tfadvisor.timeline.summary.op_in_program import InProgram

_MOST = 100
_ENOUGH = 0.95


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
    """Its rows of the device's OpTable, those of its copies and memsets too; empty where nothing is known."""

    def name(self) -> str:
        """The op's, else the kernel's."""
        return self.op or self.kernel

    def place(self) -> str:
        """`fusion.3 (train.py:42)`, "" where the HLO does not tell the line."""
        return f"{self.name()} ({self.known.file}:{self.known.line})" if self.known and self.known.file else ""


class HotOps(msgspec.Struct, frozen=True):
    """The ops that take most of one device's time."""

    ops: tuple[HotOp, ...]
    """The hottest first, until 95% of compute_ps or a hundred are named."""
    compute_ps: int
    """Summed time of all compute ops in the counted steps, ps."""
    parameters: int | None
    """Elements of what the program that takes most time updates, None when its arguments have no telling names."""
    why: str
    """The reason then, else ""."""
    updates_nothing: bool = False
    """Whether the HLO of that program says that it returns none of its floating-point arguments."""


def hot_ops(table: OpTable, programs: Modules) -> HotOps:
    """Of one device. Without HLO in the trace only names and times are known."""
    rows = table.of_class(DeviceClass.COMPUTE)
    rows = rows[np.argsort(-table.total_ps[rows], kind="stable")]
    if not len(rows):
        return HotOps((), 0, None, "no op begins in a counted step")
    place = np.arange(len(rows))
    group = ranks(np.where(table.op[rows] >= 0, table.op[rows] * np.int64(1 << 31) + table.program[rows], -1 - place))
    time, count = np.zeros(group.max() + 1, np.int64), np.zeros(group.max() + 1, np.int64)
    first = np.full(group.max() + 1, len(rows))
    np.add.at(time, group, table.total_ps[rows])
    np.maximum.at(count, group, table.count[rows])
    np.minimum.at(first, group, place)
    order = np.argsort(-time, kind="stable")[:_MOST]
    before, total = np.cumsum(time[order]) - time[order], int(time.sum())
    found = [
        _hot_op(table, int(rows[first[one]]), int(time[one]), int(count[one]), programs)
        for one in order[before < _ENOUGH * total].tolist()
    ]
    return HotOps(tuple(found), total, *_parameters(table, rows, programs))


def _hot_op(table: OpTable, row: int, total_ps: int, count: int, programs: Modules) -> HotOp:
    kernel = table.names[table.name[row]]
    op = table.names[table.op[row]] if table.op[row] >= 0 else ""
    module = table.names[table.module[row]] if table.module[row] >= 0 else ""
    nothing = HotOp(op, kernel, module, total_ps, count, None)
    try:
        program = program_of_row(table, row, programs)
        if program is None:
            return nothing
        from tfadvisor.timeline.summary.ops_of_program import OpsOfProgram  # noqa: PLC0415  (only with HLO in the trace)

        name, known = OpsOfProgram.of(program).find(op or kernel)
    except TraceError:
        return nothing
    if known is None:
        return nothing
    return HotOp(name, kernel, module or program.name, total_ps, count, known, _rows_like(table, row))


def _rows_like(table: OpTable, row: int) -> tuple[int, ...]:
    """The rows of the same op of the same program, whatever their class; of a kernel without an op, its own."""
    if table.op[row] < 0:
        return (row,)
    same = (table.op == table.op[row]) & (table.program == table.program[row])
    return tuple(true_at(same).tolist())


def program_of_row(table: OpTable, row: int, programs: Modules) -> Module | None:
    """The program of a row; None when the trace names none, or several of one name."""
    if not programs.keys:
        return None
    name = table.names[table.module[row]] if table.module[row] >= 0 else ""
    if table.program[row] >= 0:
        return programs.of_program(table.program_ids[table.program[row]], name)
    named = programs.named(name) if name else ()
    return named[0] if len(named) == 1 else None


def hottest_program(table: OpTable, programs: Modules) -> Module | None:
    """The program whose compute ops take most time; None where the trace lacks it or holds it damaged."""
    try:
        return _hottest(table, table.of_class(DeviceClass.COMPUTE), programs)
    except TraceError:
        return None


def _hottest(table: OpTable, rows: np.ndarray, programs: Modules) -> Module | None:
    """Raises TraceError for damaged bytes."""
    programs_of = table.program[rows]
    if not programs.keys or not (programs_of >= 0).any():
        return None
    time = np.bincount(programs_of[programs_of >= 0], table.total_ps[rows][programs_of >= 0])
    return program_of_row(table, int(rows[programs_of == int(np.argmax(time))][0]), programs)


def _parameters(table: OpTable, rows: np.ndarray, programs: Modules) -> tuple[int | None, str, bool]:
    """(elements, "", False) of the program that takes most time, or (None, why not, whether it updates nothing)."""
    try:
        program = _hottest(table, rows, programs)
        if program is None:
            return None, "the trace carries no HLO of the step's program", False
        from tfadvisor.hlo.questions.parameters import parameter_summary  # noqa: PLC0415  (only with HLO in the trace)

        found = parameter_summary(program)
    except TraceError as error:
        return None, error.cause.rstrip("."), False
    if not found.likely.elements:
        return None, f"{program.name} returns no floating-point argument, so it is not a training step", True
    if not found.is_named:
        return (
            None,
            f"the arguments of {program.name} have no names that distinguish parameters from the optimizer's state",
            False,
        )
    return found.likely.elements, "", False
