"""Ops whose result counts only where a condition holds: nothing but a select between it
and something else uses it, as where vmap makes one of a cond, or nothing but one branch
of a conditional that is given it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from tfadvisor.program.flow import called_before, callers_first, runs
from tfadvisor.program.module import Computation, Instruction, Module
from tfadvisor.program.operations import SourceLocation, location_of

Place = tuple[str, int, int]
"""File and line of a select or a conditional, and which of its branches needs it."""
_Use = Place | bool | None
"""Where it is selected; True where something else uses it, or several branches need it;
None where nothing does.
"""
_EFFECTS = frozenset(("outfeed", "send", "custom-call"))
"""Opcodes that use what they get whatever becomes of their result."""


@lru_cache(maxsize=16)  # the hosts of a run share their programs
def selected(module: Module) -> Mapping[str, SourceLocation]:
    """By an instruction's name what chooses, if that is all that uses its result. What
    a loop, a branch or a call holds is used as its result is. Raises TraceError for
    damaged bytes.
    """
    places: dict[Place, SourceLocation] = {}
    uses: dict[int, _Use] = {}
    of_computation: dict[int, _Use] = {}
    found: dict[str, _Use] = {}
    for computation in callers_first(module):
        if computation.id == module.entry.id:
            uses = _uses(computation, True, places)
        for instruction in computation.instructions:
            use = of_computation.get(computation.id, uses.get(instruction.id))
            found[instruction.name] = use
            for called in runs(instruction):
                before = of_computation.get(called.id)
                of_computation[called.id] = _both(before, use)
    return {name: places[use] for name, use in found.items() if isinstance(use, tuple)}


def _uses(
    computation: Computation, whole: _Use, places: dict[Place, SourceLocation]
) -> dict[int, _Use]:
    """By id of each instruction. whole: how the computation's result is used. Adds the
    selects that it meets to places.
    """
    found: dict[int, _Use] = {computation.root.id: whole}
    for instruction in reversed(computation.instructions):  # users stand behind
        own = found.get(instruction.id)
        for operand, use in _of_operands(instruction, own, places):
            found[operand] = _both(found.get(operand), use)
    return found


def _of_operands(
    instruction: Instruction, own: _Use, places: dict[Place, SourceLocation]
) -> Iterator[tuple[int, _Use]]:
    """(id of an operand, how this uses it). own: how its own result is used."""
    if instruction.opcode in _EFFECTS:
        own = True
    uses: list[_Use] = [own] * len(instruction.operand_ids)
    if own is True and instruction.opcode == "fusion":
        uses = _in_fusion(instruction, places)
    elif own is True:
        uses = [_of_operand(instruction, at, places) for at in _places(instruction)]
    yield from zip(instruction.operand_ids, uses, strict=True)


def _places(instruction: Instruction) -> range:
    return range(len(instruction.operand_ids))


def _in_fusion(fusion: Instruction, places: dict[Place, SourceLocation]) -> list[_Use]:
    """Of each operand, by what the fusion does with it."""
    (fused,) = called_before(fusion.computation, fusion)[:1]
    uses = _uses(fused, True, places)
    inside = [uses.get(parameter.id) for parameter in fused.parameters()]
    return [inside[at] if at < len(inside) else True for at in _places(fusion)]


def _of_operand(
    instruction: Instruction, place: int, places: dict[Place, SourceLocation]
) -> _Use:
    """The first operand of what chooses is what it chooses by."""
    if place and instruction.opcode in ("select", "conditional"):
        return _place_of(instruction, place, places) or True
    return True


def _place_of(
    chooses: Instruction, branch: int, places: dict[Place, SourceLocation]
) -> Place | None:
    location = location_of(chooses)
    if location is None or not location.file:
        return None
    place = location.file, location.line, branch
    places.setdefault(place, location)
    return place


def _both(first: _Use, other: _Use) -> _Use:
    if first is None or other is None:
        return other if first is None else first
    return first if first == other else True
