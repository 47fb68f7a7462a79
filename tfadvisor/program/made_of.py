"""Of which of its arguments a program makes the result of each op."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from tfadvisor.patterns import pattern
from tfadvisor.program.flow import callers_first, runs
from tfadvisor.program.module import Instruction, Module
from tfadvisor.program.parameters import arguments

Made = frozenset[str]
"""Names of arguments of the function that was compiled: `params` of
`params['dense']['kernel']`.
"""
_ROOT = pattern(r"\A[^\W\d]\w*(?=\Z|[\[.])")
_OPAQUE = frozenset(
    "infeed outfeed recv recv-done send rng rng-get-and-update-state partition-id "
    "replica-id".split()
)
"""Opcodes whose result is made of what is no argument."""


@lru_cache(maxsize=16)  # the hosts of a run share their programs
def made_of(module: Module) -> Mapping[str, Made]:
    """By an instruction's name, among those that are events of their own. What a loop,
    a branch or a call holds is made of all that this is given. Those that are made of
    an argument without a name, or of what is no argument, are left out, and all of a
    program without arguments: each call of it is the same.

    Raises TraceError for damaged bytes.
    """
    given: dict[int, Made | None] = {}
    roots = _roots(module)
    found: dict[str, Made | None] = {}
    if not arguments(module):
        return {}
    for computation in callers_first(module):
        made: dict[int, Made | None] = {}
        whole = given.get(computation.id)
        for instruction in computation.instructions:
            if computation.id != module.entry.id:
                made[instruction.id] = whole
            elif instruction.opcode == "parameter":
                made[instruction.id] = roots.get(instruction.parameter_number)
            else:
                made[instruction.id] = together(instruction, made)
            found[instruction.name] = made[instruction.id]
            for called in runs(instruction):
                before = given.get(called.id, frozenset())
                given[called.id] = _sum(before, made[instruction.id])
    return {name: of for name, of in found.items() if of is not None}


def _roots(module: Module) -> Mapping[int, Made]:
    """By a parameter's number, of those whose arrays all have names and are only read:
    what a program may write into, as a reference of JAX, does not stay what it was.
    """
    found: dict[int, Made | None] = {}
    for argument in arguments(module):
        root = None if argument.donated else _ROOT.match(argument.name)
        name = None if root is None else frozenset({root.group()})
        found[argument.number] = _sum(found.get(argument.number, frozenset()), name)
    return {number: roots for number, roots in found.items() if roots is not None}


def together(instruction: Instruction, made: Mapping[int, Made | None]) -> Made | None:
    """What an instruction is made of: all its operands, and what these are made of."""
    is_opaque = instruction.opcode in _OPAQUE or "callback" in (
        instruction.custom_call_target
    )
    found: Made | None = None if is_opaque else frozenset()
    for operand in instruction.operand_ids:
        found = _sum(found, made.get(operand))
    return found


def _sum(first: Made | None, other: Made | None) -> Made | None:
    """None for unknown."""
    return None if first is None or other is None else first | other
