"""Where in the user's program operations on arrays are that run by themselves."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tfadvisor.arrays import descending, is_in, true_at
from tfadvisor.errors import TraceError
from tfadvisor.program import Modules, location_of
from tfadvisor.timeline.names.program_calls import without_marks
from tfadvisor.timeline.program_ops import find_instruction
from tfadvisor.timeline.summary.device import OpTable
from tfadvisor.timeline.summary.hot_ops import program_of_row

_MOST = 200
"""Programs that are looked at, those that run most often first."""
Line = tuple[str, int]
"""File without its folder, line from 1."""


def lines_of_one_op_programs(
    table: OpTable, programs: Modules
) -> Mapping[str, tuple[Line, ...]]:
    """By module, as `without_marks` has it, the lines that its programs were first
    called on; without those whose HLO tells none.
    """
    rows = true_at(is_in(table.module, table.modules_of_few_ops()))
    rows = rows[descending(table.count[rows])]
    _, first = np.unique(table.owner()[rows], return_index=True)
    found: dict[str, list[Line]] = {}
    for row in rows[np.sort(first)][:_MOST].tolist():
        line = _line(table, row, programs)
        if line is not None:
            module = without_marks(table.names[table.module[row]])
            found.setdefault(module, []).append(line)
    return {module: tuple(lines) for module, lines in found.items()}


def _line(table: OpTable, row: int, programs: Modules) -> Line | None:
    try:
        program = program_of_row(table, row, programs)
        if program is None:
            return None
        op = find_instruction(program, table.names[table.name[row]])
        own = [op] if op is not None else reversed(program.entry.instructions)
        places = [place for part in own if (place := location_of(part)) is not None]
    except TraceError:
        return None
    if not places or not places[0].file:
        return None
    return places[0].file.rpartition("/")[2], places[0].line
