"""How a window moves over an array, in a convolution or a windowed reduction.

Source: `Window` and `WindowDimension` in openxla/xla, xla/xla_data.proto.
"""

from __future__ import annotations

import msgspec

from tfadvisor.hlo.format.module import Instruction
from tfadvisor.hlo.format.wire import message_of, messages_of, number_of

_WINDOW = 15
_MOST_DIMENSIONS = 256


class WindowDimension(msgspec.Struct, frozen=True):
    """All in elements. padding: before and behind the array, negative where elements are cut off.

    window_dilation, base_dilation: distance of neighbours in the kernel and in the array, 1 when they are dense.
    """

    size: int
    stride: int
    padding: tuple[int, int]
    window_dilation: int
    base_dilation: int


def window_of(instruction: Instruction) -> tuple[WindowDimension, ...]:
    """One entry a windowed dimension, () when the instruction has no window. Raises TraceError for damaged bytes."""
    window = message_of(instruction.proto, instruction.fields, _WINDOW)
    if len(window) > _MOST_DIMENSIONS:
        raise instruction.damaged("has a window of too many dimensions")
    return tuple(
        WindowDimension(
            number_of(one, 1),
            max(number_of(one, 2), 1),
            (number_of(one, 3), number_of(one, 4)),
            max(number_of(one, 5), 1),
            max(number_of(one, 6), 1),
        )
        for one in messages_of(instruction.proto, window, 1)
    )
