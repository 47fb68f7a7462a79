"""Which op launched a kernel that no name tells: those of libraries in CUDA graphs, by
their place among the launches of the program's schedule.

Kernels between two of known ops that follow each other are the launches between these
in the schedule, in its order, where their number, their kinds and their types agree;
else nothing is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import starmap
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace

from tfadvisor.arrays import Int64Array, distinct, order_of, true_at
from tfadvisor.errors import TraceError
from tfadvisor.timeline.names.classes import DeviceClass
from tfadvisor.timeline.names.device_events import (
    kernel_of_instruction,
    possible_instructions,
)
from tfadvisor.timeline.names.kernels import (
    Side,
    is_of_library,
    kernel_kind,
    multiplies_type,
    side_of_product,
)
from tfadvisor.timeline.timeline_parts import DeviceOps

if TYPE_CHECKING:
    from tfadvisor.program import Launched, Modules

_MOST_BETWEEN = 1 << 14
"""Longer runs of kernels without a name are not looked at."""
_NOT_KNOWN = -1


def with_aligned(ops: DeviceOps, programs: Modules) -> DeviceOps:
    """The events, with the ops that their places tell."""
    unnamed = (ops.op < 0) & (ops.program >= 0) & (ops.kind == DeviceClass.COMPUTE)
    if not programs.keys or not unnamed.any():
        return ops
    op = ops.op.copy()
    added: list[str] = []
    for program in distinct(ops.program[unnamed]).tolist():
        mine = true_at((ops.program == program) & (ops.kind == DeviceClass.COMPUTE))
        schedule = _schedule_of(ops, programs, mine, program)
        if schedule is None:
            continue
        place = _Kernels(ops, mine, schedule).aligned()
        known = place >= 0
        if not known.any():
            continue
        op[mine[known]] = len(ops.names) + len(added) + place[known]
        added += schedule.names
    if not added:
        return ops
    return replace(ops, op=op, names=(*ops.names, *added), aligned=len(ops.names))


def _schedule_of(
    ops: DeviceOps, programs: Modules, mine: Int64Array, program: int
) -> _Schedule | None:
    """None where nothing is to be aligned, or the program is not in the trace."""
    from tfadvisor.program import launched  # only with HLO in the trace

    row = int(ops.module[mine[0]])
    try:
        module = programs.of_program(
            ops.program_ids[program], ops.names[row] if row >= 0 else ""
        )
        found = launched(module)
        if found is None:
            return None
        return _Schedule(found, {ops.names[row] for row in _rows(ops, mine)})
    except TraceError:
        return None


def _rows(ops: DeviceOps, mine: Int64Array) -> list[int]:
    rows: list[int] = distinct(ops.name[mine]).tolist()
    return rows


class _Schedule:
    """A program's launches, and what is known of each. Questions may raise
    TraceError.
    """

    def __init__(self, found: Launched, seen: set[str]) -> None:
        """seen: names of the kernels that ran."""
        self.launches = found
        self.names = found.names
        self._kernels = [kernel_of_instruction(name) for name in self.names]
        self._seen = seen
        self._alike = found.likenesses
        self._place = {name: at for at, name in enumerate(self.names)}

    def of_op(self, event: str) -> int:
        """The place of the launch that an event's stat names, else _NOT_KNOWN."""
        whole, inner = possible_instructions(event)
        return self._place.get(whole, self._place.get(inner, _NOT_KNOWN))

    @cached_property
    def of_kernel(self) -> dict[str, int]:
        """Kernel's name -> place of its launch, where no other launch may run it: XLA
        makes one kernel for fusions that are alike.
        """
        return {
            kernel: at
            for at, kernel in enumerate(self._kernels)
            if self._alike[at] not in self._shared
        }

    @cached_property
    def _shared(self) -> set[object]:
        """Likenesses of launches of which one has no kernel of its own name."""
        named = zip(self._alike, self._kernels, strict=True)
        return {likeness for likeness, kernel in named if kernel not in self._seen}

    @cached_property
    def _of_shared(self) -> dict[str, object]:
        """Kernel's name -> likeness of the launches that may run it."""
        return {
            kernel: likeness
            for kernel, likeness in zip(self._kernels, self._alike, strict=True)
            if likeness in self._shared
        }

    def between(self, before: int, after: int, kernels: Sequence[str]) -> list[int]:
        """The place of each of these kernels, which run one after the other between the
        launches at two places; _NOT_KNOWN where nothing tells it.
        """
        found = self.launches.between(before, after)
        unknown = [_NOT_KNOWN] * len(kernels)
        if found is None:
            return unknown
        for wanted in (self._launches, self._runs, self._is_library):
            tail, whole, head = (list(filter(wanted, part)) for part in found)
            again = wanted != self._is_library  # else a round shows others besides
            places = _rounds(len(kernels), tail, whole if again else [], head)
            if places:
                fit = zip(places, kernels, strict=True)
                return places if all(starmap(self._fits, fit)) else unknown
        own = [at for at in {before, after} if self._launches(at)]
        calls = list(filter(self._is_library, own))
        if len(calls) == 1 and (before == after or not (*found[0], *found[2])):
            return self._of_calls(calls, kernels)  # which launched these besides
        return self._by_parts([*found[0], *found[2]], kernels)

    def _launches(self, at: int) -> bool:
        """Whether a launch may run a kernel: any may."""
        return 0 <= at < len(self.names)

    def _by_parts(self, places: list[int], kernels: Sequence[str]) -> list[int]:
        """Where calls of libraries launch more than one kernel each: the others part
        them. _NOT_KNOWN for all where these do not follow the schedule.
        """
        if len(places) == 1 and self._is_library(places[0]):
            return self._of_calls(places, kernels)
        own = [at for at, name in enumerate(kernels) if not is_of_library(name)]
        others = [at for at in places if not self._is_library(at)]
        found = [_NOT_KNOWN] * len(kernels)
        for theirs in (others, list(filter(self._runs, others))):
            fit = zip(theirs, (kernels[at] for at in own), strict=False)
            if len(own) == len(theirs) and all(starmap(self._fits, fit)):
                self._part(found, places, kernels, own, theirs)
                break
        return found

    def _part(
        self,
        found: list[int],
        places: list[int],
        kernels: Sequence[str],
        own: list[int],
        theirs: list[int],
    ) -> None:
        """Sets what is found where these kernels are the launches at their places."""
        for at, place in zip(own, theirs, strict=True):
            found[at] = place
        index = [places.index(place) for place in theirs]
        runs = zip([-1, *own], [*own, len(kernels)], strict=True)
        launches = zip([-1, *index], [*index, len(places)], strict=True)
        for (lo, hi), (first, last) in zip(runs, launches, strict=True):
            calls = list(filter(self._is_library, places[first + 1 : last]))
            found[lo + 1 : hi] = self._of_calls(calls, kernels[lo + 1 : hi])

    def _of_calls(self, calls: list[int], kernels: Sequence[str]) -> list[int]:
        """The call of each kernel of libraries: all of one call, or products with what
        is known to work before and behind them.
        """
        sides = list(map(side_of_product, kernels))
        if len(calls) == len(kernels):
            found = calls
        elif len(calls) == 1:
            found = calls * len(kernels)
        elif calls and sides.count(Side.PRODUCT) == len(calls):
            found = _by_sides(calls, sides)
        else:
            return [_NOT_KNOWN] * len(kernels)
        fit = (
            self._fits(at, name)
            for at, name, side in zip(found, kernels, sides, strict=True)
            if side is Side.PRODUCT
        )
        return found if all(fit) else [_NOT_KNOWN] * len(kernels)

    def _is_library(self, at: int) -> bool:
        return self.launches.is_call(at)

    def _runs(self, at: int) -> bool:
        """Whether a kernel of this launch, or of one like it, ran, or may have."""
        return self._is_library(at) or self._alike[at] in self._running

    @cached_property
    def _running(self) -> set[object]:
        """Likenesses of launches of which a kernel ran."""
        named = zip(self._alike, self._kernels, strict=True)
        return {likeness for likeness, kernel in named if kernel in self._seen}

    def _fits(self, at: int, kernel: str) -> bool:
        """Whether nothing that a kernel's name says contradicts its launch."""
        if kernel in self._of_shared:
            return self._of_shared[kernel] == self._alike[at]
        if is_of_library(kernel) and not self._is_library(at):
            return False
        multiplied = self._multiplied(at)
        if kernel_kind(kernel).is_matrix and not multiplied:
            return self._is_library(at)
        return multiplies_type(kernel, multiplied)

    def _multiplied(self, at: int) -> str:
        from tfadvisor.program.matrix_products import multiplied_type

        return multiplied_type(self.launches.instructions[at])


def _rounds(
    count: int, tail: list[int], whole: list[int], head: list[int]
) -> list[int]:
    """So many places, the whole any number of times; empty where that is not it."""
    left = count - len(tail) - len(head)
    rounds, rest = divmod(left, len(whole)) if whole else (0, left)
    return [] if rest or rounds < 0 else [*tail, *whole * rounds, *head]


def _by_sides(calls: list[int], sides: Sequence[Side]) -> list[int]:
    """The call of each kernel, by the product that it is or works for."""
    done = np.cumsum([side is Side.PRODUCT for side in sides]).tolist()
    found = []
    for number, side in zip(done, sides, strict=True):
        at = number if side is Side.BEFORE else number - 1
        is_known = side is not Side.UNKNOWN and 0 <= at < len(calls)
        found.append(calls[at] if is_known else _NOT_KNOWN)
    return found


class _Kernels:
    """The kernels of one program on one device, in order of start."""

    def __init__(self, ops: DeviceOps, mine: Int64Array, schedule: _Schedule) -> None:
        """mine: the events."""
        self._names = ops.names
        self._schedule = schedule
        self._name = ops.name[mine]
        self._op = ops.op[mine]
        self._launch = ops.launch[mine]

    def aligned(self) -> Int64Array:
        """The place of each kernel of unknown op in the schedule, else _NOT_KNOWN."""
        found = np.full(len(self._name), _NOT_KNOWN, np.int64)
        runs = self._unknown_runs(self._known())
        if not len(runs):
            return found
        lo, hi = runs[:, 0], runs[:, 1]
        alike = np.column_stack([hi - lo, runs[:, 2:], self._words(lo, hi)])
        _, first, which = np.unique(
            alike, axis=0, return_index=True, return_inverse=True
        )
        which = which.reshape(-1)
        in_order = lo[order_of(which)]
        starts_of = np.split(in_order, np.bincount(which).cumsum()[:-1])
        for run, starts in zip(first.tolist(), starts_of, strict=True):
            rows = self._name[lo[run] : hi[run]].tolist()
            kernels = [self._names[row] for row in rows]
            before, after = runs[run, 2:].tolist()
            places = self._places(before, after, kernels)
            found[starts[:, None] + np.arange(len(kernels))] = places
        return found

    def _places(self, before: int, after: int, kernels: Sequence[str]) -> list[int]:
        try:
            return self._schedule.between(before, after, kernels)
        except TraceError:
            return [_NOT_KNOWN] * len(kernels)

    def _known(self) -> Int64Array:
        """The place of each kernel whose op a name tells, else _NOT_KNOWN."""
        table = np.full(len(self._names), _NOT_KNOWN, np.int64)
        for row in distinct(self._name).tolist():
            table[row] = self._schedule.of_kernel.get(self._names[row], _NOT_KNOWN)
        known = table[self._name]
        named = self._op >= 0
        of_op = np.full(len(self._names), _NOT_KNOWN, np.int64)
        for row in distinct(self._op[named]).tolist():
            of_op[row] = self._schedule.of_op(self._names[row])
        known[named] = of_op[self._op[named]]
        return known

    def _unknown_runs(self, known: Int64Array) -> Int64Array:
        """(begin, end, place before, place behind) of the runs of kernels of unknown
        place; of a program of which no place is known those of one launch each, as of
        a graph.
        """
        unknown = known < 0
        edges = np.diff(unknown.astype(np.int8), prepend=0, append=0)
        lo = true_at(edges == 1)
        hi = true_at(edges == -1)
        if unknown.all():
            lo = np.append(0, true_at(np.diff(self._launch) != 0) + 1)
            hi = np.append(lo[1:], len(known))
        end = len(self._schedule.names)
        before = np.append(known, -1)[lo - 1]
        after = np.append(known, end)[hi]
        if unknown.all():
            before, after = np.full_like(lo, -1), np.full_like(lo, end)
        return np.column_stack([lo, hi, before, after])[hi - lo <= _MOST_BETWEEN]

    def _words(self, lo: Int64Array, hi: Int64Array) -> Int64Array:
        """A number for the names of each run of kernels, equal where they are."""
        draw = np.random.default_rng(0)
        length = hi - lo
        first = np.cumsum(length) - length
        inside = np.arange(int(length.sum())) - np.repeat(first, length)
        row = self._name[np.repeat(lo, length) + inside]
        word = draw.integers(1 << 31, size=len(self._names))[row]
        word *= draw.integers(1 << 31, size=_MOST_BETWEEN)[inside]
        return np.add.reduceat(word, first)
