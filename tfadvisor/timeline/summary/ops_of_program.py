"""Asks a compiled program about its ops: cost, place in the user's code, products, and what surrounds them."""

from __future__ import annotations

from functools import lru_cache

from tfadvisor.hlo.format.instruction import Instruction
from tfadvisor.hlo.format.module import Module
from tfadvisor.hlo.needless.branches import both_branches
from tfadvisor.hlo.needless.invariant import invariant_work
from tfadvisor.hlo.needless.masked_loops import masked_loops
from tfadvisor.hlo.needless.pairs import differences_of_pairs
from tfadvisor.hlo.needless.row_loops import loops_over_rows
from tfadvisor.hlo.questions.argument_copies import copied_argument
from tfadvisor.hlo.questions.convolutions import filter_length, is_tuned
from tfadvisor.hlo.questions.cost import Costs
from tfadvisor.hlo.questions.flow import Users, effect, gives_double, inside, running_computations, scatters
from tfadvisor.hlo.questions.products import multiplies_one_hot, products
from tfadvisor.hlo.questions.source_location import SourceLocation, location_beside, location_of
from tfadvisor.hlo.questions.unrolled import unrolled
from tfadvisor.timeline.names.devices import possible_instructions
from tfadvisor.timeline.summary.op_in_program import InProgram, OpTrait

_MOST_SEARCHED = 20_000
"""Instructions of a computation beyond which nobody looks for who uses what."""


class OpsOfProgram:
    """The ops of one program. What several of them need is worked out when it is first asked for."""

    def __init__(self, program: Module) -> None:
        """Reads nothing yet."""
        self._program = program
        self._costs: Costs | None = None
        self._running: dict[int, bool] = {}
        self._users: dict[int, Users] = {}
        self._branches: frozenset[str] = frozenset()
        self._masked: frozenset[str] = frozenset()
        self._invariant: frozenset[str] = frozenset()
        self._found: dict[str, tuple[str, InProgram | None]] = {}

    @staticmethod
    @lru_cache(maxsize=16)  # the hosts of a run share their programs
    def of(program: Module) -> OpsOfProgram:
        """The one of a program."""
        return OpsOfProgram(program)

    def find(self, name: str) -> tuple[str, InProgram | None]:
        """(the op's own name, what is known) of an op or kernel; ("", None) when the program has none such.

        Raises TraceError for damaged bytes.
        """
        if name not in self._found:
            self._found[name] = self._look_up(name)
        return self._found[name]

    def _location(self, one: Instruction) -> SourceLocation | None:
        """Its own, else that of what stands beside it."""
        own = location_of(one)
        if own is not None or len(one.computation.instructions) > _MOST_SEARCHED:
            return own
        if one.computation.id not in self._users:
            self._users[one.computation.id] = Users(one.computation)
        return location_beside(one, self._users[one.computation.id].by_id)

    def _look_up(self, name: str) -> tuple[str, InProgram | None]:
        one = find_instruction(self._program, name)
        if one is None:
            return "", None
        if self._costs is None:
            self._costs, self._running = Costs(self._program), dict(running_computations(self._program))
            self._branches, self._masked = both_branches(self._program), masked_loops(self._program)
            self._invariant = invariant_work(self._program)
        parts, copied = inside(one), copied_argument(one)
        holds = {
            OpTrait.IN_LOOP: self._running.get(one.computation.id, False),
            OpTrait.SCATTERS: any(scatters(part) for part in parts),
            OpTrait.ONE_HOT: multiplies_one_hot(one),
            OpTrait.DOUBLE: gives_double(one),
            OpTrait.BRANCH: one.name in self._branches,
            OpTrait.MASKED_LOOP: one.name in self._masked,
            OpTrait.ROW_LOOP: loops_over_rows(one),
            OpTrait.SAME_EACH_TURN: one.name in self._invariant,
            OpTrait.PAIRS: differences_of_pairs(parts),
        }
        return one.name, InProgram(
            opcode=one.opcode,
            effect=effect(one),
            cost=self._costs.of(one),
            location=self._location(one),
            products=products(one),
            filter_length=filter_length(one),
            tuned=is_tuned(one),
            unrolled=unrolled(parts),
            copied=copied.name if copied else None,
            traits=frozenset(trait for trait, true in holds.items() if true),
        )


def find_instruction(module: Module, event_name: str) -> Instruction | None:
    """By a stat `hlo_op` (`fusion.3`, or `call.1::fusion.3` where ops nest) or a TPU event (`%fusion.3 = f32[8] fusion(…)`).

    None when the module has none of this name. Raises TraceError for damaged bytes.
    """
    whole, inner = possible_instructions(event_name)
    return module.instruction(whole) or module.instruction(inner)
