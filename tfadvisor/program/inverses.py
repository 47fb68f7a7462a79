"""Inverses of matrices that a program makes only to multiply with them: what a solver
gives without any inverse.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

from tfadvisor.patterns import pattern
from tfadvisor.program.flow import (
    PASSING,
    Users,
    called_before,
    kernel_computations,
    runs,
)
from tfadvisor.program.matrix_products import is_product
from tfadvisor.program.module import Instruction, Module
from tfadvisor.program.operations import location_of

_MAKES = pattern(r"\A.*?jit\((?:_pinv\)|inv\)(?=\)*/(?:\w+\()*jit\(solve\)))")
"""The path to a call of jnp.linalg's, and not to a program's own `inv`: that solves for
the identity.
"""
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
    for inverse, multiplies in _all_uses(module):
        multiplied[inverse] = multiplies and multiplied.get(inverse, True)
    return frozenset(inverse for inverse, alone in multiplied.items() if alone)


def _all_uses(module: Module) -> Iterator[tuple[str, bool]]:
    """(path to a call that inverts, whether it is a product) for each use. What a loop
    of the call itself hands to its next round is none.
    """
    computations = tuple(kernel_computations(module))
    loops = {
        called.id: inverse_in(_path(caller))
        for computation in computations
        for caller in computation.instructions
        for called in runs(caller)
    }
    for computation in computations:
        users = Users(computation)
        for each in computation.instructions:
            inverse = inverse_in(_path(each))
            for use in _uses(_Value(each, users), inverse) if inverse else ():
                if use is not _Use.RESULT or loops.get(computation.id) != inverse:
                    yield inverse, use is _Use.PRODUCT


class _Use(Enum):
    """What an inverse goes into."""

    PRODUCT = "a product"
    RESULT = "the result of its computation"
    OTHER = "something else"


class _Value(NamedTuple):
    """What an instruction makes, who uses what beside it, and the fusion around as one
    of these, None outside of fusions.
    """

    made: Instruction
    users: Users
    around: _Value | None = None


def _uses(inverse: _Value, path: str) -> list[_Use]:
    """Past what moves it or is a part of the call, into fusions and out of them. What
    is no float, as a permutation, is no inverse.
    """
    found: list[_Use] = []
    waiting = [inverse]
    for value in waiting:
        if len(waiting) > _MOST_FOLLOWED:
            return [_Use.OTHER]
        if any(leaf.is_floating for leaf in value.made.shape.leaves()):
            for following in _following(value, path):
                if isinstance(following, _Use):
                    found.append(following)
                else:
                    waiting.append(following)
    return [_Use.OTHER] if _meets_itself(waiting, path) else found


def _meets_itself(inverse: list[_Value], path: str) -> bool:
    """Whether a product takes it on both sides, as one that makes another inverse."""
    forms = {value.made.id for value in inverse}
    return any(
        is_product(user) and forms.issuperset(user.operand_ids[:2])
        for value in inverse
        for user in value.users.of(value.made)
        if not _is_part(user, value.around, path)
    )


def _following(value: _Value, path: str) -> Iterator[_Value | _Use]:
    made, users, around = value
    for user in users.of(made):
        if user.opcode == "fusion" and around is None:
            yield from _inside(made, _Value(user, users))
        elif user.opcode in _MOVING or _is_part(user, around, path):
            yield _Value(user, users, around)
        else:
            yield _use(user, users)
    if made is made.computation.root:
        yield around or _Use.RESULT


def _is_part(user: Instruction, around: _Value | None, path: str) -> bool:
    """What the compiler added bears no path of its own inside of a fusion."""
    own = _path(user) or (_path(around.made) if around is not None else "")
    return inverse_in(own) == path


def _inside(made: Instruction, fusion: _Value) -> list[_Value]:
    """The parameters of a fusion that are this value."""
    return [
        _Value(parameter, Users(body), fusion)
        for body in called_before(fusion.made.computation, fusion.made)[:1]
        for parameter in body.parameters()
        if fusion.made.operand_ids[parameter.parameter_number :][:1] == (made.id,)
    ]


def _use(user: Instruction, users: Users) -> _Use:
    """A product may be sums of products by element, too."""
    following = users.past_passing(user) if user.opcode == "multiply" else []
    if is_product(user) or (following and all(map(_adds_up, following))):
        return _Use.PRODUCT
    return _Use.OTHER


def _adds_up(user: Instruction) -> bool:
    return user.opcode == "reduce" and all(
        called.root.opcode == "add" for called in user.called
    )


def _path(instruction: Instruction) -> str:
    place = location_of(instruction)
    return place.op_name if place is not None else ""
