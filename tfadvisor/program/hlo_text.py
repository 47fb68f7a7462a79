"""An instruction as HLO text, with the body of a fusion, and the instructions beside
it.

The text follows XLA's own printer in the parts that it has. Left out: literals,
shardings and windows.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tfadvisor.program.flow import Users
from tfadvisor.program.matrix_products import dot_numbers
from tfadvisor.program.module import Computation, Instruction
from tfadvisor.program.operations import location_of
from tfadvisor.program.wire import numbers_of, text_of

_FUSION_KIND = 11
_DIMENSIONS = 14
_COMPARISON = 63
_MOST_LINES = 48
_MOST_BESIDE = 8
_MOST_OPERANDS = 24
_LONGEST_CONFIG = 400
_LONGEST = 40_000
"""Characters of a text: names in a trace may be of any length."""


class Neighbour(msgspec.Struct, frozen=True):
    """An instruction whose result is used, or that uses the result."""

    name: str
    opcode: str
    shape: str


class Shown(msgspec.Struct, frozen=True):
    """One instruction. operands and users: the first few; more: how many others there
    are of both together.
    """

    text: str
    operands: tuple[Neighbour, ...]
    users: tuple[Neighbour, ...]
    more: int


def shown(instruction: Instruction, users: Users) -> Shown:
    """users: of the instruction's computation. Raises TraceError for damaged bytes."""
    operands = [
        instruction.computation.by_id(each)
        for each in dict.fromkeys(instruction.operand_ids)
    ]
    using = users.of(instruction)
    bodies = [called for called in instruction.called if instruction.opcode == "fusion"]
    lines = [
        instruction_text(instruction),
        *(line for body in bodies for line in _body(body)),
    ]
    return Shown(
        "\n".join(lines)[:_LONGEST],
        _beside(operands),
        _beside(using),
        max(len(operands) - _MOST_BESIDE, 0) + max(len(using) - _MOST_BESIDE, 0),
    )


def instruction_text(instruction: Instruction) -> str:
    """`%dot.3 = f32[2,10]{1,0} dot(f32[2,4]{1,0} %x, f32[4,10]{1,0} %w),
    lhs_contracting_dims={1}, …`.
    """
    if instruction.opcode == "parameter":
        inside = str(instruction.parameter_number)
    else:
        named = [
            instruction.computation.by_id(each)
            for each in instruction.operand_ids[:_MOST_OPERANDS]
        ]
        inside = ", ".join(f"{each.shape} %{each.name}" for each in named)
        inside += ", …" if len(instruction.operand_ids) > _MOST_OPERANDS else ""
    return ", ".join(
        [
            f"%{instruction.name} = {instruction.shape} {instruction.opcode}({inside})",
            *_attributes(instruction),
        ]
    )


def _attributes(instruction: Instruction) -> list[str]:
    found = []
    numbers = dot_numbers(instruction) if instruction.opcode == "dot" else None
    if numbers is not None:
        named = {
            "lhs_batch_dims": numbers.lhs_batch,
            "lhs_contracting_dims": numbers.lhs_contracting,
            "rhs_batch_dims": numbers.rhs_batch,
            "rhs_contracting_dims": numbers.rhs_contracting,
        }
        found += [f"{name}={_braced(dims)}" for name, dims in named.items() if dims]
    elif dimensions := numbers_of(instruction.proto, instruction.fields, _DIMENSIONS):
        found.append(f"dimensions={_braced(dimensions)}")
    if comparison := text_of(instruction.proto, instruction.fields, _COMPARISON):
        found.append(f"direction={comparison}")
    if kind := text_of(instruction.proto, instruction.fields, _FUSION_KIND):
        found.append(f"kind={kind}")
    if instruction.channel_id > 0:
        found.append(f"channel_id={instruction.channel_id}")
    if instruction.custom_call_target:
        found.append(f'custom_call_target="{instruction.custom_call_target}"')
    if instruction.called:
        found.append(
            "calls=" + ", ".join(f"%{each.name}" for each in instruction.called[:4])
        )
    if config := instruction.backend_config:
        cut = "…" if len(config) > _LONGEST_CONFIG else ""
        found.append(f"backend_config={config[:_LONGEST_CONFIG]}{cut}")
    return found + _metadata(instruction)


def _metadata(instruction: Instruction) -> list[str]:
    place = location_of(instruction)
    if place is None:
        return []
    parts = [f'op_name="{place.op_name}"'] if place.op_name else []
    if place.file:
        parts.append(
            f'source_file="{place.file.rpartition("/")[2]}" source_line={place.line}'
        )
    return [f"metadata={{{' '.join(parts)}}}"]


def _body(body: Computation) -> list[str]:
    shown_ = body.instructions[:_MOST_LINES]
    left = len(body.instructions) - len(shown_)
    lines = [
        f"%{body.name} {{",
        *(f"  {instruction_text(instruction)}" for instruction in shown_),
    ]
    return [*lines, *([f"  … {left} more"] if left else []), "}"]


def _beside(found: Sequence[Instruction]) -> tuple[Neighbour, ...]:
    return tuple(
        Neighbour(instruction.name, instruction.opcode, str(instruction.shape))
        for instruction in found[:_MOST_BESIDE]
    )


def _braced(numbers: Sequence[int]) -> str:
    return f"{{{','.join(map(str, numbers))}}}"
