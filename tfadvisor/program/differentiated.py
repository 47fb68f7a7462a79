"""Of which arguments the lines are made whose derivatives an op computes: a product
with the basis of a derivative is made of constants alone where the line is not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import lru_cache

from tfadvisor.patterns import pattern
from tfadvisor.program.flow import called_before, kernel_computations
from tfadvisor.program.made_of import Made, made_of, together
from tfadvisor.program.module import Instruction, Module
from tfadvisor.program.operations import SourceLocation, location_of

_MADE = pattern(r"(?:^|[/(])(?:jvp|transpose)\(")
"""Of a path of JAX: all that a function does which is differentiated."""
_BACKWARD = pattern(r"(?:^|[/(])transpose\(")
"""Of one to what no op of the function itself does."""
_MOVES = frozenset(("parameter", "constant", "get-tuple-element", "tuple", "bitcast"))
_Line = tuple[object, ...]


class _Lines:
    """What the ops of each line are made of, by the primitive that its path ends in; ""
    for all. None for unknown.
    """

    def __init__(self, module: Module) -> None:
        """module: that has them."""
        self._of: dict[tuple[_Line, str], list[Made | None]] = defaultdict(list)
        self._made = set[_Line]()
        for part, of, place in _placed(module):
            line, path = _line(place), place.op_name
            if _MADE.search(path):
                self._made.add(line)
            if part.opcode not in _MOVES:
                for primitive in {"", _primitive(path)}:
                    self._of[line, primitive].append(of)

    def value(self, place: SourceLocation) -> Made | None:
        """What a line is made of whose derivative an op may be; nothing for others, and
        None for unknown.
        """
        path, line = place.op_name, _line(place)
        is_made = bool(_MADE.search(path)) if path else line in self._made
        if not is_made:
            return frozenset()
        is_own = bool(path) and not (place.is_along_many or _BACKWARD.search(path))
        found = self._of[line, _primitive(path) if is_own else ""]
        names = [each for each in found if each is not None]
        if len(names) < len(found):
            return None
        every = frozenset[str]().union(*names)
        return every if every or is_own else None


@lru_cache(maxsize=16)  # the hosts of a run share their programs
def lines_made_of(module: Module) -> _Lines:
    """Of a program. Raises TraceError for damaged bytes."""
    return _Lines(module)


def made_with_its_line(
    module: Module, instruction: Instruction, place: SourceLocation | None
) -> Made | None:
    """Of which arguments an op is made, and of which the line whose derivative it is;
    None for unknown. place: the op's. Raises TraceError for damaged bytes.
    """
    own = made_of(module).get(instruction.name)
    if own is None or place is None:
        return own
    line = lines_made_of(module).value(place)
    return None if line is None else own | line


def _placed(
    module: Module,
) -> Iterator[tuple[Instruction, Made | None, SourceLocation]]:
    """(op or part of a fusion, what it is made of, where it comes from)."""
    known = made_of(module)
    for computation in kernel_computations(module):
        for op in computation.instructions:
            for part, of in ((op, known.get(op.name)), *_parts(op, known)):
                place = location_of(part)
                if place is not None and place.file:
                    yield part, of, place


def _parts(
    op: Instruction, known: Mapping[str, Made | None]
) -> Iterator[tuple[Instruction, Made | None]]:
    """What a fusion does, with what each of that is made of."""
    if op.opcode != "fusion":
        return
    given = [known.get(operand.name) for operand in op.operands]
    for called in called_before(op.computation, op):
        made: dict[int, Made | None] = {}
        for part in called.instructions:
            is_given = part.opcode == "parameter" and part.parameter_number < len(given)
            of = given[part.parameter_number] if is_given else together(part, made)
            made[part.id] = of
            yield part, of


def _line(place: SourceLocation) -> _Line:
    return place.frames or (place.file, place.line)


def _primitive(path: str) -> str:
    return path.partition(";")[0].rpartition("/")[2]
