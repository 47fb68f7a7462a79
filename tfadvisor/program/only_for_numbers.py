"""What a program computes for nothing but single numbers that it returns beside arrays:
a norm for the log, and what it takes the norm of.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from tfadvisor.program.flow import way_back
from tfadvisor.program.module import Instruction, Module
from tfadvisor.program.operations import location_of, made_at
from tfadvisor.program.parameters import new_numbers
from tfadvisor.program.uses import NEEDED, uses


@lru_cache(maxsize=16)  # the hosts of a run share their programs
def only_for_numbers(module: Module) -> Mapping[str, tuple[str, ...]]:
    """By an instruction's name, among those that are events of their own, what makes
    the numbers that alone need its result: `global_norm (train.py:111)`, "" where the
    trace does not tell. Nothing of a program that returns no array of floats, as an
    evaluation. Raises TraceError for damaged bytes.
    """
    root = module.entry.root
    if root.opcode != "tuple" or not any(map(_is_array, root.operands)):
        return {}
    bits = [NEEDED] * len(root.operands)
    words: dict[int, str] = {}
    for at in new_numbers(module):
        bits[at] = NEEDED << at + 1
        words[bits[at]] = _words(root.operands[at])
    return {
        name: tuple(words[bit] for bit in words if bit & use)
        for name, use in uses(module, bits).items()
        if use and not use & NEEDED
    }


def _is_array(made: Instruction) -> bool:
    return any(leaf.is_floating and leaf.elements > 1 for leaf in made.shape.leaves())


def _words(made: Instruction) -> str:
    found = (made_at(location_of(step)) for step, _ in way_back(made, None))
    return next(filter(None, found), "")
