"""What the page shows of what is computed: ops by layer, type, line and call stack, HLO
text, and memory.
"""

from __future__ import annotations

from collections.abc import Iterable

from tfadvisor.metrics import MetricAbsent, device_steps
from tfadvisor.metrics.layers import ComputedOp, compute_parts
from tfadvisor.program import Buffer, ProgramMemory
from tfadvisor.program.hlo_text import Neighbour
from tfadvisor.report.forms.page_data import (
    BlockRow,
    BufferRow,
    ExcerptRow,
    MemoryInfo,
    PartRow,
    PeaksInfo,
    ProgramMemoryInfo,
)
from tfadvisor.timeline.devices import peaks_of
from tfadvisor.timeline.picture import Block, MemoryCurve
from tfadvisor.timeline.run import RunSummary
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
    steps = device_steps(run)
    shown = found.parts[:_MOST_PARTS]
    rows = [_part_row(part, steps) for part in shown]

    left = found.compute_ps - sum(part.total_ps for part in shown)
    if left > 0:
        ms = left / steps / PS_PER_MS
        rows.append(PartRow("", "", "", "", "", "", ms, 0.0, None, None))
    return tuple(rows)


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
    for host in run.hosts:
        ops = host.excerpts.ops if host.excerpts is not None else ()
        for op in ops:
            key = op.op, op.kernel, op.module
            found.setdefault(
                key,
                ExcerptRow(
                    *key,
                    op.shown.text,
                    _in_lines(op.shown.operands),
                    _in_lines(op.shown.users),
                    op.shown.more,
                ),
            )
    return tuple(found.values())


def _in_lines(instructions: Iterable[Neighbour]) -> tuple[str, ...]:
    return tuple(
        f"{instruction.name}\n{instruction.opcode}\n{instruction.shape}"
        for instruction in instructions
    )


def memory_infos(run: RunSummary) -> tuple[MemoryInfo, ...]:
    """What the allocators of all hosts report over time."""
    found: list[MemoryInfo] = []
    for host in run.hosts:
        for curve in host.evidence.memory_curves:
            if len(found) < _MOST_CURVES:
                found.append(_memory_info(host.host, curve))
    return tuple(found)


def _memory_info(host: str, curve: MemoryCurve) -> MemoryInfo:
    at_ms = curve.at_ps / PS_PER_MS
    return MemoryInfo(
        host=host,
        allocator=curve.allocator,
        at_ms=tuple(at_ms.tolist()),
        bytes=tuple(curve.bytes.tolist()),
        peak_ms=curve.peak_ps / PS_PER_MS,
        peak_bytes=curve.peak_bytes,
        highest_bytes=curve.highest_bytes,
        capacity_bytes=curve.capacity_bytes,
        live=tuple(_block_row(block) for block in curve.live),
        unseen_bytes=curve.unseen_bytes,
    )


def _block_row(block: Block) -> BlockRow:
    since_ms = block.since_ps / PS_PER_MS
    return BlockRow(
        block.op,
        block.region,
        block.shape,
        block.bytes,
        since_ms,
    )


def program_memories(run: RunSummary) -> tuple[ProgramMemoryInfo, ...]:
    """Each program once, the one that needs most first."""
    found: dict[str, ProgramMemoryInfo] = {}
    for host in run.hosts:
        programs = host.excerpts.memory if host.excerpts is not None else ()
        for program in programs:
            if program.program not in found:
                found[program.program] = _program_memory(program)
    ordered = sorted(found.values(), key=lambda memory: -memory.bytes)
    return tuple(ordered)


def _program_memory(memory: ProgramMemory) -> ProgramMemoryInfo:
    return ProgramMemoryInfo(
        memory.program,
        memory.bytes,
        {kind.value: size for kind, size in memory.bytes_of.items()},
        tuple(_buffer_row(buffer) for buffer in memory.buffers),
        memory.left_out,
    )


def _buffer_row(buffer: Buffer) -> BufferRow:
    return BufferRow(
        buffer.kind.value,
        buffer.name,
        buffer.opcode,
        buffer.shape,
        buffer.bytes,
        f"{buffer.file}:{buffer.line}" if buffer.file else "",
        buffer.op_name,
    )
