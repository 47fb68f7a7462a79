"""Allocators and their events, as TensorFlow and XLA call them."""

from __future__ import annotations

_ALLOCATION = "MemoryAllocation"
"""TensorFlow's and XLA's allocators giving out memory."""
ALLOCATOR_EVENTS = (_ALLOCATION, "MemoryDeallocation")
"""Events that bear an allocator's statistics."""
_HOST_ALLOCATORS = ("cpu", "mklcpu", "host", "pinned", "gpu_host")
"""Parts of the names of allocators of the host's memory."""


def is_host_allocator(name: str) -> bool:
    """Whether an allocator gives out the host's memory."""
    return any(word in name.lower() for word in _HOST_ALLOCATORS)


def is_allocation(name: str) -> bool:
    """Whether an allocator gives out memory in an event of this name."""
    return name == _ALLOCATION
