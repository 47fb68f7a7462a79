"""What the page shows of what is computed: ops by layer, type, line and call stack, HLO
text, and memory.
"""

from __future__ import annotations

from tfadvisor.metrics.layers import ComputedOp, compute_parts
from tfadvisor.metrics.registry import MetricAbsent
from tfadvisor.metrics.steady import device_steps
from tfadvisor.report.forms.page_data import (
    BlockRow,
    BufferRow,
    ExcerptRow,
    MemoryInfo,
    PartRow,
    PeaksInfo,
    ProgramMemoryInfo,
)
from tfadvisor.timeline.devices.device_kinds import peaks_of
from tfadvisor.timeline.run.run_summary import RunSummary
from tfadvisor.units import PS_PER_MS

_MOST_PARTS = 4_000
_MOST_CURVES = 32
_STACK_DEPTH = 24


def part_rows(run: RunSummary) -> tuple[PartRow, ...]:
    """The largest first; the last one, without a name, holds what the others leave out.
    Empty where nothing computes.
    """
    try:
        found = compute_parts(run)
    except MetricAbsent:
        return ()
    steps = max(device_steps(run), 1)
    rows = tuple(_part_row(one, steps) for one in found.parts[:_MOST_PARTS])
    left = found.compute_ps - sum(one.total_ps for one in found.parts[:_MOST_PARTS])
    if left <= 0:
        return rows
    return (
        *rows,
        PartRow("", "", "", "", "", "", left / steps / PS_PER_MS, 0.0, None, None),
    )


def _part_row(part: ComputedOp, steps: int) -> PartRow:
    return PartRow(
        name=part.name,
        module=part.module,
        layer=part.layer,
        op_type=part.op_type,
        line=part.line,
        stack="\n".join(part.stack[-_STACK_DEPTH:]),
        ms_per_step=part.total_ps / steps / PS_PER_MS,
        count_per_step=part.count / steps,
        flops=None if part.flops is None else part.flops / steps,
        bytes=None if part.bytes is None else part.bytes / steps,
    )


def peaks_info(run: RunSummary) -> PeaksInfo:
    """Of the first device of the run."""
    for host in run.hosts:
        for device in host.devices:
            peaks = peaks_of(device.kind, device.properties)
            return PeaksInfo(
                device.model or device.kind.value.upper(),
                peaks.flops,
                peaks.bytes_per_s,
            )
    return PeaksInfo("", None, None)


def excerpt_rows(run: RunSummary) -> tuple[ExcerptRow, ...]:
    """Each op once, whichever hosts run it."""
    found: dict[tuple[str, str, str], ExcerptRow] = {}
    for one in (
        one
        for host in run.hosts
        if host.excerpts is not None
        for one in host.excerpts.ops
    ):
        operands, users = (
            tuple(f"{each.name}\n{each.opcode}\n{each.shape}" for each in some)
            for some in (one.shown.operands, one.shown.users)
        )
        key = one.op, one.kernel, one.module
        found.setdefault(
            key, ExcerptRow(*key, one.shown.text, operands, users, one.shown.more)
        )
    return tuple(found.values())


def memory_infos(run: RunSummary) -> tuple[MemoryInfo, ...]:
    """What the allocators of all hosts report over time."""
    found = [
        (host.host, curve)
        for host in run.hosts
        for curve in host.evidence.memory_curves
    ]
    return tuple(
        MemoryInfo(
            host=host,
            allocator=one.allocator,
            at_ms=tuple((one.at_ps / PS_PER_MS).tolist()),
            bytes=tuple(one.bytes.tolist()),
            peak_ms=one.peak_ps / PS_PER_MS,
            peak_bytes=one.peak_bytes,
            highest_bytes=one.highest_bytes,
            capacity_bytes=one.capacity_bytes,
            live=tuple(
                BlockRow(b.op, b.region, b.shape, b.bytes, b.since_ps / PS_PER_MS)
                for b in one.live
            ),
            unseen_bytes=one.unseen_bytes,
        )
        for host, one in found[:_MOST_CURVES]
    )


def program_memories(run: RunSummary) -> tuple[ProgramMemoryInfo, ...]:
    """Each program once, the one that needs most first."""
    found: dict[str, ProgramMemoryInfo] = {}
    for one in (
        one
        for host in run.hosts
        if host.excerpts is not None
        for one in host.excerpts.memory
    ):
        place = [
            f"{each.file}:{each.line}" if each.file else "" for each in one.buffers
        ]
        buffers = tuple(
            BufferRow(
                each.kind.value,
                each.name,
                each.opcode,
                each.shape,
                each.bytes,
                line,
                each.op_name,
            )
            for each, line in zip(one.buffers, place, strict=True)
        )
        kinds = {kind.value: size for kind, size in one.bytes_of.items()}
        found.setdefault(
            one.program,
            ProgramMemoryInfo(one.program, one.bytes, kinds, buffers, one.left_out),
        )
    return tuple(sorted(found.values(), key=lambda one: -one.bytes))
