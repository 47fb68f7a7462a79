"""What a compiled program says of one of its ops."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from tfadvisor.hlo.questions.dots import DotSize
    from tfadvisor.hlo.questions.unrolled import Unrolled


class InProgram(msgspec.Struct, frozen=True):
    """What the HLO says of an op. flops, matrix_flops: of one execution, None where part of it cannot be counted.

    bytes: read and written by one execution. file, line: of the user's program, "" and 0 when not known. op_name: the
    framework's path to it. effect: the opcode that makes its result. products: the matrix products in it. in_loop:
    whether a while loop runs it. scatters: whether it puts elements where an index says. tuned: False for a library's
    convolution whose algorithm nobody chose, None for others. unrolled: the operation that hundreds of its parts are copies of.
    copied: the name of the argument that it copies since it is not donated, None for other ops. filter_length: of a
    convolution, in its longest dimension. one_hot: whether it multiplies one-hot rows.
    is_double: whether its result is of 64-bit floats.
    """

    opcode: str
    flops: int | None
    matrix_flops: int | None
    bytes: int
    file: str
    line: int
    op_name: str
    effect: str = ""
    products: tuple[DotSize, ...] = ()
    in_loop: bool = False
    scatters: bool = False
    tuned: bool | None = None
    unrolled: Unrolled | None = None
    copied: str | None = None
    filter_length: int = 0
    one_hot: bool = False
    is_double: bool = False
