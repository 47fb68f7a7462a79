"""What a compiled program says of an op that ran: cost, place in the user's code,
products, and what surrounds it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import msgspec

from tfadvisor.printable import cut
from tfadvisor.program import (
    Cost,
    Costs,
    Instruction,
    Module,
    SourceLocation,
    location_near,
    location_of,
)
from tfadvisor.program.convolutions import kernel_gradient, window_elements
from tfadvisor.program.differentiated import made_with_its_line
from tfadvisor.program.flow import (
    Users,
    effect,
    gives_double,
    inside,
    running_computations,
    scatters,
)
from tfadvisor.program.in_words import in_words, scattered, target
from tfadvisor.program.inverses import inverse_in, only_multiplied
from tfadvisor.program.jacobians import (
    Jacobian,
    jacobian_of,
    jacobians_of_lines,
    takes_passes,
)
from tfadvisor.program.loops_in_call import costliest_line, runs_loop
from tfadvisor.program.matrix_products import DotSize, multiplied_type, products
from tfadvisor.program.only_for_numbers import only_for_numbers
from tfadvisor.program.parameters import copied_argument
from tfadvisor.program.patterns import unrolled
from tfadvisor.program.promoted import WIDE, Promotion, promoted
from tfadvisor.program.selected import selected
from tfadvisor.timeline.names.device_events import (
    kernel_of_instruction,
    possible_instructions,
)

_LONGEST_SHAPE = 80
"""Characters: of many results some are left out."""
_MOST_SEARCHED = 20_000
"""Instructions of a computation beyond which nobody looks for who uses what."""


class OpsOfProgram:
    """The ops of one program. What several of them need is worked out when it is first
    asked for.
    """

    def __init__(self, program: Module) -> None:
        """Reads nothing yet."""
        self._program = program
        self._costs: Costs | None = None
        self._running: dict[int, bool] = {}
        self._users: dict[int, Users] = {}
        self._found: dict[str, tuple[str, InProgram | None]] = {}

    @staticmethod
    @lru_cache(maxsize=16)  # the hosts of a run share their programs
    def of(program: Module) -> OpsOfProgram:
        """The one of a program."""
        return OpsOfProgram(program)

    def find(self, name: str) -> tuple[str, InProgram | None]:
        """(the op's own name, what is known) of an op or kernel; ("", None) when the
        program has none such.

        Raises TraceError for damaged bytes.
        """
        if name not in self._found:
            self._found[name] = self._look_up(name)
        return self._found[name]

    def _location(self, instruction: Instruction) -> SourceLocation | None:
        """Its own, else that of what is next to it."""
        if len(instruction.computation.instructions) > _MOST_SEARCHED:
            return location_of(instruction)
        if instruction.computation.id not in self._users:
            self._users[instruction.computation.id] = Users(instruction.computation)
        return location_near(instruction, self._users[instruction.computation.id].by_id)

    def _promoted(self, product: Instruction) -> tuple[Promotion, ...]:
        return promoted(self._program).get(product.name, ())

    def _look_up(self, name: str) -> tuple[str, InProgram | None]:
        instruction = find_instruction(self._program, name)
        if instruction is None:
            return "", None
        if self._costs is None:
            self._costs = Costs()
            self._running = dict(running_computations(self._program))
        parts = inside(instruction)
        copied = copied_argument(instruction)
        gradient = kernel_gradient(instruction)
        multiplied = multiplied_type(instruction)
        inner = costliest_line(instruction, self._costs)
        location = inner or self._location(instruction)
        inverse = inverse_in(location.op_name) if location is not None else ""
        return instruction.name, InProgram(
            opcode=instruction.opcode,
            effect=effect(instruction),
            cost=self._costs.of(instruction),
            location=location,
            products=products(instruction),
            multiplied=multiplied,
            target=target(instruction),
            unrolled=unrolled(parts),
            copied=copied.name if copied else None,
            in_loop=self._running.get(instruction.computation.id, False),
            runs_loop=runs_loop(instruction),
            scatters=any(scatters(part) for part in parts),
            double=gives_double(instruction),
            does=in_words(instruction),
            scattered=scattered(instruction),
            shape=cut(str(instruction.shape), _LONGEST_SHAPE),
            made_of=made_with_its_line(self._program, instruction, location),
            selected=selected(self._program).get(instruction.name),
            promoted=self._promoted(instruction) if multiplied == WIDE else (),
            only_multiplied=bool(inverse) and inverse in only_multiplied(self._program),
            patches=gradient.size if gradient and gradient.is_of_patches else "",
            only_for=only_for_numbers(self._program).get(instruction.name, ()),
            window=window_elements(parts),
            jacobian=self._jacobian(location),
        )

    def _jacobian(self, location: SourceLocation | None) -> Jacobian | None:
        if location is None or not takes_passes(location.op_name):
            return None
        whole = jacobian_of(self._program)
        if whole is not None:
            return whole
        own = jacobians_of_lines(self._program)
        lines = ((frame.file, frame.line) for frame in location.frames)
        return next((own[line] for line in lines if line in own), None)


def find_instruction(module: Module, event_name: str) -> Instruction | None:
    """By a stat `hlo_op` (`fusion.3`, or `call.1::fusion.3` where ops nest), a TPU
    event (`%fusion.3 = f32[8] fusion(…)`), or the kernel that XLA named after it,
    `fusion_3`.

    None when the module has none of this name. Raises TraceError for damaged bytes.
    """
    whole, inner = possible_instructions(event_name)
    return (
        module.instruction(whole)
        or module.instruction(inner)
        or _kernels(module).get(whole)
    )


@lru_cache(maxsize=16)  # asked for each kernel
def _kernels(module: Module) -> Mapping[str, Instruction]:
    """Kernel name -> its instruction, those left out whose kernels bear one name."""
    found: dict[str, Instruction | None] = {}
    for computation in running_computations(module):
        for instruction in module.computation(computation).instructions:
            name = kernel_of_instruction(instruction.name)
            found[name] = None if name in found else instruction
    return {name: op for name, op in found.items() if op is not None}


# What a compiled program says of one of its ops. What reads the program is apart: most
# small traces hold none.


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
    multiplied: str = ""
    """Type of what it multiplies, as HLO names it: of its products and convolutions, of
    a library's or custom kernel's first floating-point operand. "" where it has none,
    or several."""
    target: str = ""
    """Of a custom call what it calls, `TopK`."""
    unrolled: tuple[str, int] | None = None
    """File and line of the operation that hundreds of its parts are copies of, as far
    as known.
    """
    copied: str | None = None
    """The name of the argument that it copies since it is not donated, None for other
    ops.
    """
    in_loop: bool = False
    """Whether a while loop runs it."""
    runs_loop: bool = False
    """Whether it is a call that runs a loop, so that no event tells what is in it."""
    scatters: bool = False
    """Whether it puts elements where an index says."""
    double: bool = False
    """Whether its result is of 64-bit floats."""
    does: str = ""
    """What it computes, in words: `scatter-add of 400,000 values into f32[24]`."""
    scattered: tuple[int, int] | None = None
    """Of a scatter, the values that it puts somewhere and the places that it has for
    them.
    """
    shape: str = ""
    """Of its result, with its layout: `f32[96,256]{1,0}`."""
    made_of: frozenset[str] | None = None
    """Names of the arguments of the compiled function of which its result is made, and
    the line whose derivative it is; None for unknown.
    """
    selected: SourceLocation | None = None
    """The select without which nothing uses its result; None for others."""
    only_for: tuple[str, ...] = ()
    """What makes the numbers, of those that its program returns beside arrays, that
    alone need its result: `global_norm (train.py:111)`.
    """
    promoted: tuple[Promotion, ...] = ()
    """Of products of float32 where type promotion made that of 16-bit numbers."""
    only_multiplied: bool = False
    """Whether it inverts a matrix, and nothing but products uses the inverse."""
    patches: str = ""
    """Of the gradient of a convolution whose kernel is as large as its stride, the
    kernel's size: `2 × 2`.
    """
    window: int = 0
    """Elements of the kernel of a convolution, 0 for others."""
    jacobian: Jacobian | None = None
    """Of an op that takes derivatives along many directions for its program's result.
    """
    stated: bool = False
    """Whether it is the profiler that says this, and no HLO: only opcode, effect and
    cost are known then.
    """

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
