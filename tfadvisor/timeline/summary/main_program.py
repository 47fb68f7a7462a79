"""What the program that takes most time does in a way that could be done better, and
its text for the page.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import msgspec

from tfadvisor.errors import TraceError
from tfadvisor.program import (
    Module,
    Modules,
    ProgramMemory,
    location_of,
    program_memory,
)
from tfadvisor.program.attributes import equal_partitions
from tfadvisor.program.exchanges import (
    asked_for,
    collectives_between_products,
    gathers_of_weights,
    of_experts,
)
from tfadvisor.program.flow import Users
from tfadvisor.program.hlo_text import Shown, shown
from tfadvisor.program.mapped_loops import MappedLoop, mapped_loops
from tfadvisor.program.parameters import arguments
from tfadvisor.program.patterns import (
    NO_ROWS,
    PickedRows,
    picked_rows,
    unfused_attention,
)
from tfadvisor.program.rounds import NO_ROUNDS, Rounds, rounds_of
from tfadvisor.timeline.program_ops import find_instruction
from tfadvisor.timeline.summary.device import OpTable
from tfadvisor.timeline.summary.hot_ops import HotOps, program_of_row


class ProgramPatterns(msgspec.Struct, frozen=True):
    """Names of instructions of one program, as events bear them, sorted."""

    module: str
    """The program's name."""
    attention: tuple[str, ...]
    """Parts of attention that is not one kernel."""
    between_products: tuple[str, ...]
    """Collectives that a product waits for."""
    weights: tuple[str, ...]
    """All-gathers of the program's arguments."""
    asked_for: tuple[str, ...]
    """Collectives that the program itself writes."""
    experts: tuple[str, ...]
    """All-to-alls of a mixture of experts."""
    picked: PickedRows
    """What it computes for rows of which it keeps few."""
    rounds: Rounds
    """What is said of its loops."""
    mapped: tuple[MappedLoop, ...]
    """Loops that vmap runs for all rows until the last row ends."""
    equal_partitions: int
    """How many devices compute the same in it; 1 where each may compute something else.
    """


def line_of(program: Module, instruction: str) -> tuple[str, int]:
    """(file without its folder, line) of an instruction; ("", 0) where the program has
    none of this name, or does not tell.
    """
    try:
        found = find_instruction(program, instruction) if instruction else None
        place = location_of(found) if found is not None else None
    except TraceError:
        return "", 0
    return (place.file.rpartition("/")[2], place.line) if place else ("", 0)


def kept_arguments(program: Module) -> int:
    """How many arrays of floats come back changed, as far as types tell, in other
    memory than they were given in: they are not donated. Raises TraceError.
    """
    return sum(
        argument.shape.is_floating and argument.returned and not argument.donated
        for argument in arguments(program)
    )


def program_patterns(program: Module) -> ProgramPatterns:
    """What it could do better; nothing that cannot be read."""
    return ProgramPatterns(
        module=program.name,
        attention=_names(unfused_attention, program),
        between_products=_names(collectives_between_products, program),
        weights=_names(gathers_of_weights, program),
        asked_for=_names(asked_for, program),
        experts=_names(of_experts, program),
        picked=told(picked_rows, program, NO_ROWS),
        rounds=told(rounds_of, program, NO_ROUNDS),
        mapped=told(mapped_loops, program, ()),
        equal_partitions=told(equal_partitions, program, 1),
    )


def _names(
    query: Callable[[Module], frozenset[str]],
    program: Module,
) -> tuple[str, ...]:
    return tuple(sorted(told(query, program, frozenset())))


@lru_cache(maxsize=160)  # the hosts of a run share their programs
def told(query: Callable[[Module], Any], program: Module | None, unread: Any) -> Any:
    """What a program answers; unread: where there is none, or it is damaged."""
    try:
        return unread if program is None else query(program)
    except TraceError:
        return unread


# Parts of the compiled programs that a page shows: the hottest ops as text, and what
# lies in memory.

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
    """Of one host. memory: of the programs that the hottest ops belong to, that which
    needs most first.
    """

    ops: tuple[OpExcerpt, ...]
    memory: tuple[ProgramMemory, ...]


def program_excerpts(
    hot: HotOps,
    table: OpTable,
    programs: Modules,
) -> ProgramExcerpts:
    """What cannot be read is left out: other questions tell why."""
    found: list[OpExcerpt] = []
    module_of = table.module_of()
    opened: dict[int, Module] = {}
    users: dict[tuple[int, int], Users] = {}
    size = 0
    for op in hot.ops[:_MOST_OPS]:
        try:
            program = program_of_row(table, op.rows[0], programs) if op.rows else None
            if program is None:
                continue
            opened[id(program)] = program
            instruction = find_instruction(program, op.op or op.kernel)
            if instruction is None:
                continue
            part = instruction.computation
            key = id(program), part.id
            if key not in users:  # it reads what every instruction of the part uses
                users[key] = Users(part)
            text = shown(instruction, users[key])
        except TraceError:
            continue
        size += len(text.text)
        if size > _MOST_TEXT:
            break
        found.append(OpExcerpt(op.op, op.kernel, module_of(op.rows[0]), text))
    memory = [
        told(program_memory, program, None)
        for program in list(opened.values())[:_MOST_PROGRAMS]
    ]
    known = sorted(
        (usage for usage in memory if usage is not None),
        key=lambda usage: -usage.bytes,
    )
    return ProgramExcerpts(tuple(found), tuple(known))
