"""Who uses whose result, and how often each instruction runs, among those that a trace
shows as events of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from tfadvisor.program.module import Computation, Instruction, Module
from tfadvisor.tallies import listed

_MOST = 20_000
"""A computation with more instructions than this is not looked through: it would take
longer than the rest of the trace.
"""
_DOUBLE = ("f64", "c128")
_RUNNING = ("while", "conditional", "call")
_KEEPING = frozenset("bitcast broadcast convert copy reshape".split())
"""Opcodes whose result holds the same values."""
_MOST_STEPS = 16
MOST_NESTED = 4
"""Fusions in fusions that are looked into: XLA nests the parts of a product once."""
PASSING = frozenset(
    "bitcast copy copy-done copy-start get-tuple-element reshape tuple".split()
)
"""Opcodes that hand on what they got."""


def running_computations(module: Module) -> Mapping[int, bool]:
    """By id the computations whose instructions are events: the entry and what loops,
    branches and calls lead to.

    True for those inside a loop. What fusions hold is one event of its fusion's name.
    Raises TraceError for damaged bytes.
    """
    found = {module.entry.id: False}
    for computation in reversed(
        module.computations
    ):  # callers stand behind what they call
        if computation.id not in found:
            continue
        for instruction in computation.instructions:
            for called in runs(instruction):
                found[called.id] = (
                    found.get(called.id, False)
                    or found[computation.id]
                    or instruction.opcode == "while"
                )
    return found


def runs(instruction: Instruction) -> tuple[Computation, ...]:
    """What a loop, a branch or a call executes as events of their own; nothing for
    other opcodes. Raises TraceError for damaged bytes.
    """
    if instruction.opcode not in _RUNNING:
        return ()
    return called_before(instruction.computation, instruction)


def callers_first(module: Module) -> Iterator[Computation]:
    """The running computations, each behind all that run it; none of a program too
    long to be looked through as a whole. Raises TraceError for damaged bytes.
    """
    if sum(len(each.instructions) for each in module.computations) > _MOST:
        return
    running = running_computations(module)
    for computation in reversed(module.computations):
        if computation.id in running:
            yield computation


def kernel_computations(module: Module) -> Iterator[Computation]:
    """The running computations that are small enough to be looked through."""
    running = running_computations(module)
    for computation in module.computations:
        if computation.id in running and len(computation.instructions) <= _MOST:
            yield computation


@lru_cache(maxsize=1 << 12)  # costs, types and tables ask it of the same
def inside(instruction: Instruction) -> tuple[Instruction, ...]:
    """What a fusion does, or the instruction itself. Raises TraceError for damaged
    bytes.
    """
    if instruction.opcode != "fusion":
        return (instruction,)
    return tuple(
        inner
        for called in called_before(instruction.computation, instruction)
        for inner in called.instructions
    )


def effect(instruction: Instruction) -> str:
    """The opcode that makes an instruction's result: a fusion's last one, conversions
    and what only hands on left out.
    """
    if instruction.opcode != "fusion":
        return instruction.opcode
    called = called_before(instruction.computation, instruction)
    last = called[0].root if called else instruction
    for _ in range(8):
        if (
            last.opcode not in PASSING and last.opcode != "convert"
        ) or not last.operand_ids:
            break
        last = last.operands[0]
    return last.opcode


Found = tuple[Instruction, Instruction | None]
"""An instruction, and the fusion that holds it."""


def way_back(instruction: Instruction, around: Instruction | None) -> Iterator[Found]:
    """A value, and what it comes from: past what keeps the values, out of a fusion or a
    tuple and into one.

    around: the fusion that holds the instruction. At least one is yielded, at most 17.
    Raises TraceError for damaged bytes.
    """
    found: Found | None = instruction, around
    for _ in range(_MOST_STEPS + 1):
        if found is None:
            return
        yield found
        found = _before(*found)


def _before(made: Instruction, around: Instruction | None) -> Found | None:
    """What a value comes from as it is; None for what computes it."""
    if made.opcode == "parameter" and around is not None:
        if made.parameter_number < len(around.operand_ids):
            return around.operands[made.parameter_number], None
    elif made.opcode == "fusion":
        return _result_of(made)
    elif made.opcode == "get-tuple-element" and made.operand_ids:
        return _element(made.operands[0], around, made.tuple_index)
    elif made.opcode in _KEEPING and made.operand_ids:
        return made.operands[0], around
    return None


def _result_of(fusion: Instruction) -> Found | None:
    called = called_before(fusion.computation, fusion)
    return (called[0].root, fusion) if called else None


def _element(source: Instruction, around: Instruction | None, at: int) -> Found | None:
    """Of a tuple, or of a fusion's."""
    made = _result_of(source) if source.opcode == "fusion" else (source, around)
    if made is None or made[0].opcode != "tuple" or at >= len(made[0].operand_ids):
        return None
    return made[0].operands[at], made[1]


class Users:
    """Of every result in a computation the instructions that use it, by the id of the
    used one.
    """

    def __init__(self, computation: Computation) -> None:
        """Raises TraceError for damaged bytes."""
        self.by_id = listed(
            (operand, instruction)
            for instruction in computation.instructions
            for operand in dict.fromkeys(instruction.operand_ids)
        )

    def of(self, instruction: Instruction) -> list[Instruction]:
        """In the file's order."""
        return self.by_id.get(instruction.id, [])

    def past_passing(self, instruction: Instruction) -> list[Instruction]:
        """The users that do something, past those that only hand the result on."""
        found = []
        waiting = list(self.of(instruction))
        seen = set()
        while waiting:
            user = waiting.pop(0)
            if user.id in seen:
                continue
            seen.add(user.id)
            if user.opcode in PASSING or user.opcode.endswith("-done"):
                waiting += self.of(user)
            else:
                found.append(user)
        return found


def scatters(instruction: Instruction) -> bool:
    """Whether an instruction puts elements where an index says.

    A scatter that became a loop is one dynamic-update-slice after the other, which keep
    its name.
    """
    return instruction.opcode == "scatter" or (
        instruction.opcode == "dynamic-update-slice"
        and "scatter" in instruction.op_name
    )


def gives_double(instruction: Instruction) -> bool:
    """Whether an instruction's result holds 64-bit floats."""
    return any(leaf.dtype in _DOUBLE for leaf in instruction.shape.leaves())


# Which computations run when the module runs, and how often a loop does.

CALLING = frozenset(("while", "conditional", "call", "fusion", "async-start"))
"""Opcodes that run what they call as a piece of the program, unlike a reduction that
applies it to each element.
"""
_MOST_ITERATIONS = 1 << 40


def trip_count(loop: Instruction) -> int | None:
    """Iterations of a while loop, None when the compiler did not note them."""
    known = loop.config().get("known_trip_count")
    try:
        count = int(known["n"]) if isinstance(known, dict) else -1
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
    return count if 0 <= count <= _MOST_ITERATIONS else None


def called_before(
    caller: Computation,
    instruction: Instruction,
) -> tuple[Computation, ...]:
    """What an instruction calls. Raises TraceError when that does not stand before its
    caller, as it always does.
    """
    called = instruction.called
    if any(computation.position >= caller.position for computation in called):
        raise instruction.computation.module.proto.damaged(
            0,
            f"{instruction.name} calls what stands after it",
        )
    return called


def computations_of(kernel: Instruction) -> list[Computation]:
    """Those whose instructions are kernels of their own when it runs, callers before
    what they call. Raises TraceError for damaged bytes.
    """
    called = set(_runs(kernel))
    found = []
    for computation in reversed(kernel.computation.module.computations):
        if computation in called:
            found.append(computation)
            for each in computation.instructions:
                called.update(_runs(each))
    return found


def names_of_kernels(kernel: Instruction) -> Iterator[str]:
    """Its name and those of what it runs, each once. Raises TraceError for damaged
    bytes.
    """
    yield kernel.name
    for computation in computations_of(kernel):
        for each in computation.instructions:
            yield each.name


def _runs(kernel: Instruction) -> tuple[Computation, ...]:
    if kernel.opcode in CALLING and kernel.opcode != "fusion":
        return called_before(kernel.computation, kernel)
    return ()


def reached(module: Module) -> frozenset[int]:
    """The ids of the computations that the entry reaches, through fusions too. Raises
    TraceError for damaged bytes.
    """
    found = {module.entry.id}
    for computation in reversed(
        module.computations
    ):  # callers stand behind what they call
        if computation.id in found:
            calling = (
                instruction
                for instruction in computation.instructions
                if instruction.opcode in CALLING
            )
            found.update(
                called.id
                for instruction in calling
                for called in called_before(computation, instruction)
            )
    return frozenset(found)
