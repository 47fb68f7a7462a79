"""What the host does while a device waits: Python functions, dispatches, compilation,
stages of the input pipeline.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace

from tfadvisor.arrays import true_at
from tfadvisor.timeline.attribution.exclusive import shared
from tfadvisor.timeline.attribution.inside import Inside, inside
from tfadvisor.timeline.attribution.spent import (
    FEWEST_TICKS,
    NOT_RECORDED,
    Sampled,
    Spent,
)
from tfadvisor.timeline.attribution.thread_time import Chains, NameKinds, called_name
from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.intervals import (
    EMPTY,
    BoolArray,
    Int64Array,
    Intervals,
    difference,
    intersection,
    union,
    union_of,
)
from tfadvisor.timeline.names.classes import HostClass
from tfadvisor.timeline.names.frames import bare_frame, frame_place, place_in_words
from tfadvisor.timeline.names.host_events import (
    SENDING_OPS,
    is_single_op,
    op_type,
    runs_ops,
    single_op,
)
from tfadvisor.timeline.names.tf_data import (
    produced_kind,
    stage_kind,
    stage_path,
)
from tfadvisor.timeline.sweeps import alike
from tfadvisor.vocabulary import TimeClass

if TYPE_CHECKING:
    import numpy.typing as npt

_MOST = 200
"""Activities of a class that are listed one by one."""
_WORTH_LOOKING = 0.005
"""From this share of the steps what other threads do meanwhile is looked for."""
_DISPATCHING = frozenset(
    (
        *(
            HostClass.LAUNCH,
            HostClass.PROCESS,
            HostClass.OP,
            HostClass.CONTROL_OP,
            HostClass.EAGER_OP,
            HostClass.RUN_EAGER,
        ),
        *(HostClass.GET_NEXT, HostClass.DATASET),
    )
)
"""What the executor of a function that has been called does, waiting for a batch
included.
"""
_WAITING = frozenset((HostClass.WAIT, HostClass.GET_NEXT))
Others = Callable[[], Iterable[Chains]]
"""Gives what each thread but the driving one does."""


class HostWork:
    """What takes the instants of classes in which the host is what a device waits for,
    summed over devices.
    """

    def __init__(
        self,
        threads: Threads,
        names: NameKinds,
        driver: Chains,
        others: Others,
        locked_out: Intervals,
        steps_ps: int,
        sampled: Sampled | None = None,
    ) -> None:
        """driver: what the driving thread does. locked_out: where that waits for the
        input pipeline although it seems to run.

        steps_ps: length of the counted steps. sampled: lines of the driving thread, for
        what is not recorded of it.
        """
        self._threads, self._names, self._driver, self._others = (
            threads,
            names,
            driver,
            others,
        )
        self._locked_out, self._worth = locked_out, max(_WORTH_LOOKING * steps_ps, 1)
        self._spent: dict[tuple[TimeClass, int], tuple[Chains, Int64Array]] = {}
        self._sampled = sampled
        self._ticks: dict[TimeClass, Int64Array] = {}

    def add(self, kind: TimeClass, instants: Intervals) -> None:
        """Shares out instants of a class on one device.

        An instant belongs to the innermost event of the driving thread. Where that only
        waits, or nothing of it is recorded, it belongs to the threads that do the
        class's work meanwhile, in equal parts where several do; where none does, to the
        wait.
        """
        driver = self._driver
        spent = instants.within(driver.lo, driver.hi)
        elsewhere = _elsewhere(kind, driver, self._names)[driver.who]
        locked_out = self._locked_out if kind is TimeClass.INPUT else EMPTY
        if elsewhere.any() or len(locked_out):
            idle = elsewhere & (spent > 0)
            waiting = intersection(
                instants, union_of(union(driver.lo[idle], driver.hi[idle]), locked_out)
            )
            if waiting.length() >= self._worth:
                for telling in (True, False):
                    covered = self._add_others(kind, waiting, telling=telling)
                    if len(covered):
                        left = difference(instants, intersection(waiting, covered))
                        instants, waiting, spent = (
                            left,
                            difference(waiting, covered),
                            left.within(driver.lo, driver.hi),
                        )
        self._add(kind, driver, driver.who, spent)
        if self._sampled is not None and len(driver.lo):
            at, place = self._sampled.at, self._sampled.place
            gap = driver.gaps().contains(at) & instants.contains(at)
            count = np.bincount(
                place[gap & (place >= 0)], minlength=len(self._sampled.places)
            )
            self._ticks[kind] = self._ticks.get(kind, 0) + count

    def told(self) -> Iterator[Spent]:
        """One entry for all events of a thread with the same chain of names, the
        largest of each class first.
        """
        lines = (
            _own_lines(self._driver, self._sampled, self._threads.names)
            if self._sampled is not None
            else {}
        )
        for (kind, _), (chains, spent) in self._spent.items():
            rest, ticks = (
                spent,
                self._ticks.get(kind) if chains is self._driver else None,
            )
            if (
                ticks is not None
                and self._sampled is not None
                and ticks.sum() >= FEWEST_TICKS
            ):
                gap = chains.leaf < 0
                yield from _by_ticks(kind, int(spent[gap].sum()), ticks, self._sampled)
                rest = np.where(gap, 0, spent)
            for one in _told(kind, chains, rest, self._threads, self._names):
                line = (
                    lines.get((one.file, one.line, one.function))
                    if one.detail == OWN
                    else None
                )
                yield one if line is None else replace(one, detail=f"line {line}")

    def inside(self) -> Iterator[Inside]:
        """What lies in the time of each activity."""
        for (kind, _), (chains, spent) in self._spent.items():

            def activity_of(
                event: int, kind: TimeClass = kind, chains: Chains = chains
            ) -> str:
                chain = _chain_of(chains, event, self._threads, self._names)
                return _named(kind, chain, 0).activity

            yield from inside(
                kind,
                chains,
                spent,
                activity_of,
                lambda row: plain(self._threads.names[row]),
            )

    def _add_others(
        self, kind: TimeClass, waiting: Intervals, *, telling: bool
    ) -> Intervals:
        """When other threads do the class's work at these instants.

        telling: those that are in an event that tells what they do, else those inside a
        runtime.
        """
        working = []
        for one in self._others():
            mine = (
                _works(kind, one, self._names)
                & (self._names.telling[one.leaf] == telling)
            )[one.who]
            chosen = (
                true_at(mine & (waiting.within(one.lo, one.hi) > 0))
                if mine.any()
                else true_at(mine)
            )
            if len(chosen):
                working.append((one, chosen))
        if not working:
            return EMPTY
        lo = np.concatenate([one.lo[mine] for one, mine in working])
        hi = np.concatenate([one.hi[mine] for one, mine in working])
        parts, at = shared(lo, hi, waiting), 0
        for one, mine in working:
            self._add(kind, one, one.who[mine], parts[at : at + len(mine)])
            at += len(mine)
        return union_of(*(union(one.lo[mine], one.hi[mine]) for one, mine in working))

    def _add(
        self,
        kind: TimeClass,
        chains: Chains,
        who: npt.NDArray[np.int32],
        spent: Int64Array,
    ) -> None:
        """ps of events and gaps of a thread, each of which may come more than once."""
        _, whole = self._spent.setdefault(
            (kind, id(chains)), (chains, np.zeros(len(chains.leaf), np.int64))
        )
        np.add.at(whole, who, spent)


def _own_lines(
    driver: Chains, sampled: Sampled, names: tuple[str, ...]
) -> dict[tuple[str, int, str], int]:
    """The line that takes most of what a function of the program's does itself, by the
    function's place as frames have it.
    """
    events = true_at(driver.leaf[driver.who] >= 0)
    at = driver.lo[events].searchsorted(sampled.at, side="right") - 1
    inside = true_at((at >= 0) & (sampled.place >= 0))
    inside = inside[sampled.at[inside] < driver.hi[events][at[inside]]]
    who = driver.who[events][at[inside]]
    own = (driver.user[who] >= 0) & (driver.user[who] == driver.telling[who])
    pairs = (
        driver.user[who[own]].astype(np.int64) * len(sampled.places)
        + sampled.place[inside[own]]
    )
    pairs, count = np.unique(pairs, return_counts=True)
    found: dict[tuple[str, int, str], int] = {}
    if not len(pairs):
        return found
    function, spot = np.divmod(pairs, len(sampled.places))
    first = true_at(np.diff(function, prepend=-1) != 0)
    for lo, hi in zip(first.tolist(), [*first[1:].tolist(), len(pairs)], strict=True):
        most = lo + int(count[lo:hi].argmax())
        place = frame_place(names[int(function[lo])])
        file, line, name, _ = sampled.places[int(spot[most])]
        enough = 2 * count[most] >= max(int(count[lo:hi].sum()), FEWEST_TICKS)
        if enough and place is not None and (file, name) == (place[0], place[2]):
            found[place] = line
    return found


def _by_ticks(
    kind: TimeClass, ps: int, ticks: Int64Array, sampled: Sampled
) -> Iterator[Spent]:
    """Time of which nothing is recorded, shared out among the lines that the thread was
    on at the ticks in it.
    """
    ends = np.rint(np.cumsum(ticks) * (ps / ticks.sum())).astype(np.int64)
    for row in true_at(ticks > 0).tolist():
        file, line, function, inner = sampled.places[row]
        mine = int(ends[row] - (ends[row - 1] if row else 0))
        if file and mine:
            yield Spent(
                kind,
                place_in_words(file, line, function),
                inner or (OWN if function else ""),
                file,
                line,
                function,
                ps=mine,
            )
        elif mine:
            yield Spent(kind, inner or NOT_RECORDED, ps=mine)


def _elsewhere(kind: TimeClass, driver: Chains, names: NameKinds) -> BoolArray:
    """Where the driving thread does not itself do what the class is about."""
    gap = driver.leaf < 0
    if kind is TimeClass.INPUT:
        return np.asarray(
            gap | _is(driver.kind, _WAITING) | names.waits[driver.leaf], np.bool_
        )
    if kind is TimeClass.IDLE:
        return np.zeros(len(gap), np.bool_)
    if kind is TimeClass.TRANSFER:
        return np.asarray(driver.kind != HostClass.COPY.value, np.bool_)
    if kind is TimeClass.LAUNCH:
        called = (driver.dispatched >= 0) & names.executed[driver.dispatched]
        return np.asarray(
            gap | called | (driver.kind == HostClass.WAIT.value), np.bool_
        )
    return np.asarray(gap | (driver.kind == HostClass.WAIT.value), np.bool_)


def _works(kind: TimeClass, one: Chains, names: NameKinds) -> BoolArray:
    """Where another thread does the class's work."""
    there = (one.leaf >= 0) & ~_is(one.kind, _WAITING)
    if kind is TimeClass.LAUNCH:
        return (one.leaf >= 0) & _is(one.kind, _DISPATCHING)
    if kind is TimeClass.INPUT:
        return (
            there
            & ~names.waits[one.leaf]
            & ((one.stage >= 0) | (one.user >= 0) | one.feeds)
        )
    if kind is TimeClass.COMPILE:
        return there & one.compiles
    if kind is TimeClass.TRANSFER:
        return np.asarray(there & (one.kind == HostClass.COPY.value), np.bool_)
    return there & (one.user >= 0)


def _is(kind: np.ndarray, wanted: frozenset[HostClass]) -> BoolArray:
    table = np.zeros(128, np.bool_)
    table[[one.value for one in wanted]] = True
    return np.asarray(table[kind], np.bool_)


def _told(
    kind: TimeClass,
    chains: Chains,
    spent: Int64Array,
    threads: Threads,
    names: NameKinds,
) -> Iterator[Spent]:
    mine = true_at(spent > 0)
    columns = [
        chains.leaf,
        chains.telling,
        chains.user,
        chains.called,
        chains.dispatched,
        chains.stage,
    ]
    chosen = tuple(np.ascontiguousarray(column[mine]) for column in columns)
    nothing, length = np.zeros(len(mine), np.int64), np.ascontiguousarray(spent[mine])
    last, _, total, _ = alike(chosen, nothing, length, np.ones(len(mine), np.uint8), 0)
    for one in np.argsort(-total, kind="stable")[:_MOST].tolist():
        chain = _chain_of(chains, int(mine[last[one]]), threads, names)
        yield _named(kind, chain, int(total[one]))


def _chain_of(chains: Chains, event: int, threads: Threads, names: NameKinds) -> _Chain:
    columns = (
        chains.leaf,
        chains.telling,
        chains.user,
        chains.called,
        chains.dispatched,
        chains.stage,
    )
    rows = [int(column[event]) for column in columns]
    waits = int(chains.kind[event]) in _WAITING
    return _Chain(threads, names, waits, bool(chains.feeds[event]), *rows)


class _Chain:
    """The names of a chain; "" for what it lacks."""

    def __init__(
        self, threads: Threads, names: NameKinds, waits: bool, feeds: bool, *rows: int
    ) -> None:
        """rows: of the innermost event, the telling one, the user's, the called, the
        dispatched and the stage; -1 for none.
        """
        texts = [threads.names[row] if row >= 0 else "" for row in rows]
        self.leaf, self.telling, self.user, self.called, self.dispatched, self.stage = (
            texts
        )
        self.gap, self.waits, self.feeds, self.frames = (
            rows[0] < 0,
            waits,
            feeds,
            bool(names.frames.any()),
        )
        self.functions, self.runs_functions = names.functions, names.runs_functions


def _named(kind: TimeClass, one: _Chain, ps: int) -> Spent:
    if one.gap:
        return _unnamed(kind, one, ps)
    file, line, function = frame_place(one.user) or ("", 0, "")
    inner, stage = plain(one.telling), ""
    detail = plain(one.called) if one.called and one.called != one.user else inner
    if one.stage or (kind is TimeClass.INPUT and one.feeds):
        stage = stage_path(one.stage) or produced_kind(one.stage) or one.runs_functions
        activity = f"tf.data {stage_kind(stage)}" if stage else "tf.data"
        detail = (
            plain(one.user) if one.user else "" if one.telling == one.stage else inner
        )
    elif kind in (TimeClass.LAUNCH, TimeClass.COMPILE) and (
        one.dispatched or inner in one.functions
    ):
        activity, called = (
            _dispatched(kind, one.dispatched)
            if one.dispatched
            else (_verb(kind, inner), inner)
        )
        function = function or called
        itself = inner in one.functions or called_name(one.telling) == called
        detail = (
            plain(one.user)
            if one.user and kind is TimeClass.LAUNCH
            else CALL
            if itself
            else inner
        )
        if activity in (EXECUTOR, SENDS):
            function, detail = "", one.dispatched
        elif activity == SINGLE_OPS:
            function, detail = function if one.user else "", called
    elif runs_ops(one.leaf) and kind is TimeClass.LAUNCH:
        activity, detail = EXECUTOR, one.leaf
    elif one.dispatched and not one.user and kind is TimeClass.IDLE:
        activity, detail = f"in {plain(one.dispatched)}", inner
    elif kind is TimeClass.TRANSFER and not one.user and not one.waits:
        activity, detail = BY_HOST, inner
    elif one.waits and not one.user:
        activity, detail = f"waits in {inner}", ""
    elif one.user:
        activity = plain(one.user)
        detail = (
            f"waits in {inner}"
            if one.waits
            else (OWN if one.called == one.user == one.telling else detail)
        )
    else:
        activity, detail = inner, ""
    return Spent(kind, activity, detail, file, line, function, stage, ps=ps)


OWN = "its own lines"
"""Of a function: what runs in it and in nothing that it calls."""
CALL = "the call itself"
"""Of a dispatched function: what is in no event inside it."""
SINGLE_OPS = "ops dispatched one by one"
"""TensorFlow's or JAX's ops outside of a compiled function."""
EXECUTOR = "TensorFlow's executor"
"""It picks and runs the ops of a function on the host."""
BY_HOST = "the host's part of copies"
"""Into or out of pinned memory, on a thread of the runtime's."""
SENDS = "hands tensors to the device (_Send)"
"""TensorFlow's executor too: the batch on its way from the iterator, for the most part.
"""


def _dispatched(kind: TimeClass, name: str) -> tuple[str, str]:
    """(activity, the function or op) of an event that names what it dispatches."""
    function = called_name(name)
    if function is not None:
        return _verb(kind, function), function
    if is_single_op(name) and kind is TimeClass.LAUNCH:
        return SINGLE_OPS, single_op(name)
    op = op_type(name) or name
    if op in SENDING_OPS and kind is TimeClass.LAUNCH:
        return SENDS, op
    return (EXECUTOR if kind is TimeClass.LAUNCH else _verb(kind, f"op {op}")), op


def _verb(kind: TimeClass, what: str) -> str:
    return f"{'compiles' if kind is TimeClass.COMPILE else 'dispatches'} {what}"


def _unnamed(kind: TimeClass, one: _Chain, ps: int) -> Spent:
    """A gap: nothing of the driving thread is recorded between two events."""
    why = "" if one.frames else ": no Python frames"
    around = [f"after {plain(one.user)}"] if one.user else []
    around += [f"before {plain(one.called)}"] if one.called else []
    return Spent(kind, NOT_RECORDED + why, ", ".join(around), ps=ps)


def plain(name: str) -> str:
    """A frame as people write it, `wait (threading.py:288)`; what calls a function as
    that; other events by their name.
    """
    place = frame_place(name)
    if place is not None:
        return f"{place[2]} ({place[0]}:{place[1]})"
    function = called_name(name)
    return f"the call of {function}" if function is not None else bare_frame(name)
