"""Work inside a loop whose result is the same in every turn, because nothing that it uses changes from turn to turn.

XLA moves single ops out of a loop, but no loops inside it and nothing that would take more memory outside.
"""

from __future__ import annotations

from tfadvisor.hlo.format.module import Computation, Instruction, Module
from tfadvisor.hlo.format.wire import number_of
from tfadvisor.hlo.questions.executions import called_before, trip_count
from tfadvisor.hlo.questions.flow import running_computations

_TUPLE_INDEX = 13
_FEWEST_TURNS = 4
_HANDED_ON = frozenset("bitcast constant copy get-tuple-element iota parameter partition-id replica-id tuple".split())
_EACH_TIME_ANOTHER = frozenset(
    "custom-call infeed outfeed recv rng rng-bit-generator rng-get-and-update-state send all-reduce all-gather".split()
)
"""What may give another result for the same operands, or takes part in an exchange."""


def invariant_work(module: Module) -> frozenset[str]:
    """Names of instructions that a loop of four turns or more runs again with the same operands. Raises TraceError."""
    running = running_computations(module)
    found: set[str] = set()
    for computation in module.computations:
        if computation.id not in running:
            continue
        for one in computation.instructions:
            if one.opcode == "while" and (trip_count(one) or 0) >= _FEWEST_TURNS:
                called = called_before(computation, one)
                found.update(_invariant(called[0]) if called else ())
    return frozenset(found)


def _invariant(body: Computation) -> set[str]:
    same = _unchanged(body)
    names = set()
    for one in body.instructions:  # operands stand before what uses them
        if one.opcode in ("constant", "iota"):
            same[one.id] = True
        elif one.opcode not in _EACH_TIME_ANOTHER and one.operand_ids and one.id not in same:
            same[one.id] = all(same.get(operand, False) for operand in one.operand_ids)
        if same.get(one.id) and one.opcode not in _HANDED_ON:
            names.add(one.name)
    return names


def _unchanged(body: Computation) -> dict[int, bool]:
    """By id the parts of what the loop carries: whether the next turn gets the very same."""
    parameters = {one.id for one in body.parameters()}
    root = body.root
    if root.opcode != "tuple":
        return {}
    handed_on = dict(enumerate(root.operands))
    return {
        one.id: _is_part(handed_on.get(_index(one)), _index(one), parameters)
        for one in body.instructions
        if one.opcode == "get-tuple-element" and set(one.operand_ids) <= parameters
    }


def _is_part(one: Instruction | None, index: int, parameters: set[int]) -> bool:
    """Whether an instruction is this part of a parameter, or its copy."""
    while one is not None and one.opcode in ("copy", "bitcast") and one.operand_ids:
        one = one.operands[0]
    return (
        one is not None
        and one.opcode == "get-tuple-element"
        and set(one.operand_ids) <= parameters
        and _index(one) == index
    )


def _index(one: Instruction) -> int:
    return number_of(one.fields, _TUPLE_INDEX)
