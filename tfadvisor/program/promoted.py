"""Where type promotion makes float32 of 16-bit numbers that products take: the first op
that is given some of them, converted, beside float32 of another making.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import msgspec

from tfadvisor.program.flow import (
    MOST_NESTED,
    called_before,
    callers_first,
    runs,
    way_back,
)
from tfadvisor.program.module import Computation, Instruction, Module
from tfadvisor.program.operations import (
    ELEMENTWISE,
    SourceLocation,
    location_of,
    made_at,
    place_of_call,
)

WIDE = "f32"
"""What they become."""
_NARROW = ("bf16", "f16")
_PRODUCTS = frozenset(("dot", "ragged-dot", "convolution"))
_LIBRARY = ("__cublas", "__cudnn$conv")
_PROMOTING = ELEMENTWISE | _PRODUCTS | {"atan2", "concatenate", "power"}
_OWN, _WIDENED = 1, 2
"""How float32 is made: of no 16-bit numbers, or by converting them."""
_CONVERTS = "convert_element_type"
"""The end of JAX's path to a conversion of the program, and not of the compiler."""
_Line = tuple[str, int]


class Promotion(msgspec.Struct, frozen=True):
    """place: the program's line whose operands meet, `Block.__call__ (model.py:31)`.

    value: what makes the float32 there: `embedding (model.py:12)`, or the name of an
    argument. Both "" where the trace does not tell.
    """

    place: str
    value: str


class _Meeting(NamedTuple):
    """An instruction, the fusion that holds it, and its operand that is float32 by
    itself.
    """

    at: Instruction
    around: Instruction | None
    wide: Instruction


class _Made(NamedTuple):
    """Of what an array of float32 is made, and the meetings that made it so. on: lines
    of the program that convert 16-bit numbers in it.
    """

    bits: int = 0
    by: frozenset[_Meeting] = frozenset()
    on: frozenset[_Line] = frozenset()


_NOTHING = _Made()
_Elements = list[_Made]
"""Of a tuple; one for an array."""


@lru_cache(maxsize=16)  # the hosts of a run share their programs
def promoted(module: Module) -> Mapping[str, tuple[Promotion, ...]]:
    """By an instruction's name, among those that are events of their own and multiply
    float32, where 16-bit numbers became that. Raises TraceError for damaged bytes.
    """
    values = _Values()
    widens = any(
        map(
            _widens,
            (each for part in module.computations for each in part.instructions),
        )
    )
    for computation in callers_first(module) if widens else ():
        values.follow(computation, None, values.given.get(computation.id, []))
    words = {
        meeting: _words(meeting)
        for meeting in frozenset().union(*values.multiplied.values())
    }
    return {
        name: tuple(dict.fromkeys(words[meeting] for meeting in by))
        for name, by in values.multiplied.items()
    }


class _Values:
    """One pass over a program, callers first."""

    def __init__(self) -> None:
        self.given: dict[int, list[_Elements]] = {}
        """The arguments of what loops, branches and calls run."""
        self.multiplied: dict[str, frozenset[_Meeting]] = {}
        self._made: dict[int, _Elements] = {}
        self._depth = 0

    def follow(
        self,
        computation: Computation,
        around: Instruction | None,
        given: Sequence[_Elements],
    ) -> _Elements:
        """What its result is made of. around: the fusion that runs it."""
        for each in computation.instructions:
            if each.opcode != "parameter":
                self._made[each.id] = self._of(each, around)
            elif each.parameter_number < len(given):
                self._made[each.id] = given[each.parameter_number]
            else:
                self._made[each.id] = [_argument(each)]
        return self._made.get(computation.root.id, [_NOTHING])

    def _of(self, made: Instruction, around: Instruction | None) -> _Elements:
        operands = [self._made.get(each, [_NOTHING]) for each in made.operand_ids]
        self._give(made, operands)
        whole = list(map(_whole, operands))
        match made.opcode:
            case "fusion" if self._depth < MOST_NESTED:
                self._depth += 1
                bodies = called_before(made.computation, made)[:1]
                found = [self.follow(body, made, operands) for body in bodies]
                self._depth -= 1
                return found[0] if found else [_NOTHING]
            case "tuple":
                return whole
            case "while" if operands:
                return operands[0]
            case "get-tuple-element" if operands:
                at = made.tuple_index
                return operands[0][at : at + 1] or whole
        return [self._array(made, around, whole)]

    def _give(self, made: Instruction, operands: list[_Elements]) -> None:
        for at, called in enumerate(runs(made), start=1):
            is_branch = made.opcode == "conditional"
            given = operands[at : at + 1] if is_branch else operands
            self.given.setdefault(called.id, given)

    def _array(
        self, made: Instruction, around: Instruction | None, operands: list[_Made]
    ) -> _Made:
        if _multiplies(made):
            self._keep(made, around, operands)
        shape = made.shape.parts[0] if made.shape.parts else made.shape
        if shape.dtype != WIDE or shape.elements < 2:
            return _NOTHING
        sources = [each.shape for each in made.operands]
        if any(source.dtype in _NARROW for source in sources):
            is_widened = made.opcode == "convert"
            return _Made(_WIDENED, on=_line(made)) if is_widened else _Made(_OWN)
        if sources and not any(source.is_floating for source in sources):
            return _Made(_OWN)  # of integers, as random numbers and masks
        return _joined(made, around, operands)

    def _keep(
        self, made: Instruction, around: Instruction | None, operands: list[_Made]
    ) -> None:
        by = _joined(made, around, operands).by
        if by and all(each.shape.dtype == WIDE for each in made.operands[:2]):
            name = (around or made).name
            self.multiplied[name] = self.multiplied.get(name, frozenset()) | by


def _joined(
    made: Instruction, around: Instruction | None, operands: list[_Made]
) -> _Made:
    """The first meeting decides: what its result meets is float32 already, and so is
    what another line has converted.
    """
    whole = _whole(operands)
    if whole.by or whole.bits != _OWN | _WIDENED:
        return whole
    if made.opcode not in _PROMOTING and not _multiplies(made):
        return _Made(_OWN)
    if whole.on and whole.on != _line(made, ""):
        return _Made(_OWN)
    wide = next(at for at, each in enumerate(operands) if each.bits == _OWN)
    by = frozenset({_Meeting(made, around, made.operands[wide])})
    return _Made(whole.bits, by)


def _line(made: Instruction, path: str = _CONVERTS) -> frozenset[_Line]:
    """Of the program, of what has such a path; empty where the trace does not tell."""
    place = location_of(made)
    if place is None or not place.op_name.endswith(path):
        return frozenset()
    is_own = place.file and not place.is_installed
    return frozenset({(place.file, place.line)} if is_own else ())


def _whole(elements: Sequence[_Made]) -> _Made:
    if len(elements) == 1:
        return elements[0]
    bits, by, on = _NOTHING
    for each in elements:
        bits |= each.bits
        by |= each.by
        on |= each.on
    return _Made(bits, by, on)


def _widens(made: Instruction) -> bool:
    if made.opcode != "convert" or made.shape.dtype != WIDE:
        return False
    return any(source.shape.dtype in _NARROW for source in made.operands)


def _multiplies(made: Instruction) -> bool:
    if made.opcode != "custom-call":
        return made.opcode in _PRODUCTS
    return made.custom_call_target.startswith(_LIBRARY)


def _argument(parameter: Instruction) -> _Made:
    is_wide = parameter.shape.dtype == WIDE and parameter.shape.elements > 1
    return _Made(_OWN) if is_wide else _NOTHING


def _words(meeting: _Meeting) -> Promotion:
    """Where the way to the value and the way to the op begin on one line, it is there
    that the program gives one to the other.
    """
    steps = [step for step, _ in way_back(meeting.wide, meeting.around)]
    places = [place for place in map(location_of, steps) if place and place.file]
    here = location_of(meeting.at)
    if not places:
        argument = steps[-1].op_name if steps[-1].opcode == "parameter" else ""
        return Promotion(made_at(here), argument)
    return Promotion(_meets(here, places[-1]), made_at(places[-1]))


def _meets(here: SourceLocation | None, wide: SourceLocation) -> str:
    for frame in here.frames if here is not None else ():
        if not frame.is_installed and frame in wide.frames:
            return place_of_call(frame)
    return made_at(here)
