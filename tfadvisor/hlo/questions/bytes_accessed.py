"""How much memory an instruction reads and writes: operands and result, less what it never touches.

A fusion's inner values stay in registers, so only what it is given and what it returns counts; of a parameter that it only
slices, only the slices, and of a result that it updates in place, only the update (as in a scan over layers). Caches are
not looked at: what does not fit moves more, what stays in a cache less.
"""

from __future__ import annotations

from collections.abc import Iterable

from tfadvisor.hlo.format.module import Computation, Instruction
from tfadvisor.hlo.format.shape import Shape
from tfadvisor.hlo.questions.operations import operand

_FREE = frozenset(
    """add-dependency after-all bitcast constant domain get-dimension-size get-tuple-element opt-barrier parameter
    partition-id replica-id tuple""".split()
)
_SLICING = frozenset(("slice", "dynamic-slice", "gather"))
_THROUGH = frozenset(("bitcast", "reshape"))


def own_bytes(instruction: Instruction) -> int:
    """Of one execution, without what a while, conditional or call runs: for those 0. Raises TraceError."""
    opcode, shape = instruction.opcode, instruction.shape
    if opcode in _FREE or opcode.endswith(("-done", "-update")):
        return 0
    if opcode == "fusion":
        return _fusion_bytes(instruction)
    if opcode in _SLICING:
        return 2 * shape.bytes + _operand_bytes(instruction, first=1)
    if opcode == "dynamic-update-slice":
        return 2 * operand(instruction, 1).bytes + _operand_bytes(instruction, first=2)
    if opcode == "scatter":
        arrays = len(instruction.operand_ids) // 2
        updates = sum(operand(instruction, arrays + 1 + one).bytes for one in range(arrays))
        return 3 * updates + operand(instruction, arrays).bytes
    return _operand_bytes(instruction) + _written(instruction)


def _operand_bytes(instruction: Instruction, first: int = 0) -> int:
    """An operand that is used twice is read once."""
    ids = dict.fromkeys(instruction.operand_ids[first:])
    return sum(instruction.computation.by_id(one).shape.bytes for one in ids)


def _written(instruction: Instruction) -> int:
    """A start's shape repeats its operands; a library call's has its workspace, unformatted bytes, at the end."""
    opcode, shape = instruction.opcode, instruction.shape
    parts = shape.parts
    if opcode == "copy-start" and parts:
        return parts[0].bytes
    if opcode in ("all-gather-start", "collective-permute-start") and len(parts) > 1:
        return parts[1].bytes
    if opcode in ("send", "recv") and parts:
        return parts[0].bytes if opcode == "recv" else 0
    if opcode == "custom-call" and len(parts) > 1 and _is_workspace(parts[-1]):
        return sum(part.bytes for part in parts[:-1])
    return shape.bytes


def _is_workspace(shape: Shape) -> bool:
    return shape.dtype in ("s8", "u8") and len(shape.dims) == 1


def _fusion_bytes(fusion: Instruction) -> int:
    called = fusion.called
    if not called:
        raise fusion.damaged("calls no computation")
    inner = called[0]
    users = _users(inner)
    read = sum(_read(parameter, users) for parameter in inner.parameters())
    tables = sum(one.shape.bytes for one in inner.instructions if one.opcode == "constant" and one.shape.elements > 1)
    return read + tables + sum(_returned(one) for one in _results(inner.root))


def _users(inner: Computation) -> dict[int, list[Instruction]]:
    found: dict[int, list[Instruction]] = {}
    for one in inner.instructions:
        for used in dict.fromkeys(one.operand_ids):
            found.setdefault(used, []).append(one)
    return found


def _read(value: Instruction, users: dict[int, list[Instruction]]) -> int:
    """What is read of a parameter: all of it, unless every use takes slices or overwrites a part."""
    full = value.shape.bytes
    parts, names = 0, {value.id}  # the parameter itself, and the bitcasts of it
    waiting = [value.id]
    while waiting:
        used = waiting.pop()
        for user in users.get(used, ()):
            if user.opcode in _THROUGH:
                if user.id not in names:
                    names.add(user.id)
                    waiting.append(user.id)
            elif user.opcode == "get-tuple-element" or (user.opcode in _SLICING and _only_first(user, used)):
                parts += user.shape.bytes
            elif not (user.opcode == "dynamic-update-slice" and _only_first(user, used)):
                return full
    return min(full, parts)


def _only_first(user: Instruction, used: int) -> bool:
    operands = user.operand_ids
    return operands[0] == used and used not in operands[1:]


def _results(root: Instruction) -> Iterable[Instruction]:
    return root.operands if root.opcode == "tuple" else (root,)


def _returned(result: Instruction) -> int:
    """What is written of a result: an update in place writes only its update."""
    one = result
    for _ in range(8):
        if one.opcode not in _THROUGH or not one.operand_ids:
            break
        one = one.operands[0]
    if one.opcode == "dynamic-update-slice":
        return operand(one, 1).bytes
    return result.shape.bytes
