"""Loops of the user's program that were unrolled: one line became hundreds of instructions of one fusion."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tfadvisor.hlo.format.module import Instruction
from tfadvisor.hlo.questions.source_location import location_of

_LEAST = 128
"""Layers written one by one and the rounds of a random number generator are fewer."""
_MOST = 10_000
_STEM = 3
"""Letters in which a primitive's name and its instruction's opcode agree: mul and multiply, sub and subtract."""


class Unrolled(msgspec.Struct, frozen=True):
    """copies: instructions that come from one operation. file, line: where that stands, "" and 0 when not known."""

    copies: int
    file: str
    line: int


def unrolled(parts: Sequence[Instruction]) -> Unrolled | None:
    """The operation that most of a fusion's instructions come from; None when fewer than 128 come from any.

    An operation is an opcode, the framework's path and a line. It counts where the path ends in the opcode's name, so that
    one lgamma that XLA expands into hundreds of products is no loop. Raises TraceError for damaged bytes.
    """
    if len(parts) < _LEAST:
        return None
    alike: dict[tuple[str, bytes], list[Instruction]] = {}
    for one in parts[:_MOST]:
        alike.setdefault((one.opcode, one.written_metadata), []).append(one)
    copies: dict[tuple[str, str, str, int], int] = {}
    for (opcode, _), same in alike.items():
        place = location_of(same[0])
        if place is None or not _is_called(opcode, place.op_name):
            continue
        path = place.op_name.rstrip("0123456789").rstrip("_")  # TensorFlow numbers the copies
        key = (opcode, path, "" if place.is_installed else place.file, place.line)
        copies[key] = copies.get(key, 0) + len(same)
    if not copies:
        return None
    most = max(copies, key=lambda key: copies[key])
    return Unrolled(copies[most], most[2].rpartition("/")[2], most[3]) if copies[most] >= _LEAST else None


def _is_called(opcode: str, path: str) -> bool:
    """Whether a path ends in the name of the primitive that an opcode is."""
    return path.rpartition("/")[2].lower().startswith(opcode[:_STEM])
