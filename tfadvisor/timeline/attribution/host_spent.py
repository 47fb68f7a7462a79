"""What the host does while a device waits: Python functions, dispatches, compilation,
stages of the input pipeline.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import TypeGuard

import numpy as np
from msgspec.structs import replace

from tfadvisor.arrays import (
    BoolArray,
    Int32Array,
    Int64Array,
    UInt8Array,
    descending,
    falses,
    true_at,
    zeros,
)
from tfadvisor.timeline.attribution.inside import Given, Inside, inside
from tfadvisor.timeline.attribution.spent import (
    FEWEST_TICKS,
    NOT_RECORDED,
    Sampled,
    Spent,
)
from tfadvisor.timeline.attribution.thread_time import Chains, NameKinds
from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.intervals import (
    EMPTY,
    Intervals,
    difference,
    intersection,
    union,
    union_of,
    within_all,
)
from tfadvisor.timeline.names.classes import HostClass
from tfadvisor.timeline.names.doings import Doing
from tfadvisor.timeline.names.frames import frame_place, place_in_words
from tfadvisor.timeline.names.host_activities import (
    CHAIN_NAMES,
    OWN,
    NamedChain,
    named_activity,
    plain,
)
from tfadvisor.timeline.sweeps import alike, met
from tfadvisor.timeline.walks import shared, tally
from tfadvisor.vocabulary import TimeClass

_MOST = 200
"""Activities of a class that are listed one by one."""
_WORTH_LOOKING = 0.005
"""From this share of the steps what other threads do meanwhile is looked for."""
_DISPATCHING = frozenset(
    (
        HostClass.LAUNCH,
        HostClass.PROCESS,
        HostClass.OP,
        HostClass.CONTROL_OP,
        HostClass.EAGER_OP,
        HostClass.RUN_EAGER,
        HostClass.GET_NEXT,
        HostClass.DATASET,
    )
)
"""What the executor of a function that has been called does, waiting for a batch
included.
"""
_WAITING = frozenset((HostClass.WAIT, HostClass.GET_NEXT))
Others = Callable[[], Iterable[Chains]]
"""Gives what each thread but the driving one does."""
_Working = tuple[Chains, BoolArray]
"""A thread, and which of its places do what is asked for."""
_Place = tuple[str, int, str]
"""(file, line, function)."""


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
        self._threads = threads
        self._names = names
        self._driver = driver
        self._others = others
        self._locked_out = locked_out
        self._worth = max(_WORTH_LOOKING * steps_ps, 1)
        self._spent: dict[tuple[TimeClass, int], Given] = {}
        self._seen: dict[int, UInt8Array] = {}
        self._waits: dict[TimeClass, Intervals] = {}
        self._workers: dict[tuple[TimeClass, bool], list[_Working]] = {}
        self._of_driver: dict[TimeClass, list[Intervals]] = {}
        self._sampled = sampled
        self._ticks: dict[TimeClass, Int64Array] = {}

    def add(self, kind: TimeClass, instants: Intervals) -> None:
        """Shares out instants of a class on one device.

        An instant belongs to the innermost event of the driving thread. Where that only
        waits, or nothing of it is recorded, it belongs to the threads that do the
        class's work meanwhile, in equal parts where several do; where none does, to the
        wait.
        """
        elsewhere = self._elsewhere(kind)
        waiting = intersection(instants, elsewhere)
        if waiting.length() >= self._worth:
            telling = self._add_others(kind, waiting, telling=True)
            waiting = difference(waiting, telling)
            silent = self._add_others(kind, waiting, telling=False)
            covered = intersection(elsewhere, union_of(telling, silent))
            instants = difference(instants, covered)
        self._given(kind, self._driver)
        self._of_driver.setdefault(kind, []).append(instants)
        if self._sampled is not None and len(self._driver.lo):
            self._add_ticks(kind, self._sampled, instants)

    def settle(self) -> None:
        """Gives the driving thread its own instants, of all devices at once."""
        driver = self._driver
        for kind, sets in self._of_driver.items():
            ps = within_all(sets, driver.lo, driver.hi)
            self._add(kind, driver, driver.who, driver.event, ps)
        self._of_driver.clear()

    def _elsewhere(self, kind: TimeClass) -> Intervals:
        """Where the driving thread does not itself do what the class is about."""
        known = self._waits.get(kind)
        if known is not None:
            return known
        driver = self._driver
        there = driver.at_stretches(_elsewhere(kind, driver, self._names))
        own_waits = union(driver.lo[there], driver.hi[there])
        locked_out = self._locked_out if kind is TimeClass.INPUT else EMPTY
        self._waits[kind] = union_of(own_waits, locked_out)
        return self._waits[kind]

    def _add_ticks(
        self,
        kind: TimeClass,
        sampled: Sampled,
        instants: Intervals,
    ) -> None:
        sampled = sampled.unrecorded()
        gap = self._driver.gaps().contains(sampled.at) & instants.contains(sampled.at)
        places = sampled.place[gap & (sampled.place >= 0)]
        count = np.bincount(places, minlength=len(sampled.places))
        self._ticks[kind] = self._ticks.get(kind, 0) + count

    def activities(self) -> Iterator[Spent]:
        """One entry for all events of a thread with the same chain of names, the
        largest of each class first.
        """
        lines: dict[_Place, int] = {}
        if self._sampled is not None:
            lines = _own_lines(self._driver, self._sampled, self._threads.names)
        for (kind, _), given in self._spent.items():
            chains, spent = given.chains, given.spent
            recorded = spent
            ticks = self._ticks.get(kind) if chains is self._driver else None
            if self._sampled is not None and _are_enough(ticks):
                gap = (chains.leaf < 0)[chains.chain]
                in_gaps = int(spent[gap].sum())
                yield from _by_ticks(kind, in_gaps, ticks, self._sampled)
                recorded = np.where(gap, 0, spent)
            for entry in _in_words(kind, chains, recorded, self._threads, self._names):
                yield _with_line(entry, lines)

    def inside(self) -> Iterator[Inside]:
        """What lies in the time of each activity."""
        given = list(self._spent.values())
        return inside(given, self._activities_of, self._words_of, self._does)

    def _activities_of(self, given: Given, chosen: Int32Array) -> Iterator[str]:
        for entry in _spent_of(given.kind, given.chains, self._names, chosen):
            yield entry.activity

    def _words_of(self, row: int) -> str:
        return plain(self._threads.names[row])

    def _does(self, row: int) -> Doing:
        return Doing(int(self._names.doings[row]))

    def _add_others(
        self,
        kind: TimeClass,
        waiting: Intervals,
        *,
        telling: bool,
    ) -> Intervals:
        """When other threads do the class's work at these instants.

        telling: those that are in an event that tells what they do, else those inside a
        runtime.
        """
        working = [
            (thread, mine)
            for thread, works in self._working(kind, telling)
            if len(mine := _met(thread, works, waiting))
        ]
        if not working:
            return EMPTY
        los = [thread.lo[mine] for thread, mine in working]
        his = [thread.hi[mine] for thread, mine in working]
        covered = union_of(*map(union, los, his))
        lo, hi = np.concatenate(los), np.concatenate(his)
        del los, his  # as large as all that is worked out of them
        parts = shared(lo, hi, waiting.starts, waiting.ends)
        del lo, hi
        at = 0
        for thread, mine in working:
            given = parts[at : at + len(mine)]
            self._add(kind, thread, thread.who[mine], thread.event[mine], given)
            at += len(mine)
        return covered

    def _working(self, kind: TimeClass, telling: bool) -> list[_Working]:
        """The places in which each other thread does the class's work."""
        known = self._workers.get((kind, telling))
        if known is not None:
            return known
        found = []
        for thread in self._others():
            says = self._names.telling[thread.leaf] == telling
            works = _works(kind, thread, self._names)
            if (works & says).any():
                found.append((thread, (works & says)[thread.chain]))
        self._workers[kind, telling] = found
        return found

    def _given(self, kind: TimeClass, chains: Chains) -> Given:
        key = kind, id(chains)
        if key not in self._spent:
            places = len(chains.chain)
            spent, count = np.zeros(places, np.int64), np.zeros(places, np.int32)
            self._spent[key] = Given(kind, chains, spent, count)
        return self._spent[key]

    def _add(
        self,
        kind: TimeClass,
        chains: Chains,
        who: Int32Array,
        event: Int32Array,
        ps: Int64Array,
    ) -> None:
        """ps of stretches of a thread, by their places and events."""
        given = self._given(kind, chains)
        if id(chains) not in self._seen:
            self._seen[id(chains)] = np.zeros(chains.events, np.uint8)
        seen = self._seen[id(chains)]
        tally(who, event, ps, given.spent, given.count, seen, 1 << kind)


def _met(thread: Chains, works: BoolArray, instants: Intervals) -> Int64Array:
    """The stretches of places that work which have a part in the instants."""
    return met(
        thread.lo,
        thread.hi,
        thread.who,
        works.view(np.uint8),
        instants.starts,
        instants.ends,
    )


def _with_line(entry: Spent, lines: dict[_Place, int]) -> Spent:
    """What a function does itself with the line that takes most of that, where samples
    tell it.
    """
    if entry.detail != OWN:
        return entry
    line = lines.get((entry.file, entry.line, entry.function))
    return entry if line is None else replace(entry, detail=f"line {line}")


def _are_enough(ticks: Int64Array | None) -> TypeGuard[Int64Array]:
    return ticks is not None and int(ticks.sum()) >= FEWEST_TICKS


def _own_lines(
    driver: Chains,
    sampled: Sampled,
    names: tuple[str, ...],
) -> dict[_Place, int]:
    """The line that takes most of what a function of the program's does itself, by the
    function's place as frames have it.
    """
    function, spot, count = _ticks_in_own_lines(driver, sampled)
    starts = true_at(np.diff(function, prepend=-1) != 0).tolist()
    found: dict[_Place, int] = {}
    for ticks in map(slice, starts, [*starts[1:], len(function)]):
        most = ticks.start + int(count[ticks].argmax())
        enough = 2 * count[most] >= max(int(count[ticks].sum()), FEWEST_TICKS)
        place = frame_place(names[int(function[ticks.start])])
        file, line, name, _ = sampled.places[int(spot[most])]
        if enough and place is not None and (file, name) == (place[0], place[2]):
            found[place] = line
    return found


def _ticks_in_own_lines(
    driver: Chains,
    sampled: Sampled,
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """(row of a function of the program's, row of sampled.places, ticks at which the
    thread is at that place and in nothing that the function calls), by function.
    """
    events = true_at(driver.event >= 0)
    ends = driver.hi[events]
    who = driver.who[events]
    at = driver.lo[events].searchsorted(sampled.at, side="right") - 1
    inside = true_at((at >= 0) & (sampled.place >= 0))
    inside = inside[sampled.at[inside] < ends[at[inside]]]
    chain = driver.chain[who[at[inside]]]
    user = driver.user[chain]
    own = (user >= 0) & (user == driver.telling[chain])
    many = max(len(sampled.places), 1)
    pairs = user[own].astype(np.int64) * many + sampled.place[inside[own]]
    pairs, count = np.unique(pairs, return_counts=True)
    function, spot = np.divmod(pairs, many)
    return function, spot, count


def _by_ticks(
    kind: TimeClass,
    ps: int,
    ticks: Int64Array,
    sampled: Sampled,
) -> Iterator[Spent]:
    """Time of which nothing is recorded, shared out among the lines that the thread was
    on at the ticks in it.
    """
    ends = np.rint(np.cumsum(ticks) * (ps / ticks.sum())).astype(np.int64)
    lengths = np.diff(ends, prepend=0)
    for row in true_at(lengths > 0).tolist():
        file, line, function, inner = sampled.places[row]
        length = int(lengths[row])
        if not file:
            yield Spent(kind, inner or NOT_RECORDED, ps=length)
            continue
        yield Spent(
            kind,
            place_in_words(file, line, function),
            inner or (OWN if function else ""),
            file,
            line,
            function,
            ps=length,
        )


def _elsewhere(
    kind: TimeClass,
    driver: Chains,
    names: NameKinds,
) -> BoolArray:
    """Of each chain and gap of the driving thread, whether it is something else than
    what the class is about.
    """
    gap = driver.leaf < 0
    if kind is TimeClass.IDLE:
        return falses(gap)
    if kind is TimeClass.TRANSFER:
        return np.asarray(driver.kind != HostClass.COPY.value, np.bool_)
    if kind is TimeClass.INPUT:
        return gap | _is_any(driver.kind, _WAITING) | names.waits[driver.leaf]
    waits = np.asarray(driver.kind == HostClass.WAIT.value, np.bool_)
    if kind is TimeClass.LAUNCH:
        waits |= (driver.dispatched >= 0) & names.executed[driver.dispatched]
    return gap | waits


def _works(
    kind: TimeClass,
    thread: Chains,
    names: NameKinds,
) -> BoolArray:
    """Of each chain of another thread, whether it does the class's work."""
    recorded = thread.leaf >= 0
    if kind is TimeClass.LAUNCH:
        return recorded & _is_any(thread.kind, _DISPATCHING)
    busy = recorded & ~_is_any(thread.kind, _WAITING)
    if kind is TimeClass.INPUT:
        feeds = (thread.stage >= 0) | (thread.user >= 0) | thread.feeds
        return busy & feeds & ~names.waits[thread.leaf]
    if kind is TimeClass.COMPILE:
        return busy & thread.compiles
    if kind is TimeClass.TRANSFER:
        return busy & np.asarray(thread.kind == HostClass.COPY.value, np.bool_)
    return busy & (thread.user >= 0)


def _is_any(kind: np.ndarray, wanted: frozenset[HostClass]) -> BoolArray:
    table = np.zeros(128, np.bool_)
    table[[chosen.value for chosen in wanted]] = True
    return np.asarray(table[kind], np.bool_)


def _in_words(
    kind: TimeClass,
    chains: Chains,
    spent: Int64Array,
    threads: Threads,
    names: NameKinds,
) -> Iterator[Spent]:
    """What a thread spends, summed over places with the same chain of names."""
    mine = true_at(spent > 0)
    chain = chains.chain[mine]
    last, _, total, _ = alike(
        tuple(getattr(chains, name)[chain] for name in CHAIN_NAMES),
        zeros(mine),
        np.ascontiguousarray(spent[mine]),
        np.ones(len(mine), np.uint8),
        0,
    )
    largest = descending(total)[:_MOST]
    entries = _spent_of(kind, chains, names, chain[last[largest]])
    for entry, ps in zip(entries, total[largest].tolist(), strict=True):
        yield replace(entry, ps=ps)


def _spent_of(
    kind: TimeClass,
    chains: Chains,
    names: NameKinds,
    chosen: Int32Array,
) -> Iterator[Spent]:
    """What the chosen chains and gaps of a thread are said to be, without their
    time.
    """
    columns = [getattr(chains, name)[chosen].tolist() for name in CHAIN_NAMES]
    rows = zip(*columns, strict=True)
    waits = _is_any(chains.kind[chosen], _WAITING).tolist()
    feeds = chains.feeds[chosen].tolist()
    for chain, waiting, feeding in zip(rows, waits, feeds, strict=True):
        yield _described(kind, names, chain, waiting, feeding)


@lru_cache(maxsize=1 << 12)  # the hosts of a run do the same
def _described(
    kind: TimeClass,
    names: NameKinds,
    chain: tuple[int, ...],
    waits: bool,
    feeds: bool,
) -> Spent:
    """chain: a row of each of CHAIN_NAMES, -1 for none."""
    texts = [names.names[row] if row >= 0 else "" for row in chain]
    named = NamedChain(
        kind=kind,
        waits=waits,
        feeds=feeds,
        functions=names.functions,
        runs_functions=names.runs_functions,
        **dict(zip(CHAIN_NAMES, texts, strict=True)),
    )
    if chain[0] < 0:
        return _unnamed(named, with_frames=bool(names.frames.any()))
    return _named(named)


def _named(chain: NamedChain) -> Spent:
    file, line, _ = frame_place(chain.user) or ("", 0, "")
    said = named_activity(chain)
    calls = bool(file) and chain.called not in ("", chain.user)
    return Spent(
        chain.kind,
        said.activity,
        said.detail,
        file,
        line,
        said.function,
        plain(chain.called) if calls else "",
        said.stage,
    )


def _unnamed(
    chain: NamedChain,
    *,
    with_frames: bool,
) -> Spent:
    """A gap: nothing of the driving thread is recorded between two events."""
    around = []
    if chain.user:
        around.append(f"after {plain(chain.user)}")
    if chain.called:
        around.append(f"before {plain(chain.called)}")
    why = "" if with_frames else ": no Python frames"
    return Spent(chain.kind, NOT_RECORDED + why, ", ".join(around))
