"""Patterns that have a better form: attention in several kernels, loops that were
unrolled.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from tfadvisor.program.flow import Users, inside, kernel_computations
from tfadvisor.program.matrix_products import DotSize, products
from tfadvisor.program.module import Computation, Instruction, Module
from tfadvisor.program.operations import location_of
from tfadvisor.tallies import listed

_HOPS = 8
_EXPONENTIAL = 1
_MAXIMUM = 2
"""A softmax takes the maximum of a row and exponentials; the gates between other
products lack the maximum.
"""


def unfused_attention(module: Module) -> frozenset[str]:
    """Names of the instructions that take part in it: the two products and what lies
    between. Raises TraceError.

    A fused kernel keeps the scores on the chip. Where these are few beside the
    operands, as when decoding a token, all keys and values are still read and it saves
    next to nothing: those are left out.
    """
    names: set[str] = set()
    for computation in kernel_computations(module):
        batched = _batched_products(computation)
        if len(batched) > 1:
            users = Users(computation)
            for one in batched.values():
                if any(_has_many_scores(size) for size in products(one)):
                    names |= _of(one, batched, users)
    return frozenset(names)


def _has_many_scores(size: DotSize) -> bool:
    """Whether a product of queries and keys makes at least half as many scores as it
    reads numbers: so it is from as many positions on as a head is wide."""
    return 2 * size.m * size.n >= (size.m + size.n) * size.k


def _batched_products(computation: Computation) -> dict[int, Instruction]:
    return {
        instruction.id: instruction
        for instruction in computation.instructions
        if instruction.opcode in ("dot", "fusion", "custom-call")
        and any(size.batch > 1 for size in products(instruction))
    }


def _of(
    first: Instruction,
    batched: dict[int, Instruction],
    users: Users,
) -> set[str]:
    """The parts of an attention whose scores this product makes; empty when none
    follows.
    """
    start = (first.id, _parts(first))
    came_from: dict[tuple[int, int], list[tuple[int, int]]] = {start: []}
    nodes = {first.id: first}
    waiting = deque([(first, start[1], 0)])
    reached = []
    while waiting:
        one, seen, hops = waiting.popleft()
        for user in users.past_passing(one):
            state = (user.id, seen | _parts(user))
            known = state in came_from
            came_from.setdefault(state, []).append((one.id, seen))
            nodes[user.id] = user
            if user.id in batched:
                if state[1] == _EXPONENTIAL | _MAXIMUM:
                    reached.append(state)
            elif not known and hops < _HOPS:
                waiting.append((user, state[1], hops + 1))
    return {nodes[one].name for one, _ in _all_before(reached, came_from)}


def _all_before(
    states: list[tuple[int, int]],
    came_from: dict[tuple[int, int], list[tuple[int, int]]],
) -> set[tuple[int, int]]:
    found: set[tuple[int, int]] = set()
    waiting = list(states)
    while waiting:
        state = waiting.pop()
        if state not in found:
            found.add(state)
            waiting += came_from[state]
    return found


def _parts(one: Instruction) -> int:
    """Which of a softmax's parts an instruction does."""
    found = 0
    for part in inside(one):
        if part.opcode == "exponential":
            found |= _EXPONENTIAL
        elif part.opcode == "reduce" and any(
            called.root.opcode == "maximum" for called in part.called
        ):
            found |= _MAXIMUM
    return found


# Loops of the user's program that were unrolled: one line became hundreds of
# instructions of one fusion.

_LEAST = 128
"""Layers written one by one and the rounds of a random number generator are fewer."""
_MOST = 10_000
_STEM = 3
"""Letters in which a primitive's name and its instruction's opcode agree: mul and
multiply, sub and subtract.
"""


def unrolled(parts: Sequence[Instruction]) -> tuple[str, int] | None:
    """File and line of the operation that most of a fusion's instructions come from, ""
    and 0 where they are not known; None when fewer than 128 come from any.

    An operation is an opcode, the framework's path and a line. It counts where the path
    ends in the opcode's name, so that one lgamma that XLA expands into hundreds of
    products is no loop. Raises TraceError for damaged bytes.
    """
    if len(parts) < _LEAST:
        return None
    alike = listed(
        ((part.opcode, part.written_metadata), part) for part in parts[:_MOST]
    )
    copies: dict[tuple[str, str, str, int], int] = {}
    for (opcode, _), same in alike.items():
        place = location_of(same[0])
        if place is None or not place.op_name.rpartition("/")[2].lower().startswith(
            opcode[:_STEM]
        ):
            continue
        path = place.op_name.rstrip("0123456789").rstrip(
            "_"
        )  # TensorFlow numbers the copies
        key = (opcode, path, "" if place.is_installed else place.file, place.line)
        copies[key] = copies.get(key, 0) + len(same)
    if not copies:
        return None
    most = max(copies, key=lambda key: copies[key])
    return (most[2].rpartition("/")[2], most[3]) if copies[most] >= _LEAST else None
