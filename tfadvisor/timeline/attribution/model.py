"""What takes step time, before it is put together as a tree."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from tfadvisor.vocabulary import TimeClass

NOT_RECORDED = "not recorded"
"""How an activity begins of which the trace says nothing."""


class Spent(msgspec.Struct, frozen=True):
    """Time of one class in the counted steps of a host's devices that one activity takes. "" for what the trace does not tell.

    Work of a device is identified by path, op, kernel and module; its activity is worked out when all hosts are known.
    """

    kind: TimeClass
    """The class."""
    activity: str = ""
    """What is done: a function, a stage, a kind of collective; "" for the rest that is too small to be named."""
    detail: str = ""
    """The call, op or event inside it."""
    file: str = ""
    """Of the user's program, without its folder."""
    line: int = 0
    """In that file, 0 when not known."""
    function: str = ""
    """The user's own, or the compiled one."""
    stage: str = ""
    """Of a tf.data pipeline: `Prefetch::ParallelMap`."""
    path: str = ""
    """The framework's, of a device's op."""
    op: str = ""
    """Its HLO name."""
    kernel: str = ""
    """What the device ran."""
    module: str = ""
    """The compiled program."""
    ps: int = 0
    """Summed over the devices that take part, exclusive: an instant is given once."""


_WORTH_NAMING = 0.25
"""Of a class, what its largest place must take."""


def largest_places(spent: Iterable[Spent]) -> dict[str, str]:
    """By class, `input_place`: the function or op of the user's program that takes most of it, if it takes a quarter, with its
    line: `save (train.py:42)`. Needs Python frames, or HLO.
    """
    time: dict[TimeClass, dict[tuple[str, int, str], int]] = {}
    for one in spent:
        mine, place = time.setdefault(one.kind, {}), (one.file, one.line, one.function or one.op)
        mine[place] = mine.get(place, 0) + one.ps
    largest = {kind: max(mine, key=lambda place: mine[place] * bool(place[0])) for kind, mine in time.items()}
    return {
        f"{kind.label}_place": f"{what} ({file}:{line})"
        for kind, (file, line, what) in largest.items()
        if file and time[kind][file, line, what] >= _WORTH_NAMING * sum(time[kind].values())
    }
