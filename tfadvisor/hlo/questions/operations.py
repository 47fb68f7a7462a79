"""How many arithmetic operations an instruction does by itself, without what it calls.

The conventions are XLA's own (`HloCostAnalysis` in openxla/xla, xla/service/hlo_cost_analysis.cc), so that numbers can be
compared: one for each element of an elementwise result, whatever its type; transcendental functions are counted apart.
"""

from __future__ import annotations

from math import prod

from tfadvisor.hlo.format.module import Instruction
from tfadvisor.hlo.format.shape import Shape
from tfadvisor.hlo.format.window import window_of
from tfadvisor.hlo.format.wire import numbers_of
from tfadvisor.hlo.questions.convolutions import convolution_size
from tfadvisor.hlo.questions.dots import dot_size

_FFT_LENGTH = 32

ELEMENTWISE = frozenset(
    """abs add and ceil clamp compare complex convert count-leading-zeros divide floor imag is-finite maximum minimum
    multiply negate not or popcnt real reduce-precision remainder round-nearest-afz round-nearest-even select shift-left
    shift-right-arithmetic shift-right-logical sign stochastic-convert subtract xor""".split()
)
TRANSCENDENTAL = frozenset(
    """acos acosh asin asinh atan2 atanh cbrt cosh cosine erf exponential exponential-minus-one log log-plus-one logistic
    power rng rng-bit-generator rsqrt sine sinh sqrt tan tanh""".split()
)
APPLYING = frozenset("map reduce reduce-window scatter select-and-scatter".split())
"""Opcodes that apply the function they call to elements, again and again."""
MOVING = frozenset(
    """add-dependency after-all all-gather all-gather-done all-gather-start all-reduce all-reduce-done all-reduce-start
    all-to-all async-done async-update bitcast bitcast-convert broadcast collective-broadcast collective-permute
    collective-permute-done collective-permute-start concatenate constant copy copy-done copy-start domain
    dynamic-reshape dynamic-slice dynamic-update-slice gather get-dimension-size get-tuple-element infeed iota
    opt-barrier outfeed pad parameter partition-id ragged-all-to-all recv recv-done reduce-scatter replica-id reshape
    reverse rng-get-and-update-state send send-done set-dimension-size slice transpose tuple""".split()
)
"""Opcodes that compute nothing: they move data, name it, or pass it to other devices (whose sums are not counted)."""


def matrix_flops(instruction: Instruction) -> int | None:
    """Of a dot, a convolution or a library call that stands for one; None for anything else. Raises TraceError."""
    size = dot_size(instruction) or convolution_size(instruction)
    return None if size is None else size.flops


def own_operations(instruction: Instruction) -> tuple[int, int] | None:
    """(flops, transcendentals); None when this file has no rule for the opcode. Raises TraceError."""
    opcode = instruction.opcode
    if opcode in ELEMENTWISE:
        return instruction.shape.elements, 0
    if opcode in TRANSCENDENTAL:
        return 0, instruction.shape.elements
    if opcode in MOVING:
        return 0, 0
    flops = _linear_algebra(instruction)
    return None if flops is None else (flops, 0)


def applications(instruction: Instruction) -> tuple[int, ...]:
    """For an opcode of APPLYING: how often it applies each function that it calls, in their order. Raises TraceError."""
    opcode = instruction.opcode
    result = _first(instruction.shape)
    if opcode == "map":
        return (result.elements,)
    if opcode == "reduce":
        return (max(0, operand(instruction, 0).elements - result.elements),)
    if opcode == "scatter":
        return (operand(instruction, 1 + len(instruction.operand_ids) // 2).elements,)
    reach = prod(max(one.size, 1) for one in window_of(instruction))
    if opcode == "reduce-window":
        return ((reach - 1) * result.elements,)
    source = operand(instruction, 1).elements
    return source * (reach - 1), source


def operand(instruction: Instruction, index: int) -> Shape:
    """The shape of an operand. Raises TraceError when there is none of this index."""
    operands = instruction.operand_ids
    if index >= len(operands):
        raise instruction.damaged(f"has no operand {index}")
    return instruction.computation.by_id(operands[index]).shape


def _linear_algebra(instruction: Instruction) -> int | None:
    opcode = instruction.opcode
    if opcode == "sort":
        elements = operand(instruction, 0).elements
        return elements * max(elements - 1, 0).bit_length()
    if opcode == "fft":
        lengths = numbers_of(instruction.proto, instruction.fields, _FFT_LENGTH)
        return 8 * operand(instruction, 0).elements * prod(max(length, 1).bit_length() - 1 for length in lengths[:3])
    if opcode == "cholesky":
        matrix = operand(instruction, 0)
        return matrix.elements * (matrix.dims[-1] if matrix.dims else 0) // 3
    if opcode == "triangular-solve":
        matrix, right = operand(instruction, 0), operand(instruction, 1)
        return 2 * right.elements * (matrix.dims[-1] if matrix.dims else 0)
    return None


def _first(shape: Shape) -> Shape:
    return shape.parts[0] if shape.is_tuple and shape.parts else shape
