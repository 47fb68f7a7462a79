"""What the devices compute, op by op: layer, type and source line of each, from whichever of path and HLO the trace has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from msgspec.structs import replace

from tfadvisor.metrics.registry import MetricAbsent, Question
from tfadvisor.metrics.remember import once
from tfadvisor.metrics.steady import needs_device, share
from tfadvisor.timeline.names.classes import DeviceClass
from tfadvisor.timeline.names.kernels import short_name
from tfadvisor.timeline.names.op_path import OpPath, op_path
from tfadvisor.timeline.run.run_timeline import RunTimeline
from tfadvisor.timeline.summary.device import OpTable
from tfadvisor.timeline.summary.op_in_program import InProgram
from tfadvisor.vocabulary import TimeClass

if TYPE_CHECKING:
    import numpy.typing as npt

_MOST = 4_000
"""Ops of a device that are told one by one; the others, the shortest, count as of no layer."""
_UNTELLING = frozenset(("custom-call", "fusion", "call", "bitcast", "tuple", "get-tuple-element"))
"""Opcodes that do not say what is computed."""

_CALLED = "StatefulPartitionedCall/"
"""How a function's ops are named where another function calls it."""


class Part(msgspec.Struct, frozen=True):
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
    """Lines of the user's program that lead to it, outermost first: `main train.py:42`."""

    @property
    def layer(self) -> str:
        """Its scope."""
        return self.path.layer if self.path else ""


class Parts(msgspec.Struct, frozen=True):
    """All that the devices computed in the counted steps."""

    parts: tuple[Part, ...]
    """The largest first."""
    compute_ps: int
    """Summed time of all compute ops, those that parts leave out included."""

    def by(self, key: Callable[[Part], str]) -> list[tuple[str, list[Part], int]]:
        """(key, its parts, their time) for each key but "", the largest first."""
        found: dict[str, list[Part]] = {}
        for part in self.parts:
            if name := key(part):
                found.setdefault(name, []).append(part)
        summed = [(name, parts, sum(one.total_ps for one in parts)) for name, parts in found.items()]
        return sorted(summed, key=lambda one: -one[2])


OpKey = tuple[str, str, str, str]
"""Path, HLO op, kernel and module; "" for what a row does not have."""


@once
def compute_parts(run: RunTimeline) -> Parts:
    """Raises MetricAbsent when nothing computes in a counted step."""
    needs_device(run)
    time: dict[OpKey, int] = {}
    count: dict[OpKey, int] = {}
    total = 0
    for device in (device for host in run.hosts for device in host.devices):
        table = device.ops_by_path
        rows = table.of_class(DeviceClass.COMPUTE)
        total += int(table.total_ps[rows].sum())
        hottest = rows[np.argsort(-table.total_ps[rows], kind="stable")][:_MOST]
        spent = zip(
            keys_of(table, hottest), table.total_ps[hottest].tolist(), table.count[hottest].tolist(), strict=True
        )
        for key, ps, number in spent:
            time[key] = time.get(key, 0) + ps
            count[key] = count.get(key, 0) + number
    if not total:
        raise MetricAbsent("no op begins in a counted step")
    known = _known(run)
    parts = [_part(key, time[key], count[key], known.get((key[1] or key[2], key[3]))) for key in time]
    return Parts(tuple(_with_their_layer(sorted(parts, key=lambda one: -one.total_ps))), total)


def compute_fraction_of(question: Question, chosen: Sequence[Part]) -> float:
    """Share of step time of these ops: their share of the compute time, of that in the steps."""
    found = compute_parts(question.run)
    return sum(one.total_ps for one in chosen) / found.compute_ps * share(question, TimeClass.COMPUTE)


def named_by_tensorflow(question: Question) -> tuple[Part, ...]:
    """What the devices compute, the largest first. Raises MetricAbsent where the trace does not name the types of ops."""
    found = compute_parts(question.run).parts
    if not any(one.op_type for one in found):
        raise MetricAbsent("the trace does not name the types of ops")
    return found


def with_gradients(question: Question) -> tuple[Part, ...]:
    """The same of a step that TensorFlow differentiates. Raises MetricAbsent where the trace names no gradient."""
    found = compute_parts(question.run).parts
    if not any(one.path is not None and one.path.is_gradient for one in found):
        raise MetricAbsent("the trace names no op of a gradient tape")
    return found


def _with_their_layer(parts: Sequence[Part]) -> list[Part]:
    """Gradients named after the op that they are of, `conv2d/convolution/Conv2DBackpropFilter`, count in its layer."""
    layer_of = {f"{one.layer}/{one.path.name}": one.layer for one in parts if one.path and not one.path.is_gradient}
    return [
        replace(one, path=one.path._replace(layer=layer_of[one.layer]))
        if one.path and one.path.is_gradient and layer_of.get(one.layer)
        else one
        for one in parts
    ]


def keys_of(table: OpTable, rows: npt.NDArray[np.intp] | tuple[int, ...]) -> list[OpKey]:
    """What tells the op of each row apart."""
    names, chosen = (*table.names, ""), np.asarray(rows, np.intp)  # the last name where a row has none
    columns = (column[chosen].tolist() for column in (table.path, table.op, table.name, table.module))
    return [
        (names[path], names[op], names[name], names[module]) for path, op, name, module in zip(*columns, strict=True)
    ]


def name_with_place(run: RunTimeline, key: OpKey) -> str:
    """`fusion.3 (train.py:42)`, without the place where the HLO does not tell it."""
    one = _part(key, 0, 0, _known(run).get((key[1] or key[2], key[3])))
    return f"{one.name} ({one.line})" if one.line else one.name


def _known(run: RunTimeline) -> Mapping[tuple[str, str], InProgram]:
    """What the HLO says, by (op, else kernel; module) of the device that each host's HLO is looked up for."""
    found = {}
    for host in run.hosts:
        for one in host.program.hot_ops.ops if host.program is not None else ():
            if one.known is not None and host.program is not None:
                for _, op, kernel, module in keys_of(host.program_device.ops, one.rows):
                    found[op or kernel, module] = one.known
    return found


def _part(key: OpKey, total_ps: int, count: int, known: InProgram | None) -> Part:
    text, op, kernel, module = key
    path = op_path(text) if text else None
    if path is None and known is not None and known.op_name:
        path = op_path(known.op_name)
    effect = known.effect if known is not None and known.effect not in _UNTELLING else ""
    return Part(
        name=op or (text.rpartition(":")[0].removeprefix(_CALLED) if path and text else "") or short_name(kernel),
        path=path,
        op_type=effect or (path.op_type if path else ""),
        line=f"{known.file}:{known.line}" if known is not None and known.file else "",
        total_ps=total_ps,
        count=count,
        flops=None if known is None or known.flops is None else known.flops * count,
        bytes=None if known is None else known.cost.bytes * count,
        module=module,
        stack=_stack(known) if known is not None else (),
    )


def _stack(known: InProgram) -> tuple[str, ...]:
    if known.location is None:
        return ()
    frames = [f"{one.function} {one.file.rpartition('/')[2]}:{one.line}" for one in reversed(known.location.frames)]
    return tuple(frames) or ((f"{known.file}:{known.line}",) if known.file else ())
