"""`HOST.machine.json` beside `HOST.xplane.pb`: counters at both ends of the window, and
how the machine is set.

`tfadvisor run` and `tfadvisor.profile()` write it. It may come from anywhere, so
nothing in it is believed unseen.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from tfadvisor.files import read_small_text
from tfadvisor.trace.remote_path import RemotePath

ENDING = ".machine.json"
VERSION = 1
LARGEST = 128 << 10
"""Bytes of a file; one of 16 GPUs and 64 variables has 40 KiB."""
_Number = Annotated[float, Meta(ge=0, le=1e18)]
_Short = Annotated[str, Meta(max_length=400)]
_Names = Annotated[dict[_Short, _Short], Meta(max_length=64)]


class CounterReading(msgspec.Struct, frozen=True):
    """Counters at one moment, each since something began; None where the system does
    not tell. Seconds and bytes.
    """

    time: _Number
    """Since the epoch."""
    busy_seconds: _Number | None = None
    """Of all cores of the machine together."""
    idle_seconds: _Number | None = None
    """Core-seconds that were idle, without the time in which a read or write was waited
    for.
    """
    iowait_seconds: _Number | None = None
    """Core-seconds in which nothing ran and a read or write was on its way."""
    stolen_seconds: _Number | None = None
    """Core-seconds in which the hypervisor ran others on these cores."""
    program_seconds: _Number | None = None
    """Of cores, by all processes of the program."""
    ran_seconds: _Number | None = None
    """By the threads of the recorded process."""
    waited_seconds: _Number | None = None
    """In which these threads were ready to run and had no core."""
    major_faults: _Number | None = None
    """Of the recorded process: pages that had to come from storage."""
    swapped_bytes: _Number | None = None
    """Between memory and swap, of the machine."""
    available_bytes: _Number | None = None
    """Memory that programs of the machine can still get."""
    periods: _Number | None = None
    """Of the group's quota of cores."""
    throttled_periods: _Number | None = None
    """Those at whose end the group was stopped because its quota was used up."""


class MachineSettings(msgspec.Struct, frozen=True):
    """What did not change meanwhile; None or empty where the system does not tell."""

    cores: Annotated[int, Meta(ge=1, le=1 << 20)] | None = None
    """Of the machine."""
    allowed_cores: Annotated[int, Meta(ge=1, le=1 << 20)] | None = None
    """That the process may run on."""
    quota_cores: Annotated[float, Meta(gt=0, le=1e6)] | None = None
    """How many cores' time its control groups allow."""
    memory_bytes: _Number | None = None
    """Of the machine."""
    versions: _Names = {}
    """Of Python and the frameworks."""
    variables: _Names = {}
    """TF_*, XLA_*, JAX_*, OMP_*, NCCL_* and CUDA_* of the environment."""
    threads: Annotated[
        dict[_Short, Annotated[int, Meta(ge=0, le=1 << 20)]], Meta(max_length=8)
    ] = {}
    """Sizes of TensorFlow's pools that the program has set: intra_op, inter_op."""


class MachineGpu(msgspec.Struct, frozen=True):
    """One GPU of the machine, as its driver tells; it may work for others too."""

    name: _Short = ""
    """Its model."""
    driver: _Short = ""
    """Version."""
    utilization: Annotated[float, Meta(ge=0, le=1)] | None = None
    """Share of the time in which a kernel ran on it."""
    clock_mhz: _Number | None = None
    """Of its multiprocessors, a mean."""
    highest_clock_mhz: _Number | None = None
    """That they can have."""
    power_limit_w: _Number | None = None
    """That holds."""
    usual_power_limit_w: _Number | None = None
    """That it is shipped with."""
    slowed_by: Annotated[tuple[_Short, ...], Meta(max_length=8)] = ()
    """Faults that held its clock down: heat, power brake, hardware slowdown."""


class MachineRates(msgspec.Struct, frozen=True):
    """What all cores together do at most, measured once the program has ended."""

    bytes_per_s: Annotated[float, Meta(gt=0, le=1e15)]
    """Read and written, of arrays far larger than the caches."""
    fp32_flops: Annotated[float, Meta(gt=0, le=1e18)]
    """Operations a second of a product of large fp32 matrices."""


class Counted(msgspec.Struct, frozen=True):
    """The file."""

    version: int
    opened: CounterReading
    closed: CounterReading
    settings: MachineSettings = MachineSettings()
    gpus: Annotated[tuple[MachineGpu, ...], Meta(max_length=16)] = ()
    rates: MachineRates | None = None

    @property
    def seconds(self) -> float:
        """How long was counted."""
        return self.closed.time - self.opened.time


class HostCounters(msgspec.Struct, frozen=True):
    """What lies beside a host's trace. why: what is wrong with it, "" where nothing is
    there or all is well.
    """

    host: str
    counted: Counted | None = None
    why: str = ""


def read_counters(trace: Path, host: str) -> HostCounters:
    """Of a host's trace file. Raises nothing: a trace is worth reading without. A web
    server is not asked for what it may not have."""
    file = trace.with_name(f"{host}{ENDING}")
    try:
        if isinstance(trace, RemotePath) and (
            trace.is_on_the_web or not file.is_file()
        ):
            return HostCounters(host)
        text = read_small_text(file, LARGEST)
        counted = msgspec.json.decode(text, type=Counted)
    except FileNotFoundError:
        return HostCounters(host)
    except (OSError, UnicodeDecodeError, msgspec.DecodeError, RecursionError) as error:
        return HostCounters(host, None, f"{file.name} cannot be used: {error}")
    if counted.version != VERSION:
        why = (
            f"{file.name} has version {counted.version}, and this tfadvisor reads "
            f"{VERSION}"
        )
        return HostCounters(host, None, why)
    if not 1e-3 <= counted.seconds <= 1e7:
        why = f"{file.name} cannot be used: it counts no time"
        return HostCounters(host, None, why)
    return HostCounters(host, counted)
