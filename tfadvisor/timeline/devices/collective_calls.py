"""The collectives that one device took part in, as its events and its programs show
them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from tfadvisor.arrays import (
    Int32Array,
    Int64Array,
    distinct,
    is_in,
    true_at,
    unknown,
    zeros,
)
from tfadvisor.errors import TraceError
from tfadvisor.program import Modules
from tfadvisor.tallies import listed
from tfadvisor.timeline.intervals import Intervals, difference
from tfadvisor.timeline.names.classes import DeviceClass
from tfadvisor.timeline.names.collective_events import (
    CollectiveKind,
    collective_of,
    kind_of_opcode,
    op_stem,
)
from tfadvisor.timeline.names.device_events import (
    done_half,
    instruction_name,
    is_done_half,
)
from tfadvisor.timeline.timeline_parts import Device, DeviceOps, Steps
from tfadvisor.timeline.windows import step_of

if TYPE_CHECKING:
    from tfadvisor.program.exchanges import CollectiveOp


class CollectiveCalls(msgspec.Struct, frozen=True):
    """One row a collective, by ascending start; shape (calls,).

    label: index into labels, which are distinct: the HLO op's name where the trace has
    it, else the kernel's. kernel: index into labels of the event's own name. module:
    index into modules, -1 without one. start, end: ps on the host's clock, waiting for
    others included. exposed_ps: how much of it the device only communicates, no
    computation beside it; exposed_from: when that begins, the end where it never does.
    step: the step it begins in, -1 outside of all. key: what the devices' calls of one
    collective share, -1 without one. bytes: of the message on one device, -1 where the
    trace does not say. group: how many devices exchange it, 0 where the trace does not
    say. kinds and dtypes: of each label, by the HLO where the trace has it, else by
    name; a dtype is "" where neither says.
    """

    label: Int32Array
    kernel: Int32Array
    module: Int32Array
    start: Int64Array
    end: Int64Array
    exposed_ps: Int64Array
    exposed_from: Int64Array
    step: Int64Array
    key: Int64Array
    bytes: Int64Array
    group: Int64Array
    labels: tuple[str, ...]
    kinds: tuple[CollectiveKind, ...]
    modules: tuple[str, ...]
    dtypes: tuple[str, ...] = ()

    def __len__(self) -> int:
        """Number of collectives."""
        return len(self.start)


def collective_calls(
    device: Device,
    steps: Steps,
    programs: Modules,
) -> CollectiveCalls:
    """The collectives in order of start. The `-done` half of an asynchronous pair is
    part of the call, not another, unless the device shows nothing that starts such
    calls.
    """
    ops = device.ops
    calls, dones = _calls_and_dones(ops)
    kernel = ops.name[calls]
    op = np.where(ops.op[calls] >= 0, ops.op[calls], kernel)
    labels = _labels(np.concatenate([op, kernel]), ops.names)
    label = labels.of(op)
    modules = distinct(ops.module[calls])
    modules = modules[modules >= 0]
    module = np.searchsorted(modules, ops.module[calls])
    module[ops.module[calls] < 0] = -1
    module_names = tuple(ops.names[row] for row in modules.tolist())

    named = [collective_of(text) for text in labels.texts]
    kinds = [found.kind if found else CollectiveKind.OTHER for found in named]
    dtypes = [found.dtype or "" if found else "" for found in named]
    size, group = _sizes(
        label,
        module,
        labels.texts,
        module_names,
        programs,
        kinds,
        dtypes,
    )
    start = ops.start[calls]
    end = _ends(ops, calls, dones)
    alone = difference(device.collective, device.compute)
    return CollectiveCalls(
        label=label,
        kernel=labels.of(kernel),
        module=module.astype(np.int32),
        start=start,
        end=end,
        exposed_ps=alone.within(start, end),
        exposed_from=_first_inside(alone, start, end),
        step=step_of(start, steps),
        key=ops.meeting[calls],
        bytes=size,
        group=group,
        labels=labels.texts,
        kinds=tuple(kinds),
        modules=module_names,
        dtypes=tuple(dtypes),
    )


def _calls_and_dones(ops: DeviceOps) -> tuple[Int64Array, Int64Array]:
    """(the ops that are collectives, the ends of those of them that are
    asynchronous).
    """
    everything = true_at(ops.kind == DeviceClass.COLLECTIVE.value)
    name_of = {row: ops.names[row] for row in distinct(ops.name[everything]).tolist()}
    ends = {row: name for row, name in name_of.items() if is_done_half(name)}
    started = {
        op_stem(done_half(name)) for row, name in name_of.items() if row not in ends
    }
    done = [row for row, name in ends.items() if op_stem(name) in started]
    is_done = is_in(ops.name[everything], done)
    return everything[~is_done], everything[is_done]


class _Labels(NamedTuple):
    """Distinct texts of the rows of a column."""

    rows: Int32Array
    """Ascending; several may bear one text."""
    numbers: Int32Array
    """The text of each row, as its place in texts."""
    texts: tuple[str, ...]

    def of(self, column: Int32Array) -> Int32Array:
        """The numbers of a column's texts."""
        return self.numbers[np.searchsorted(self.rows, column)]


def _labels(column: Int32Array, names: Sequence[str]) -> _Labels:
    numbers: dict[str, int] = {}
    rows = distinct(column)
    found = [numbers.setdefault(names[row], len(numbers)) for row in rows.tolist()]
    return _Labels(rows, np.array(found, np.int32), tuple(numbers))


def _ends(
    ops: DeviceOps,
    calls: Int64Array,
    dones: Int64Array,
) -> Int64Array:
    """End of each call: its own event's, or that of the `-done` which follows it before
    it is called again.

    `all-reduce-start.1` is waited for in `all-reduce-done.1`; both rows of `ops` in
    order of start.
    """
    end = ops.end[calls].copy()
    if not len(dones):
        return end
    starting = listed(
        (done_half(ops.names[row]), row) for row in distinct(ops.name[calls]).tolist()
    )
    finishing = listed(
        (instruction_name(ops.names[row]), row)
        for row in distinct(ops.name[dones]).tolist()
    )
    for name in starting.keys() & finishing.keys():
        mine = true_at(is_in(ops.name[calls], starting[name]))
        theirs = dones[is_in(ops.name[dones], finishing[name])]
        begins = ops.start[calls[mine]]
        again = np.append(begins[1:], np.iinfo(np.int64).max)
        following = np.searchsorted(ops.start[theirs], begins)
        done = theirs[np.minimum(following, len(theirs) - 1)]
        paired = (following < len(theirs)) & (ops.start[done] < again)
        call = mine[paired]
        end[call] = np.maximum(end[call], ops.end[done[paired]])
    return end


def _first_inside(
    instants: Intervals,
    start: Int64Array,
    end: Int64Array,
) -> Int64Array:
    """The first instant of a set inside each start .. end, the end where there
    is none.
    """
    if not len(instants):
        return end.copy()
    following = np.searchsorted(instants.ends, start, side="right")
    begins = instants.starts[np.minimum(following, len(instants) - 1)]
    first = np.minimum(np.maximum(begins, start), end)
    return np.where(following < len(instants), first, end)


def _sizes(
    label: Int32Array,
    module: Int64Array,
    labels: tuple[str, ...],
    modules: tuple[str, ...],
    programs: Modules,
    kinds: list[CollectiveKind],
    dtypes: list[str],
) -> tuple[Int64Array, Int64Array]:
    """(bytes, group size) of each call, by the HLO of its module; -1 and 0 where the
    trace does not hold it.

    kinds, dtypes: by label; what the HLO says takes the place of what the name says.
    """
    size = unknown(label)
    group = zeros(label)
    for index, name in enumerate(modules):
        known = collectives_by_name(programs, name)
        in_module = module == index
        for used in distinct(label[in_module]).tolist():
            op = known.get(instruction_name(labels[used]))
            if op is None:
                continue
            chosen = in_module & (label == used)
            size[chosen] = op.bytes
            group[chosen] = op.group_size or 0
            kinds[used] = kind_of_opcode(op.kind) or kinds[used]
            dtypes[used] = op.dtype or dtypes[used]
    return size, group


# Which ops of a compiled program are collectives, by the HLO that the trace carries.


def collectives_by_name(programs: Modules, module: str) -> Mapping[str, CollectiveOp]:
    """Of all programs of one name; empty where the trace does not hold their HLO, or
    holds it damaged.
    """
    if not programs.keys:
        return {}
    from tfadvisor.program.exchanges import collectives  # only with HLO in the trace

    found = {}
    try:
        for program in programs.named(module):
            found.update({op.name: op for op in collectives(program)})
    except TraceError:
        return {}
    return found
