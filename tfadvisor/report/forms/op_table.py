"""The table of ops for a terminal: what takes most time on the devices, a row each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import msgspec

from tfadvisor.printable import cut, names_apart, one_line, short_kernel
from tfadvisor.report.model import Op
from tfadvisor.units import duration, percent, size

_SHORTEST_NAME = 24
"""Columns that a name has even where the rest is too wide."""


class OpColumn(msgspec.Struct, frozen=True):
    """What one column says about an op. It is left out where it says nothing of any."""

    heading: str
    cell: Callable[[Op], str]
    left: bool = False
    """Whether it is aligned as texts are, and not as numbers."""


def _kernel(op: Op) -> str:
    other = op.other_kernel.removeprefix(f"{op.name}:")
    return one_line(short_kernel(other, _SHORTEST_NAME))


def _tensor_cores(op: Op) -> str:
    if op.tensor_cores is None:
        return ""
    return "yes" if op.tensor_cores else "no"


def _extent(sides: Iterable[int] | None) -> str:
    """`128×4`: sides at the end that are 1 are left out, but for the first."""
    words = "×".join(str(side) for side in sides or ())
    return words.removesuffix("×1").removesuffix("×1")


def _shared_memory(op: Op) -> str:
    return "" if op.shared_bytes is None else size(op.shared_bytes)


def _line(op: Op) -> str:
    return one_line(f"{op.file}:{op.line}") if op.file and op.line else ""


def _program(op: Op) -> str:
    return one_line(cut(op.module, _SHORTEST_NAME)) if op.module else ""


_PROGRAM = OpColumn("program", _program, left=True)
_COLUMNS = (
    OpColumn("its kernel", _kernel, left=True),
    OpColumn("kind", lambda op: op.kind, left=True),
    OpColumn("share", lambda op: percent(op.share)),
    OpColumn("a step", lambda op: duration(op.ms_per_step)),
    OpColumn("runs", lambda op: f"{op.count_per_step:.4g}"),
    OpColumn("precision", lambda op: op.precision or "", left=True),
    OpColumn("TC", _tensor_cores),  # Tensor Cores
    OpColumn("grid", lambda op: _extent(op.grid)),
    OpColumn("block", lambda op: _extent(op.block)),
    OpColumn("regs", lambda op: "" if op.registers is None else f"{op.registers}"),
    OpColumn("shared", _shared_memory),
    OpColumn("occ.", lambda op: "" if op.occupancy is None else percent(op.occupancy)),
    OpColumn("line", _line, left=True),
    _PROGRAM,
)
"""Beside the name, in this order."""


def op_table(
    ops: Sequence[Op],
    width: int,
) -> tuple[list[list[str]], list[int]]:
    """The rows, headings first, in so many columns of text if names can be cut so far;
    and which columns hold texts.
    """
    several = len({op.module for op in ops if op.module}) > 1
    left = [0]
    columns = []
    for column in _COLUMNS:
        cells = [column.cell(op) for op in ops]
        if not any(cells) or (column is _PROGRAM and not several):
            continue
        columns.append([column.heading, *cells])
        if column.left:
            left.append(len(columns))

    beside = sum(2 + max(map(len, cells)) for cells in columns)
    names = ["op or kernel", *_names(ops, width - beside)]
    rows = [list(row) for row in zip(names, *columns, strict=True)]
    return rows, left


def _names(ops: Sequence[Op], room: int) -> list[str]:
    called = names_apart([op.name for op in ops], max(room, _SHORTEST_NAME))
    return [one_line(called[op.name]) for op in ops]
