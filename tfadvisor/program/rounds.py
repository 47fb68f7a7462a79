"""What the rounds of a while loop need of each other: nothing, where each hands on a
counter, rows that it alone writes, and sums. And which arrays a round copies whole.

A body is read in the order in which it runs, with a `Value` for each array: which of
the arrays that the loop carries it is made of. A round that reads what one before it
wrote shows by what it hands on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from functools import cached_property, lru_cache, reduce
from itertools import count
from operator import or_
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from tfadvisor.program.flow import (
    CALLING,
    Users,
    called_before,
    computations_of,
    inside,
    kernel_computations,
    trip_count,
)
from tfadvisor.program.matrix_products import dot_size
from tfadvisor.program.module import Computation, Instruction, Module
from tfadvisor.program.operations import line_of, operand
from tfadvisor.program.shape import Shape
from tfadvisor.program.wire import message_of, number_of, numbers_of, text_of
from tfadvisor.tallies import listed

_MOST_READ = 200_000
"""Instructions that are read of a program; those of inner loops count each time."""
_MOST_CARRIED = 4_096
"""Arrays of a loop."""
_DEEPEST = 32
"""Loops, calls and fusions inside of each other."""
_MOST_TURNS = 8
"""Times that an inner loop's body is read until what it hands on is settled."""
_KEEPING = frozenset(
    """
        add-dependency bitcast convert copy copy-done copy-start domain opt-barrier
        reshape
    """.split()
)
"""Opcodes that hand on the values of their first operand."""
_WITH_OTHERS = (
    "all-",
    "collective-",
    "infeed",
    "outfeed",
    "ragged-all-",
    "recv",
    "reduce-scatter",
    "rng-get-and-update-state",
    "send",
)
"""Begin the opcodes of what other devices or the host take part in, or that change what
no operand shows.
"""
_CALLBACK = "callback"
_LITERAL = 8
_COMPARISON = 63
_SIDE_EFFECT = 65
"""Fields of a HloInstructionProto."""
_S32S = 4
_S64S = 5
"""Fields of a LiteralProto."""
_IN_PARTS = ("dynamic-slice", "dynamic-update-slice", "slice")
_NO_OPS = frozenset(
    "bitcast constant domain get-tuple-element iota parameter tuple".split()
)
_FOR_A_LOOP = _NO_OPS | {"broadcast", "copy", "while"}
"""Opcodes in a call that is there for the loop in it."""


class FreeLoop(msgspec.Struct, frozen=True):
    """A while loop of which no round needs another."""

    name: str
    """Of its instruction."""
    line: str
    """`train.py:21`, "" where the trace does not tell."""
    rounds: int
    """0 where the compiler noted no number."""
    kernels: Mapping[str, int]
    """Names of the instructions that it runs, in inner loops too, its own, and those of
    calls that hold nothing else; how many ops one run of each is at least: of loops and
    calls, those in them, as far as numbers of rounds are noted.
    """
    matrix: str
    """`f32[300,300]`, the largest that each round multiplies by a vector of its own; ""
    where all rounds together would be no larger product.
    """


class CarriedCopy(msgspec.Struct, frozen=True):
    """A copy of a whole array in each round of a loop that reads and writes parts of it
    alone.
    """

    name: str
    """Of its instruction."""
    array: str
    """`f32[80,80,80]{2,1,0}`."""
    bytes: int
    """Of the array."""
    rounds: int
    """0 where the compiler noted no number."""


class Rounds(msgspec.Struct, frozen=True):
    """What is said of the loops of a program."""

    free: tuple[FreeLoop, ...] = ()
    """Without those inside of another one."""
    copies: tuple[CarriedCopy, ...] = ()


NO_ROUNDS = Rounds()


def rounds_of(module: Module) -> Rounds:
    """Those of all loops that it runs. Raises TraceError for damaged bytes."""
    free: list[FreeLoop] = []
    copies: list[CarriedCopy] = []
    within: set[str] = set()
    reading = _Reading()
    for loop in loops_of(module):
        try:
            reading.charge(len(module.computations))
            found = _Round(loop, reading)
        except _TooLong:
            break
        copies += found.copies()
        if loop.name not in within and found.is_free():
            free.append(_free(loop, found.shared_matrix()))
            within.update(free[-1].kernels)
    return Rounds(tuple(free), tuple(copies))


def _free(loop: Instruction, matrix: Shape | None) -> FreeLoop:
    return FreeLoop(
        loop.name,
        line_of(loop),
        trip_count(loop) or 0,
        kernels_of(loop),
        f"{matrix.dtype}{list(matrix.dims)}".replace(" ", "") if matrix else "",
    )


def loops_of(module: Module) -> Iterator[Instruction]:
    """The while loops that it runs, outer ones before those in them. Raises TraceError
    for damaged bytes.
    """
    for computation in reversed(list(kernel_computations(module))):
        for each in computation.instructions:
            if each.opcode == "while" and len(called_before(computation, each)) > 1:
                yield each


def _calls_for(loop: Instruction) -> list[str]:
    """Names of the calls that are there for this loop."""
    around = loop.computation
    opcodes = [each.opcode for each in around.instructions]
    if opcodes.count("while") > 1 or not _FOR_A_LOOP.issuperset(opcodes):
        return []
    return _calls(around.module).get(around.id, [])


@lru_cache(maxsize=16)  # asked for each loop
def _calls(module: Module) -> Mapping[int, list[str]]:
    """Names, by the id of what they call."""
    return listed(
        (called, each.name)
        for computation in kernel_computations(module)
        for each in computation.instructions
        if each.opcode == "call"
        for called in each.called_ids
    )


def kernels_of(loop: Instruction) -> dict[str, int]:
    """As `FreeLoop.kernels`. Raises TraceError for damaged bytes."""
    found: dict[str, int] = {}
    ops: dict[int, int] = {}
    for computation in reversed(computations_of(loop)):  # what is called comes first
        mine = {each.name: _ops_in(each, ops) for each in computation.instructions}
        ops[computation.id] = sum(mine.values())
        found |= mine
    return found | dict.fromkeys((loop.name, *_calls_for(loop)), _ops_in(loop, ops))


def _ops_in(each: Instruction, ops: Mapping[int, int]) -> int:
    """ops: of the computations that it may call, by id."""
    if each.opcode in _NO_OPS:
        return 0
    if each.opcode == "fusion" or each.opcode not in CALLING:
        return 1
    times = (trip_count(each) or 0) if each.opcode == "while" else 1
    return times * sum(ops[called] for called in each.called_ids)


# What a value in a round is made of.


class _Change(Enum):
    """What a round has done to an array that the loop carries."""

    NONE = "nothing"
    COUNTED = "a constant was added to a number"
    WRITTEN = "parts were written"
    SUMMED = "something was added"


class Value(msgspec.Struct, frozen=True):
    """An array in a round. The arrays that the loop carries are numbered, and sets of
    them are bits; of each also the part at the place of a round's first look, by a
    number that is _MOST_CARRIED higher.
    """

    needs: int = 0
    """What it is made of, beside `array`; 0 of a constant."""
    array: int = -1
    """The one that it is, perhaps changed; -1 for a new one."""
    change: _Change = _Change.NONE
    """That of `array`."""
    places: int = 0
    """What the places that were written are made of."""


_Made: TypeAlias = "Value | tuple[_Made, ...]"
"""What an instruction makes: an array, or a tuple."""


_Place = tuple[int, tuple[int, ...], tuple[int, ...], Shape]
"""Of a part of an array: the ids of a computation and of the numbers in it that say
where the part begins; its size; the array as it is seen there.
"""


class _Writes(msgspec.Struct):
    """What a round writes of an array."""

    places: set[_Place]
    rows: dict[int, int]
    """How many there are, by the array of the loop that says, with a constant, which
    of them each write is.
    """


class _TooLong(Exception):
    """Loops are longer or deeper than anyone reads."""


def _all_of(made: _Made) -> int:
    """All arrays of the loop that it is made of."""
    if isinstance(made, tuple):
        return reduce(or_, map(_all_of, made), 0)
    itself = 1 << made.array if made.array >= 0 else 0
    return made.needs | made.places | itself


def _new(operands: Sequence[_Made]) -> Value:
    """What is made of these in an unknown way."""
    return Value(_all_of(tuple(operands)))


class _Reading:
    """Of the loops of a program."""

    def __init__(self) -> None:
        self._left = _MOST_READ
        self._depth = 0
        self.repeats = 0
        """Inner loops and calls around what is read: it may run several times a round.
        """
        self.looked_at: dict[int, _Place] = {}
        """By array, where a round looks at a part of it first."""
        self.writes: dict[int, _Writes] = {}
        """By array."""
        self.products: dict[Instruction, list[int]] = {}
        """What the operands of products are made of."""

    def charge(self, size: int) -> None:
        """Raises _TooLong when all that was read is more than _MOST_READ."""
        self._left -= size
        if self._left < 0 or self._depth > _DEEPEST:
            raise _TooLong

    def values(
        self, computation: Computation, given: Sequence[_Made]
    ) -> dict[int, _Made]:
        """By the instructions' ids. given: its arguments. Raises TraceError for damaged
        bytes.
        """
        self._depth += 1
        self.charge(len(computation.instructions))
        made: dict[int, _Made] = {}
        for each in computation.instructions:
            if each.opcode == "parameter":
                made[each.id] = _argument(each, given)
                continue
            if any(used not in made for used in each.operand_ids):
                raise each.damaged("uses what stands after it")
            operands = [made[used] for used in each.operand_ids]
            made[each.id] = _HOW.get(each.opcode, _anyhow)(self, each, operands)
        self._depth -= 1
        return made

    def result(self, computation: Computation, given: Sequence[_Made]) -> _Made:
        """What its root makes."""
        return self.values(computation, given)[computation.root.id]


def _argument(parameter: Instruction, given: Sequence[_Made]) -> _Made:
    if not 0 <= parameter.parameter_number < len(given):
        raise parameter.damaged("is given nothing")
    return given[parameter.parameter_number]


def _anyhow(_: _Reading, __: Instruction, operands: Sequence[_Made]) -> _Made:
    return _new(operands)


def _first(_: _Reading, each: Instruction, operands: Sequence[_Made]) -> _Made:
    return operands[0] if operands and _hands_on(each) else _new(operands)


def _hands_on(each: Instruction) -> bool:
    """Whether its elements are its operand's in the same order."""
    if each.opcode != "bitcast":
        return each.opcode in _KEEPING
    given = operand(each, 0)
    return given == each.shape or (_is_in_order(given) and _is_in_order(each.shape))


def _is_in_order(shape: Shape) -> bool:
    """Whether the last dimension varies fastest, the first slowest."""
    layout = shape.minor_to_major
    return layout == tuple(sorted(layout, reverse=True))


def _tuple(reading: _Reading, _: Instruction, operands: Sequence[_Made]) -> _Made:
    """Tuples in tuples hold arrays alone, as a TensorList does."""
    parts = [part if _is_flat(part) else _new([part]) for part in operands]
    reading.charge(sum(len(part) for part in parts if isinstance(part, tuple)))
    return tuple(parts)


def _is_flat(made: _Made) -> bool:
    return isinstance(made, Value) or all(isinstance(part, Value) for part in made)


def _element(_: _Reading, each: Instruction, operands: Sequence[_Made]) -> _Made:
    whole = operands[0] if operands else Value()
    if isinstance(whole, tuple) and each.tuple_index < len(whole):
        return whole[each.tuple_index]
    return _new([whole])


def _added(_: _Reading, each: Instruction, operands: Sequence[_Made]) -> _Made:
    orders = (operands, operands[::-1]) if each.opcode == "add" else (operands,)
    for own, *others in orders:
        if not isinstance(own, Value) or own.array < 0:
            continue
        more = _new(others)
        is_number = each.shape.elements == 1
        if is_number and not more.needs and own.change in _COUNTING:
            return replace(own, change=_Change.COUNTED)
        if own.change in _SUMMING:
            needs = own.needs | more.needs
            return replace(own, change=_Change.SUMMED, needs=needs)
    return _new(operands)


def _subtracted(
    reading: _Reading, each: Instruction, operands: Sequence[_Made]
) -> _Made:
    """A place that is counted down is one of the round's own, but counts no further."""
    *first, last = operands or [Value()]
    is_from_same = each.shape.elements == 1 and not _all_of(tuple(first))
    if is_from_same and isinstance(last, Value) and _is_counted(last):
        return replace(last, needs=_all_of(last), change=_Change.COUNTED)
    return _added(reading, each, operands)


def _cut(reading: _Reading, each: Instruction, operands: Sequence[_Made]) -> _Made:
    own, *places = operands or [Value()]
    if not isinstance(own, Value) or own.array < 0 or own.change is not _Change.NONE:
        return _new(operands)
    place = (
        each.computation.id,
        each.operand_ids[1:],
        each.shape.dims,
        operand(each, 0),
    )
    if reading.repeats or reading.looked_at.setdefault(own.array, place) != place:
        return _new(operands)
    return Value(1 << own.array + _MOST_CARRIED | _all_of(tuple(places)))


def _written(reading: _Reading, each: Instruction, operands: Sequence[_Made]) -> _Made:
    own, *others = operands or [Value()]
    if not isinstance(own, Value) or own.array < 0 or own.change not in _WRITING:
        return _new(operands)
    needs, places = _all_of(tuple(others[:1])), others[1:]
    _note(reading, each, own.array, places)
    return Value(
        own.needs | needs,
        own.array,
        _Change.WRITTEN,
        own.places | _all_of(tuple(places)),
    )


def _note(
    reading: _Reading, write: Instruction, array: int, places: Sequence[_Made]
) -> None:
    """Which rows of an array are written; a row is one element of a dimension."""
    whole, size = operand(write, 0), operand(write, 1).dims
    rows = {
        place.array: length
        for place, length, part in zip(places, whole.dims, size, strict=False)
        if isinstance(place, Value) and part == 1 and _is_counted(place)
    }
    place = write.computation.id, write.operand_ids[2:], size, whole
    writes = reading.writes.setdefault(array, _Writes(set(), rows))
    writes.places.add(place)
    writes.rows = {
        counter: min(length, writes.rows[counter])
        for counter, length in rows.items()
        if counter in writes.rows
    }


def _is_counted(place: _Made) -> bool:
    """Whether a number is a counter plus a constant."""
    return (
        isinstance(place, Value)
        and place.array >= 0
        and place.change in _COUNTING
        and not place.needs & ~(1 << place.array)
    )


def _selected(_: _Reading, each: Instruction, operands: Sequence[_Made]) -> _Made:
    """A counter that is moved below 0, as by indices from the end, counts on."""
    alike = {_all_of(part) for part in operands}
    counts_on = len(alike) == 1 and all(map(_is_counted, operands[1:]))
    last = operands[-1] if len(operands) == 3 else ()
    if counts_on and isinstance(last, Value) and _is_moved_below_0(each):
        return Value(_all_of(last), last.array, _Change.COUNTED)
    return _new(operands)


def _is_moved_below_0(select: Instruction) -> bool:
    """Whether it is `i + n if i < 0 else i`."""
    compare, moved, kept = select.operands
    if compare.opcode != "compare" or len(compare.operand_ids) != 2:
        return False
    number, bound = compare.operands
    return (
        text_of(compare.proto, compare.fields, _COMPARISON) == "LT"
        and number is kept
        and moved.opcode == "add"
        and _is_0(bound)
    )


def _is_0(constant: Instruction) -> bool:
    literal = message_of(constant.proto, constant.fields, _LITERAL)
    numbers = [numbers_of(constant.proto, literal, kind) for kind in (_S32S, _S64S)]
    return constant.opcode == "constant" and (0,) in numbers


def _multiplied(
    reading: _Reading, each: Instruction, operands: Sequence[_Made]
) -> _Made:
    made = map(_all_of, operands)
    before = reading.products.get(each, [0] * len(operands))
    reading.products[each] = list(map(or_, before, made))
    return _new(operands)


def _called(reading: _Reading, each: Instruction, operands: Sequence[_Made]) -> _Made:
    called = called_before(each.computation, each)
    if not called:
        return _new(operands)
    repeats = each.opcode == "call"
    reading.repeats += repeats
    made = reading.result(called[0], operands)
    reading.repeats -= repeats
    return made


def _looped(reading: _Reading, each: Instruction, operands: Sequence[_Made]) -> _Made:
    called = called_before(each.computation, each)
    if len(called) < 2 or not operands:
        return _new(operands)
    body, condition = called[:2]
    state = operands[0]
    reading.repeats += 1
    for _ in range(_MOST_TURNS):
        before = state
        state = _either(before, reading.result(body, [before]))
        if state == before:
            break
    else:
        state = _new([state])
    until = reading.result(condition, [state])
    reading.repeats -= 1
    return _depending(state, _all_of(until))


def _branched(reading: _Reading, each: Instruction, operands: Sequence[_Made]) -> _Made:
    called = called_before(each.computation, each)
    if not called or len(operands) != len(called) + 1:
        return _new(operands)
    results = [
        reading.result(branch, [given])
        for branch, given in zip(called, operands[1:], strict=True)
    ]
    return _depending(reduce(_either, results), _all_of(operands[0]))


def _either(some: _Made, other: _Made) -> _Made:
    """What is one of the two."""
    if some == other:
        return some
    if isinstance(some, Value) and isinstance(other, Value):
        changes = {some.change, other.change} - {_Change.NONE}
        if some.array == other.array >= 0 and changes in _LASTING:
            return Value(
                some.needs | other.needs,
                some.array,
                changes.pop(),
                some.places | other.places,
            )
    elif (
        isinstance(some, tuple) and isinstance(other, tuple) and len(some) == len(other)
    ):
        return tuple(map(_either, some, other))
    return _new([some, other])


def _depending(made: _Made, needs: int) -> _Made:
    """The same where other arrays decide whether it is changed."""
    if isinstance(made, tuple):
        return tuple(_depending(part, needs) for part in made)
    if made.array >= 0 and made.change is _Change.NONE:
        return made
    return replace(made, needs=made.needs | needs)


_COUNTING = (_Change.NONE, _Change.COUNTED)
_SUMMING = (_Change.NONE, _Change.SUMMED)
_WRITING = (_Change.NONE, _Change.WRITTEN)
_LASTING = ({_Change.WRITTEN}, {_Change.SUMMED})
"""Changes that are of the same kind when some rounds make none."""
_How = Callable[[_Reading, Instruction, Sequence[_Made]], _Made]
_HOW: Mapping[str, _How] = {
    **dict.fromkeys(_KEEPING, _first),
    "add": _added,
    "call": _called,
    "conditional": _branched,
    "dot": _multiplied,
    "dynamic-slice": _cut,
    "dynamic-update-slice": _written,
    "fusion": _called,
    "get-tuple-element": _element,
    "select": _selected,
    "subtract": _subtracted,
    "tuple": _tuple,
    "while": _looped,
}


class _Round:
    """One round of a loop."""

    def __init__(self, loop: Instruction, reading: _Reading) -> None:
        """Raises _TooLong, and TraceError for damaged bytes."""
        body, condition = called_before(loop.computation, loop)[:2]
        self._loop = loop
        self._body = body
        self._in_parts: dict[int, bool] = {}
        self._arrays = list(loop.shape.leaves())
        if len(self._arrays) > _MOST_CARRIED:
            raise _TooLong
        given = [_carried(loop.shape, count())]
        self._looked_at = reading.looked_at = {}
        self._writes = reading.writes = {}
        self._products = reading.products = {}
        self._made = reading.values(body, given)
        self._handed_on = list(_arrays_of(self._made[body.root.id]))
        self._until = _all_of(reading.result(condition, given))

    def is_free(self) -> bool:
        """Whether no other round needs it."""
        if len(self._handed_on) != len(self._arrays):
            return False
        counters = self._those(_Change.COUNTED)
        known = self._those(_Change.NONE) | counters
        numbers = known & _bits(shape.elements == 1 for shape in self._arrays)
        settled = known | known << _MOST_CARRIED
        made = [
            (number, value)
            for number, value in enumerate(self._handed_on)
            if not known >> number & 1
        ]
        return (
            bool(counters and made)
            and not self._until & ~settled
            and all(
                value.array == number
                and not value.needs & ~(settled | self._own_part(number))
                and self._is_sum_or_own_row(value, counters, numbers)
                for number, value in made
            )
            and not any(map(_is_shared, self._kernels()))
        )

    def _own_part(self, array: int) -> int:
        """As a bit: what was before where a round alone writes is no other round's."""
        writes = self._writes.get(array)
        is_own = writes and writes.places == {self._looked_at.get(array)}
        return 1 << array + _MOST_CARRIED if is_own else 0

    def _is_sum_or_own_row(self, value: Value, counters: int, numbers: int) -> bool:
        """Whether what is written of an array lies where counters say. numbers: all
        that is known of which is one, counters too.
        """
        if value.change is not _Change.WRITTEN:
            return value.change is _Change.SUMMED
        writes = self._writes.get(value.array)
        rounds = trip_count(self._loop) or 0
        return (
            writes is not None
            and len(writes.places) == 1
            and not value.places & ~numbers
            and any(
                counters >> counter & 1 and rounds <= rows
                for counter, rows in writes.rows.items()
            )
        )

    def shared_matrix(self) -> Shape | None:
        """The largest that is the same in all rounds and multiplied by a vector that is
        not.
        """
        same = self._those(_Change.NONE)
        found = [
            operand(each, position)
            for each, made in self._products.items()
            for position, needs in enumerate(made)
            if not needs & ~same and reduce(or_, made) & ~same and _is_by_vector(each)
        ]
        return max(found, key=lambda shape: shape.bytes, default=None)

    def copies(self) -> Iterator[CarriedCopy]:
        """Of whole arrays of which it reads and writes parts alone."""
        rounds = trip_count(self._loop) or 0
        for each in self._body.instructions:
            value = self._made[each.id]
            if isinstance(value, Value) and self._is_copy(each, value):
                array = each.shape
                yield CarriedCopy(each.name, str(array), array.bytes, rounds)

    def _is_copy(self, each: Instruction, value: Value) -> bool:
        if not 0 <= value.array < min(len(self._handed_on), len(self._arrays)):
            return False
        handed_on = self._handed_on[value.array]
        return (
            (each.opcode == "copy" and value.change in _WRITING)
            or (each.opcode == "fusion" and value.change is _Change.NONE)
        ) and (
            handed_on.array == value.array
            and handed_on.change is _Change.WRITTEN
            and each.shape == self._arrays[value.array]
            and self._uses_parts(value.array)
        )

    def _uses_parts(self, array: int) -> bool:
        found = self._in_parts.get(array)
        if found is None:
            found = all(_takes_part(*use) for use in self._uses.get(array, ()))
            self._in_parts[array] = found
        return found

    @cached_property
    def _uses(self) -> Mapping[int, list[tuple[Instruction, int]]]:
        """By array what uses it, as which operand."""
        root = self._body.root
        return listed(
            (value.array, (each, position))
            for each in self._body.instructions
            for position, used in enumerate(each.operand_ids)
            if each is not root and isinstance(value := self._made[used], Value)
        )

    def _those(self, change: _Change) -> int:
        """The arrays that this has happened to and nothing else, as bits."""
        return _bits(
            value == Value(array=number, change=change)
            for number, value in enumerate(self._handed_on)
        )

    def _kernels(self) -> Iterator[Instruction]:
        for computation in computations_of(self._loop):
            yield from computation.instructions


def _carried(shape: Shape, numbers: Iterator[int]) -> _Made:
    if shape.is_tuple:
        return tuple(_carried(part, numbers) for part in shape.parts)
    return Value(array=next(numbers))


def _arrays_of(made: _Made) -> Iterator[Value]:
    if isinstance(made, Value):
        yield made
    else:
        for part in made:
            yield from _arrays_of(part)


def _bits(are: Iterable[bool]) -> int:
    return sum(1 << number for number, is_in in enumerate(are) if is_in)


def _is_by_vector(product: Instruction) -> bool:
    size = dot_size(product)
    return size is not None and min(size.m, size.n) == 1 < max(size.m, size.n)


def _takes_part(each: Instruction, position: int) -> bool:
    """Whether it takes or writes parts of its operand at a position, or hands it on."""
    if each.opcode != "fusion":
        return each.opcode in _IN_PARTS or _hands_on(each)
    for fused in called_before(each.computation, each):
        users = Users(fused)
        for given in fused.parameters()[position : position + 1]:
            taking = users.past_passing(given)
            return all(user.opcode in _IN_PARTS for user in taking)
    return False


def _is_shared(each: Instruction) -> bool:
    """Whether other devices or the host take part in it, or notice its order."""
    return any(map(_notices_order, inside(each)))


def _notices_order(each: Instruction) -> bool:
    if each.opcode == "custom-call":
        has_effect = number_of(each.fields, _SIDE_EFFECT) != 0
        return has_effect or _CALLBACK in each.custom_call_target
    return each.opcode == "rng" or each.opcode.startswith(_WITH_OTHERS)
