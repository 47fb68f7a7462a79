"""Tables of which a program looks up a few rows and which it gives back changed."""

from __future__ import annotations

import msgspec

from tfadvisor.program.flow import inside, kernel_computations, way_back
from tfadvisor.program.module import Instruction, Module
from tfadvisor.program.parameters import whole_arguments

_LEAST_ROWS = 1_000
"""A smaller table is updated in no time."""


class LookedUpTable(msgspec.Struct, frozen=True):
    """An argument of a program that it returns changed."""

    name: str
    """The framework's, `params['embed']`; "" where it has none of its own."""
    rows: int
    """Of the table, on one device."""
    width: int
    """Elements of a row."""
    looked_up: int
    """Rows that one run picks, with those that it picks again."""


def looked_up_tables(module: Module) -> tuple[LookedUpTable, ...]:
    """The largest first. Raises TraceError for damaged bytes."""
    found: dict[int, LookedUpTable] = {}
    for computation in kernel_computations(module):
        for instruction in computation.instructions:
            for part in inside(instruction):
                if part.opcode == "gather":
                    _add(
                        module,
                        part,
                        instruction if part is not instruction else None,
                        found,
                    )
    return tuple(sorted(found.values(), key=lambda table: -table.rows * table.width))


def _add(
    module: Module,
    gather: Instruction,
    around: Instruction | None,
    found: dict[int, LookedUpTable],
) -> None:
    """around: the fusion that holds the gather."""
    *_, (source, _) = way_back(gather.operands[0], around)
    table = source.shape
    is_argument = source.opcode == "parameter" and (
        source.computation.id == module.entry.id
    )
    if not is_argument or len(table.dims) < 2 or table.dims[0] < _LEAST_ROWS:
        return
    argument = whole_arguments(module).get(source.parameter_number)
    width = table.elements // table.dims[0]
    if argument is None or not argument.returned or not width:
        return
    before = found.get(source.id)
    more = gather.shape.elements // width
    looked_up = more + (before.looked_up if before else 0)
    found[source.id] = LookedUpTable(argument.name, table.dims[0], width, looked_up)
