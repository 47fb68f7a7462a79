"""What the devices compute, op by op: layer, type and source line of each, from
whichever of path and HLO the trace has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from msgspec.structs import replace

from tfadvisor.arrays import descending
from tfadvisor.metrics.capture import unused_device
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric, once
from tfadvisor.metrics.steady import a_device, counted_hosts, gpus, share
from tfadvisor.printable import short_kernel
from tfadvisor.tallies import listed
from tfadvisor.timeline.devices import vendor
from tfadvisor.timeline.names.classes import DeviceClass
from tfadvisor.timeline.names.op_path import (
    OpPath,
    cudnn_has_kernel,
    is_cudnn_recurrence,
    loops_over_cell,
    op_path,
    recurrent_cell,
    recurrent_layer,
)
from tfadvisor.timeline.run import RunSummary
from tfadvisor.timeline.summary import CalmOps, DeviceSummary, HotOp, OpTable
from tfadvisor.units import Unit
from tfadvisor.vocabulary import Better, TimeClass

if TYPE_CHECKING:
    import numpy.typing as npt

    from tfadvisor.timeline import InProgram

_MOST = 4_000
"""Ops of a device that are counted one by one; the others, the shortest, count as of no
layer.
"""
_UNTELLING = frozenset(
    ("custom-call", "fusion", "call", "bitcast", "tuple", "get-tuple-element")
)
"""Opcodes that do not say what is computed."""

_CALLED = "StatefulPartitionedCall/"
"""How a function's ops are named where another function calls it."""


class ComputedOp(msgspec.Struct, frozen=True):
    """One op of a program, on all devices. "" for what the trace does not tell."""

    name: str
    """`model/dense/MatMul`, `fusion.3`, else the kernel's."""
    path: OpPath | None
    op_type: str
    line: str
    """`train.py:42`."""
    total_ps: int
    """In the counted steps of all devices."""
    count: int
    flops: int | None
    """Of all its executions; None where the HLO does not say."""
    bytes: int | None
    module: str = ""
    """The compiled program."""
    stack: tuple[str, ...] = ()
    """Lines of the user's program that lead to it, outermost first: `main train.py:42`.
    """

    @property
    def layer(self) -> str:
        """Its scope."""
        return self.path.layer if self.path else ""


class ComputedOps(msgspec.Struct, frozen=True):
    """All that the devices computed in the counted steps."""

    parts: tuple[ComputedOp, ...]
    """The largest first."""
    compute_ps: int
    """Summed time of all compute ops, those that parts leave out included."""

    def by(
        self,
        key: Callable[[ComputedOp], str],
    ) -> list[tuple[str, list[ComputedOp], int]]:
        """(key, its parts, their time) for each key but "", the largest first."""
        found = listed((name, part) for part in self.parts if (name := key(part)))
        summed = [
            (name, parts, sum(part.total_ps for part in parts))
            for name, parts in found.items()
        ]
        return sorted(summed, key=lambda group: -group[2])


OpKey = tuple[str, str, str, str]
"""Path, HLO op, kernel and module; "" for what a row does not have."""


@once
def compute_parts(run: RunSummary) -> ComputedOps:
    """Raises MetricAbsent when nothing computes in a counted step."""
    a_device(run)
    time: dict[OpKey, int] = {}
    count: dict[OpKey, int] = {}
    total = 0
    devices = (device for host in run.hosts for device in host.devices)
    for device, table in tables_over_devices(devices, _MOST):
        rows = table.of_class(DeviceClass.COMPUTE)
        total += int(table.total_ps[rows].sum())
        own = device.ops_by_path.total_ps[rows]
        hottest = rows[descending(own)][:_MOST]
        spent = zip(
            keys_of(table, hottest),
            table.total_ps[hottest].tolist(),
            table.count[hottest].tolist(),
            strict=True,
        )
        for key, ps, number in spent:
            time[key] = time.get(key, 0) + ps
            count[key] = count.get(key, 0) + number
    if not total:
        raise MetricAbsent("no op begins in a counted step")
    parts = sorted(parts_of(run, time, count).values(), key=lambda part: -part.total_ps)
    return ComputedOps(tuple(parts), total)


def parts_of(
    run: RunSummary,
    time: Mapping[OpKey, int],
    count: Mapping[OpKey, int],
) -> dict[OpKey, ComputedOp]:
    """The ops of these keys with what paths and HLO tell of them. time: ps. count: how
    often they run.
    """
    known = known_by_hlo(run)
    parts = [
        _part(key, time[key], count[key], known.get((key[1] or key[2], key[3])))
        for key in time
    ]
    placed = [_with_noted_line(run, part) for part in parts]
    return dict(zip(time, _with_their_layer(placed), strict=True))


def _with_noted_line(run: RunSummary, part: ComputedOp) -> ComputedOp:
    """Where only what was noted beside the trace knows which line made it."""
    if part.line or not run.op_lines.ops:
        return part
    noted = run.op_lines.line_of(part.name, part.op_type)
    if noted is None:
        return part
    line = f"{noted.file}:{noted.line}"
    return replace(part, line=line, stack=(f"{noted.function} {line}",))


def compute_fraction_of(question: Question, chosen: Sequence[ComputedOp]) -> float:
    """Share of step time of these ops: their share of the compute time, of that in the
    steps.
    """
    found = compute_parts(question.run)
    return (
        sum(part.total_ps for part in chosen)
        / found.compute_ps
        * share(question, TimeClass.COMPUTE)
    )


def named_by_tensorflow(question: Question) -> tuple[ComputedOp, ...]:
    """What the devices compute, the largest first. Raises MetricAbsent where the trace
    does not name the types of ops.
    """
    found = compute_parts(question.run).parts
    if not any(part.op_type for part in found):
        raise MetricAbsent("the trace does not name the types of ops")
    return found


def _with_their_layer(parts: Sequence[ComputedOp]) -> list[ComputedOp]:
    """Gradients named after the op that they are of,
    `conv2d/convolution/Conv2DBackpropFilter`, count in its layer.
    """
    layer_of = {
        f"{part.layer}/{part.path.name}": part.layer
        for part in parts
        if part.path and not part.path.is_gradient
    }
    return [
        replace(part, path=part.path._replace(layer=layer_of[part.layer]))
        if part.path and part.path.is_gradient and layer_of.get(part.layer)
        else part
        for part in parts
    ]


_SUMS = ("count", "total_ps", "small")
"""The columns of a table that are added up."""


def tables_over_devices(
    devices: Iterable[DeviceSummary], most: int
) -> list[tuple[DeviceSummary, OpTable]]:
    """The devices' tables by path, those whose rows are about the same as one, each
    with the first device that has it: the hosts of a run mostly run the same programs.
    most: rows of a table that are looked at; larger ones are not added up.
    """
    alike = listed(
        (
            _rows_of(device.ops_by_path) if len(device.ops_by_path) <= most else at,
            device,
        )
        for at, device in enumerate(devices)
    )
    return [(mine[0], _added_up(mine)) for mine in alike.values()]


def _rows_of(table: OpTable) -> object:
    """What rows are about, to be compared."""
    columns = (
        getattr(table, name) for name in table.__struct_fields__ if name not in _SUMS
    )
    return tuple(
        column.tobytes() if isinstance(column, np.ndarray) else column
        for column in columns
    )


def _added_up(devices: Sequence[DeviceSummary]) -> OpTable:
    first, *others = (device.ops_by_path for device in devices)
    if not others:
        return first
    sums = {
        name: sum((getattr(table, name) for table in others), getattr(first, name))
        for name in _SUMS
    }
    return replace(first, **sums)


def keys_of(
    table: OpTable,
    rows: npt.NDArray[np.intp] | tuple[int, ...],
) -> list[OpKey]:
    """What tells the op of each row apart."""
    names = (*table.names, "")
    chosen = np.asarray(rows, np.intp)  # the last name where a row has none
    columns = (column[chosen].tolist() for column in (table.path, table.op, table.name))
    modules = map(table.module_of(), chosen.tolist())
    return [
        (names[path], names[op], names[name], module)
        for path, op, name, module in zip(*columns, modules, strict=True)
    ]


def name_with_place(run: RunSummary, key: OpKey) -> str:
    """`fusion.3 (train.py:42)`, without the place where the HLO does not tell it."""
    part = _part(key, 0, 0, known_by_hlo(run).get((key[1] or key[2], key[3])))
    return f"{part.name} ({part.line})" if part.line else part.name


def placed(run: RunSummary, op: HotOp) -> str:
    """`fusion.3 (train.py:42)`, by HLO or as noted beside the trace; "" where neither
    tells the line.
    """
    own = op.place()
    if own or not run.op_lines.ops:
        return own
    name, _, kind = op.name().rpartition(":")
    noted = run.op_lines.line_of(name, kind)
    return f"{name} ({noted.file}:{noted.line})" if noted is not None else ""


@once
def known_by_hlo(run: RunSummary) -> Mapping[tuple[str, str], InProgram]:
    """What the HLO says, by (op, else kernel; module) of the device that each host's
    HLO is looked up for.
    """
    found = {}
    for host in run.hosts:
        known = [(row, op.known) for op in host.hot_ops if op.known for row in op.rows]
        if not known:
            continue
        keys = keys_of(host.program_device.ops, tuple(row for row, _ in known))
        for (_, op, kernel, module), (_, in_program) in zip(keys, known, strict=True):
            found[op or kernel, module] = in_program
    return found


def _part(
    key: OpKey,
    total_ps: int,
    count: int,
    known: InProgram | None,
) -> ComputedOp:
    text, op, kernel, module = key
    own = path = op_path(text) if text else None
    if path is None and known is not None and known.op_name:
        path = op_path(known.op_name)
    return ComputedOp(
        name=op
        or (text.rpartition(":")[0].removeprefix(_CALLED) if own else "")
        or short_kernel(kernel),
        path=path,
        op_type=_effect(known) or (path.op_type if path else "") or _target(known),
        line=f"{known.file}:{known.line}" if known is not None and known.file else "",
        total_ps=total_ps,
        count=count,
        flops=None if known is None or known.flops is None else known.flops * count,
        bytes=None if known is None else known.cost.bytes * count,
        module=module,
        stack=_stack(known) if known is not None else (),
    )


def _effect(known: InProgram | None) -> str:
    """What the HLO says that an op does; "" where that tells less than its path. A
    library's product may bear the path of the transposition that it took in.
    """
    if known is None:
        return ""
    if known.effect not in _UNTELLING:
        return known.effect
    return "dot" if known.products else ""


def _target(known: InProgram | None) -> str:
    return known.target if known is not None else ""


def _stack(known: InProgram) -> tuple[str, ...]:
    if known.location is None:
        return ()
    frames = [
        f"{frame.function} {frame.file.rpartition('/')[2]}:{frame.line}"
        for frame in reversed(known.location.frames)
    ]
    return tuple(frames) or ((f"{known.file}:{known.line}",) if known.file else ())


# How much shorter the ops of a run without an accelerator are when nothing shares the
# cores with them.


@metric(better=Better.NEITHER)
def calm_op_share(question: Question) -> float:
    """What remains of the ops' time in a run without an accelerator if each execution
    takes as long as the fastest fifth of its op's. The rest is what other work on the
    same cores adds.
    """
    ops = _ops(question.run)
    return ops.calm_ps / ops.total_ps


@metric(better=Better.NEITHER)
def op_start_share(question: Question) -> float:
    """Share of the ops' time in a run without an accelerator that lies in the first 10
    µs of each: what ops cost by their number.
    """
    ops = _ops(question.run)
    return ops.starts_ps / ops.total_ps


@once
def _ops(run: RunSummary) -> CalmOps:
    every = [host.calm for host in counted_hosts(run)]
    total = sum(calm.total_ps for calm in every)
    if not total:
        raise MetricAbsent("no op computes on a host's own cores in a counted step")
    return CalmOps(
        total,
        sum(calm.calm_ps for calm in every),
        sum(calm.starts_ps for calm in every),
    )


# Work of recurrent layers, whose many small ops follow from their time steps.


@metric(better=Better.NEITHER)
def recurrent_cell_share(question: Question) -> float:
    """Share of the time of all compute ops that belongs to the time steps of
    recurrent layers (GRU, LSTM), gradients included.
    """
    found = compute_parts(question.run)
    if not any(part.layer for part in found.parts):
        raise MetricAbsent("the trace does not name the layers of ops")
    cells = sum(part.total_ps for part in found.parts if recurrent_layer(part.layer))
    return cells / found.compute_ps


@metric(unit=Unit.COUNT, better=Better.NEITHER)
def recurrent_cells(question: Question) -> float:
    """Number of cells of recurrent layers that the names of ops tell apart: one for
    each layer, or one for each time step where a Python loop calls the cell.
    """
    layers = [part.layer for part in compute_parts(question.run).parts]
    if not any(layers):
        raise MetricAbsent("the trace does not name the layers of ops")
    return float(len({cell for layer in layers if (cell := recurrent_cell(layer))}))


@fact
def cudnn_recurrence(question: Question) -> str:
    """`used` where a recurrent layer runs in cuDNN's own kernel, by names of ops and
    kernels; `not used` where an LSTM or GRU runs its cell for each time step instead:
    on an NVIDIA GPU, or on the cores beside one that TensorFlow does not see.
    """
    if _is_unused(question):
        return _without_gpu(question)
    names = (name for _, device in gpus(question.run) for name in device.ops.names)
    hosts = question.run.hosts
    if any(host.evidence.libraries.cudnn_recurrence for host in hosts) or any(
        map(is_cudnn_recurrence, names)
    ):
        return "used"
    if vendor(gpus(question.run)[0][1].properties) != "nvidia":
        raise MetricAbsent("cuDNN is for NVIDIA's GPUs")
    layers = (part.layer for part in compute_parts(question.run).parts)
    if not any(map(cudnn_has_kernel, layers)):
        raise MetricAbsent("no op is named for the cell of an LSTM or GRU")
    return "not used"


def _is_unused(question: Question) -> bool:
    try:
        unused_device(question)
    except MetricAbsent:
        return False
    return True


def _without_gpu(question: Question) -> str:
    devices = (device for host in question.run.hosts for device in host.devices)
    if any(any(map(loops_over_cell, device.ops.names)) for device in devices):
        return "not used"
    raise MetricAbsent("nothing shows whether cuDNN could run a layer of this model")
