"""Makes compiled programs on paper: HloProto bytes from a few words, without protobuf.

>>> data = module(computation(1, op(1, "parameter", "f32[8]"), op(2, "negate", "f32[8]",
  1)))
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence

from tfadvisor.program.cost import Cost, Costs, total
from tfadvisor.program.module import Module
from tfadvisor.program.shape import dtype_name

Window = tuple[int, int, int, int, int, int]
"""size, stride, padding before, padding behind, window dilation, base dilation."""

_ARRAY = re.compile(r"(\w+)\[([\d,]*)\](?:\{([\d,]*)\})?")
_TUPLE = 13
_TYPES = {dtype_name(number): number for number in range(64)}


def cost_of(module: Module) -> Cost:
    """Of one run of a program."""
    costs = Costs()
    return total(map(costs.of, module.entry.instructions))


def varint(value: int) -> bytes:
    """An int64 as protobuf sends it: seven bits a byte, the lowest first."""
    value %= 1 << 64
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value))


def field(number: int, value: int | str | bytes) -> bytes:
    """One field: an integer as a varint, everything else with its length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def packed(number: int, values: Iterable[int]) -> bytes:
    """Repeated integers in one field; nothing when there are none."""
    data = b"".join(map(varint, values))
    return field(number, data) if data else b""


def shape(text: str) -> bytes:
    """A ShapeProto from HLO text: `f32[2,3]{1,0}`, `s32[]`, `(f32[8], token[])`."""
    if text.startswith("("):
        return field(2, _TUPLE) + b"".join(
            field(4, shape(part)) for part in _parts(text[1:-1])
        )
    match = _ARRAY.fullmatch(text)
    if match is None:
        raise ValueError(f"{text} is no shape")
    dtype, dims, layout = match.groups()
    out = field(2, _TYPES[dtype]) + packed(3, _integers(dims))
    return out + (field(5, packed(1, _integers(layout))) if layout else b"")


def op(
    one: int,
    opcode: str,
    result: str,
    *operands: int,
    name: str = "",
    number: int = 0,
    calls: Sequence[int] = (),
    target: str = "",
    config: dict[str, object] | str = "",
    metadata: bytes = b"",
    channel: int = 0,
    extra: bytes = b"",
) -> bytes:
    """An instruction of this id. number: of a parameter. config: the backend's note.
    extra: further encoded fields.
    """
    return (
        field(1, name or f"{opcode}.{one}")
        + field(2, opcode)
        + field(3, shape(result))
        + (field(7, metadata) if metadata else b"")
        + (field(9, number) if number else b"")
        + (field(26, channel) if channel else b"")
        + (field(28, target) if target else b"")
        + field(35, one)
        + packed(36, operands)
        + packed(38, calls)
        + (
            field(43, config if isinstance(config, str) else json.dumps(config))
            if config
            else b""
        )
        + extra
    )


def computation(one: int, *instructions: bytes, name: str = "", root: int = 0) -> bytes:
    """A computation of this id; its root is the last instruction unless another's id is
    given.
    """
    body = b"".join(field(2, instruction) for instruction in instructions)
    return (
        field(1, name or f"computation.{one}")
        + body
        + field(5, one)
        + (field(6, root) if root else b"")
    )


def module(
    *computations: bytes,
    entry: int = 1,
    name: str = "jit_step",
    one: int = 7,
    extra: bytes = b"",
) -> bytes:
    """An HloProto. Computations stand in order: what is called before its caller.
    extra: encoded fields of the module.
    """
    body = b"".join(field(3, computation) for computation in computations)
    return field(1, field(1, name) + body + field(5, one) + field(6, entry) + extra)


def schedule(computation: int, *instructions: int) -> bytes:
    """The module's order of launches in a computation, by ids."""
    return field(7, field(1, field(1, computation) + field(2, packed(1, instructions))))


def metadata(op_name: str = "", file: str = "", line: int = 0, frame: int = 0) -> bytes:
    """An instruction's OpMetadata."""
    return (
        (field(2, op_name) if op_name else b"")
        + (field(3, file) if file else b"")
        + (field(4, line) if line else b"")
        + (field(15, frame) if frame else b"")
    )


def stack_frames(*frames: tuple[str, int, str, int]) -> bytes:
    """The module's stack frames 1, 2, …: (file, line, function, the caller's frame or
    0).
    """
    out = b"".join(
        field(1, file) + field(2, function) for file, _, function, _ in frames
    )
    for index, (_, line, _, _) in enumerate(frames, start=1):
        out += field(3, field(1, index) + field(2, index) + field(3, line))
    for index, (_, _, _, parent) in enumerate(frames, start=1):
        out += field(4, field(1, index) + field(2, parent))
    return field(17, out)


def dot_numbers(
    left: Sequence[int],
    right: Sequence[int],
    left_batch: Sequence[int] = (),
    right_batch: Sequence[int] = (),
) -> bytes:
    """A dot's contracting and batch dimensions."""
    return field(
        30,
        packed(1, left)
        + packed(2, right)
        + packed(3, left_batch)
        + packed(4, right_batch),
    )


def window(*dimensions: Window) -> bytes:
    """A convolution's or windowed reduction's window."""
    out = b""
    for size, stride, low, high, window_dilation, base_dilation in dimensions:
        numbers = (size, stride, low, high, window_dilation, base_dilation)
        out += field(
            1,
            b"".join(
                field(index, value) for index, value in enumerate(numbers, start=1)
            ),
        )
    return field(15, out)


def convolution_numbers(labels: str) -> bytes:
    """Dimension numbers from HLO's labels, `b01f_01io->b01f`."""
    image, kernel, output = re.split(r"_|->", labels)
    spatial = [label for label in image if label.isdigit()]
    return field(
        16,
        field(3, kernel.index("i"))
        + field(4, kernel.index("o"))
        + packed(6, [kernel.index(label) for label in spatial])
        + field(7, image.index("b"))
        + field(8, image.index("f"))
        + field(9, output.index("b"))
        + field(10, output.index("f"))
        + packed(11, [image.index(label) for label in spatial])
        + packed(12, [output.index(label) for label in spatial]),
    )


def replica_groups(*groups: Sequence[int]) -> bytes:
    """A collective's groups, listed."""
    return b"".join(field(49, packed(1, group)) for group in groups)


def iota_groups(
    groups: int, size: int, dims: Sequence[int], order: Sequence[int] = ()
) -> bytes:
    """A collective's groups, described as the devices 0, 1, … laid out and
    transposed.
    """
    return field(
        87,
        field(
            2, field(1, groups) + field(2, size) + packed(3, dims) + packed(4, order)
        ),
    )


def exchange(
    kind: str,
    groups: Sequence[Sequence[int]],
    of: str = "argument",
    path: str = "jit(train_step)/layer/dense",
    shape: str = "bf16[8192,4096]",
    name: str = "jit_train_step",
) -> bytes:
    """A program with one collective, among groups of devices: of an argument, or of a
    product of it.
    """
    operand = 1 if of == "argument" else 2
    among = replica_groups(*groups)
    return module(
        computation(
            1,
            op(1, "parameter", shape),
            op(2, "dot", shape, 1, 1, name="dot.2", extra=dot_numbers([1], [0])),
            op(
                3,
                kind,
                shape,
                operand,
                name=f"{kind}.3",
                metadata=metadata(path),
                extra=among,
            ),
        ),
        name=name,
    )


def alias(output: Sequence[int], parameter: int, place: Sequence[int] = ()) -> bytes:
    """One donated argument: the module's result at `output` takes the memory of the
    parameter at `place`.
    """
    return field(1, packed(1, output) + field(2, parameter) + packed(3, place))


def _parts(text: str) -> list[str]:
    """Splits at the commas between shapes, not at those inside them."""
    found, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and not depth:
            found.append(text[start:at].strip())
            start = at + 1
    return [*found, text[start:].strip()] if text.strip() else []


def _integers(text: str | None) -> list[int]:
    return [int(part) for part in (text or "").split(",") if part]
