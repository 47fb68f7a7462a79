"""How many arithmetic operations an instruction does by itself, and which line of the
user's program it comes from.

The conventions are XLA's own (`HloCostAnalysis` in openxla/xla,
xla/service/hlo_cost_analysis.cc), so that numbers can be compared: one for each element
of an elementwise result, whatever its type; transcendental functions are not counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import prod

import msgspec
from msgspec.structs import replace

from tfadvisor.patterns import pattern
from tfadvisor.program.attributes import window_of
from tfadvisor.program.convolutions import convolution_flops
from tfadvisor.program.matrix_products import dot_size
from tfadvisor.program.module import Computation, Frame, Instruction, is_installed
from tfadvisor.program.shape import Shape
from tfadvisor.program.wire import Fields, numbers_of

_FFT_LENGTH = 32

ELEMENTWISE = frozenset(
    """
        abs add and ceil clamp compare complex convert count-leading-zeros divide floor
        imag is-finite maximum minimum multiply negate not or popcnt real
        reduce-precision remainder round-nearest-afz round-nearest-even select
        shift-left shift-right-arithmetic shift-right-logical sign stochastic-convert
        subtract xor
    """.split()
)
TRANSCENDENTAL = frozenset(
    """
        acos acosh asin asinh atan2 atanh cbrt cosh cosine erf exponential
        exponential-minus-one log log-plus-one logistic power rng rng-bit-generator
        rsqrt sine sinh sqrt tan tanh
    """.split()
)
APPLYING = frozenset("map reduce reduce-window scatter select-and-scatter".split())
"""Opcodes that apply the function they call to elements, again and again."""
MOVING = frozenset(
    """
        add-dependency after-all all-gather all-gather-done all-gather-start all-reduce
        all-reduce-done all-reduce-start all-to-all async-done async-update bitcast
        bitcast-convert broadcast collective-broadcast collective-permute
        collective-permute-done collective-permute-start concatenate constant copy
        copy-done copy-start domain dynamic-reshape dynamic-slice dynamic-update-slice
        gather get-dimension-size get-tuple-element infeed iota opt-barrier outfeed pad
        parameter partition-id ragged-all-to-all recv recv-done reduce-scatter
        replica-id reshape reverse rng-get-and-update-state send send-done
        set-dimension-size slice transpose tuple
    """.split()
)
"""Opcodes that compute nothing: they move data, name it, or pass it to other devices
(whose sums are not counted).
"""


def matrix_flops(instruction: Instruction) -> int | None:
    """Of a dot, a convolution or a library call that stands for one; None for anything
    else. Raises TraceError.
    """
    size = dot_size(instruction)
    return convolution_flops(instruction) if size is None else size.flops


def own_operations(instruction: Instruction) -> int | None:
    """Without transcendental functions; None when this file has no rule for the opcode.
    Raises TraceError.
    """
    opcode = instruction.opcode
    if opcode in ELEMENTWISE:
        return instruction.shape.elements
    if opcode in TRANSCENDENTAL or opcode in MOVING:
        return 0
    return _linear_algebra(instruction)


def own_transcendentals(instruction: Instruction) -> int:
    """How many values of transcendental functions it computes by itself."""
    if instruction.opcode in TRANSCENDENTAL:
        return instruction.shape.elements
    return 0


def applications(instruction: Instruction) -> tuple[int, ...]:
    """For an opcode of APPLYING: how often it applies each function that it calls, in
    their order. Raises TraceError.
    """
    opcode = instruction.opcode
    result = _first(instruction.shape)
    if opcode == "map":
        return (result.elements,)
    if opcode == "reduce":
        return (max(0, operand(instruction, 0).elements - result.elements),)
    if opcode == "scatter":
        return (operand(instruction, 1 + len(instruction.operand_ids) // 2).elements,)
    reach = prod(max(dimension.size, 1) for dimension in window_of(instruction))
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
        return (
            8
            * operand(instruction, 0).elements
            * prod(max(length, 1).bit_length() - 1 for length in lengths[:3])
        )
    if opcode == "cholesky":
        matrix = operand(instruction, 0)
        return matrix.elements * (matrix.dims[-1] if matrix.dims else 0) // 3
    if opcode == "triangular-solve":
        matrix = operand(instruction, 0)
        right = operand(instruction, 1)
        return 2 * right.elements * (matrix.dims[-1] if matrix.dims else 0)
    return None


def _first(shape: Shape) -> Shape:
    return shape.parts[0] if shape.is_tuple and shape.parts else shape


# Where in the user's program an instruction comes from.

_WRAPPERS = frozenset(("fusion", "call", "async-start"))
_EVERYWHERE = frozenset(("constant", "parameter", "tuple", "while"))
"""Opcodes whose place says nothing about what is next to them."""
_METADATA = Fields(texts=(2, 3), numbers=(4, 15))
"""Of an OpMetadata: op_name, source_file, source_line, stack_frame_id."""
_ALONG_MANY = pattern(r"vmap\((?:\w+\()*jvp\(")
"""Of a path of JAX."""
_MOST_BESIDE = 32
_MOST_BEHIND = 16
_MOST_FUSED = 200
"""Instructions of a fusion in which a product is looked for."""
_PRODUCTS = frozenset(("dot", "convolution"))
_NAMED_AS = {"convolution": "conv", "dot": "dot", "sort": "sort", "fft": "fft"}
"""What a path has that leads to an op of such an opcode."""


class SourceLocation(msgspec.Struct, frozen=True):
    """op_name: the framework's path to the operation. frames: innermost first, empty
    when the trace holds none.

    file and line: of the innermost frame that is no installed package's, else of the
    innermost; "" and 0 when unknown.
    """

    op_name: str
    file: str
    line: int
    frames: tuple[Frame, ...]

    @property
    def is_installed(self) -> bool:
        """Whether the file is an installed package's, so that it is not the user's own
        line.
        """
        return is_installed(self.file)

    @property
    def is_along_many(self) -> bool:
        """Whether it may take derivatives along many directions at once, as a Jacobian
        does.
        """
        return _ALONG_MANY.search(self.op_name) is not None


def location_of(instruction: Instruction) -> SourceLocation | None:
    """The instruction's own, of a fusion that does little but one product or
    convolution that one's; where it names no line, for a fusion or call that of what
    makes its result, else of the line that most of its instructions name. Without a
    line only the path, None where nothing is known.

    Raises TraceError for damaged bytes.
    """
    own = _of_product(instruction) or _own_location(instruction)
    found = own
    inner = _called(instruction)
    while inner is not None and not (found and found.file):
        found = _behind_result(inner) or _of_most(inner)
        inner = _called(inner.root)
    return _placed(own, found)


def _of_product(fusion: Instruction) -> SourceLocation | None:
    """Of the only product or convolution in a fusion that has more operations than all
    else there; None without one.
    """
    inner = _called(fusion) if fusion.opcode == "fusion" else None
    if inner is None or len(inner.instructions) > _MOST_FUSED:
        return None
    products = [part for part in inner.instructions if part.opcode in _PRODUCTS]
    if len(products) != 1 or not _is_most(products[0], inner):
        return None
    place = _own_location(products[0])
    return place if place is not None and place.file else None


def _is_most(product: Instruction, of: Computation) -> bool:
    """Whether it has more operations than all else there."""
    whole = sum(own_operations(part) or 0 for part in of.instructions)
    return 2 * (matrix_flops(product) or 0) > whole


def _placed(
    own: SourceLocation | None, found: SourceLocation | None
) -> SourceLocation | None:
    """What an instruction says of itself, with the place that was found for it. Its own
    name is a path only where that has parts: the compiler names others for arguments.
    """
    if own is None or found is None:
        return found or own
    return replace(found, op_name=own.op_name) if "/" in own.op_name else found


def _called(caller: Instruction) -> Computation | None:
    """What a fusion or call runs; None where that does not stand before its caller, as
    it always does.
    """
    called = caller.called if caller.opcode in _WRAPPERS else ()
    if called and called[0].position < caller.computation.position:
        return called[0]
    return None


def _behind_result(computation: Computation) -> SourceLocation | None:
    """Of the nearest instruction behind the result that names a line: what an operation
    works on is its first operand.
    """
    made = computation.root
    for _ in range(_MOST_BEHIND):
        found = _own_location(made)
        if found is not None and found.file:
            return found
        if not made.operand_ids:
            return None
        made = made.operands[0]
    return None


def _of_most(computation: Computation) -> SourceLocation | None:
    found = map(_own_location, computation.instructions)
    named = [place for place in found if place is not None and place.file]
    count = Counter((place.file, place.line) for place in named)
    return max(named, key=lambda place: count[place.file, place.line], default=None)


def line_of(instruction: Instruction) -> str:
    """Of the user's program, `train.py:70`; "" where the trace does not tell. Raises
    TraceError for damaged bytes.
    """
    place = location_of(instruction)
    if place is None or not place.file or place.is_installed:
        return ""
    return f"{place.file.rpartition('/')[2]}:{place.line}"


def made_at(place: SourceLocation | None) -> str:
    """What the line of the user's program calls there, else the function around it:
    `global_norm (train.py:111)`; "" where the trace does not tell.
    """
    if place is None or not place.file or place.is_installed:
        return ""
    own = next((at for at, each in enumerate(place.frames) if not each.is_installed), 0)
    named = place.frames[max(own - 1, 0)].function if place.frames else ""
    maker = named or place.op_name.rpartition("/")[2]
    return place_of_call(Frame(place.file, place.line, maker))


def place_of_call(frame: Frame) -> str:
    """`Block.__call__ (model.py:31)`."""
    function = frame.function.rpartition("<locals>.")[2]
    return f"{function} ({frame.file.rpartition('/')[2]}:{frame.line})"


def location_near(
    instruction: Instruction,
    users: Mapping[int, Sequence[Instruction]],
) -> SourceLocation | None:
    """Its location; where that names no line, as of what the compiler made, the place
    of the nearest instruction that uses its result or makes its operands, without that
    one's path. None where nothing is near.

    users: of the results of its computation, by id. Raises TraceError for damaged
    bytes.
    """
    own = location_of(instruction)
    if own is not None and own.file:
        return own
    near = _of_same_call(instruction, users) or _nearest(instruction, users)
    return own if near is None else _placed(own, replace(near, op_name=""))


def _of_same_call(
    instruction: Instruction, users: Mapping[int, Sequence[Instruction]]
) -> SourceLocation | None:
    """Of a neighbour whose path names what the instruction does, as of a reversed
    kernel within `jit(convolve)`; None for others.
    """
    word = _NAMED_AS.get(instruction.opcode)
    for other in (*users.get(instruction.id, ()), *instruction.operands):
        found = _next_to(other, instruction)
        if word and found is not None and found.file and word in found.op_name:
            return found
    return None


def _nearest(
    instruction: Instruction, users: Mapping[int, Sequence[Instruction]]
) -> SourceLocation | None:
    waiting = [instruction]
    seen = {instruction.id}
    while waiting and len(seen) <= _MOST_BESIDE:
        nearest = waiting.pop(0)
        for other in (*users.get(nearest.id, ()), *nearest.operands):
            if other.id in seen or other.opcode in _EVERYWHERE:
                continue
            found = _next_to(other, nearest)
            if found is not None and found.file:
                return found
            seen.add(other.id)
            waiting.append(other)
    return None


def _next_to(other: Instruction, made: Instruction) -> SourceLocation | None:
    """Of another instruction; of a fusion that is given what this one makes, of the
    first part that uses it.
    """
    inner = _called(other) if other.opcode == "fusion" else None
    if inner is None or made.id not in other.operand_ids:
        return location_of(other)
    number = other.operand_ids.index(made.id)
    given = {part.id for part in inner.parameters() if part.parameter_number == number}
    for part in inner.instructions[:_MOST_FUSED]:
        if not given.isdisjoint(part.operand_ids):
            found = _own_location(part)
            if found is not None and found.file:
                return found
            given.add(part.id)
    return location_of(other)


def _own_location(instruction: Instruction) -> SourceLocation | None:
    op_name, file, line, frame_id = _METADATA.of(
        instruction.proto, *instruction.metadata_place
    )
    if frame_id:
        frames = instruction.computation.module.stack_frames.stack(frame_id)
    else:
        frames = ()
    if not file or is_installed(file):
        own = next(
            (frame for frame in frames if not frame.is_installed),
            frames[0] if frames else None,
        )
        if own is not None:
            file = own.file
            line = own.line
    return SourceLocation(op_name, file, line, frames) if file or op_name else None
