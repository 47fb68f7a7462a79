"""How often each computation runs when the module runs once.

A while loop whose number of iterations the compiler knew carries it in its backend_config as
`{"known_trip_count":{"n":"10"}}` (`WhileLoopBackendConfig` in openxla/xla, xla/xla_data.proto, written as JSON).
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tfadvisor.hlo.format.module import Computation, Instruction, Module

CALLING = frozenset(("while", "conditional", "call", "fusion", "async-start"))
"""Opcodes that run what they call as a piece of the program, unlike a reduction that applies it to each element."""
_MOST_ITERATIONS = 1 << 40


class Executions(msgspec.Struct, frozen=True):
    """times: at least 0. exact: False where a loop of unknown length, counted as one iteration, or a branch leads there."""

    times: int
    exact: bool


def trip_count(loop: Instruction) -> int | None:
    """Iterations of a while loop, None when the compiler did not note them."""
    known = loop.config().get("known_trip_count")
    try:
        count = int(known["n"]) if isinstance(known, dict) else -1
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
    return count if 0 <= count <= _MOST_ITERATIONS else None


def called_before(caller: Computation, instruction: Instruction) -> tuple[Computation, ...]:
    """What an instruction calls. Raises TraceError when that does not stand before its caller, as it always does."""
    called = instruction.called
    if any(one.position >= caller.position for one in called):
        raise instruction.computation.module.proto.damaged(0, f"{instruction.name} calls what stands after it")
    return called


def executions(module: Module) -> Mapping[int, Executions]:
    """By the computation's id; computations that the entry does not reach are absent."""
    times: dict[int, list[int]] = {module.entry.id: [1, 1]}
    for computation in reversed(module.computations):  # callers stand behind what they call
        if computation.id not in times:
            continue
        mine, exact = times[computation.id]
        for instruction in computation.instructions:
            if instruction.opcode in CALLING:
                loops, known = _loops(instruction)
                for called in called_before(computation, instruction):
                    entry = times.setdefault(called.id, [0, 1])
                    entry[0] += mine * loops
                    entry[1] &= exact & known
    return {one: Executions(count, bool(exact)) for one, (count, exact) in times.items()}


def _loops(instruction: Instruction) -> tuple[int, int]:
    """(how often it runs what it calls, whether that is certain)."""
    if instruction.opcode == "while":
        count = trip_count(instruction)
        return (1, 0) if count is None else (count, 1)
    return 1, int(instruction.opcode != "conditional")
