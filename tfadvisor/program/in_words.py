"""What an instruction computes, in words with its sizes: `scatter-add of 400,000 values
into f32[24]`.
"""

from __future__ import annotations

from tfadvisor.program.convolutions import KernelGradient, kernel_gradient
from tfadvisor.program.flow import effect, inside
from tfadvisor.program.matrix_products import DotSize, products
from tfadvisor.program.module import Instruction
from tfadvisor.program.operations import operand
from tfadvisor.program.shape import Shape

_COMBINING = {
    "add": "add",
    "multiply": "multiply",
    "maximum": "max",
    "minimum": "min",
    "or": "or",
    "and": "and",
}
_LONGEST = 60
"""Characters of a shape."""
_OF_OPERAND = frozenset(("reduce", "sort", "copy", "transpose", "convert"))
"""Opcodes of which the operand's shape tells more than the result's."""


def in_words(instruction: Instruction) -> str:
    """Of a fusion, what makes its result. Raises TraceError for damaged bytes."""
    scattering = scatter_in(instruction)
    if scattering is not None:
        return _scatter(scattering)
    gradient = kernel_gradient(instruction)
    if gradient is not None:
        return f"{_of_kernel(gradient)}, {_short(instruction.shape)}"
    sizes = products(instruction)
    if sizes:
        return _product(max(sizes, key=lambda size: size.flops))
    made = effect(instruction)
    parts = [part for part in inside(instruction) if part.opcode == made]
    what = target(instruction) or made
    return (
        _made(what, parts[-1], instruction)
        if parts
        else f"{made} to {_short(instruction.shape)}"
    )


def _of_kernel(gradient: KernelGradient) -> str:
    stride = max(gradient.stride)
    of = f"a convolution with stride {stride}" if stride > 1 else "a convolution"
    return f"gradient of the {gradient.size} kernel of {of}"


def _made(made: str, last: Instruction, instruction: Instruction) -> str:
    """last: the instruction that makes the result, inside of a fusion."""
    if made == "gather":
        return f"gather of {_short(last.shape)} from {_short(operand(last, 0))}"
    result = _short(instruction.shape)
    source = _short(operand(last, 0)) if last.operand_ids else result
    if source == result:
        return f"{made} of {result}"
    return (
        f"{made} of {source} to {result}"
        if made in _OF_OPERAND
        else f"{made} to {result}"
    )


def scatter_in(instruction: Instruction) -> Instruction | None:
    """The scatter that an instruction is or fuses, None where it holds none."""
    return next(
        (part for part in inside(instruction) if part.opcode == "scatter"), None
    )


def scattered(instruction: Instruction) -> tuple[int, int] | None:
    """(values that a scatter puts somewhere, places that it has for them) of an
    instruction that is or fuses one; None for all others. Raises TraceError for damaged
    bytes.
    """
    scattering = scatter_in(instruction)
    if scattering is None:
        return None
    return _updates(scattering).elements, max(operand(scattering, 0).elements, 1)


def target(call: Instruction) -> str:
    """What a custom call calls: `TopK` of `__gpu$TopK`; "" of any other opcode."""
    return call.custom_call_target.rpartition("$")[2]


def _updates(scattering: Instruction) -> Shape:
    return operand(scattering, 1 + len(scattering.operand_ids) // 2)


def _scatter(scattering: Instruction) -> str:
    by = scattering.called[0].root.opcode if scattering.called else ""
    name = f"scatter-{_COMBINING[by]}" if by in _COMBINING else "scatter"
    values = _updates(scattering).elements
    return f"{name} of {values:,} values into {_short(operand(scattering, 0))}"


def _product(size: DotSize) -> str:
    many = f"{size.batch:,} products" if size.batch > 1 else "product"
    return (
        f"{many} of {size.m:,} × {size.k:,} by {size.k:,} × {size.n:,} in "
        f"{size.lhs_dtype}"
    )


def _short(shape: Shape) -> str:
    """`f32[24]`, without its layout."""
    first = shape.parts[0] if shape.is_tuple and shape.parts else shape
    text = f"{first.dtype}[{','.join(map(str, first.dims))}]"
    return text if len(text) <= _LONGEST else f"{first.dtype}[…]"
