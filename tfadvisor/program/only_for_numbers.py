"""What a program computes for nothing but single numbers that it returns beside arrays:
a norm for the log, and what it takes the norm of.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from tfadvisor.program.flow import way_back
from tfadvisor.program.module import Instruction, Module
from tfadvisor.program.operations import SourceLocation, location_of
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
    """What the program's line calls that makes it, else the function around."""
    for step, _ in way_back(made, None):
        place = location_of(step)
        if place is not None and place.file and not place.is_installed:
            return f"{_maker(place)} ({place.file.rpartition('/')[2]}:{place.line})"
    return ""


def _maker(place: SourceLocation) -> str:
    own = next((at for at, each in enumerate(place.frames) if not each.is_installed), 0)
    named = place.frames[max(own - 1, 0)].function if place.frames else ""
    return named.rpartition(".")[2] or place.op_name.rpartition("/")[2]
