"""What makes a trace a poor profile, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from tfadvisor.arrays import distinct, is_in, median
from tfadvisor.export.pgle.events import GPU_PLANES, NamedEvents, device_lines
from tfadvisor.timeline.names.classes import COPIES
from tfadvisor.timeline.names.collectives import op_collective
from tfadvisor.timeline.names.devices import device_class
from tfadvisor.timeline.names.drivers import launches_graph
from tfadvisor.timeline.names.planes import is_derived
from tfadvisor.xplane.columns import HostTrace

if TYPE_CHECKING:
    from tfadvisor.export.pgle.events import BoolArray
    from tfadvisor.export.pgle.fingerprints import Program

_FEWEST_EXECUTIONS = 3
"""As many as JAX measures by itself before it compiles again: JAX_PGLE_PROFILING_RUNS."""
_MUCH = 0.1
"""Share of kernel time without a name that is worth a word: with it a tenth of what is to be hidden has no cost."""
_NO_GPU = (
    "no plane of a GPU: only XLA's scheduler for GPUs reads such a profile. A run on CPUs is of no use; record on GPUs."
)
_GRAPHS = (
    "kernels were launched in CUDA graphs (command buffers), in which single instructions cannot be told apart. Record with "
    "XLA_FLAGS=--xla_gpu_enable_command_buffer= and leave that out of the run that uses the profile."
)
_NO_COLLECTIVE = (
    "no collective is among the instructions: the scheduler has no communication to hide, and the profile gains little."
)


class Facts(msgspec.Struct, frozen=True):
    """What one trace tells about itself. shared: names of instructions that several programs have."""

    gpu: bool
    graph_launches: int
    """Calls that start many kernels at once."""
    kernel_ps: int
    """Time of all kernels, copies left out."""
    unnamed_ps: int
    """Of those the time of kernels that name no instruction."""
    executions: int
    """Of the usual instruction on one device; 0 without any."""
    collectives: bool
    shared: tuple[str, ...]


def facts(trace: HostTrace, found: NamedEvents, fingerprints: Mapping[Program, str]) -> Facts:
    """Looks at names once each, never at events one by one. fingerprints: of all programs that carry one."""
    kernel = _kernels(trace)
    unnamed = kernel.copy()
    unnamed[found.event] = False
    duration = trace.events.duration_ps
    mine = found.op[kernel[found.event]]
    planes = len(distinct(trace.lines.plane[trace.line_of_event()[kernel]]))
    counts = np.bincount(mine) // max(planes, 1)
    graphs = [row for row, name in enumerate(trace.names.name) if launches_graph(name)]
    return Facts(
        gpu=any(plane.name.startswith(GPU_PLANES) for plane in trace.planes),
        graph_launches=int(is_in(trace.events.row, graphs).sum()),
        kernel_ps=int(duration[kernel].sum()),
        unnamed_ps=int(duration[unnamed].sum()),
        executions=int(median(counts[counts > 0])) if counts.any() else 0,
        collectives=any(op_collective(name) is not None for name in found.ops),
        shared=_shared(found, fingerprints),
    )


def _kernels(trace: HostTrace) -> BoolArray:
    """Which events are kernels: on the GPUs' streams, copies left out."""
    lines = trace.lines
    stream = np.zeros(len(lines), np.bool_)
    for line in device_lines(trace).tolist():
        stream[line] = not is_derived(lines.name[line], int(lines.id[line]))
    kernel = stream[trace.line_of_event()]
    copies = [
        row for row in distinct(trace.events.row[kernel]).tolist() if device_class(trace.names.name[row]) in COPIES
    ]
    return kernel & ~is_in(trace.events.row, copies)


def _shared(found: NamedEvents, fingerprints: Mapping[Program, str]) -> tuple[str, ...]:
    """Names that instructions of several programs have; programs of one fingerprint are one."""
    programs: dict[int, set[Program | str]] = {}
    several = len(found.programs) + 1
    for pair in distinct(found.op * several + found.program).tolist():
        program = found.programs[pair % several]
        programs.setdefault(pair // several, set()).add(fingerprints.get(program, program))
    return tuple(sorted(found.ops[op] for op, held in programs.items() if len(held) > 1))


def remarks(traces: Sequence[Facts], *, by_program: bool) -> Iterator[str]:
    """The faults of the traces together, the gravest first; none for a good one. by_program: costs carry fingerprints."""
    if not any(one.gpu for one in traces):
        yield _NO_GPU
        return
    if any(one.graph_launches for one in traces):
        yield _GRAPHS
    kernels, unnamed = sum(one.kernel_ps for one in traces), sum(one.unnamed_ps for one in traces)
    if unnamed > _MUCH * kernels:
        yield (
            f"{unnamed / kernels:.0%} of kernel time names no instruction of XLA, as kernels of other libraries and of programs "
            "that XLA did not compile, and has no cost in the profile."
        )
    executions = sum(one.executions for one in traces)
    if 0 < executions < _FEWEST_EXECUTIONS:
        yield (
            f"the usual instruction ran {executions} time{'s' if executions != 1 else ''} a device, and one execution says "
            f"little. Record {_FEWEST_EXECUTIONS} steps or more after warm-up, or give several traces."
        )
    if executions and not any(one.collectives for one in traces):
        yield _NO_COLLECTIVE
    shared = sorted({name for one in traces for name in one.shared})
    if shared and not by_program:
        yield _mixed(shared)


def _mixed(names: Sequence[str]) -> str:
    listed = ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
    stand = "1 name stands" if len(names) == 1 else f"{len(names)} names stand"
    return (
        f"{stand} for instructions of several programs ({listed}), with one mean for all of them, as jaxlib has it. "
        "--by-program keeps them apart."
    )
