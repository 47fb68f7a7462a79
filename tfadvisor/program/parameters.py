"""The arguments of a compiled program, and which of them are likely to be what a
training step updates.

XLA does not know what a model's parameter is. What it does know is which arguments come
back: donated ones, whose memory becomes a result's, and those of which a result has the
same type and dimensions. In a training step these are the parameters, the optimizer's
state, running statistics and counters; in a function that only returns gradients, what
they are gradients of. JAX names arguments (`params['dense']['kernel']`), so an
optimizer's state can often be distinguished by its name alone. TensorFlow does not:
with Adam its carried arguments are three times the model.

Source: `HloInputOutputAliasProto` in openxla/xla, xla/service/hlo.proto. With several
devices shapes are one device's shards.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache

import msgspec

from tfadvisor.patterns import pattern
from tfadvisor.program.flow import PASSING, Users, effect
from tfadvisor.program.module import Instruction, Module
from tfadvisor.program.shape import Shape
from tfadvisor.program.wire import Entry, message_of, messages_of, number_of, numbers_of

_ALIASES = 8
_PLACEHOLDER = "XLA_Args"  # TensorFlow's name for every argument
_ROOT = pattern(r"\A[^\W\d]\w*(?=[\[.])")
"""`indices` of `indices[7]`."""
_OTHER_STATE = pattern(
    r"^(?:m|v)(?:\W|$)|(?:^|[^a-z])(?:opt(?:imizer)?(?:_?state)?|slots?|mu|nu|moments?|momentum|velocity|accumulators?|ema|"
    r"batch_stats|running_(?:mean|var))(?:$|[^a-z])",
    re.IGNORECASE,
)


_FAR_SMALLER = 0.01
"""Of the largest argument's bytes: to copy these takes no time that counts."""
_IN_PLACE = frozenset(
    "call conditional custom-call dynamic-update-slice scatter while".split()
)
"""Opcodes that may write into what they are given."""
_MOST_FOLLOWED = 256
"""Steps from a copy to the program's results."""


class Argument(msgspec.Struct, frozen=True):
    """One array that the program is given. number: of the parameter; index: its place
    in a tuple, () outside one.

    name: what the framework calls it, "" when it has no name of its own. donated: a
    result takes its memory. returned: it is donated, or a result of the same type and
    dimensions is left for it after those. shape: of one device.
    """

    number: int
    index: tuple[int, ...]
    name: str
    shape: Shape
    donated: bool
    returned: bool

    @property
    def is_named_as_other_state(self) -> bool:
        """Whether its name speaks of an optimizer's state, statistics or counters."""
        return bool(_OTHER_STATE.search(self.name))


class ParameterSummary(msgspec.Struct, frozen=True):
    """The floating-point arguments that come back and whose name does not speak of an
    optimizer's state or statistics.

    These are the model's parameters where arguments have telling names, and the
    optimizer's state too where they have none: `is_named` says which. elements: of all
    of them together.
    """

    elements: int
    is_named: bool


def arguments(module: Module) -> tuple[Argument, ...]:
    """The entry computation's, by number. Raises TraceError for damaged bytes."""
    donated = _donated(module)
    leaves = [
        (parameter.parameter_number, index, parameter.op_name, shape)
        for parameter in module.entry.parameters()
        for index, shape in _leaves(parameter.shape)
    ]
    results = Counter(_alike(shape) for shape in module.entry.root.shape.leaves())
    results.subtract(
        _alike(shape)
        for number, index, _, shape in leaves
        if (number, index) in donated
    )
    telling = _telling(module)
    found = []
    for number, index, name, shape in leaves:
        is_donated = (number, index) in donated
        is_returned = is_donated or results[_alike(shape)] > 0
        if is_returned and not is_donated:
            results[_alike(shape)] -= 1
        found.append(
            Argument(
                number,
                index,
                name if name in telling else "",
                shape,
                is_donated,
                is_returned,
            )
        )
    return tuple(found)


@lru_cache(maxsize=16)  # the hosts of a run share their programs
def whole_arguments(module: Module) -> Mapping[int, Argument]:
    """By number, those that are one array. Raises TraceError."""
    return {each.number: each for each in arguments(module) if not each.index}


@lru_cache(maxsize=16)
def parameter_summary(module: Module) -> ParameterSummary:
    """What a training step is likely to update. Raises TraceError."""
    carried = [
        argument
        for argument in arguments(module)
        if argument.shape.is_floating and argument.returned
    ]
    likely = [
        argument.shape.elements
        for argument in carried
        if not argument.is_named_as_other_state
    ]
    return ParameterSummary(
        sum(likely),
        bool(carried) and all(argument.name for argument in carried),
    )


class ManyNumbers(msgspec.Struct, frozen=True):
    """Arguments that are single numbers, of one list or tree."""

    count: int = 0
    name: str = ""
    """Of what holds them, as the program's source names it: `indices`."""


def many_numbers(module: Module) -> ManyNumbers:
    """Of the list or tree that holds most of them, but for what comes back, which stays
    on the device. Raises TraceError for damaged bytes.
    """
    found = Counter(
        match.group()
        for argument in arguments(module)
        if not argument.shape.dims and not argument.returned
        if (match := _ROOT.match(argument.name))
    )
    if not found:
        return ManyNumbers()
    name, count = found.most_common(1)[0]
    return ManyNumbers(count, name)


def _alike(shape: Shape) -> tuple[str, tuple[int, ...]]:
    return shape.dtype, shape.dims


def _telling(module: Module) -> set[str]:
    """Names that tell one parameter from the others."""
    names = Counter(parameter.op_name for parameter in module.entry.parameters())
    return {
        name for name, count in names.items() if count == 1 and name != _PLACEHOLDER
    }


def _leaves(
    shape: Shape,
    index: tuple[int, ...] = (),
) -> Iterator[tuple[tuple[int, ...], Shape]]:
    """(place in a parameter's tuple, array), in order; one of place () when it is no
    tuple.
    """
    if not shape.is_tuple:
        yield index, shape
    for place, part in enumerate(shape.parts):
        yield from _leaves(part, (*index, place))


def _donated(module: Module) -> set[tuple[int, tuple[int, ...]]]:
    """(parameter, place in its tuple) of every argument whose memory a result takes."""
    return {
        (number_of(entry, 2), numbers_of(module.proto, entry, 3))
        for entry in _aliases(module)
    }


def new_numbers(module: Module) -> tuple[int, ...]:
    """Which elements of a program's result are single floats and not the next call's
    argument: none that takes the memory of one, and of a type only those behind as many
    as there are other arguments of it. An array of one element may be a batch of one,
    an integer a token. Raises TraceError for damaged bytes.
    """
    donated = _donated(module)
    given = Counter(
        _alike(shape)
        for parameter in module.entry.parameters()
        for index, shape in _leaves(parameter.shape)
        if (parameter.parameter_number, index) not in donated
    )
    places = (numbers_of(module.proto, entry, 1) for entry in _aliases(module))
    in_place = {at for place in places for at in place[:1]}
    found = []
    for at, shape in enumerate(module.entry.root.shape.parts):
        if shape.dims or not shape.is_floating or at in in_place:
            continue
        if not given[_alike(shape)]:
            found.append(at)
        given[_alike(shape)] = max(given[_alike(shape)] - 1, 0)
    return tuple(found)


def _aliases(module: Module) -> list[list[Entry]]:
    aliases = message_of(module.proto, module.fields, _ALIASES)
    return list(messages_of(module.proto, aliases, 1))


# Copies of whole arguments that a program makes because it may not write into them:
# they are not donated.


def copied_argument(instruction: Instruction) -> Argument | None:
    """The argument of which an instruction makes a copy that becomes, written in place,
    a result of the same shape.

    None for other instructions, for donated arguments and for copies that no donation
    spares: in another order, or beside the argument, as a loop may need both. Raises
    TraceError for damaged bytes.
    """
    if instruction.opcode not in ("copy", "copy-start") or not instruction.operand_ids:
        return None
    program = instruction.computation.module
    if (
        instruction.computation.id != program.entry.id
        or instruction.operands[0].opcode != "parameter"
    ):
        return None
    argument = instruction.operands[0]
    found = whole_arguments(program).get(argument.parameter_number)
    if found is None or found.donated or not found.returned:
        return None
    made = next(instruction.shape.leaves(), argument.shape)
    is_alike = made.minor_to_major == argument.shape.minor_to_major
    users = _users(program)
    needs_both = any(user in users.of(argument) for user in users.of(instruction))
    if not is_alike or needs_both:
        return None
    return found if _is_returned(instruction, users) else None


def _is_returned(copied: Instruction, users: Users) -> bool:
    """Whether a copy becomes a result, past what writes in place and hands on. What is
    made of it anew, as gradients of weights that a loop adapts, is another array.
    """
    waiting = [copied]
    for value in waiting:
        if value is copied.computation.root:
            return True
        if len(waiting) > _MOST_FOLLOWED:
            return False
        for user in users.of(value):
            waiting += _handed_on(value, user, users)
    return False


def _handed_on(
    value: Instruction, user: Instruction, users: Users
) -> list[Instruction]:
    if user.opcode == "tuple" and user is not user.computation.root:
        at = {place for place, made in enumerate(user.operand_ids) if made == value.id}
        taken = [taking for given in users.of(user) for taking in users.of(given)]
        return [taking for taking in taken if taking.tuple_index in at]
    is_moved = user.opcode in PASSING or effect(user) in _IN_PLACE
    return [user] if is_moved else []


@lru_cache(maxsize=16)  # asked for each copy
def _users(module: Module) -> Users:
    return Users(module.entry)


class CopiedArguments(msgspec.Struct, frozen=True):
    """What a program copies because it may not overwrite it."""

    module: str
    """The program's name."""
    donates: bool
    """Whether any result takes an argument's memory."""
    names: tuple[str, ...]
    """Of the arguments that it copies whole and returns changed, the largest first,
    without those far smaller; "" for one without a name.
    """


def copied_arguments(module: Module) -> CopiedArguments:
    """Raises TraceError for damaged bytes."""
    found = list(filter(None, map(copied_argument, module.entry.instructions)))
    found.sort(key=lambda argument: -argument.shape.bytes)
    least = _FAR_SMALLER * found[0].shape.bytes if found else 0
    names = tuple(each.name for each in found if each.shape.bytes >= least)
    return CopiedArguments(module.name, bool(_donated(module)), names)
