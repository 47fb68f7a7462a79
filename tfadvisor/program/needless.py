"""Work in a compiled program that it could do without: both branches of a condition, loop-invariant ops, rows one by one.

Under `jax.vmap`, `lax.cond` and `lax.switch` become a select: every branch runs for every example, and the index of the branch
picks one result. In the HLO that is a `select_n` whose predicate is a comparison of the index that bears the same name; a
`jnp.where` has its own predicate name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from tfadvisor.program.flow import (
    Found,
    Users,
    called_before,
    effect,
    kernel_computations,
    running_computations,
    trip_count,
    way_back,
)
from tfadvisor.program.module import Computation, Instruction, Module
from tfadvisor.program.products import products
from tfadvisor.program.wire import Proto, entries, number_of, span, span_of

_CHOICE = "select_n"
_BATCHED = "vmap("

Side = tuple[bytes, int]
"""Which condition (its metadata), and which of its two operands."""
Fusions = dict[tuple[int, int], Mapping[int, Side]]
"""By computation and id of a fusion the places of its operands that one side alone uses."""


def both_branches(module: Module) -> frozenset[str]:
    """Names of the instructions whose results only one side of such a condition uses. Raises TraceError."""
    found: set[str] = set()
    inner: Fusions = {}
    for computation in kernel_computations(module):
        if any(_BATCHED in one.op_name for one in computation.instructions):
            sides = _sides(computation, inner)
            found.update(one.name for one in computation.instructions if one.id in sides)
    return frozenset(found)


def _sides(computation: Computation, inner: Fusions, around: Instruction | None = None) -> Mapping[int, Side]:
    """By id the instructions that one side alone uses. inner: of fusions seen before. around: the fusion that holds the
    computation."""
    users, known = Users(computation), dict[int, Side]()
    for one in reversed(computation.instructions):  # users stand behind what they use
        found = {_side(user, one, known, inner, around) for user in users.of(one)}
        side = found.pop() if len(found) == 1 else None
        if side is not None:
            known[one.id] = side
    return known


def _side(
    user: Instruction,
    one: Instruction,
    known: Mapping[int, Side],
    inner: Fusions,
    around: Instruction | None,
) -> Side | None:
    """The side for which a user takes a result; None where it is for more than one, or for none."""
    places = [place for place, operand in enumerate(user.operand_ids) if operand == one.id]
    found: set[Side | None] = set()
    if user.opcode == "select" and _chooses(user, around):
        found = {(user.written_metadata, place) if place else None for place in places}
    elif user.opcode == "fusion":
        key = user.computation.id, user.id
        if key not in inner:
            inner[key] = _inner_sides(user, inner)
        found = {inner[key].get(place) for place in places}
    side = found.pop() if len(found) == 1 else None
    return side or known.get(user.id)


def _inner_sides(fusion: Instruction, inner: Fusions) -> Mapping[int, Side]:
    """By the place of a fusion's operand the side that alone uses it."""
    called = called_before(fusion.computation, fusion)
    if not called or not any(one.opcode == "select" for one in called[0].instructions):
        return {}
    sides = _sides(called[0], inner, fusion)
    return {one.parameter_number: sides[one.id] for one in called[0].parameters() if one.id in sides}


def _chooses(select: Instruction, around: Instruction | None) -> bool:
    """Whether a select picks a branch of a condition for each example."""
    if not select.op_name.endswith(_CHOICE) or _BATCHED not in select.op_name:
        return False
    comparisons = (one for one, _ in way_back(select.operands[0], around) if one.opcode == "compare")
    return any(one.op_name.endswith(_CHOICE) for one in islice(comparisons, 1))


# Programs that every device runs with the same inputs, and in which nothing tells the devices apart: all compute
# the same.

_SHARDINGS, _DEVICE_ASSIGNMENT = span(14), 15
_PARTITIONS = 2
_TYPE, _OF_TUPLE, _NAMED = 1, span(5), 14
_DIMENSIONS, _AXES = span(3), span(1)
_REPLICATED, _TUPLE = 0, 2
_TELLING_APART = frozenset("partition-id replica-id infeed recv rng".split())


def equal_partitions(module: Module) -> int:
    """How many devices compute the same; 1 where something may tell them apart, or the program does not say.

    Raises TraceError for damaged bytes.
    """
    proto, fields = module.proto, module.fields
    lo, hi = span_of(fields, _DEVICE_ASSIGNMENT)
    partitions = number_of(entries(proto, lo, hi), _PARTITIONS)
    inputs = [(at, end) for key, at, end in fields if key == _SHARDINGS]
    if partitions < 2 or not inputs or any(_splits(proto, at, end) for at, end in inputs):
        return 1
    instructions = (one for computation in module.computations for one in computation.instructions)
    return 1 if any(_tells_apart(one) for one in instructions) else partitions


def _tells_apart(one: Instruction) -> bool:
    return one.opcode in _TELLING_APART or (one.opcode == "custom-call" and "callback" in one.custom_call_target)


def _splits(proto: Proto, lo: int, hi: int) -> bool:
    """Whether a sharding gives each device its own part. Raises TraceError."""
    fields = entries(proto, lo, hi)
    kind = number_of(fields, _TYPE)
    if kind == _TUPLE:
        return any(_splits(proto, at, end) for key, at, end in fields if key == _OF_TUPLE)
    at, end = span_of(fields, _NAMED)
    dimensions = [(at, end) for key, at, end in entries(proto, at, end) if key == _DIMENSIONS]
    return kind != _REPLICATED or any(key == _AXES for at, end in dimensions for key, _, _ in entries(proto, at, end))


# Work inside a loop whose result is the same in every turn, because nothing that it uses changes from turn to turn.

_TUPLE_INDEX = 13
_FEWEST_TURNS = 4
_HANDED_ON = frozenset("bitcast constant copy get-tuple-element iota parameter partition-id replica-id tuple".split())
_EACH_TIME_ANOTHER = frozenset(
    "custom-call infeed outfeed recv rng rng-bit-generator rng-get-and-update-state send all-reduce all-gather".split()
)
"""What may give another result for the same operands, or takes part in an exchange."""


def invariant_work(module: Module) -> frozenset[str]:
    """Names of instructions that a loop of four turns or more runs again with the same operands. Raises TraceError."""
    running = running_computations(module)
    found: set[str] = set()
    for computation in module.computations:
        if computation.id not in running:
            continue
        for one in computation.instructions:
            if one.opcode == "while" and (trip_count(one) or 0) >= _FEWEST_TURNS:
                called = called_before(computation, one)
                found.update(_invariant(called[0]) if called else ())
    return frozenset(found)


def _invariant(body: Computation) -> set[str]:
    same = _unchanged(body)
    names = set()
    for one in body.instructions:  # operands stand before what uses them
        if one.opcode in ("constant", "iota"):
            same[one.id] = True
        elif one.opcode not in _EACH_TIME_ANOTHER and one.operand_ids and one.id not in same:
            same[one.id] = all(same.get(operand, False) for operand in one.operand_ids)
        if same.get(one.id) and one.opcode not in _HANDED_ON:
            names.add(one.name)
    return names


def _unchanged(body: Computation) -> dict[int, bool]:
    """By id the parts of what the loop carries: whether the next turn gets the very same."""
    parameters = {one.id for one in body.parameters()}
    root = body.root
    if root.opcode != "tuple":
        return {}
    handed_on = dict(enumerate(root.operands))
    return {
        one.id: _is_part(handed_on.get(_index(one)), _index(one), parameters)
        for one in body.instructions
        if one.opcode == "get-tuple-element" and set(one.operand_ids) <= parameters
    }


def _is_part(one: Instruction | None, index: int, parameters: set[int]) -> bool:
    """Whether an instruction is this part of a parameter, or its copy."""
    while one is not None and one.opcode in ("copy", "bitcast") and one.operand_ids:
        one = one.operands[0]
    return (
        one is not None
        and one.opcode == "get-tuple-element"
        and set(one.operand_ids) <= parameters
        and _index(one) == index
    )


def _index(one: Instruction) -> int:
    return number_of(one.fields, _TUPLE_INDEX)


# Loops of a fixed number of turns that throw away what the turns after some bound compute.

_RUNNING = frozenset(("while", "conditional", "call"))
_COUNTERS = frozenset("add get-tuple-element parameter select subtract".split())
_BOUNDS = frozenset("add divide get-tuple-element minimum parameter dynamic-slice gather subtract fusion".split())
_INTEGERS = frozenset("s8 s16 s32 s64 u8 u16 u32 u64".split())
_FEWEST_TURNS_MASKED_LOOPS = 8


def masked_loops(module: Module) -> frozenset[str]:
    """Names of the instructions that run in such a loop, and of those that run one. Raises TraceError."""
    masked: set[int] = set()
    names: set[str] = set()
    for computation in module.computations:  # what is called stands before its callers
        holds = [one for one in computation.instructions if one.opcode in _RUNNING and _runs_masked(one, masked)]
        if holds:
            masked.add(computation.id)
            names.update(one.name for one in holds)
    return frozenset(names) | _run_within(module, masked)


def _runs_masked(one: Instruction, masked: set[int]) -> bool:
    called = called_before(one.computation, one)
    if any(each.id in masked for each in called):
        return True
    if (
        one.opcode != "while"
        or not called
        or (trip_count(one) or 0) < _FEWEST_TURNS_MASKED_LOOPS
        or not _masks(called[0])
    ):
        return False
    masked.add(called[0].id)
    return True


def _run_within(module: Module, masked: set[int]) -> frozenset[str]:
    """Instructions of the loops' bodies themselves."""
    bodies = {
        one.called[0].id: one.called[0]
        for computation in module.computations
        for one in computation.instructions
        if one.opcode == "while" and one.called and one.called[0].id in masked and _masks(one.called[0])
    }
    return frozenset(inner.name for body in bodies.values() for inner in body.instructions)


def _masks(body: Computation) -> bool:
    return any(one.opcode == "select" and _by_turn(one, around) for one, around in _all(body))


def _all(body: Computation) -> Iterator[Found]:
    """The instructions of one turn, those inside fusions too."""
    for one in body.instructions:
        yield one, None
        if one.opcode == "fusion":
            for called in called_before(body, one):
                for inner in called.instructions:
                    yield inner, one


def _by_turn(select: Instruction, around: Instruction | None) -> bool:
    comparisons = (found for found in way_back(select.operands[0], around) if found[0].opcode == "compare")
    compared, around = next(comparisons, (select, None))
    if compared.shape.elements >= select.shape.elements or len(compared.operand_ids) < 2:
        return False
    sides = [_value(one, around) for one in compared.operands[:2]]
    if any(not {leaf.dtype for leaf in one.shape.leaves()} <= _INTEGERS for one in sides):
        return False
    return any(_is_counter(one) and other.opcode in _BOUNDS for one, other in (sides, sides[::-1]))


def _is_counter(one: Instruction) -> bool:
    return one.opcode in _COUNTERS and one.shape.elements == 1


def _value(one: Instruction, around: Instruction | None) -> Instruction:
    """Where a value comes from; a fusion that computes it stands for what it does."""
    for found, _ in way_back(one, around):
        if found.opcode == "fusion":
            return found
    return found


# Differences of all pairs of rows as one large array: `a[:, None, :] - b[None, :, :]`.

_RANK = 3
_LARGE = 1_000_000
"""Elements from which such an array is larger than any cache of a core."""


def differences_of_pairs(parts: Iterable[Instruction]) -> bool:
    """Whether an op subtracts rows from rows, each with each: both operands are broadcast, along different dimensions.

    Raises TraceError for damaged bytes.
    """
    return any(one.opcode == "subtract" and _is_large(one) and _crosses(one) for one in parts)


def _is_large(one: Instruction) -> bool:
    return len(one.shape.dims) >= _RANK and one.shape.elements >= _LARGE


def _crosses(one: Instruction) -> bool:
    left, right = one.operands[:2]
    if left.opcode != "broadcast" or right.opcode != "broadcast" or not (left.operand_ids and right.operand_ids):
        return False
    sizes = [operand.operands[0].shape.elements for operand in (left, right)]
    return min(sizes) > max(one.shape.dims[-1], 1) and max(sizes) < one.shape.elements


# Loops that take one example after the other, although no turn needs another's result: `lax.map`, or a scan over a
# batch.

_FEWEST_TURNS_ROW_LOOPS = 16
_SMALLEST = 1024
"""Elements of the matrix that a row is multiplied by."""
_HANDED_ON_ROW_LOOPS = frozenset("constant copy dynamic-update-slice get-tuple-element parameter".split())
_MULTIPLYING = frozenset(("dot", "custom-call", "fusion"))
_BACKWARD = "transpose("


def loops_over_rows(one: Instruction) -> bool:
    """Whether an instruction runs a loop whose turns multiply single rows and only write their results side by side.

    Its gradient adds up as well. Raises TraceError for damaged bytes.
    """
    if one.opcode not in ("while", "call"):
        return False
    return any(_over_rows(loop, _BACKWARD in one.op_name) for loop in _loops(one))


def _loops(one: Instruction) -> Iterator[Instruction]:
    if one.opcode == "while":
        yield one
        return
    for called in called_before(one.computation, one):
        yield from (inner for inner in called.instructions if inner.opcode == "while")


def _over_rows(loop: Instruction, backward: bool) -> bool:
    called = called_before(loop.computation, loop)
    if not called or (trip_count(loop) or 0) < _FEWEST_TURNS_ROW_LOOPS:
        return False
    body = called[0]
    sizes = [size for one in body.instructions if one.opcode in _MULTIPLYING for size in products(one)]
    rows = bool(sizes) and all(size.batch == 1 and min(size.m, size.n) == 1 for size in sizes)
    return rows and any(size.k * max(size.m, size.n) >= _SMALLEST for size in sizes) and _independent(body, backward)


def _independent(body: Computation, backward: bool) -> bool:
    """Whether nothing but a counter, results side by side and sums (of gradients) goes from turn to turn."""
    for one in body.root.operands:
        does = effect(one)
        if does in _HANDED_ON_ROW_LOOPS or one.shape.elements == 1 or (backward and does == "add"):
            continue
        return False
    return True
