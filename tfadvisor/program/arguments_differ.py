"""How the arguments of several programs of one function differ: why it compiled
again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import msgspec

from tfadvisor.program.attributes import partitions_of
from tfadvisor.program.module import Module
from tfadvisor.program.parameters import arguments
from tfadvisor.program.shape import Shape

SAME, ROWS, LENGTHS, OTHERWISE = "same", "rows", "lengths", "differ"
"""Nothing differs; sizes of first axes alone; sizes of other axes; types, or how many
arguments or axes there are.
"""
GROWS = "grows"
"""The first axis of one argument alone, longer by as much in each program."""
_MOST_NAMED = 3
Place = tuple[int, tuple[int, ...]]
"""Number of a parameter and the place in its tuple."""


class Differing(msgspec.Struct, frozen=True):
    """What tells the programs of a function apart by their arguments."""

    how: str
    """SAME, ROWS, GROWS, LENGTHS or OTHERWISE."""
    sizes: tuple[int, ...] = ()
    """Along the axis that differs, of the first such argument: distinct, in the
    programs' order.
    """
    names: tuple[str, ...] = ()
    """Of the first such arguments, as far as the programs name them."""
    axis: int = 0
    """Of the first such argument."""

    @property
    def words(self) -> str:
        """`axis 0 of x, y has 96 or 40`; "" where sizes do not differ."""
        if not self.sizes:
            return ""
        of = f" of {', '.join(self.names)}" if self.names else ""
        sizes = [str(size) for size in self.sizes[:_MOST_NAMED]]
        named = " or ".join(sizes)
        if len(self.sizes) > _MOST_NAMED:
            named = f"{', '.join(sizes)} and more sizes"
        return f"axis {self.axis}{of} has {named}"


def differing(programs: Sequence[Module]) -> Differing:
    """Of at least two programs. Raises TraceError for damaged bytes."""
    if len({partitions_of(program) for program in programs}) > 1:
        return Differing(OTHERWISE)  # sizes are those of one device's part
    taken = [_arrays(program) for program in programs]
    first = _kinds(taken[0])
    if any(_kinds(arrays) != first for arrays in taken):
        return Differing(OTHERWISE)
    found = [where for where in _axes(first) if len(set(_sizes(taken, *where))) > 1]
    return _of_sizes(taken, found) if found else Differing(SAME)


def _axes(kinds: Mapping[Place, tuple[str, int]]) -> Iterator[tuple[Place, int]]:
    for place, (_, rank) in kinds.items():
        for axis in range(rank):
            yield place, axis


def _of_sizes(
    taken: Sequence[Mapping[Place, tuple[str, Shape]]], found: list[tuple[Place, int]]
) -> Differing:
    """found: places and axes in which sizes differ. Named are the arguments that have
    the same sizes along the same axis.
    """
    place, axis = next((where for where in found if where[1]), found[0])
    sizes = _sizes(taken, place, axis)
    names = [
        taken[0][other][0]
        for other, at in found
        if at == axis and _sizes(taken, other, at) == sizes
    ]
    distinct = tuple(dict.fromkeys(sizes))
    how = LENGTHS if axis else ROWS
    if how == ROWS and len(found) == 1 and _grows(distinct):
        how = GROWS
    return Differing(
        how=how,
        sizes=distinct,
        names=tuple(dict.fromkeys(filter(None, names)))[:_MOST_NAMED],
        axis=axis,
    )


def _grows(sizes: Sequence[int]) -> bool:
    """Of at least three sizes, since two may be a batch and its remainder."""
    steps = {later - size for size, later in pairwise(sizes)}
    return len(sizes) >= 3 and len(steps) == 1 and min(steps) > 0


def _kinds(arrays: Mapping[Place, tuple[str, Shape]]) -> dict[Place, tuple[str, int]]:
    """Type and number of axes."""
    return {
        place: (shape.dtype, len(shape.dims)) for place, (_, shape) in arrays.items()
    }


def _arrays(program: Module) -> Mapping[Place, tuple[str, Shape]]:
    return {
        (argument.number, argument.index): (argument.name, argument.shape)
        for argument in arguments(program)
    }


def _sizes(
    taken: Sequence[Mapping[Place, tuple[str, Shape]]], place: Place, axis: int
) -> list[int]:
    return [arrays[place][1].dims[axis] for arrays in taken]
