"""The Python stacks that a module's instructions point into.

Source: `StackFrameIndexProto` in openxla/xla, xla/service/hlo.proto: flat tables of file names, function names, places and
frames. Ids count from 1; 0 stands for nothing.
"""

from __future__ import annotations

import msgspec

from tfadvisor.hlo.format.wire import Entry, Proto, entries, number_of, span, text

_DEEPEST = 256


class Frame(msgspec.Struct, frozen=True):
    """One call of the stack: file as the trace has it, line from 1, function "" when it is not known."""

    file: str
    line: int
    function: str


class StackFrames:
    """The tables of one module. What an id does not lead to is left out, not an error."""

    def __init__(self, proto: Proto, lo: int, hi: int) -> None:
        """The tables' message lies in data[lo:hi]; only its entries' places are noted."""
        self._proto = proto
        fields = entries(proto, lo, hi)
        self._tables = {field: [entry for entry in fields if entry[0] == span(field)] for field in (1, 2, 3, 4)}

    def stack(self, frame_id: int) -> tuple[Frame, ...]:
        """From a frame outwards to its callers, at most 256."""
        found: list[Frame] = []
        while len(found) < _DEEPEST:
            frame = self._message(4, frame_id)
            if not frame:
                break
            place = self._message(3, number_of(frame, 1))
            file, function = self._text(1, number_of(place, 1)), self._text(2, number_of(place, 2))
            found.append(Frame(file, number_of(place, 3), function))
            frame_id = number_of(frame, 2)
        return tuple(found)

    def _message(self, table: int, one: int) -> list[Entry]:
        rows = self._tables[table]
        return entries(self._proto, *rows[one - 1][1:]) if 0 < one <= len(rows) else []

    def _text(self, table: int, one: int) -> str:
        rows = self._tables[table]
        return text(self._proto, *rows[one - 1][1:]) if 0 < one <= len(rows) else ""
