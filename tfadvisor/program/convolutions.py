"""The work of a convolution, counted exactly: a multiplication by padding or between
dilated elements is none.

Sources: `ConvolutionDimensionNumbers` and `Window` in openxla/xla, xla/xla_data.proto;
XLA's own count has the same definition (`HloCostAnalysis::GetConvolutionFlops` in
xla/service/hlo_cost_analysis.cc).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import gcd, prod
from operator import mul

import msgspec

from tfadvisor.program.attributes import WindowDimension, window_of
from tfadvisor.program.module import Instruction
from tfadvisor.program.shape import MOST_COUNTED, Shape
from tfadvisor.program.wire import message_of, number_of, numbers_of

_NUMBERS = 16
_GROUPS = 50, 58
"""The fields with the number of groups of features, and of batches."""
_MOST_STEPS = 1 << 16

# target of a cuDNN or MIOpen call -> where input, kernel and output are: operand 0,
# operand 1 or "result"
_ROLES: dict[str, tuple[int | None, int | None, int | None]] = {
    "__cudnn$convForward": (0, 1, None),
    "__cudnn$convForwardGraph": (0, 1, None),
    "__cudnn$convBiasActivationForward": (0, 1, None),
    "__cudnn$convBackwardInput": (None, 1, 0),
    "__cudnn$convBackwardFilter": (0, None, 1),
}
_BACKWARD_FILTER = "__cudnn$convBackwardFilter"
_BACKWARD = "transpose("
"""In JAX's paths to what belongs to a gradient."""


class ConvolutionNumbers(msgspec.Struct, frozen=True):
    """Which dimension is which, of the input, the kernel and the output of the forward
    convolution.

    batch: (input, output). feature: (input, kernel's input, kernel's output, output).
    spatial: one triple (input, kernel, output) a windowed dimension.
    """

    batch: tuple[int, int]
    feature: tuple[int, int, int, int]
    spatial: tuple[tuple[int, int, int], ...]


def convolution_numbers(instruction: Instruction) -> ConvolutionNumbers:
    """Of a convolution or a library call that stands for one. Raises TraceError when
    they contradict each other.
    """
    proto = instruction.proto
    fields = message_of(proto, instruction.fields, _NUMBERS)
    image, kernel, output = (numbers_of(proto, fields, field) for field in (11, 6, 12))
    if not len(image) == len(kernel) == len(output):
        raise instruction.damaged("has operands of different spatial dimensions")
    return ConvolutionNumbers(
        (number_of(fields, 7), number_of(fields, 9)),
        (
            number_of(fields, 8),
            number_of(fields, 3),
            number_of(fields, 4),
            number_of(fields, 10),
        ),
        tuple(zip(image, kernel, output, strict=True)),
    )


def convolution_flops(instruction: Instruction) -> int | None:
    """Two for each product of a convolution or a cuDNN call that stands for one; None
    for anything else.

    Products are output batches × output features × input features a group × the pairs
    of output and kernel positions that meet an input element, over all spatial
    dimensions. Raises TraceError when a dimension is named that is not there.
    """
    shapes = _shapes(instruction)
    if shapes is None:
        return None
    image, kernel, output = shapes
    numbers = convolution_numbers(instruction)
    window = window_of(instruction)
    if len(window) != len(numbers.spatial):
        raise instruction.damaged("has a window of other dimensions than its operands")

    size = partial(_size, instruction)
    met = prod(
        _meetings(dimension, size(image, i), size(kernel, k), size(output, o))
        for dimension, (i, k, o) in zip(window, numbers.spatial, strict=True)
    )
    outputs = size(output, numbers.batch[1]) * size(output, numbers.feature[3])
    products = outputs * size(kernel, numbers.feature[1]) * met
    return min(2 * products, MOST_COUNTED)


def _size(instruction: Instruction, shape: Shape, dimension: int) -> int:
    if not 0 <= dimension < len(shape.dims):
        raise instruction.damaged("names a dimension that its operands do not have")
    return shape.dims[dimension]


class KernelGradient(msgspec.Struct, frozen=True):
    """Of a convolution's kernel, in its spatial dimensions."""

    kernel: tuple[int, ...]
    """Its size."""
    stride: tuple[int, ...]
    is_of_patches: bool
    """Whether the image falls into patches of the kernel's size, of which none overlap,
    and all features are one group: then the convolution is one product of these patches
    with the kernel.
    """

    @property
    def size(self) -> str:
        """`2 × 2`."""
        return " × ".join(map(str, self.kernel))


def window_elements(parts: Sequence[Instruction]) -> int:
    """Of the largest kernel with which any of these convolves; 0 without one. Raises
    TraceError for damaged bytes.
    """
    sizes = (
        prod(dimension.size for dimension in window_of(part))
        for part in parts
        if part.opcode == "convolution"
    )
    return max(sizes, default=0)


def kernel_gradient(instruction: Instruction) -> KernelGradient | None:
    """Of a cuDNN call that computes one, or of a convolution of a gradient whose window
    is larger than its result: it slides over the image in steps of the kernel, and
    takes every other element, as the stride was. None for anything else, and of one
    element, which the gradient of an image may have too. Raises TraceError for damaged
    bytes.
    """
    is_call = instruction.custom_call_target == _BACKWARD_FILTER
    window = window_of(instruction)
    sides = _sides(instruction) if is_call or _BACKWARD in instruction.op_name else None
    if sides is None or len(sides[0]) != len(window):
        return None
    image, kernel, output = sides
    if is_call:
        steps = tuple(each.stride for each in window)
    elif prod(output) == 1 or any(map(_is_forward, window, output)):
        return None
    else:
        kernel, output = output, kernel
        steps = tuple(each.window_dilation for each in window)
    is_covered = kernel == steps and tuple(map(mul, output, steps)) == image
    return KernelGradient(kernel, steps, is_covered and _is_plain(instruction))


def _is_plain(instruction: Instruction) -> bool:
    """Whether it cuts nothing off, and all of its features are one group."""
    if any(map(_is_cut, window_of(instruction))):
        return False
    return all(number_of(instruction.fields, field) <= 1 for field in _GROUPS)


def _sides(instruction: Instruction) -> list[tuple[int, ...]] | None:
    """Of input, kernel and output, in the spatial dimensions; None where these are
    none.
    """
    shapes = _shapes(instruction)
    spatial = convolution_numbers(instruction).spatial if shapes is not None else ()
    if shapes is None or not spatial:
        return None
    return [
        tuple(_size(instruction, shape, each) for each in dimensions)
        for shape, dimensions in zip(shapes, zip(*spatial, strict=True), strict=True)
    ]


def _is_cut(window: WindowDimension) -> bool:
    return window.padding != (0, 0) or window.base_dilation != 1


def _is_forward(window: WindowDimension, result: int) -> bool:
    return window.size <= result or window.stride != 1


def _shapes(instruction: Instruction) -> tuple[Shape, Shape, Shape] | None:
    """(input, kernel, output) of the forward convolution that the dimension numbers are
    about.
    """
    if instruction.opcode == "convolution":
        roles = _ROLES["__cudnn$convForward"]
    elif (
        instruction.opcode == "custom-call" and instruction.custom_call_target in _ROLES
    ):
        roles = _ROLES[instruction.custom_call_target]
    else:
        return None
    operands = instruction.operand_ids
    if len(operands) < 2:
        raise instruction.damaged("has no two operands")
    result = instruction.shape
    if result.is_tuple and result.parts:  # a library call also returns its workspace
        result = result.parts[0]
    image, kernel, output = (
        result if role is None else instruction.computation.by_id(operands[role]).shape
        for role in roles
    )
    return image, kernel, output


def _meetings(
    window: WindowDimension,
    image: int,
    kernel: int,
    output: int,
) -> int:
    """Pairs (output o, kernel k) for which o·stride + k·dilation − padding is an input
    element, in one dimension.

    One of the two is walked through, the number of matches of the other follows from
    arithmetic.
    """
    walked, step = (
        (kernel, window.window_dilation)
        if kernel <= output
        else (output, window.stride)
    )
    counted, stride = (
        (output, window.stride)
        if kernel <= output
        else (kernel, window.window_dilation)
    )
    if walked > _MOST_STEPS:  # no real window is; padding is then counted as work
        return kernel * output
    return sum(
        _matches(
            index * step - window.padding[0],
            stride,
            counted,
            window.base_dilation,
            image,
        )
        for index in range(walked)
    )


def _matches(
    offset: int,
    stride: int,
    count: int,
    dilation: int,
    image: int,
) -> int:
    """How many i in 0 … count−1 have offset + i·stride in {0, dilation, …,
    (image−1)·dilation}.
    """
    common = gcd(stride, dilation)
    if offset % common or not image:
        return 0
    period = dilation // common
    if period > 1:
        first = (-offset // common) * pow(stride // common, -1, period) % period
    else:
        first = 0
    lowest = max(0, -(offset // stride))
    highest = min(count - 1, ((image - 1) * dilation - offset) // stride)
    lowest += (first - lowest) % period
    return max(0, (highest - lowest) // period + 1)
