"""Where in the user's program an instruction comes from.

Source: `OpMetadata` in openxla/xla, xla/xla_data.proto. Older traces hold file and line with each instruction, newer ones
only a stack frame's id.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from tfadvisor.hlo.format.module import Instruction
from tfadvisor.hlo.format.stack_frames import Frame
from tfadvisor.hlo.format.wire import number_of, text_of

_WRAPPERS = frozenset(("fusion", "call", "async-start"))
_EVERYWHERE = frozenset(("constant", "parameter", "tuple", "while"))
"""Opcodes whose place says nothing about what stands beside them."""
_MOST_BESIDE = 32
_INSTALLED = ("site-packages", "dist-packages")


class SourceLocation(msgspec.Struct, frozen=True):
    """op_name: the framework's path to the operation. frames: innermost first, empty when the trace holds none.

    file and line: of the innermost frame that is no installed package's, else of the innermost; "" and 0 when unknown.
    """

    op_name: str
    file: str
    line: int
    frames: tuple[Frame, ...]

    @property
    def is_installed(self) -> bool:
        """Whether the file is an installed package's, so that it is not the user's own line."""
        return _is_installed(self.file)

    def place(self) -> str:
        """`train.py:42`, "" when the file is not known."""
        return f"{self.file}:{self.line}" if self.file else ""


def location_of(instruction: Instruction) -> SourceLocation | None:
    """The instruction's own; when a fusion or call has none, that of its result; None when neither has one.

    Raises TraceError for damaged bytes.
    """
    one, outermost = instruction, instruction.computation.position + 1
    while True:
        found = _own_location(one)
        if found is not None or one.opcode not in _WRAPPERS or not one.called:
            return found
        inner = one.called[0]
        if inner.position >= outermost:  # what is called stands before its caller, so this cannot go round in circles
            return None
        one, outermost = inner.root, inner.position


def location_beside(instruction: Instruction, users: Mapping[int, Sequence[Instruction]]) -> SourceLocation | None:
    """Where an instruction that the compiler made comes from: the place of the nearest one that uses its result or makes
    its operands, without that one's path. None where none is near.

    users: of the results of its computation, by id. Raises TraceError for damaged bytes.
    """
    waiting, seen = [instruction], {instruction.id}
    while waiting and len(seen) <= _MOST_BESIDE:
        one = waiting.pop(0)
        for other in (*users.get(one.id, ()), *one.operands):
            if other.id in seen or other.opcode in _EVERYWHERE:
                continue
            found = location_of(other)
            if found is not None and found.file:
                return SourceLocation("", found.file, found.line, found.frames)
            seen.add(other.id)
            waiting.append(other)
    return None


def _own_location(instruction: Instruction) -> SourceLocation | None:
    metadata = instruction.metadata
    op_name, file = text_of(instruction.proto, metadata, 2), text_of(instruction.proto, metadata, 3)
    line, frame_id = number_of(metadata, 4), number_of(metadata, 15)
    frames = instruction.computation.module.stack_frames.stack(frame_id) if frame_id else ()
    if not file or _is_installed(file):
        own = next((frame for frame in frames if not _is_installed(frame.file)), frames[0] if frames else None)
        if own is not None:
            file, line = own.file, own.line
    return SourceLocation(op_name, file, line, frames) if file or op_name else None


def _is_installed(file: str) -> bool:
    return any(folder in file for folder in _INSTALLED)
