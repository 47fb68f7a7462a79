"""What the program that takes most time does in a way that could be done better, by the HLO that the trace carries."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from tfadvisor.errors import TraceError
from tfadvisor.hlo.format.find_modules import Modules
from tfadvisor.hlo.format.module import Module
from tfadvisor.hlo.questions.around_collectives import collectives_between_products, copies_of_gathered
from tfadvisor.hlo.questions.attention import unfused_attention
from tfadvisor.hlo.questions.products import products_of_one_operand
from tfadvisor.timeline.summary.device import OpTable
from tfadvisor.timeline.summary.hot_ops import hottest_program


class ProgramPatterns(msgspec.Struct, frozen=True):
    """Names of instructions of one program, as events bear them, sorted."""

    module: str
    """The program's name."""
    attention: tuple[str, ...]
    """Parts of attention that is not one kernel."""
    between_products: tuple[str, ...]
    """Collectives that a product waits for."""
    gathered_copies: tuple[str, ...]
    """Copies of gathered parts."""
    one_operand: tuple[str, ...]
    """Products of one and the same matrix."""


def program_patterns(table: OpTable, programs: Modules) -> ProgramPatterns | None:
    """Of one device; None where the trace lacks the program or holds it damaged."""
    program = hottest_program(table, programs)
    if program is None:
        return None
    queries = (unfused_attention, collectives_between_products, copies_of_gathered, products_of_one_operand)
    found = [_names(query, program) for query in queries]
    return ProgramPatterns(program.name, *found)


def _names(query: Callable[[Module], frozenset[str]], program: Module) -> tuple[str, ...]:
    try:
        return tuple(sorted(query(program)))
    except TraceError:
        return ()
