"""Matrix products as a trace shows them: dots, library calls, and fusions around a dot; which of them share an operand."""

from __future__ import annotations

from tfadvisor.hlo.format.module import Instruction, Module
from tfadvisor.hlo.questions.dots import DotSize, dot_numbers, dot_size
from tfadvisor.hlo.questions.flow import PASSING, Users, inside, kernel_computations

_MAYBE = frozenset(("dot", "ragged-dot", "scaled-dot", "custom-call"))
_ONE_HOT = "one_hot"
_FLOATS = ("f", "bf")
"""What the names of floating-point types begin with."""
_LOOKED_PAST = PASSING | {"convert"}


def products(one: Instruction) -> tuple[DotSize, ...]:
    """Of an instruction and what it fuses; empty when it multiplies no matrices. Raises TraceError for damaged bytes."""
    sizes = (dot_size(part) for part in inside(one) if part.opcode in _MAYBE)
    return tuple(size for size in sizes if size is not None)


def multiplied_type(one: Instruction) -> str:
    """Type of what a product, a convolution or a custom kernel multiplies; "" where it has none, or several.

    Raises TraceError for damaged bytes.
    """
    found = {size.lhs_dtype for size in products(one)}
    for part in inside(one) if not found else ():
        if part.opcode in ("convolution", "custom-call") and part.operand_ids:
            types = [operand.shape.dtype for operand in part.operands]
            found.update([dtype for dtype in types if dtype.startswith(_FLOATS)][:1])
    return found.pop() if len(found) == 1 else ""


def is_product(one: Instruction) -> bool:
    """Whether it multiplies matrices."""
    return one.opcode in ("dot", "fusion", "custom-call") and bool(products(one))


def multiplies_one_hot(one: Instruction) -> bool:
    """Whether an operand of a product is one-hot rows, as the framework's path to it says. Raises TraceError."""
    for part in inside(one):
        if part.opcode != "dot":
            continue
        for operand in part.operands[:2]:
            outer = _outer(one, operand)
            made_by = operand if outer is None else one.computation.by_id(outer)
            if _ONE_HOT in made_by.op_name:
                return True
    return False


def products_of_one_operand(module: Module) -> frozenset[str]:
    """Names of products that multiply one and the same matrix, along the same dimension, by different others.

    They could be one product of it with the others put side by side. Raises TraceError for damaged bytes.
    """
    names: set[str] = set()
    for computation in kernel_computations(module):
        groups: dict[tuple[int, tuple[int, ...]], dict[str, int]] = {}
        for one in computation.instructions:
            if one.opcode in ("dot", "fusion", "custom-call"):
                for shared, along, other in _operands(one):
                    groups.setdefault((shared, along), {})[one.name] = other
        for group in groups.values():
            if len(set(group.values())) > 1:
                names.update(group)
    return frozenset(names)


def _operands(one: Instruction) -> list[tuple[int, tuple[int, ...], int]]:
    """(an operand, along which of its dimensions is summed, the other operand) both ways, as ids in the computation."""
    found = []
    for part in inside(one):
        numbers = dot_numbers(part) if part.opcode in _MAYBE else None
        if numbers is None or len(part.operand_ids) < 2 or numbers.lhs_batch:
            continue
        left, right = (_outer(one, operand) for operand in part.operands[:2])
        if left is not None and right is not None:
            found += [(left, numbers.lhs_contracting, right), (right, numbers.rhs_contracting, left)]
    return found


def _outer(one: Instruction, operand: Instruction) -> int | None:
    """The id of an operand as the computation around a fusion has it; None where the fusion makes it itself."""
    if one.opcode != "fusion":
        return operand.id
    for _ in range(8):
        if operand.opcode == "parameter":
            place = operand.computation.parameters().index(operand)
            return one.operand_ids[place] if place < len(one.operand_ids) else None
        if operand.opcode not in _LOOKED_PAST or not operand.operand_ids:
            return None
        operand = operand.operands[0]
    return None


def next_products(one: Instruction, users: Users, hops: int) -> bool:
    """Whether a product uses the result, at most so many instructions on."""
    waiting, seen = [one], {one.id}
    for _ in range(hops):
        following = []
        for before in waiting:
            for user in users.past_passing(before):
                if is_product(user):
                    return True
                if user.id not in seen:
                    seen.add(user.id)
                    following.append(user)
        waiting = following
    return False
