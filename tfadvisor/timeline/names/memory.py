"""Allocators and their events, as TensorFlow and XLA call them."""

from __future__ import annotations

import re

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
