"""The collectives that one device took part in, as its events and its programs show
them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from tfadvisor.arrays import distinct, is_in, true_at
from tfadvisor.errors import TraceError
from tfadvisor.program.find_modules import Modules
from tfadvisor.tallies import listed
from tfadvisor.timeline.intervals import Int64Array, Intervals, difference
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
    import numpy.typing as npt

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

    label: npt.NDArray[np.int32]
    kernel: npt.NDArray[np.int32]
    module: npt.NDArray[np.int32]
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
    everything = true_at(ops.kind == DeviceClass.COLLECTIVE.value)
    rows = distinct(ops.name[everything]).tolist()
    started = {
        op_stem(done_half(ops.names[row]))
        for row in rows
        if not is_done_half(ops.names[row])
    }
    done = [
        row
        for row in rows
        if is_done_half(ops.names[row]) and op_stem(ops.names[row]) in started
    ]
    is_done = is_in(ops.name[everything], done)
    mine = everything[~is_done]
    label_row = np.where(ops.op[mine] >= 0, ops.op[mine], ops.name[mine])
    used = distinct(np.concatenate([label_row, ops.name[mine]]))
    modules = distinct(ops.module[mine])
    modules = modules[modules >= 0]
    start = ops.start[mine]
    end = _ends(ops, mine, everything[is_done])
    module = np.where(
        ops.module[mine] >= 0,
        np.searchsorted(modules, ops.module[mine]),
        -1,
    )
    texts = [ops.names[row] for row in used.tolist()]
    index = {
        text: number for number, text in enumerate(dict.fromkeys(texts))
    }  # several rows may bear one name
    names = tuple(index)
    place = np.array([index[text] for text in texts], np.int32)
    label = place[np.searchsorted(used, label_row)]
    module_names = tuple(ops.names[row] for row in modules.tolist())
    named = [collective_of(name) for name in names]
    kinds = [one.kind if one else CollectiveKind.OTHER for one in named]
    dtypes = [(one.dtype or "") if one else "" for one in named]
    size, group = _sizes(label, module, names, module_names, programs, kinds, dtypes)
    alone = difference(device.collective, device.compute)
    return CollectiveCalls(
        label=label,
        kernel=place[np.searchsorted(used, ops.name[mine])],
        module=module.astype(np.int32),
        start=start,
        end=end,
        exposed_ps=alone.within(start, end),
        exposed_from=_first_inside(alone, start, end),
        step=step_of(start, steps),
        key=ops.meeting[mine],
        bytes=size,
        group=group,
        labels=names,
        kinds=tuple(kinds),
        modules=module_names,
        dtypes=tuple(dtypes),
    )


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
    rows = distinct(ops.name[calls]).tolist() if len(dones) else []
    starting = listed((done_half(ops.names[row]), row) for row in rows)
    finishing = listed(
        (instruction_name(ops.names[row]), row)
        for row in distinct(ops.name[dones]).tolist()
    )
    for name in starting.keys() & finishing.keys():
        mine = true_at(is_in(ops.name[calls], starting[name]))
        theirs = dones[is_in(ops.name[dones], finishing[name])]
        begins = ops.start[calls[mine]]
        following = np.searchsorted(ops.start[theirs], begins)
        done = theirs[np.minimum(following, len(theirs) - 1)]
        again = np.append(begins[1:], np.iinfo(np.int64).max)
        paired = (following < len(theirs)) & (ops.start[done] < again)
        end[mine[paired]] = np.maximum(end[mine[paired]], ops.end[done[paired]])
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
    first = np.maximum(instants.starts[np.minimum(following, len(instants) - 1)], start)
    return np.where(following < len(instants), np.minimum(first, end), end)


def _sizes(
    label: npt.NDArray[np.int32],
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
    size = np.full(len(label), -1, np.int64)
    group = np.zeros(len(label), np.int64)
    for index, name in enumerate(modules):
        known = collectives_by_name(programs, name)
        for used in distinct(label[module == index]).tolist():
            one = known.get(instruction_name(labels[used]))
            if one is not None:
                chosen = (module == index) & (label == used)
                size[chosen], group[chosen] = one.bytes, one.group_size or 0
                kinds[used] = kind_of_opcode(one.kind) or kinds[used]
                dtypes[used] = one.dtype or dtypes[used]
    return size, group


# Which ops of a compiled program are collectives, by the HLO that the trace carries.


def collectives_by_name(programs: Modules, module: str) -> Mapping[str, CollectiveOp]:
    """Of all programs of one name; empty where the trace does not hold their HLO, or
    holds it damaged.
    """
    if not programs.keys:
        return {}
    from tfadvisor.program.exchanges import collectives  # only with HLO in the trace

    try:
        return {
            one.name: one
            for program in programs.named(module)
            for one in collectives(program)
        }
    except TraceError:
        return {}
