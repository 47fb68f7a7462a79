"""What a compiled program says of one of its ops. What reads the program is apart: most small traces hold none."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from tfadvisor.hlo.questions.cost import Cost
    from tfadvisor.hlo.questions.dots import DotSize
    from tfadvisor.hlo.questions.source_location import SourceLocation
    from tfadvisor.hlo.questions.unrolled import Unrolled


class OpTrait(Enum):
    """What is true of an op or not."""

    IN_LOOP = "in_loop"
    """A while loop runs it."""
    SCATTERS = "scatters"
    """It puts elements where an index says."""
    ONE_HOT = "one_hot"
    """It multiplies one-hot rows."""
    DOUBLE = "double"
    """Its result is of 64-bit floats."""
    BRANCH = "branch"
    """Only one branch of a condition uses it, and both run: a cond under vmap."""
    MASKED_LOOP = "masked_loop"
    """It runs, or runs in, a loop of a fixed length that masks turns away."""
    ROW_LOOP = "row_loop"
    """It runs a loop over single rows whose turns do not need each other."""
    SAME_EACH_TURN = "same_each_turn"
    """A loop runs it again and again with the same operands."""
    PAIRS = "pairs"
    """It subtracts rows from rows, each with each."""


class InProgram(msgspec.Struct, frozen=True):
    """What the HLO says of an op."""

    opcode: str
    """Of the instruction itself: `fusion`, `custom-call`."""
    effect: str
    """The opcode that makes its result, inside a fusion."""
    cost: Cost
    """Of one execution."""
    location: SourceLocation | None
    """Where in the user's program it comes from, None when not known."""
    products: tuple[DotSize, ...] = ()
    """The matrix products in it."""
    filter_length: int = 0
    """Of a convolution, elements in its longest dimension; 0 for other ops."""
    tuned: bool | None = None
    """False for a library's convolution whose algorithm nobody chose, None for other ops."""
    unrolled: Unrolled | None = None
    """The operation that hundreds of its parts are copies of."""
    copied: str | None = None
    """The name of the argument that it copies since it is not donated, None for other ops."""
    traits: frozenset[OpTrait] = frozenset()
    """All that are true of it."""

    @property
    def flops(self) -> int | None:
        """Of one execution, None where part of it cannot be counted."""
        return None if self.cost.unknown else self.cost.flops

    @property
    def file(self) -> str:
        """Of the user's program, without its folder, "" when not known."""
        return self.location.file.rpartition("/")[2] if self.location else ""

    @property
    def line(self) -> int:
        """In that file, 0 when not known."""
        return self.location.line if self.location else 0

    @property
    def op_name(self) -> str:
        """The framework's path to it, "" when not known."""
        return self.location.op_name if self.location else ""
