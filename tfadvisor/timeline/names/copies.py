"""What the drivers' collectors say of a copy: its details in words, and its direction in the launching call's name."""

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
