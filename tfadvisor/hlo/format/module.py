"""A compiled program. Opening one finds its computations; everything else is decoded when it is asked for.

Source: `HloProto` and `HloModuleProto` in openxla/xla, xla/service/hlo.proto.
"""

from __future__ import annotations

from tfadvisor.hlo.format.computation import Computation
from tfadvisor.hlo.format.instruction import Instruction
from tfadvisor.hlo.format.shape import Shape, read_shape
from tfadvisor.hlo.format.stack_frames import StackFrames
from tfadvisor.hlo.format.wire import Entry, Proto, entries, number_of, span, span_of, text_of

_HLO_MODULE, _NAME, _COMPUTATIONS, _ID, _ENTRY = 1, 1, span(3), 5, 6
_STACK_FRAME_INDEX = 17


class Module:
    """Read-only. program_id: what the trace calls it, unsigned; that of the module itself when the trace does not say."""

    def __init__(self, data: bytes | memoryview, place: str = "HLO", program_id: int | None = None) -> None:
        """data: a serialized HloProto. Raises TraceError when it is none, or has no entry computation."""
        self.proto = proto = Proto(data, place)
        lo, hi = span_of(entries(proto, 0, len(data)), _HLO_MODULE)
        fields = entries(proto, lo, hi)
        found = [entry for entry in fields if entry[0] == _COMPUTATIONS]
        self.computations = tuple(Computation(self, proto, at, end, i) for i, (_, at, end) in enumerate(found))
        self.fields: list[Entry] = [entry for entry in fields if entry[0] != _COMPUTATIONS]
        self.program_id = number_of(self.fields, _ID) % (1 << 64) if program_id is None else program_id
        self._by_id = {computation.id: computation for computation in self.computations}
        self._by_name: dict[str, Instruction] | None = None
        self._shapes: dict[bytes, Shape] = {}
        self._stack_frames: StackFrames | None = None
        self.entry = self.computation(number_of(self.fields, _ENTRY))

    @property
    def name(self) -> str:
        """`jit_train_step`."""
        return text_of(self.proto, self.fields, _NAME)

    def computation(self, one: int) -> Computation:
        """The computation of an id. Raises TraceError when there is none."""
        found = self._by_id.get(one)
        if found is None:
            raise self.proto.damaged(0, f"computation {one} is missing")
        return found

    def instruction(self, name: str) -> Instruction | None:
        """The instruction of a name, in whichever computation; None when there is none."""
        if self._by_name is None:
            self._by_name = {one.name: one for part in self.computations for one in part.instructions}
        return self._by_name.get(name)

    def shape_at(self, lo: int, hi: int) -> Shape:
        """The shape in data[lo:hi]. Most of a module's instructions share a few, so each is read once."""
        written = bytes(self.proto.data[lo:hi])
        found = self._shapes.get(written)
        if found is None:
            self._shapes[written] = found = read_shape(self.proto, lo, hi)
        return found

    @property
    def stack_frames(self) -> StackFrames:
        """The Python stacks that instructions point into."""
        if self._stack_frames is None:
            self._stack_frames = StackFrames(self.proto, *span_of(self.fields, _STACK_FRAME_INDEX))
        return self._stack_frames

    def __repr__(self) -> str:
        """`Module(jit_train_step, program 18)`."""
        return f"Module({self.name}, program {self.program_id})"
