"""Patterns that have a better form: attention in several kernels, loops that were
unrolled, rows that nothing uses.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Sequence

import msgspec

from tfadvisor.errors import TraceError
from tfadvisor.program.flow import (
    Users,
    inside,
    kernel_computations,
    names_of_kernels,
    way_back,
)
from tfadvisor.program.loops_around import calling
from tfadvisor.program.matrix_products import DotSize, products
from tfadvisor.program.module import Computation, Instruction, Module
from tfadvisor.program.operations import line_of, location_of
from tfadvisor.tallies import listed

_HOPS = 8
_EXPONENTIAL = 1
_MAXIMUM = 2
"""A softmax takes the maximum of a row and exponentials; the gates between other
products lack the maximum.
"""

_PRODUCT_PATHS = ("dot_general", "conv_general_dilated")
"""End the paths of what a model computes with its weights: an optimizer has none."""
_PRODUCT_KERNELS = frozenset(("fusion", "custom-call", "dot", "convolution"))
_MOST_READ = 20_000
"""Instructions of an entry computation: of more nobody asks."""
_OF_A_PATH = 2
"""Parts that are shown, of those that are names and no transformations."""


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
            for product in batched.values():
                if any(_has_many_scores(size) for size in products(product)):
                    names |= _of(product, batched, users)
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
        source, seen, hops = waiting.popleft()
        for user in users.past_passing(source):
            state = (user.id, seen | _parts(user))
            known = state in came_from
            came_from.setdefault(state, []).append((source.id, seen))
            nodes[user.id] = user
            if user.id in batched:
                if state[1] == _EXPONENTIAL | _MAXIMUM:
                    reached.append(state)
            elif not known and hops < _HOPS:
                waiting.append((user, state[1], hops + 1))
    return {nodes[node].name for node, _ in _all_before(reached, came_from)}


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


def _parts(instruction: Instruction) -> int:
    """Which of a softmax's parts an instruction does."""
    found = 0
    for part in inside(instruction):
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
    most = max(copies, key=copies.__getitem__)
    return (most[2].rpartition("/")[2], most[3]) if copies[most] >= _LEAST else None


# Work for many rows of which a program keeps few, those that an argument of it picks,
# or a loop's round: each call or round computes them all, and the next one them again.

_FEWEST_ROWS = 8
"""Rows for each that is kept; of fewer little is left to save."""
_MOST_SEARCHED = 256
"""Instructions between an index and the argument that it is made of."""
_GIVEN = frozenset(("parameter", "constant", "iota"))


class PickedRows(msgspec.Struct, frozen=True):
    """computed: names of the instructions whose results nothing but these rows needs,
    in loops and calls too, sorted.
    """

    computed: tuple[str, ...] = ()
    rows: int = 0
    """How many are computed for each that is kept."""
    argument: str = ""
    """Which the rows depend on, as the program names it: `pos`; of a loop its round:
    `the round of the loop at sample.py:49`.
    """
    line: str = ""
    """Where they are picked: `train.py:70`, "" where the trace does not tell."""


NO_ROWS = PickedRows()


def picked_rows(module: Module) -> PickedRows:
    """Those for which most instructions compute; NO_ROWS where a program keeps what it
    computes. Raises TraceError for damaged bytes.
    """
    found = (
        picked
        for computation in kernel_computations(module)
        for picked in _picked_in(computation, _loop_of(computation))
    )
    return max(found, key=lambda picked: len(picked.computed), default=NO_ROWS)


def _loop_of(computation: Computation) -> Instruction | None:
    """The while loop whose body it is; None for another."""
    around = calling(computation.module).get(computation.id)
    is_body = (
        around is not None
        and around.opcode == "while"
        and around.called_ids[0] == computation.id
    )
    return around if is_body else None


def _picked_in(
    computation: Computation, loop: Instruction | None
) -> Iterator[PickedRows]:
    """In the entry, or in the body of a loop."""
    if loop is None and computation is not computation.module.entry:
        return
    users = Users(computation)
    for picking in computation.instructions:
        for part in inside(picking):
            if part.opcode == "dynamic-slice" and part.operand_ids:
                yield _picked(picking, part, users, loop)


def _picked(
    picking: Instruction, part: Instruction, users: Users, loop: Instruction | None
) -> PickedRows:
    """Of a slice, and the kernel that takes it: the same instruction, or a fusion.
    loop: in whose body it is.
    """
    around = picking if picking is not part else None
    made_of = _given_to(part.operands[1:], around)
    argument = _round_of(loop, made_of) if loop else _argument_of(made_of)
    rows = part.operands[0].shape.elements // max(part.shape.elements, 1)
    if not argument or rows < _FEWEST_ROWS:
        return NO_ROWS
    feeding = [each for each in _feeding(picking, users) if each.opcode not in _GIVEN]
    source = _only_used_by(part, around, feeding)
    if source is None:
        return NO_ROWS
    needed = _needed_by(source)
    names = sorted(
        name for each in feeding if each.id in needed for name in names_of_kernels(each)
    )
    return PickedRows(tuple(names), rows, argument, line_of(part))


def _only_used_by(
    part: Instruction, around: Instruction | None, feeding: list[Instruction]
) -> Instruction | None:
    """What a slice is taken from, outside of a fusion, where it alone uses that and the
    program computes it; else None. feeding: what the kernel alone uses.
    """
    inside_of = _feeding(part, Users(part.computation)) if around is not None else []
    alone = {id(each) for each in (*feeding, *inside_of)}
    way = list(way_back(part.operands[0], around))
    at = next((at for at, (_, holder) in enumerate(way) if holder is None), -1)
    is_all = at >= 0 and all(id(made) in alone for made, _ in way[: at + 1])
    return way[at][0] if is_all else None


def _needed_by(source: Instruction) -> set[int]:
    """The ids of what an instruction is made of in its computation, and its own."""
    found = {source.id}
    for each in reversed(source.computation.instructions):
        if each.id in found:
            found.update(each.operand_ids)
    return found


def _argument_of(given: Sequence[Instruction]) -> str:
    """The argument of the program that the indices of a slice are made of, "" where
    they are constant.
    """
    for each in given:
        if each.opcode == "parameter":
            return each.op_name or each.name
    return ""


def _round_of(loop: Instruction, given: Sequence[Instruction]) -> str:
    """The round of a loop where the indices of a slice are made of a number that each
    round changes, "" where all rounds pick the same.
    """
    body = loop.called[0]
    handed_on = body.root.operands if body.root.opcode == "tuple" else ()
    for each in given:
        at = each.tuple_index
        is_carried = each.opcode == "get-tuple-element" and at < len(handed_on)
        if is_carried and each.shape.elements == 1 and not _is_kept(handed_on[at], at):
            line = line_of(loop)
            return f"the round of the loop at {line}" if line else "the loop's round"
    return ""


def _is_kept(handed_on: Instruction, at: int) -> bool:
    """Whether a round hands on what it was given at this place."""
    *_, (made, _) = way_back(handed_on, None)
    source = made.operands[0] if made.operand_ids else made
    is_given = made.opcode == "get-tuple-element" and source.opcode == "parameter"
    return is_given and made.tuple_index == at


def _given_to(
    made_of: Sequence[Instruction], around: Instruction | None
) -> list[Instruction]:
    """The arguments of a computation, or of a loop's body the elements that it is
    given, of which instructions are made. around: the fusion that holds these.
    """
    found = []
    waiting = [(made, around) for made in made_of]
    for made, holder in waiting:
        if len(waiting) > _MOST_SEARCHED:
            break
        if _is_element_given(made):
            found.append(made)
        elif made.opcode != "parameter":
            waiting += [(operand, holder) for operand in made.operands]
        elif holder is None:
            found.append(made)
        elif made.parameter_number < len(holder.operand_ids):
            waiting.append((holder.operands[made.parameter_number], None))
    return found


def _is_element_given(made: Instruction) -> bool:
    return made.opcode == "get-tuple-element" and made.operands[0].opcode == "parameter"


def _feeding(target: Instruction, users: Users) -> list[Instruction]:
    """The instructions of its computation whose results nothing else needs."""
    mine = {target.id}
    found = []
    for each in reversed(target.computation.instructions):
        using = users.of(each)
        if using and all(user.id in mine for user in using):
            mine.add(each.id)
            found.append(each)
    return found


def most_copies(program: Module) -> tuple[str, str, int, int]:
    """(the end of its path, file without its folder, line, how many) of the product
    or convolution that most kernels of the entry computation are; ("", "", 0, 0) where
    it tells of none.
    """
    try:
        places = Counter(
            (place.op_name, place.file, place.line)
            for instruction in program.entry.instructions[:_MOST_READ]
            if instruction.opcode in _PRODUCT_KERNELS
            and (place := location_of(instruction)) is not None
            and place.op_name.endswith(_PRODUCT_PATHS)
        )
    except TraceError:
        return "", "", 0, 0
    if not places:
        return "", "", 0, 0
    (path, file, line), count = places.most_common(1)[0]
    parts = [part for part in path.split("/") if part.isidentifier()]
    return "/".join(parts[-_OF_A_PATH:]), file.rpartition("/")[2], line, count
