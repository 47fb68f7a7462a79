"""Parts of the compiled programs that a page shows: the hottest ops as text, and what lies in memory."""

from __future__ import annotations

import msgspec

from tfadvisor.errors import TraceError
from tfadvisor.hlo.format.find_modules import Modules
from tfadvisor.hlo.format.module import Module
from tfadvisor.hlo.questions.flow import Users
from tfadvisor.hlo.shown.buffers import ProgramMemory, program_memory
from tfadvisor.hlo.shown.instruction_text import Shown, shown
from tfadvisor.timeline.ops_of_program import find_instruction
from tfadvisor.timeline.summary.device import OpTable
from tfadvisor.timeline.summary.hot_ops import HotOps, program_of_row

_MOST_OPS = 60
_MOST_PROGRAMS = 6
_MOST_TEXT = 400_000
"""Characters of all texts together."""


class OpExcerpt(msgspec.Struct, frozen=True):
    """One of the hottest ops. op, kernel, module: as its row of the ops names them."""

    op: str
    kernel: str
    module: str
    shown: Shown


class ProgramExcerpts(msgspec.Struct, frozen=True):
    """Of one host. memory: of the programs that the hottest ops belong to, that which needs most first."""

    ops: tuple[OpExcerpt, ...]
    memory: tuple[ProgramMemory, ...]


def program_excerpts(hot: HotOps, table: OpTable, programs: Modules) -> ProgramExcerpts:
    """What cannot be read is left out: other questions tell why."""
    found: list[OpExcerpt] = []
    opened: dict[int, Module] = {}
    users: dict[tuple[int, int], Users] = {}
    size = 0
    for one in hot.ops[:_MOST_OPS]:
        try:
            program = program_of_row(table, one.rows[0], programs) if one.rows else None
            if program is None:
                continue
            opened[id(program)] = program
            instruction = find_instruction(program, one.op or one.kernel)
            if instruction is None:
                continue
            part = instruction.computation
            using = users.setdefault((id(program), part.id), Users(part))
            text = shown(instruction, using)
        except TraceError:
            continue
        size += len(text.text)
        if size > _MOST_TEXT:
            break
        found.append(OpExcerpt(one.op, one.kernel, one.module, text))
    memory = [known for program in list(opened.values())[:_MOST_PROGRAMS] if (known := _memory(program)) is not None]
    return ProgramExcerpts(tuple(found), tuple(sorted(memory, key=lambda one: -one.bytes)))


def _memory(program: Module) -> ProgramMemory | None:
    try:
        return program_memory(program)
    except TraceError:
        return None
