"""The devices of a run without an accelerator: XLA's thunks by device ordinal,
TensorFlow's executor as one device.
"""

from __future__ import annotations

import numpy as np

from tfadvisor.arrays import (
    BoolArray,
    Int8Array,
    Int32Array,
    Int64Array,
    constant,
    distinct,
    order_of,
)
from tfadvisor.program import Modules
from tfadvisor.timeline.devices.collective_calls import collectives_by_name
from tfadvisor.timeline.devices.cpu_thunks import (
    calls_of_runs,
    thunk_ends,
    unnamed_ops,
    with_unnamed_ops,
)
from tfadvisor.timeline.devices.event_stats import value_at
from tfadvisor.timeline.devices.protocol import DevicePlatform, RecordedHost
from tfadvisor.timeline.host.dispatches import eager_runs
from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.intervals import Intervals
from tfadvisor.timeline.names import stats
from tfadvisor.timeline.names.classes import DeviceClass, HostClass
from tfadvisor.timeline.names.collective_events import tensorflow_collective
from tfadvisor.timeline.names.device_events import hlo_class, is_control_flow
from tfadvisor.timeline.names.host_events import op_computes, runs_python, single_op
from tfadvisor.timeline.timeline_parts import Callers, Device, DeviceOps
from tfadvisor.trace.columns import HostTrace
from tfadvisor.vocabulary import DeviceKind

_ORDINALS_PER_PROCESS = 2048
"""XLA numbers the CPU devices of process n from 2,048 n on."""


class Cpu(DevicePlatform):
    """The cores: XLA's thunks by device ordinal, TensorFlow's executor as one
    device.
    """

    kind = DeviceKind.CPU
    on_host_threads = True

    def devices(self, recorded: RecordedHost) -> tuple[Device, ...]:
        """One device a device ordinal, the first holding TensorFlow's ops too; none
        when nothing computes.

        Runs of several devices ask the HLO which ops communicate, whatever they are
        called.
        """
        trace = recorded.trace
        threads = recorded.threads
        named = _named(trace, threads)
        python = threads.bear(named, runs_python)
        thunks, ordinals = _of_ordinals(trace, threads, named[~python])
        calls, callers = _of_ordinals(trace, threads, named[python])
        ops = _ops(threads, recorded.pipeline_work)
        unnamed = unnamed_ops(threads, named)
        devices = []
        several = len(distinct(ordinals)) > 1 or bool(
            (ordinals >= _ORDINALS_PER_PROCESS).any()
        )
        if several:
            communicate = _communicating_ops(trace, recorded.programs)
        else:
            communicate = frozenset()
        for index, ordinal in enumerate(
            sorted(
                {
                    *distinct(ordinals).tolist(),
                    *([0] if len(ops) or len(unnamed.start) else []),
                }
            )
        ):
            mine = thunks[ordinals == ordinal]
            name = f"{self.kind.label}:{ordinal % _ORDINALS_PER_PROCESS}"
            table = _table(
                trace,
                threads,
                mine,
                ops if index == 0 else ops[:0],
                communicate,
            )
            devices.append(
                _device(
                    recorded,
                    name,
                    with_unnamed_ops(table, threads, unnamed) if index == 0 else table,
                    threads.when(calls[callers == ordinal]),
                )
            )
        return tuple(devices)


def _of_ordinals(
    trace: HostTrace, threads: Threads, position: Int64Array
) -> tuple[Int64Array, Int64Array]:
    """(positions of XLA CPU thunks, their device ordinals)."""
    where, value = threads.integers(trace.stat(stats.DEVICE_ORDINAL))
    return position, value_at(
        where,
        np.maximum(value, 0),
        position,
        0,
    )  # TensorFlow's XLA says -1 for its only device


def _named(trace: HostTrace, threads: Threads) -> Int64Array:
    """Positions of all XLA CPU thunks."""
    position = threads.positions(trace.stat(stats.HLO_OP).event)
    return distinct(position[position >= 0])


def _ops(threads: Threads, pipeline_work: BoolArray) -> Int64Array:
    """Positions of TensorFlow ops that are device work on a CPU: what a callback writes
    and what feeds the step is none.
    """
    ops = threads.everywhere(HostClass.OP, among=~pipeline_work)
    python = threads.bear(ops, runs_python)
    ops = ops[~python] if python.any() else ops
    ops = ops[threads.bear(ops, op_computes)]
    eager = eager_runs(threads)
    kernels = eager.kernels[threads.bear(eager.calls, op_computes)]
    kernels = kernels[~pipeline_work[kernels]]
    return np.sort(np.concatenate([ops, kernels])) if len(kernels) else ops


def _communicating_ops(trace: HostTrace, programs: Modules) -> frozenset[str]:
    """Names of all ops that are collectives by the HLO of the programs that run."""
    modules = trace.stat(stats.HLO_MODULE).texts
    return frozenset(
        name for module in modules for name in collectives_by_name(programs, module)
    )


def _device(
    recorded: RecordedHost,
    name: str,
    table: DeviceOps,
    python: Intervals,
) -> Device:
    """table: what runs on it. python: where that calls Python."""
    return Device(
        name=name,
        kind=DeviceKind.CPU,
        model="",
        host=recorded.host,
        properties={},
        ops=table,
        compute=table.covered(DeviceClass.COMPUTE),
        collective=table.covered(DeviceClass.COLLECTIVE),
        transfer=table.covered(DeviceClass.OTHER_COPY),
        infeed=table.covered(DeviceClass.INFEED),
        python=python,
    )


def _table(
    trace: HostTrace,
    threads: Threads,
    thunks: Int64Array,
    ops: Int64Array,
    communicate: frozenset[str],
) -> DeviceOps:
    """thunks, ops: positions of what runs on one device. communicate: names of ops that
    are collectives by the HLO.
    """
    body = ~_control_flow(threads, thunks)
    end = np.concatenate([thunk_ends(trace, threads, thunks)[body], threads.end[ops]])
    positions = np.concatenate([thunks[body], ops])
    order = order_of(threads.start[positions])
    positions = positions[order]
    end = end[order]
    is_thunk = order < np.count_nonzero(body)
    del order
    row = threads.row[positions]
    name, names = _names(threads, positions)
    module, names = _modules(trace, names, threads, positions)
    program, program_ids = _programs(trace, threads, positions)
    return DeviceOps(
        start=threads.start[positions],
        end=end,
        kind=_classes(names, name, is_thunk, communicate),
        stream=threads.thread_of(positions).astype(np.int32),
        name=name,
        op=_only(row, is_thunk),
        module=module,
        program=program,
        path=_only(name, ~is_thunk),
        bytes=constant(-1, len(positions), np.int64),
        meeting=_meeting_keys(trace, threads, positions),
        memory=constant(0, len(positions), np.int8),
        launch=calls_of_runs(trace, threads, positions, module, names),
        details=constant(-1, len(positions)),
        callers=Callers(threads.start, threads.end, threads.row),
        names=names,
        program_ids=program_ids,
    )


def _only(row: Int32Array, where: BoolArray) -> Int32Array:
    """-1 elsewhere."""
    if where.all():
        return row
    if where.any():
        return np.where(where, row, -1).astype(np.int32, copy=False)
    return constant(-1, len(row))


def _classes(
    names: tuple[str, ...],
    row: Int32Array,
    is_thunk: BoolArray,
    communicate: frozenset[str],
) -> Int8Array:
    """A DeviceClass for each event: of thunks by the HLO's word and the op's name, of
    TensorFlow's ops by their type.
    """
    by_row = np.zeros(len(names), np.int8)
    for used in distinct(row[is_thunk]).tolist():
        op = names[used]
        by_row[used] = DeviceClass.COLLECTIVE if op in communicate else hlo_class(op)
    for used in distinct(row[~is_thunk]).tolist():
        if tensorflow_collective(names[used]) is not None:
            by_row[used] = DeviceClass.COLLECTIVE
    return by_row[row]


def _meeting_keys(
    trace: HostTrace,
    threads: Threads,
    positions: Int64Array,
) -> Int64Array:
    """What the events of one collective share on all devices: the program's run, or
    TensorFlow's collective instance.
    """
    found = [
        threads.integers(trace.stat(stat))
        for stat in (stats.RUN_ID, stats.INSTANCE_KEY)
    ]
    if not any(len(where) for where, _ in found):
        return constant(-1, len(positions), np.int64)
    run, instance = (
        value_at(where, value & ((1 << 63) - 1), positions, -1)
        for where, value in found
    )
    return np.where(instance >= 0, instance, run)


def _control_flow(threads: Threads, thunks: Int64Array) -> BoolArray:
    """Which thunks are loops, branches or calls around other thunks of their thread."""
    if not len(thunks):
        return np.zeros(0, np.bool_)
    candidate = threads.bear(thunks, is_control_flow)
    following = np.append(threads.start[thunks[1:]], np.iinfo(np.int64).max)
    same_thread = np.append(np.diff(threads.thread_of(thunks)) == 0, False)
    return np.asarray(
        candidate & same_thread & (following < threads.end[thunks]),
        np.bool_,
    )


def _programs(
    trace: HostTrace,
    threads: Threads,
    positions: Int64Array,
) -> tuple[Int32Array, tuple[int, ...]]:
    """(index of each event's program, -1 without one, the programs' ids)."""
    where, value = threads.integers(trace.stat(stats.PROGRAM_ID))
    if not len(where):
        return constant(-1, len(positions)), ()
    every = distinct(value)
    program = value_at(
        where,
        np.searchsorted(every, value).astype(np.int32),
        positions,
        -1,
    )
    return program, tuple(every.tolist())


def _names(
    threads: Threads,
    positions: Int64Array,
) -> tuple[Int32Array, tuple[str, ...]]:
    """(index of each event's name in the names, the names). A run of the eager runtime
    is named by its op, as `MatMul:MatMul`.
    """
    row = threads.row[positions]
    eager = eager_runs(threads)
    if not len(eager.kernels):
        return row, threads.names
    of_call = threads.row[eager.calls]
    called = distinct(of_call)
    ops = [single_op(threads.names[called_row]) for called_row in called.tolist()]
    known = (np.searchsorted(called, of_call) + len(threads.names)).astype(np.int32)
    named = value_at(eager.kernels, known, positions, -1)
    return np.where(named < 0, row, named), (
        *threads.names,
        *(f"{op}:{op}" for op in ops),
    )


def _modules(
    trace: HostTrace,
    names: tuple[str, ...],
    threads: Threads,
    positions: Int64Array,
) -> tuple[Int32Array, tuple[str, ...]]:
    """(index of each event's XLA module in the names, the names with the modules
    appended).
    """
    event, code = trace.stat(stats.HLO_MODULE).codes()
    if not len(event):
        return constant(-1, len(positions)), names + trace.stat(stats.HLO_MODULE).texts
    where = threads.positions(event)
    module = value_at(
        where[where >= 0],
        (code[where >= 0] + len(names)).astype(np.int32),
        positions,
        -1,
    )
    return module, names + trace.stat(stats.HLO_MODULE).texts
