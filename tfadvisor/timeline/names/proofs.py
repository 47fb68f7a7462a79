"""What on a host proves that an accelerator was used, whether or not its own events were recorded."""

from __future__ import annotations

import re

_DEVICE_ALLOCATOR = re.compile(r"^(?:GPU_\d+_bfc|GPU_\d+\b|gpu_async_\d+|cuda_malloc_async|TPU_\d+)", re.IGNORECASE)
_DEVICE_THREADS = ("tf_GPU_Event_Manager",)


def device_allocator(name: str) -> bool:
    """Whether an allocator hands out memory of an accelerator: `GPU_0_bfc`; `gpu_host_bfc` hands out the host's."""
    return _DEVICE_ALLOCATOR.match(name) is not None


def device_thread(name: str) -> bool:
    """Whether a thread of this name exists only beside a GPU that is used."""
    return name.startswith(_DEVICE_THREADS)
