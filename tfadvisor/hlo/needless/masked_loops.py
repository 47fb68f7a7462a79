"""Loops of a fixed number of turns that throw away what the turns after some bound compute.

In `jnp.where(turn < length, new, old)` within `lax.scan` or `fori_loop` the turns from `length` on compute for nothing. In the
HLO that is a select in the loop's body whose predicate compares the loop's counter with a value that the program does not fix.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfadvisor.hlo.format.module import Computation, Instruction, Module
from tfadvisor.hlo.questions.executions import called_before, trip_count
from tfadvisor.hlo.questions.flow import Found, way_back

_RUNNING = frozenset(("while", "conditional", "call"))
_COUNTERS = frozenset("add get-tuple-element parameter select subtract".split())
_BOUNDS = frozenset("add divide get-tuple-element minimum parameter dynamic-slice gather subtract fusion".split())
_INTEGERS = frozenset("s8 s16 s32 s64 u8 u16 u32 u64".split())
_FEWEST_TURNS = 8


def masked_loops(module: Module) -> frozenset[str]:
    """Names of the instructions that run in such a loop, and of those that run one. Raises TraceError."""
    masked: set[int] = set()
    names: set[str] = set()
    for computation in module.computations:  # what is called stands before its callers
        holds = [one for one in computation.instructions if one.opcode in _RUNNING and _runs_masked(one, masked)]
        if holds:
            masked.add(computation.id)
            names.update(one.name for one in holds)
    return frozenset(names) | _run_within(module, masked)


def _runs_masked(one: Instruction, masked: set[int]) -> bool:
    called = called_before(one.computation, one)
    if any(each.id in masked for each in called):
        return True
    if one.opcode != "while" or not called or (trip_count(one) or 0) < _FEWEST_TURNS or not _masks(called[0]):
        return False
    masked.add(called[0].id)
    return True


def _run_within(module: Module, masked: set[int]) -> frozenset[str]:
    """Instructions of the loops' bodies themselves."""
    bodies = {
        one.called[0].id: one.called[0]
        for computation in module.computations
        for one in computation.instructions
        if one.opcode == "while" and one.called and one.called[0].id in masked and _masks(one.called[0])
    }
    return frozenset(inner.name for body in bodies.values() for inner in body.instructions)


def _masks(body: Computation) -> bool:
    return any(one.opcode == "select" and _by_turn(one, around) for one, around in _all(body))


def _all(body: Computation) -> Iterator[Found]:
    """The instructions of one turn, those inside fusions too."""
    for one in body.instructions:
        yield one, None
        if one.opcode == "fusion":
            for called in called_before(body, one):
                for inner in called.instructions:
                    yield inner, one


def _by_turn(select: Instruction, around: Instruction | None) -> bool:
    comparisons = (found for found in way_back(select.operands[0], around) if found[0].opcode == "compare")
    compared, around = next(comparisons, (select, None))
    if compared.shape.elements >= select.shape.elements or len(compared.operand_ids) < 2:
        return False
    sides = [_value(one, around) for one in compared.operands[:2]]
    if any(not {leaf.dtype for leaf in one.shape.leaves()} <= _INTEGERS for one in sides):
        return False
    return any(_is_counter(one) and other.opcode in _BOUNDS for one, other in (sides, sides[::-1]))


def _is_counter(one: Instruction) -> bool:
    return one.opcode in _COUNTERS and one.shape.elements == 1


def _value(one: Instruction, around: Instruction | None) -> Instruction:
    """Where a value comes from; a fusion that computes it stands for what it does."""
    for found, _ in way_back(one, around):
        if found.opcode == "fusion":
            return found
    return found
