"""What the drivers' collectors say of copies, and what allocators call themselves and their events."""

from __future__ import annotations

import re

from tfadvisor.timeline.names.classes import DeviceClass

PAGEABLE = "pageable"
PINNED = "pinned"
ON_DEVICE = frozenset({"device", "array", "managed"})
"""Kinds of memory that need no memory of the host."""

_BYTES = re.compile(r"(?:^|[\s\n])(?:size|num_bytes):(\d+)")
"""CUPTI's collector writes `size:`, others `num_bytes:`."""
_MEMORY = re.compile(r"kind_(?:src|dst):(\w+)")
"""The kind of memory at either end."""
_DIRECTIONS = (
    (DeviceClass.H2D, ("HtoD", "H2D", "HostToDevice")),
    (DeviceClass.D2H, ("DtoH", "D2H", "DeviceToHost")),
    (DeviceClass.P2P, ("PtoP", "P2P", "Peer")),
    (DeviceClass.D2D, ("DtoD", "D2D", "DeviceToDevice")),
)
"""In the names of CUDA's and HIP's calls."""


def copy_bytes(details: str) -> int:
    """Bytes of a copy from its detail string (`size:` or `num_bytes:`, split by spaces or newlines); -1 if not there."""
    match = _BYTES.search(details)
    return int(match.group(1)) if match else -1


def memory_kinds(details: str) -> tuple[str, ...]:
    """The kinds of memory at a copy's ends, from its `kind_src:` and `kind_dst:`: ("pageable", "device")."""
    return tuple(_MEMORY.findall(details.lower()))


def direction_of(call: str) -> DeviceClass:
    """Which way the copy goes that a call of this name launches; OTHER_COPY where the name does not say."""
    return next((kind for kind, words in _DIRECTIONS if any(word in call for word in words)), DeviceClass.OTHER_COPY)


_ALLOCATION = "MemoryAllocation"
"""TensorFlow's and XLA's allocators giving out memory."""
ALLOCATOR_EVENTS = (_ALLOCATION, "MemoryDeallocation")
"""Events that bear an allocator's statistics."""
_HOST_ALLOCATORS = ("cpu", "mklcpu", "host", "pinned", "gpu_host")
"""Parts of the names of allocators of the host's memory."""
_DEVICE_ALLOCATOR = re.compile(r"^(?:GPU_\d+_bfc|GPU_\d+\b|gpu_async_\d+|cuda_malloc_async|TPU_\d+)", re.IGNORECASE)
"""Names of allocators of an accelerator's memory: `gpu_host_bfc` is none."""


def is_host_allocator(name: str) -> bool:
    """Whether an allocator gives out the host's memory."""
    return any(word in name.lower() for word in _HOST_ALLOCATORS)


def is_device_allocator(name: str) -> bool:
    """Whether an allocator gives out memory of an accelerator, which proves that one was used: `GPU_0_bfc`."""
    return _DEVICE_ALLOCATOR.match(name) is not None


def is_allocation(name: str) -> bool:
    """Whether an allocator gives out memory in an event of this name."""
    return name == _ALLOCATION
