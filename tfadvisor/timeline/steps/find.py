"""The steps of one host, and which of them count."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TypeGuard

import numpy as np
from msgspec.structs import replace

from tfadvisor.arrays import (
    BoolArray,
    Int64Array,
    distinct,
    is_in,
    median,
    true_at,
    trues,
    unknown,
    zeros,
)
from tfadvisor.errors import UsageError
from tfadvisor.timeline.host.dispatches import driving_thread, outermost
from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.names.classes import DeviceClass, HostClass
from tfadvisor.timeline.names.frames import frame_place
from tfadvisor.timeline.names.host_events import called_function
from tfadvisor.timeline.names.program_calls import jitted_function
from tfadvisor.timeline.names.stack_frames import takes_batches
from tfadvisor.timeline.steps.markers import MarkedSteps, drawn_steps, marked_steps
from tfadvisor.timeline.steps.periodicity import (
    LEAST_CYCLES,
    Calls,
    Inferred,
    calls_with_device_work,
    uneven_calls,
)
from tfadvisor.timeline.steps.without_markers import (
    batches_of_layered_steps,
    batches_taken,
    calls_of_jitted_function,
    calls_of_tf_function,
    executions_on_device,
    iterations_in_function,
    repeated_dispatches,
    repeated_kernels,
    runs_called_before,
    thread_that_takes_most,
)
from tfadvisor.timeline.sweeps import reached
from tfadvisor.timeline.timeline_parts import Device, StepKind, Steps, StepSource
from tfadvisor.timeline.windows import leading
from tfadvisor.trace import host_of
from tfadvisor.trace.columns import HostTrace
from tfadvisor.trace.samples import Samples, read_samples
from tfadvisor.units import PS_PER_MS, number_of
from tfadvisor.vocabulary import DeviceKind, TimeClass

_SMALL_GAP = 0.02
_COMPILING_SHARE = 0.2
_WORTH_A_WINDOW = 0.02
"""Device events that span less of the trace than this are no run to judge: two kernels
of 2 µs in a trace of 8 ms.
"""
_LAG = 0.1
"""A device that still works on a step for so much of a step's length after the host has
begun the next one is behind the host, where it pauses for no longer.
"""
_WARM_UP_FACTOR = 1.5
_ENOUGH_FOR_WARM_UP = 4
_LEAST_OF_A_LAST_STEP = 0.3
"""A last step shorter than this share of the others was cut by the end of the trace."""
_OF_FEW_CALLS = 0.7
"""Confidence in one or two steps: where each begins is known, not what comes between.
"""


def find_steps(
    trace: HostTrace,
    threads: Threads,
    devices: Sequence[Device],
) -> Steps:
    """MarkedSteps steps where the program marked any, else inferred ones, else calls of
    the function that does the work.

    What is left is a line that a viewer drew, and the whole trace as one step of no
    confidence.
    """
    samples = read_samples(Path(trace.path), host_of(Path(trace.path)))
    if (
        samples is not None
        and (asked := asked_steps(threads, samples.step)) is not None
    ):
        return asked
    marked = marked_steps(trace, threads)
    if marked is not None and len(marked.starts):
        return _as_marked(marked, threads)
    driver = driving_thread(threads)
    launching = cache(partial(calls_with_device_work, trace, threads, devices))
    round_ms, by_batch = _known_rounds(samples)
    guess = inferred_steps(
        trace, threads, devices, driver, launching, round_ms, by_batch=by_batch
    )
    if guess is not None:
        names = tuple(f"step {index}" for index in range(len(guess.starts)))
        thread = guess.thread if guess.thread >= 0 else driver
        periods = guess.starts, np.append(guess.starts[1:], guess.ends[-1:]), guess.ends
        found = _periods(
            *periods,
            names,
            guess.source,
            guess.confidence,
            thread,
            guess.about,
        )
        return replace(found, round_ms=round_ms)
    calls = launching()
    if _are_few(calls):
        return replace(_few_steps(calls), round_ms=round_ms)
    drawn = drawn_steps(trace)
    if drawn is not None:
        return _as_marked(drawn, threads)
    return _whole_trace(threads, devices, driver)


def _known_rounds(samples: Samples | None) -> tuple[float, bool]:
    """(ms of a round of the program's loop, 0 for unknown; whether each takes a batch
    from tf.data), as far as `tfadvisor run` saw it.
    """
    if samples is None:
        return 0.0, False
    file = samples.loop[0] if samples.loop is not None else ""
    return samples.round_ms, takes_batches(file)


def asked_steps(threads: Threads, step: str) -> Steps | None:
    """From one call of a function, marker or line to the next. None where the trace
    holds fewer than two.

    step: a name as in the program, or `FILE:LINE` of a line in a function, for traces
    with Python frames.
    """
    rows = _rows_of(threads.names, step) if step else []
    position = true_at(is_in(threads.row, rows)) if rows else np.zeros(0, np.int64)
    if len(position) < 2:
        return None
    thread = threads.thread_of(position)
    mine = int(np.bincount(thread).argmax())
    position = outermost(threads, position[thread == mine])
    starts = threads.start[position]
    ends = threads.end[position]
    if len(starts) < 2:
        return None
    names = tuple(f"step {index}" for index in range(len(starts)))
    periods = starts, np.append(starts[1:], ends[-1:]), ends
    return _periods(
        *periods,
        names,
        StepSource.MARKER,
        1.0,
        mine,
        f"{step}, as --step-is says",
    )


def _rows_of(names: Sequence[str], step: str) -> list[int]:
    file, _, digits = step.rpartition(":")
    if not file or (line := number_of(digits)) is None:
        return [row for row, name in enumerate(names) if step in _called(name)]
    places = {
        row: place
        for row, name in enumerate(names)
        if (place := frame_place(name)) and place[0] == Path(file).name
    }
    defined = max(
        (place[1] for place in places.values() if place[1] <= line),
        default=None,
    )
    return [row for row, place in places.items() if place[1] == defined]


def _called(name: str) -> tuple[str | None, ...]:
    """What the program may call the thing that an event is of."""
    place = frame_place(name)
    return name, jitted_function(name), called_function(name), place and place[2]


def _as_marked(marked: MarkedSteps, threads: Threads) -> Steps:
    names = tuple(f"{marked.name} {number}" for number in marked.numbers.tolist())
    thread = marked.thread if marked.thread >= 0 else driving_thread(threads)
    confidence = 1.0 if marked.thread >= 0 else 0.9
    about = f"marker {marked.name!r}"
    periods = marked.starts, marked.next_starts, marked.ends
    return _periods(*periods, names, StepSource.MARKER, confidence, thread, about)


def _are_few(calls: Calls | None) -> TypeGuard[Calls]:
    """Whether one or two calls launch the device work: kernels that repeat inside of
    them are a model's layers, no steps.
    """
    return calls is not None and len(calls.starts) < LEAST_CYCLES


def _few_steps(calls: Calls) -> Steps:
    """One or two calls, each a step until the device work that it launched ends: what
    follows may be the capture's.
    """
    names = tuple(f"step {index}" for index in range(len(calls.starts)))
    kinds = (StepKind.STEADY,) * len(names)
    ends = np.minimum(calls.ends, np.append(calls.starts[1:], calls.ends[-1:]))
    return Steps(
        calls.starts,
        ends,
        ends,
        names,
        kinds,
        StepSource.MODULE,
        _OF_FEW_CALLS,
        calls.thread,
        calls.about(),
    )


def _periods(
    starts: Int64Array,
    ends: Int64Array,
    spans: Int64Array,
    names: tuple[str, ...],
    source: StepSource,
    confidence: float,
    thread: int,
    about: str,
) -> Steps:
    """Start to start. A last step has no successor: it counts, with its own span, only
    where gaps are negligible and the trace did not end within it."""
    spans = np.maximum(spans, starts)
    ends = np.maximum(ends, starts)
    kinds = [StepKind.STEADY] * len(starts)
    followed = np.append(ends[:-1] == starts[1:], False)
    if followed.any():
        gap = float(median(np.maximum(ends - spans, 0)[followed]))
        typical = float(median((ends - starts)[followed]))
        for last in true_at(~followed).tolist():
            if (
                gap > _SMALL_GAP * typical
                or spans[last] - starts[last] < _LEAST_OF_A_LAST_STEP * typical
            ):
                kinds[last] = StepKind.CUT_OFF
    return Steps(
        starts,
        ends,
        spans,
        names,
        tuple(kinds),
        source,
        confidence,
        thread,
        about,
    )


def placed_on_device(steps: Steps, devices: Sequence[Device]) -> Steps:
    """The steps where the device ran them, when it runs behind the host; else
    unchanged.

    A host that only dispatches is done with its steps long before the device. Each step
    then begins with the first event that was launched in it on the stream that computes
    most: a copy on a stream of its own may run at any time. Where the trace
    ends before the device has begun the last ones, those are no steps of this trace,
    and the one before them may be cut. A program of an op or two, such as the next
    random key, may run at once while the step before it is still queued: then the
    program that takes most of the time tells where a step begins.
    """
    launched = [device for device in devices if len(device.ops)]
    if len(steps) < 2 or not launched:
        return steps
    return (
        _placed(
            steps,
            [_launched(device, _on_busiest_stream(device)) for device in launched],
        )
        or _placed(steps, _of_longest_program(launched))
        or steps
    )


def _on_busiest_stream(device: Device) -> BoolArray:
    """Which events run on the stream of a GPU that computes most; all where none
    computes, and on other devices, whose work has no order by streams.
    """
    ops = device.ops
    computes = ops.kind == DeviceClass.COMPUTE.value
    if device.kind is not DeviceKind.GPU or not computes.any():
        return trues(ops)
    stream = ops.stream[computes]
    streams = distinct(stream)
    time = np.bincount(streams.searchsorted(stream), (ops.end - ops.start)[computes])
    return np.asarray(ops.stream == streams[int(time.argmax())], np.bool_)


def _launched(
    device: Device, wanted: BoolArray
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """(launch, start, end) of those of a device's events that are wanted."""
    ops = device.ops
    return ops.launch_start[wanted], ops.start[wanted], ops.end[wanted]


def _of_longest_program(
    devices: Sequence[Device],
) -> list[tuple[Int64Array, Int64Array, Int64Array]]:
    """Of each device the events of its program that takes most time; none where no
    event names its program.
    """
    found = []
    for device in devices:
        known = device.ops.module >= 0
        if not known.any():
            continue
        time = np.bincount(
            device.ops.module[known],
            (device.ops.end - device.ops.start)[known],
        )
        found.append(_launched(device, device.ops.module == int(time.argmax())))
    return found


def _placed(
    steps: Steps,
    launched: Sequence[tuple[Int64Array, Int64Array, Int64Array]],
) -> Steps | None:
    """None where these events do not run behind the host."""
    if not launched:
        return None
    begins, finishes, busy = _on_device(steps, launched)
    run = leading(finishes >= 0)
    if run < 2:
        return None
    begins = begins[:run]
    finishes = finishes[:run]
    lost = len(steps) - run
    behind = _behind(steps.starts[:run], begins, finishes, busy[:run])
    if not behind or (np.diff(begins) <= 0).any():
        return None
    about = f"{steps.about}{Steps.WHERE_THE_DEVICE_RAN}: {behind}"
    if lost:
        about += f", and the trace ends before the device begins {lost} more"
    following = np.append(begins[1:], finishes[-1:])
    names = steps.names[:run]
    placed = _periods(
        begins,
        following,
        finishes,
        names,
        steps.source,
        steps.confidence,
        steps.thread,
        about,
    )
    if lost:
        return replace(placed, kinds=(*placed.kinds[:-1], StepKind.CUT_OFF))
    return placed


def _on_device(
    steps: Steps, launched: Sequence[tuple[Int64Array, Int64Array, Int64Array]]
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """(when the work that each step launched begins, the largest integer where it
    launched none; when it ends, then -1; for how long it runs, a device).
    """
    call, start, end = (
        column[0] if len(column) == 1 else np.concatenate(column)
        for column in zip(*launched, strict=True)
    )
    index = reached(steps.starts, call) - 1
    keep = (call >= 0) & (index >= 0) & (call < steps.ends[np.maximum(index, 0)])
    begins = np.full(len(steps), np.iinfo(np.int64).max)
    finishes = unknown(steps)
    np.minimum.at(begins, index[keep], start[keep])
    np.maximum.at(finishes, index[keep], end[keep])
    busy = zeros(steps)
    np.add.at(busy, index[keep], (end - start)[keep])
    return begins, finishes, busy // len(launched)


def _behind(
    starts: Int64Array, begins: Int64Array, finishes: Int64Array, busy: Int64Array
) -> str:
    """How far most steps run behind the host, in words; "" where they keep up with it.

    A device is behind where it still works on a step when the host is in the next one,
    and works without a pause, within steps and between them: it waits for no launch.
    """
    if (begins[:-1] >= starts[1:]).mean() > 0.5:
        return "the host is more than a step ahead"
    typical = float(median(np.diff(starts)))
    late = finishes[:-1] - starts[1:] >= _LAG * typical
    follows = np.abs(begins[1:] - finishes[:-1]) <= _SMALL_GAP * typical
    works = (busy >= (1 - _LAG) * (finishes - begins))[:-1]
    if (late & follows & works).mean() > 0.5:
        return "it runs behind the host"
    return ""


def _whole_trace(
    threads: Threads,
    devices: Sequence[Device],
    driver: int,
) -> Steps:
    """One step from the first to the last device event, or over all host events that
    are not the profiler's own.
    """
    lo, hi = _host_window(threads)
    about = "the span of all host events"
    active = [device for device in devices if device.is_active]
    if active:
        first = min(int(device.ops.start[0]) for device in active)
        last = max(int(device.ops.end.max()) for device in active)
        if last - first >= _WORTH_A_WINDOW * (hi - lo):
            lo = first
            hi = last
            about = "the span of all events on devices"
    start = np.array([lo], np.int64)
    end = np.array([max(hi, lo)], np.int64)
    return Steps(
        start,
        end,
        end,
        ("whole trace",),
        (StepKind.STEADY,),
        StepSource.WHOLE_TRACE,
        0.2,
        driver,
        about,
    )


def _host_window(threads: Threads) -> tuple[int, int]:
    own = trues(threads)
    own[threads.everywhere(HostClass.PROFILER, HostClass.FRAME)] = False
    own &= threads.end > threads.start
    if not own.any():
        own[:] = True
    if len(threads):
        return (int(threads.start[own].min()), int(threads.end[own].max()))
    return (0, 0)


def chosen_steps(
    steps: Steps,
    first: int,
    last: int,
) -> Steps:
    """Only steps first .. last - 1 count, whatever they hold. Raises UsageError when
    the trace has none of them.
    """
    if first >= min(last, len(steps)):
        raise UsageError(
            f"--steps {first}:{last}: the trace has {len(steps)} steps, 0:{len(steps)}."
        )
    kinds = [
        StepKind.STEADY if first <= index < last else StepKind.NOT_CHOSEN
        for index in range(len(steps))
    ]
    return replace(steps, kinds=tuple(kinds))


def sorted_out(steps: Steps, breakdown: Int64Array) -> Steps:
    """Sets compiling first steps and a slow first step apart. breakdown: ps, shape
    (devices, steps, TimeClass).

    Compilation that goes on through the trace is the program's fault, not the
    capture's, so those steps count.
    """
    kinds = list(steps.kinds)
    length = np.maximum(steps.ends - steps.starts, 1)
    if len(breakdown):
        compiling = breakdown[:, :, TimeClass.COMPILE].mean(axis=0) / length
    else:
        compiling = np.zeros(len(steps))
    candidates = [i for i, kind in enumerate(kinds) if kind is StepKind.STEADY]
    leading = 0
    while (
        leading < len(candidates) and compiling[candidates[leading]] >= _COMPILING_SHARE
    ):
        leading += 1
    if leading <= len(candidates) // 2:
        for index in candidates[:leading]:
            kinds[index] = StepKind.COMPILING
        candidates = candidates[leading:]
    if len(candidates) >= _ENOUGH_FOR_WARM_UP:
        typical = float(median(length[candidates[1:]]))
        if (
            length[candidates[0]] > _WARM_UP_FACTOR * typical
            and compiling[candidates[0]] < _COMPILING_SHARE
        ):
            kinds[candidates[0]] = StepKind.WARM_UP
    return replace(steps, kinds=tuple(kinds))


# Steps of a trace without markers: from executions of one program, from a pattern of
# launches, from the host's loop.


def inferred_steps(
    trace: HostTrace,
    threads: Threads,
    devices: Sequence[Device],
    driver: int,
    launching: Callable[[], Calls | None],
    round_ms: float = 0.0,
    *,
    by_batch: bool = False,
) -> Inferred | None:
    """The first of these that gives three cycles: module executions, a launch pattern,
    the host's loop. Where a round of the loop is known, the first of its length, if any
    is: what repeats within a round is a part of the step.

    launching: gives the calls of the function that launches most device work, asked
    only where it is needed. round_ms: of the program's loop, 0 for unknown.
    by_batch: whether each of its rounds is known to take a batch from tf.data.
    """
    whole = partial(_of_batches, threads=threads, by_batch=by_batch)
    attempts: tuple[Callable[[], Inferred | None], ...] = (
        lambda: executions_on_device(trace),
        lambda: calls_of_jitted_function(threads, devices, driver),
        lambda: runs_called_before(threads, devices, driver),
        lambda: batches_of_layered_steps(threads, calls_of_tf_function(trace, threads)),
        lambda: iterations_in_function(trace, threads),
        lambda: uneven_calls(launching()),
        lambda: batches_taken(threads, driver),
        lambda: batches_taken(threads, thread_that_takes_most(threads)),
        lambda: whole(repeated_dispatches(threads, driver)),
        lambda: None if _are_few(launching()) else whole(repeated_kernels(devices)),
        lambda: _with_work_after(calls_of_tf_function(trace, threads, 0), devices),
    )
    first = None
    for attempt in attempts:
        found = attempt()
        if found is None or found.confidence <= 0:
            continue
        if not round_ms or _takes_a_round(found, round_ms):
            return found
        first = first or found
    return first


_LEAST_BATCHES = 0.5
"""Of a sequence's turns, that take a batch, to be rounds of a loop that does."""


def _of_batches(
    turns: Inferred | None, threads: Threads, by_batch: bool
) -> Inferred | None:
    """Not the turns of a layer, as of a recurrent one that runs op by op, where a round
    of the loop takes a batch.
    """
    if turns is None or not by_batch:
        return turns
    asked = threads.start[threads.everywhere(HostClass.GET_NEXT)]
    within = (asked >= turns.starts[0]) & (asked <= turns.ends[-1])
    enough = within.sum() >= _LEAST_BATCHES * (len(turns.starts) - 1)
    return turns if enough else None


_SHORTEST_ROUND = 0.5
_LONGEST_ROUND = 2.5
"""How long a step may be, of a round that was not recorded: recording makes steps
longer, up to twice as long with all calls.
"""


def _takes_a_round(
    found: Inferred,
    round_ms: float,
) -> bool:
    if len(found.starts) > 1:
        period = float(median(np.diff(found.starts))) / PS_PER_MS
    else:
        period = 0.0
    return _SHORTEST_ROUND <= period / round_ms <= _LONGEST_ROUND


def _with_work_after(
    calls: Inferred | None,
    devices: Sequence[Device],
) -> Inferred | None:
    """The calls, if after each of them a device begins to work: no launches need to
    link the two.
    """
    if calls is None:
        return None
    ends = np.append(calls.starts, np.iinfo(np.int64).max)
    begun = (
        np.diff(np.searchsorted(device.compute.starts, ends)) for device in devices
    )
    return calls if any((each > 0).all() for each in begun) else None
