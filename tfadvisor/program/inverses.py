"""Inverses of matrices that a program makes only to multiply with them: what a solver
gives without any inverse.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from tfadvisor.patterns import pattern
from tfadvisor.program.flow import (
    PASSING,
    Users,
    called_before,
    kernel_computations,
)
from tfadvisor.program.matrix_products import is_product
from tfadvisor.program.module import Instruction, Module
from tfadvisor.program.operations import location_of

_MAKES = pattern(r"\A.*?jit\((?:_pinv|inv)\)")
"""The path to a call of jnp.linalg's."""
_MOVING = PASSING | {"transpose", "convert"}
_MOST_FOLLOWED = 256
"""Steps from an inverse to what uses it."""


def inverse_in(path: str) -> str:
    """The beginning of a path up to the call that inverts; "" for none."""
    found = _MAKES.match(path)
    return found.group() if found else ""


@lru_cache(maxsize=16)  # the hosts of a run share their programs
def only_multiplied(module: Module) -> frozenset[str]:
    """Paths to calls that invert, as `inverse_in` has them, of whose results the
    program uses nothing but products. Raises TraceError for damaged bytes.
    """
    multiplied: dict[str, bool] = {}
    for computation in kernel_computations(module):
        users = Users(computation)
        for each in computation.instructions:
            inverse = inverse_in(_path(each))
            for multiplies in _uses(_Value(each, users), inverse) if inverse else ():
                multiplied[inverse] = multiplies and multiplied.get(inverse, True)
    return frozenset(inverse for inverse, alone in multiplied.items() if alone)


class _Value(NamedTuple):
    """What an instruction makes, who uses what beside it, and the fusion around as one
    of these, None outside of fusions.
    """

    made: Instruction
    users: Users
    around: _Value | None = None


def _uses(inverse: _Value, path: str) -> list[bool]:
    """Of each use of an inverse whether it multiplies: past what moves it or is a part
    of the call, into fusions and out of them.
    """
    found = []
    waiting = [inverse]
    for value in waiting:
        if len(waiting) > _MOST_FOLLOWED:
            return [False]
        for user in value.users.of(value.made):
            if user.opcode == "fusion" and value.around is None:
                waiting += _inside(value, user)
            elif user.opcode in _MOVING or inverse_in(_path(user)) == path:
                waiting.append(value._replace(made=user))
            else:
                found.append(_multiplies(user, value.users))
        if value.around is not None and value.made is value.made.computation.root:
            waiting.append(value.around)
    return found


def _inside(value: _Value, fusion: Instruction) -> list[_Value]:
    """The parameters of a fusion that are this value."""
    outside = value._replace(made=fusion)
    return [
        _Value(parameter, Users(body), outside)
        for body in called_before(fusion.computation, fusion)[:1]
        for parameter in body.parameters()
        if fusion.operand_ids[parameter.parameter_number :][:1] == (value.made.id,)
    ]


def _multiplies(user: Instruction, users: Users) -> bool:
    """A product may be sums of products by element, too."""
    if user.opcode == "multiply":
        following = users.past_passing(user)
        return bool(following) and all(map(_adds_up, following))
    return is_product(user)


def _adds_up(user: Instruction) -> bool:
    return user.opcode == "reduce" and all(
        called.root.opcode == "add" for called in user.called
    )


def _path(instruction: Instruction) -> str:
    place = location_of(instruction)
    return place.op_name if place is not None else ""
