"""Asks a compiled program about its ops: cost, place in the user's code, products, and what surrounds them."""

from __future__ import annotations

from tfadvisor.hlo.format.find_instruction import find_instruction
from tfadvisor.hlo.format.module import Module
from tfadvisor.hlo.questions.argument_copies import CopiedArguments
from tfadvisor.hlo.questions.convolutions import filter_length, is_tuned
from tfadvisor.hlo.questions.cost import Costs
from tfadvisor.hlo.questions.flow import effect, gives_double, inside, running_computations, scatters
from tfadvisor.hlo.questions.products import multiplies_one_hot, products
from tfadvisor.hlo.questions.source_location import location_of
from tfadvisor.hlo.questions.unrolled import unrolled
from tfadvisor.timeline.summary.op_in_program import InProgram


class OpsOfProgram:
    """The ops of one program. What several of them need is worked out when it is first asked for."""

    def __init__(self, program: Module) -> None:
        """Reads nothing yet."""
        self._program = program
        self._costs: Costs | None = None
        self._running: dict[int, bool] = {}
        self._copied = CopiedArguments(program)

    def find(self, name: str) -> tuple[str, InProgram | None]:
        """(the op's own name, what is known) of an op or kernel; ("", None) when the program has none such.

        Raises TraceError for damaged bytes.
        """
        one = find_instruction(self._program, name)
        if one is None:
            return "", None
        if self._costs is None:
            self._costs, self._running = Costs(self._program), dict(running_computations(self._program))
        cost, place, parts = self._costs.of(one), location_of(one), inside(one)
        copied = self._copied.copied_by(one)
        return one.name, InProgram(
            opcode=one.opcode,
            flops=None if cost.unknown else cost.flops,
            matrix_flops=None if cost.unknown else cost.matrix_flops,
            bytes=cost.bytes,
            file=place.file.rpartition("/")[2] if place else "",
            line=place.line if place else 0,
            op_name=place.op_name if place else "",
            effect=effect(one),
            products=products(one),
            in_loop=self._running.get(one.computation.id, False),
            scatters=any(scatters(part) for part in parts),
            tuned=is_tuned(one),
            unrolled=unrolled(parts),
            copied=copied.name if copied else None,
            filter_length=filter_length(one),
            one_hot=multiplies_one_hot(one),
            is_double=gives_double(one),
        )
