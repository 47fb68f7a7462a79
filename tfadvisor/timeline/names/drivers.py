"""Calls of the GPUs' drivers and runtimes, as their collectors record them on host
threads: one record a driver.
"""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec


class DriverCalls(msgspec.Struct, frozen=True):
    """What a driver calls its functions. A name belongs to a group when it begins with
    one of the group's texts.
    """

    host_plane: str
    """Where its collector records calls, unless on `/host:CPU`."""
    launches: tuple[str, ...]
    """Start a kernel, a graph or a copy."""
    memory: tuple[str, ...]
    """Take memory from the driver or give it back. Those that say Async do not wait for
    the device.
    """
    waits: tuple[str, ...]
    """Parts of names, at their end where the call blocks until a stream, an event or
    the device is done.
    """
    graph_launches: tuple[str, ...]
    """Start many kernels with one call."""


_WAITS = (
    "StreamSynchronize",
    "CtxSynchronize",
    "DeviceSynchronize",
    "EventSynchronize",
)
CUDA = DriverCalls(
    host_plane="/host:CUPTI",
    launches=(
        *(
            "cuLaunch",
            "cudaLaunch",
            "cuGraphLaunch",
            "cudaGraphLaunch",
            "cuGraphInstantiate",
            "cudaGraphInstantiate",
        ),
        *("cuMemcpy", "cudaMemcpy", "cuMemset", "cudaMemset", "cuModule"),
    ),
    memory=("cudaMalloc", "cudaFree", "cuMemAlloc", "cuMemFree"),
    waits=_WAITS,
    graph_launches=("cuGraphLaunch", "cudaGraphLaunch"),
)
HIP = DriverCalls(
    host_plane="/host:ROCTRACER",
    launches=(
        *("hipLaunch", "hipModuleLaunch", "hipExtLaunch", "hipExtModuleLaunch"),
        *("hipGraph", "hipMemcpy", "hipMemset"),
    ),
    memory=("hipMalloc", "hipFree"),
    waits=_WAITS,
    graph_launches=("hipGraphLaunch",),
)
_DRIVERS = [CUDA, HIP]


def host_planes() -> tuple[str, ...]:
    """What the names of planes begin with whose lines hold drivers' calls."""
    return tuple(driver.host_plane for driver in _DRIVERS)


def is_launch(name: str) -> bool:
    """Whether a call starts work on a device."""
    return name.startswith(_joined("launches"))


def blocks_on_memory(name: str) -> bool:
    """Whether a call takes memory from the driver or gives it back, and waits for the
    device meanwhile.
    """
    return name.startswith(_joined("memory")) and "Async" not in name


def finds_buffers(name: str) -> bool:
    """Whether XLA finds memory for a program's buffers."""
    return name == "Build buffer allocations"


_LOOP = re.compile(r"\Awhile(?:\.\d+)*\Z")
_TURN = re.compile(r"\A\[iter=\d+\]\Z")


def is_loop(name: str) -> bool:
    """Whether XLA's runtime runs a while loop of a program here, by its HLO name."""
    return _LOOP.match(name) is not None


def is_turn(name: str) -> bool:
    """Whether it runs one turn of such a loop."""
    return _TURN.match(name) is not None


def copies_to_host(name: str) -> bool:
    """Whether a copy from a device to the host is started."""
    return name == "MemcpyD2H"


def updates_graph(name: str) -> bool:
    """Whether XLA writes buffers' addresses into a CUDA graph that it has."""
    return name == "command_buffer::update"


def waits_somewhere(name: str) -> bool:
    """Whether an event bears the name of a waiting call, be it with words around it."""
    return any(map(name.__contains__, _joined("waits")))


def launches_graph(name: str) -> bool:
    """Whether a call starts a whole graph."""
    return name.startswith(_joined("graph_launches"))


@lru_cache(maxsize=8)
def _joined(group: str) -> tuple[str, ...]:
    """One group's texts of all drivers."""
    return tuple(
        dict.fromkeys(text for driver in _DRIVERS for text in getattr(driver, group))
    )
