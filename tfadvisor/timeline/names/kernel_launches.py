"""How a kernel was launched, as the collectors of the GPUs' drivers write it: grid,
block, registers, shared memory, occupancy.

The stat `kernel_details` is `regs:32 static_shared:0 dynamic_shared:512
grid:120,1,1 block:256,1,1 occ_pct:100`, up to TensorFlow 2.8 `regs:32 shm:512 grid:…
block:…`, of AMD's ` grid:… block:… private_mem:0 group_mem:32 occ_pct:0`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from math import prod

import msgspec

from tfadvisor.timeline.names.models import multiprocessors
from tfadvisor.units import number_of

_FIELD = re.compile(r"\b(\w+):([\d,]+)")
_SHARED = ("shm", "static_shared", "dynamic_shared", "group_mem")
"""Bytes of memory that the threads of a block share; their sum."""
_MOST = (1 << 31, 1 << 16, 1 << 16)
"""Blocks in each direction of a grid are fewer: what some old recordings hold is not a
launch.
"""
_MOST_THREADS = 1024
_MOST_REGISTERS = 255
_MOST_SHARED = 1 << 18
_WARP = 32
_REGISTERS = 1 << 16
_AT_ONCE = 256
_RESERVED = 1024
"""Of a multiprocessor: registers, the unit in which a warp gets them; bytes that each
block takes since Ampere.
"""


class KernelLaunch(msgspec.Struct, frozen=True):
    """One launch of a kernel. None for what neither the trace nor the device's limits
    tell.
    """

    grid: tuple[int, ...]
    """Blocks in x, y, z."""
    block: tuple[int, ...]
    """Threads of a block in x, y, z."""
    registers: int | None = None
    """Of a thread."""
    shared_bytes: int | None = None
    """Of a block, what it asks for at launch included."""
    occupancy: float | None = None
    """Warps that a multiprocessor can hold at once, over those that it has room for,
    0..1.
    """


@lru_cache(maxsize=1 << 12)
def kernel_launch(details: str, capability: tuple[int, int]) -> KernelLaunch | None:
    """What the stat says; None where it does not hold a launch that a GPU could run.
    capability: of NVIDIA's GPU, (0, 0) else.
    """
    found = _fields(details)
    grid = found.get("grid", ())
    block = found.get("block", ())
    if not _fits(grid, _MOST) or len(block) != 3:
        return None
    threads = prod(block)
    registers, *_ = found.get("regs", (0,))
    shared = [found[name][0] for name in _SHARED if name in found]
    shared_bytes = sum(shared)
    if not 0 < threads <= _MOST_THREADS:
        return None
    if registers > _MOST_REGISTERS or shared_bytes > _MOST_SHARED:
        return None
    percent, *_ = found.get("occ_pct", (0,))
    occupancy = percent / 100 if 0 < percent <= 100 else None
    if occupancy is None:
        occupancy = _occupancy(capability, threads, registers, shared_bytes)
    return KernelLaunch(
        grid,
        block,
        registers or None,
        shared_bytes if shared else None,
        occupancy,
    )


def _fields(details: str) -> dict[str, tuple[int, ...]]:
    found = {}
    for name, text in _FIELD.findall(details):
        found[name] = tuple(number_of(part) or 0 for part in text.split(","))
    return found


def _fits(grid: tuple[int, ...], most: tuple[int, int, int]) -> bool:
    if len(grid) != len(most):
        return False
    return all(0 < blocks < limit for blocks, limit in zip(grid, most, strict=True))


def _occupancy(
    capability: tuple[int, int],
    threads: int,
    registers: int,
    shared: int,
) -> float | None:
    """As CUDA's occupancy calculator: how many blocks fit by warps, registers and
    shared memory.
    """
    room = multiprocessors().get(capability)
    if room is None or not registers:
        return None
    mine = -(-threads // _WARP)
    of_a_warp = -(-registers * _WARP // _AT_ONCE) * _AT_ONCE
    taken = shared + (_RESERVED if capability >= (8, 0) else 0)
    by_shared = room.kibibytes * 1024 // taken if taken else room.blocks
    fit = min(
        room.blocks,
        room.warps // mine,
        _REGISTERS // of_a_warp // mine,
        by_shared,
    )
    return fit * mine / room.warps if fit else None
