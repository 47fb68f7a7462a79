"""One host reduced to what metrics ask, so that memory does not grow with the number of
hosts or their events.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from tfadvisor.arrays import NO_VALUES, Int64Array, falses
from tfadvisor.timeline.host.host_costs import HostCost
from tfadvisor.timeline.host_timeline import HostBreakdown, HostTimeline
from tfadvisor.timeline.intervals import Intervals, union_of
from tfadvisor.timeline.names.classes import DeviceClass
from tfadvisor.timeline.sketches import FEWEST_KEPT
from tfadvisor.timeline.summary.device import DeviceSummary, sharing, summarize_device
from tfadvisor.timeline.summary.hot_ops import (
    CalmOps,
    HotOp,
    HotOps,
    calm_ops,
    hot_ops,
    hottest_program,
)
from tfadvisor.timeline.timeline_parts import Device, Steps

if TYPE_CHECKING:
    from tfadvisor.program import Module
    from tfadvisor.program.looked_up import LookedUpTable
    from tfadvisor.program.parameters import CopiedArguments, ManyNumbers
    from tfadvisor.timeline.host.xla_runs import XlaRuns
    from tfadvisor.timeline.summary.main_program import ProgramExcerpts, ProgramPatterns
    from tfadvisor.timeline.summary.program_products import ProgramProducts
_MOST_KEPT = 2048
"""Values of each kind of distribution on all devices of a host together: 16 kB."""
_FAR_MORE = 2
"""How many times as long another device must compute for programs to be looked at
instead of the first.
"""


class DeviceTime(msgspec.Struct, frozen=True):
    """When the active devices of a host work, and what it does while they do not."""

    concurrency: float
    """Summed device work over the time in which any device works, in the counted steps;
    0 when none works.
    """
    gaps: Int64Array
    """Time without device work around each boundary between two counted steps, ps."""
    short_launch_ps: Int64Array
    """Time of the breakdown's class LAUNCH in pieces shorter than 100 µs, shape (active
    devices, steps).

    One row without a device.
    """


class ProgramSummary(msgspec.Struct, frozen=True):
    """What one device computes: the first active one, or the one that most HLO is
    about.
    """

    device: int
    """Its index among the host's active devices."""
    hot_ops: HotOps
    """Its ops that take most time."""
    patterns: ProgramPatterns | None = None
    """What its hottest program could do better; None on a single CPU and without HLO.
    """
    products: tuple[ProgramProducts, ...] = ()
    """What its programs multiplied; empty without HLO."""
    looked_up: tuple[LookedUpTable, ...] = ()
    """Tables of which its hottest program looks up rows and which it returns
    changed.
    """
    one_op_lines: Mapping[str, tuple[tuple[str, int], ...]] = {}
    """Files and lines of programs of hardly more than one op, by module."""
    loop_line: tuple[str, int] = ("", 0)
    """Of the loop that the host runs turn by turn; ("", 0) for unknown."""
    kept_arguments: int = 0
    """Arrays of floats that its hottest program returns changed and that are not
    donated.
    """
    copies: tuple[str, str, int, int] = ("", "", 0, 0)
    """(operation, file, line, how many) of the one of which that program holds most
    kernels.
    """
    numbers: ManyNumbers | None = None
    """Single numbers among the arguments of its hottest program; None where no call
    hands arrays over, and without HLO.
    """
    copier: CopiedArguments | None = None
    """What the program copies that copies most within the device; None where none does,
    and without HLO.
    """


class HostSummary(HostBreakdown, frozen=True):
    """One host without its events: what metrics read."""

    devices: tuple[DeviceSummary, ...]
    """The active ones, in the breakdown's order."""
    device_time: DeviceTime
    """When they work, and what the host does while they do not."""
    program: ProgramSummary | None
    """What one of them computes, None when there is none."""
    costs: Mapping[HostCost, int]
    """What each cost takes of the counted steps, ps."""
    calm: CalmOps = CalmOps()
    """How long its ops would take if nothing shared the cores with them."""
    excerpts: ProgramExcerpts | None = None
    """Of the programs what a page shows; None unless that was asked for."""
    copying: tuple[DeviceSummary, ...] = ()
    """Devices that only copy: in no share of the step, but for what the run's ops are.
    """

    @property
    def hot_ops(self) -> tuple[HotOp, ...]:
        """Those of `program` that take most time; empty where that is not known."""
        return self.program.hot_ops.ops if self.program is not None else ()

    @property
    def program_device(self) -> DeviceSummary:
        """The one that `program` is about, the first where nothing is known. Raises
        IndexError without a device.
        """
        return self.devices[self.program.device if self.program is not None else 0]


def summarize(host: HostTimeline, *, excerpts: bool = False) -> HostSummary:
    """What metrics need of one host. excerpts: with parts of its programs to be
    shown.
    """
    active = host.active_devices()
    steps = host.steps
    most = max(FEWEST_KEPT, _MOST_KEPT // max(len(active), 1))
    held: dict[object, object] = {}
    devices = tuple(
        sharing(summarize_device(device, steps, host.programs, most), held)
        for device in active
    )
    copying = [
        candidate
        for candidate in host.devices
        if devices and not candidate.is_active and len(candidate.transfer)
    ]
    program = _program(devices, active, host) if devices else None
    return HostSummary(
        **{name: getattr(host, name) for name in HostBreakdown.__struct_fields__},
        devices=devices,
        device_time=_device_time(host, active),
        program=program,
        costs={cost: steps.spent_on(time) for cost, time in host.costs.items()},
        calm=calm_ops(active, steps),
        copying=tuple(
            sharing(summarize_device(device, steps, host.programs, most), held)
            for device in copying
        ),
        excerpts=_excerpts(devices, host, program)
        if excerpts and program is not None
        else None,
    )


def _excerpts(
    devices: Sequence[DeviceSummary],
    host: HostTimeline,
    program: ProgramSummary,
) -> ProgramExcerpts | None:
    if not host.programs.keys:
        return None
    from tfadvisor.timeline.summary.main_program import (
        program_excerpts,
    )  # only a page shows them

    return program_excerpts(program.hot_ops, devices[program.device].ops, host.programs)


def _device_time(host: HostTimeline, devices: Sequence[Device]) -> DeviceTime:
    busy = [
        union_of(device.compute, device.collective, device.transfer)
        for device in devices
    ]
    together = union_of(*busy)
    works = sum(map(host.steps.spent_on, busy))
    any_works = host.steps.spent_on(together)
    return DeviceTime(
        concurrency=works / any_works if any_works else 0.0,
        gaps=_gaps(
            union_of(together, *(device.held for device in devices)),
            _inner_boundaries(host.steps),
        ),
        short_launch_ps=host.short_launch_ps,
    )


def _program(
    devices: Sequence[DeviceSummary],
    active: Sequence[Device],
    host: HostTimeline,
) -> ProgramSummary:
    programs = host.programs
    index = _telling_device(devices) if programs.keys else 0
    ops = devices[index].ops
    hottest = hot_ops(ops, programs, active[index].stated)
    if not programs.keys:
        return ProgramSummary(index, hottest)
    from tfadvisor.program.looked_up import looked_up_tables  # small traces need none
    from tfadvisor.program.parameters import (
        ManyNumbers,
        copied_arguments,
        many_numbers,
    )
    from tfadvisor.timeline.summary.main_program import program_patterns, told
    from tfadvisor.timeline.summary.one_op_programs import lines_of_one_op_programs
    from tfadvisor.timeline.summary.program_products import program_products

    main = hottest_program(ops, programs)
    hands_over = len(host.costs[HostCost.HANDING])
    return ProgramSummary(
        index,
        hottest,
        program_patterns(main) if main is not None else None,
        program_products(ops, programs),
        told(looked_up_tables, main, ()),
        lines_of_one_op_programs(ops, programs),
        *_of_loops(main, host.evidence.xla),
        numbers=told(many_numbers, main, ManyNumbers()) if hands_over else None,
        copier=told(
            copied_arguments, hottest_program(ops, programs, DeviceClass.D2D), None
        ),
    )


def _of_loops(
    program: Module | None, xla: XlaRuns
) -> tuple[tuple[str, int], int, tuple[str, str, int, int]]:
    """The last three of a ProgramSummary. They are asked for only where graphs or loops
    may hold a step up.
    """
    if program is None or not (xla.turns or xla.updates):
        return ("", 0), 0, ("", "", 0, 0)
    from tfadvisor.program.patterns import most_copies  # small traces need none
    from tfadvisor.timeline.summary.main_program import kept_arguments, line_of, told

    kept = told(kept_arguments, program, 0)
    return line_of(program, xla.loop), kept, most_copies(program)


def _telling_device(devices: Sequence[DeviceSummary]) -> int:
    """Index of the first device, unless another computes for programs more than twice
    as long as it does.
    """
    known = [
        int(
            device.ops.total_ps[
                (device.ops.kind == DeviceClass.COMPUTE.value)
                & (device.ops.module >= 0)
            ].sum()
        )
        for device in devices
    ]
    most = int(np.argmax(known))
    return most if known[most] > _FAR_MORE * known[0] else 0


def _inner_boundaries(steps: Steps) -> Int64Array:
    """Times of the boundaries between a counted step and the step after it, ps."""
    followed = falses(steps)
    followed[:-1] = steps.steady()[:-1] & (steps.ends[:-1] == steps.starts[1:])
    return steps.ends[followed]


def _gaps(busy: Intervals, boundary: Int64Array) -> Int64Array:
    """From the last device event before a boundary to the first after it; 0 where a
    device works across it.
    """
    if not len(busy) or not len(boundary):
        return NO_VALUES
    following = np.searchsorted(
        busy.starts,
        boundary,
        side="left",
    )  # the first to begin there or later
    before = busy.ends[np.maximum(following - 1, 0)]
    after = busy.starts[np.minimum(following, len(busy.starts) - 1)]
    crossing = (following > 0) & (before > boundary)
    known = ~crossing & (following > 0) & (following < len(busy.starts))
    return np.where(known, after - before, 0)[known | crossing]
