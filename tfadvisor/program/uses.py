"""What each result of a program is used for: what it reaches, backwards from the
program's results, through fusions, tuples, loops, branches and calls.

A use is a set of bits, which whoever asks gives a meaning. An array has one use, a
tuple one for each of its elements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from operator import or_

from tfadvisor.program.flow import MOST_NESTED, called_before, callers_first, runs
from tfadvisor.program.module import Computation, Instruction, Module
from tfadvisor.program.wire import number_of

NEEDED = 1
"""The bit of what is used whatever becomes of the program's results."""
_EFFECTS = frozenset(("outfeed", "send", "infeed", "recv"))
_SIDE_EFFECT = 65
"""The field of a custom call that acts beside its result."""
_BY_ELEMENT = frozenset(
    "all-reduce all-reduce-start all-reduce-done opt-barrier".split()
)
"""Opcodes that make each element of a tuple of that of their operands."""
_MOST_ROUNDS = 16
"""Passes over a program until what loops hand to their next round is known: one for
each level of loops, and a few."""

Elements = list[int]
"""The uses of a tuple's elements; one for all of them, and of an array."""
Through = Callable[[Instruction, int, int], int]
"""The use of an operand: (what uses it, which of its operands, the user's own use)."""


def uses(
    module: Module, results: Sequence[int], through: Through | None = None
) -> Mapping[str, int]:
    """By an instruction's name, among those that are events of their own, all that it
    is used for; 0 for nothing. Nothing is said of a program that is too long, or whose
    loops are too deep.

    results: the uses of the elements of the program's result. through: how the branches
    of what chooses are used, where that is not as the choice. Raises TraceError for
    damaged bytes.
    """
    return _Uses(module, list(results), through).found()


class _Uses:
    """Passes over a program, callers first, until nothing changes."""

    def __init__(
        self, module: Module, results: Elements, through: Through | None
    ) -> None:
        self._order = tuple(callers_first(module))
        self._through = through
        self._wanted: dict[int, Elements] = {module.entry.id: results}
        self._given: dict[int, list[Elements]] = {}
        self._fused: dict[tuple[int, tuple[int, ...]], list[Elements]] = {}
        self._changed = True
        self._depth = 0

    def found(self) -> Mapping[str, int]:
        named: dict[str, int] = {}
        for _ in range(_MOST_ROUNDS):
            self._changed = False
            for computation in self._order:
                wanted = self._wanted.get(computation.id, [0])
                used = self._walk(computation, wanted)
                self._keep_given(computation, used)
                for each in computation.instructions:
                    named[each.name] = _all(used.get(each.id, ()))
            if not self._changed:
                return named
        return {}

    def _keep_given(self, computation: Computation, used: dict[int, Elements]) -> None:
        given = [used.get(each.id, [0]) for each in computation.parameters()]
        if self._given.get(computation.id) != given:
            # the entry, which comes first, is called by nobody
            self._changed |= computation is not self._order[0]
            self._given[computation.id] = given

    def _walk(self, computation: Computation, wanted: Elements) -> dict[int, Elements]:
        """By an instruction's id; users stand behind what they use."""
        used: dict[int, Elements] = {}
        _add(used, computation.root, wanted)
        for each in reversed(computation.instructions):
            own = used.setdefault(each.id, [0] * _width(each))
            if each.opcode == "get-tuple-element":
                _add_element(used, each, _all(own))
                continue
            for made, use in zip(each.operands, self._of(each, own), strict=False):
                _add(used, made, use)
        return used

    def _of(self, user: Instruction, own: Elements) -> list[Elements]:
        """The uses of its operands, in order, at least as many as it has."""
        if _acts(user, _all(own)):
            own = [NEEDED | _all(own)]
        found = list(self._of_known(user, own))
        missing = len(user.operand_ids) - len(found)
        return [*found, *[[_all(own)]] * missing]

    def _of_known(self, user: Instruction, own: Elements) -> Iterable[Elements]:
        """Of the operands of which it is known what they are used for."""
        called = runs(user)
        if user.opcode == "fusion":
            return self._in_fusion(user, own)
        if user.opcode == "while" and called:
            return [self._of_loop(called, own)]
        if user.opcode == "conditional":
            branches = enumerate(called, start=1)
            return [
                [_all(own)],
                *(self._of_branch(user, *each, own) for each in branches),
            ]
        if called:
            return self._of_called(called[0], own)
        if user.opcode == "tuple":
            return ([use] for use in own)
        return [
            self._of_operand(user, at, own) for at, _ in enumerate(user.operand_ids)
        ]

    def _of_branch(
        self, user: Instruction, at: int, branch: Computation, own: Elements
    ) -> Elements:
        inside = self._of_called(branch, own)[:1] or [[0]]
        return [self._chosen(user, at, use) for use in inside[0]]

    def _of_operand(self, user: Instruction, at: int, own: Elements) -> Elements:
        if user.opcode in _BY_ELEMENT:
            return own if len(user.operand_ids) == 1 else own[at : at + 1] or own
        whole = _all(own)
        return [self._chosen(user, at, whole) if user.opcode == "select" else whole]

    def _chosen(self, user: Instruction, at: int, use: int) -> int:
        if not use or self._through is None:
            return use
        return self._through(user, at, use)

    def _in_fusion(self, fusion: Instruction, own: Elements) -> list[Elements]:
        """Nothing of what a fusion holds is in vain: where all of its results are used
        alike, so are its operands, but for what it chooses from.
        """
        key = fusion.id, tuple(own)
        if key not in self._fused:
            found: list[Elements] = []
            for fused in called_before(fusion.computation, fusion)[:1]:
                if len(set(own)) > 1 or self._chooses(fused):
                    found = self._looked_into(fused, own)
            self._fused[key] = found
        return self._fused[key]

    def _looked_into(self, fused: Computation, own: Elements) -> list[Elements]:
        if self._depth >= MOST_NESTED:
            return []
        self._depth += 1
        used = self._walk(fused, own)
        self._depth -= 1
        return [used.get(each.id, [0]) for each in fused.parameters()]

    def _chooses(self, fused: Computation) -> bool:
        return self._through is not None and any(
            each.opcode == "select" for each in fused.instructions
        )

    def _of_loop(self, called: Sequence[Computation], own: Elements) -> Elements:
        """What a round hands on is used by the next one; what decides about rounds, for
        all that they make.
        """
        body, *condition = called
        handed = (self._of_called(body, own)[:1] or [own])[0]
        both = _sum(own, handed)
        for each in condition:
            both = _sum(both, *self._of_called(each, [_all(own)])[:1])
        self._want(body, both)
        return both

    def _of_called(self, called: Computation, own: Elements) -> list[Elements]:
        """The uses of its parameters, as the last pass left them."""
        self._want(called, own)
        return self._given.get(called.id, [])

    def _want(self, called: Computation, own: Elements) -> None:
        before = self._wanted.get(called.id, [0])
        after = _sum(before, own)
        if after != before:
            self._wanted[called.id] = after
            self._changed = True


def _acts(user: Instruction, whole: int) -> bool:
    """Whether it does something beside its result: a call of which nothing uses that
    would not be there else.
    """
    if user.opcode == "custom-call":
        return not whole or bool(number_of(user.fields, _SIDE_EFFECT))
    return user.opcode in _EFFECTS


def _all(elements: Sequence[int]) -> int:
    return reduce(or_, elements, 0)


def _width(instruction: Instruction) -> int:
    shape = instruction.shape
    return max(len(shape.parts), 1) if shape.is_tuple else 1


def _sum(first: Elements, *others: Elements) -> Elements:
    """Of the same tuple; what is said of all elements holds for each."""
    for other in others:
        if len(first) == len(other):
            first = list(map(or_, first, other))
        elif len(first) == 1:
            first = [first[0] | each for each in other]
        else:
            first = [each | _all(other) for each in first]
    return first


def _add(used: dict[int, Elements], made: Instruction, use: Elements) -> None:
    before = used.setdefault(made.id, [0] * _width(made))
    if len(before) == 1:
        before[0] |= _all(use)
    elif _all(use):
        used[made.id] = _sum(before, use)


def _add_element(used: dict[int, Elements], taking: Instruction, use: int) -> None:
    for made in taking.operands:
        before = used.setdefault(made.id, [0] * _width(made))
        at = taking.tuple_index
        if at < len(before):
            before[at] |= use
