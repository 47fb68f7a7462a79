"""What stands right before and behind a program's collectives."""

from __future__ import annotations

from tfadvisor.hlo.format.instruction import Instruction
from tfadvisor.hlo.format.module import Module
from tfadvisor.hlo.questions.collectives import collectives
from tfadvisor.hlo.questions.flow import Users, inside, kernel_computations
from tfadvisor.hlo.questions.operations import MOVING
from tfadvisor.hlo.questions.products import is_product, next_products

_BEFORE, _BEHIND = 6, 6
"""How many instructions may lie between a collective and the products around it: a bias, an activation, a norm."""
_PUTS_TOGETHER = frozenset(("concatenate", "transpose", "copy"))


def collectives_between_products(module: Module) -> frozenset[str]:
    """Names of the collectives that wait for a matrix product and that another one waits for, as in tensor parallelism.

    A gradient's collective waits for a product too, but no product waits for it. Raises TraceError for damaged bytes.
    """
    names: set[str] = set()
    mine = {one.name for one in collectives(module)}
    for computation in kernel_computations(module) if mine else ():
        users: Users | None = None
        for one in computation.instructions:
            if one.name in mine and _product_before(one):
                users = users or Users(computation)
                if next_products(one, users, _BEHIND):
                    names.add(one.name)
    return frozenset(names)


def copies_of_gathered(module: Module) -> frozenset[str]:
    """Names of what only moves the result of an all-gather: puts its parts together or in another order."""
    names: set[str] = set()
    gathers = {one.name for one in collectives(module) if one.kind == "all-gather"}
    for computation in kernel_computations(module) if gathers else ():
        users: Users | None = None
        for one in computation.instructions:
            if one.name in gathers:
                users = users or Users(computation)
                names.update(user.name for user in users.past_passing(one) if _only_moves(user))
                names.update(user.name for user in users.of(one) if user.opcode == "copy")
    return frozenset(names)


def _product_before(one: Instruction) -> bool:
    waiting = [one]
    for _ in range(_BEFORE):
        before = [operand for each in waiting for operand in each.operands]
        if any(is_product(operand) for operand in before):
            return True
        waiting = before[:16]
    return False


def _only_moves(one: Instruction) -> bool:
    parts = {part.opcode for part in inside(one)}
    return bool(parts & _PUTS_TOGETHER) and parts <= MOVING | {"convert"}
