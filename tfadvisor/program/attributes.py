"""Attributes of an instruction: the groups of devices that a collective joins, the
window of a convolution.

Source: `ReplicaGroup`, `CollectiveDeviceListProto`, `IotaReplicaGroupListProto`,
`MeshAxesReplicaGroupListProto` and `SourceTarget` in openxla/xla, xla/xla_data.proto;
`DeviceAssignmentProto` for those that name no group.
"""

from __future__ import annotations

from math import prod

import msgspec

from tfadvisor.program.module import Instruction, Module
from tfadvisor.program.wire import (
    Entry,
    Proto,
    message_of,
    messages_of,
    number_of,
    numbers_of,
    span_of,
)

_GROUPS = 49
_PAIRS = 52
_DEVICE_LIST = 87
_IOTA = 92
_MESH_AXES = 93
_DEVICE_ASSIGNMENT = 15
_MOST_AXES = 32


def group_size(collective: Instruction) -> int | None:
    """Devices in a group, the largest when they differ; for a permute, the devices that
    send or receive.

    None when the instruction names none and the module does not say how many devices it
    was compiled for.
    """
    proto = collective.proto
    fields = collective.fields
    pairs = messages_of(proto, fields, _PAIRS)
    if pairs:
        return len({number_of(pair, end) for pair in pairs for end in (1, 2)})
    nested = message_of(proto, fields, _DEVICE_LIST)
    size = (
        _listed(proto, fields, _GROUPS)
        or _listed(proto, nested, 1)
        or number_of(message_of(proto, nested, 2), 2)
        or number_of(message_of(proto, fields, _IOTA), 2)
        or _mesh(proto, message_of(proto, fields, _MESH_AXES))
    )
    return size if size > 0 else _everyone(collective)


def _listed(
    proto: Proto,
    fields: list[Entry],
    field: int,
) -> int:
    return max(
        (
            len(numbers_of(proto, group, 1))
            for group in messages_of(proto, fields, field)
        ),
        default=0,
    )


def _mesh(proto: Proto, fields: list[Entry]) -> int:
    """Product of the mesh axes over which the collective runs; of a part of an axis,
    the part's size.
    """
    if len(fields) > _MOST_AXES:
        return 0
    sizes = [
        number_of(axis, 2)
        for axis in messages_of(proto, message_of(proto, fields, 1), 1)
    ]
    found = []
    for axis in messages_of(proto, fields, 2):
        part = message_of(proto, axis, 2)
        index = number_of(axis, 1)
        whole = sizes[index] if 0 <= index < len(sizes) else 0
        found.append(number_of(part, 2) if span_of(axis, 2)[1] else whole)
    return prod(found) if found else 0


def _everyone(collective: Instruction) -> int | None:
    """No group is named: all replicas take part, and with a channel all
    partitions too.
    """
    module = collective.computation.module
    assignment = message_of(module.proto, module.fields, _DEVICE_ASSIGNMENT)
    replicas = number_of(assignment, 1)
    partitions = number_of(assignment, 2)
    size = replicas * partitions if collective.channel_id > 0 else replicas
    return size if size > 0 else None


# How a window moves over an array, in a convolution or a windowed reduction.

_WINDOW = 15
_MOST_DIMENSIONS = 256


class WindowDimension(msgspec.Struct, frozen=True):
    """All in elements. padding: before and behind the array, negative where elements
    are cut off.

    window_dilation, base_dilation: distance of neighbours in the kernel and in the
    array, 1 when they are dense.
    """

    size: int
    stride: int
    padding: tuple[int, int]
    window_dilation: int
    base_dilation: int


def window_of(instruction: Instruction) -> tuple[WindowDimension, ...]:
    """One entry a windowed dimension, () when the instruction has no window. Raises
    TraceError for damaged bytes.
    """
    window = message_of(instruction.proto, instruction.fields, _WINDOW)
    if len(window) > _MOST_DIMENSIONS:
        raise instruction.damaged("has a window of too many dimensions")
    return tuple(
        WindowDimension(
            number_of(message, 1),
            max(number_of(message, 2), 1),
            (number_of(message, 3), number_of(message, 4)),
            max(number_of(message, 5), 1),
            max(number_of(message, 6), 1),
        )
        for message in messages_of(instruction.proto, window, 1)
    )


# Programs that every device runs with the same inputs, and in which nothing tells the
# devices apart: all compute the same.

_SHARDINGS = 14
_PARTITIONS = 2
_TYPE = 1
_OF_TUPLE = 5
_NAMED = 14
_DIMENSIONS = 3
_AXES = 1
_REPLICATED = 0
_TUPLE = 2
_TELLING_APART = frozenset("partition-id replica-id infeed recv rng".split())


def partitions_of(module: Module) -> int:
    """Over how many devices the program is spread; 0 where it does not say. Raises
    TraceError for damaged bytes.
    """
    assignment = message_of(module.proto, module.fields, _DEVICE_ASSIGNMENT)
    return number_of(assignment, _PARTITIONS)


def equal_partitions(module: Module) -> int:
    """How many devices compute the same; 1 where something may tell them apart, or the
    program does not say.

    Raises TraceError for damaged bytes.
    """
    proto = module.proto
    fields = module.fields
    partitions = partitions_of(module)
    inputs = messages_of(proto, fields, _SHARDINGS) if partitions > 1 else ()
    if not inputs or any(_splits(proto, input_) for input_ in inputs):
        return 1
    instructions = (
        instruction
        for computation in module.computations
        for instruction in computation.instructions
    )
    return (
        1
        if any(_tells_apart(instruction) for instruction in instructions)
        else partitions
    )


def _tells_apart(instruction: Instruction) -> bool:
    return instruction.opcode in _TELLING_APART or (
        instruction.opcode == "custom-call"
        and "callback" in instruction.custom_call_target
    )


def _splits(proto: Proto, sharding: list[Entry]) -> bool:
    """Whether it gives each device its own part. Raises TraceError."""
    left = [sharding]
    while left:
        asked = left.pop()
        if number_of(asked, _TYPE) == _TUPLE:
            left += messages_of(proto, asked, _OF_TUPLE)
        elif _splits_an_array(proto, asked):
            return True
    return False


def _splits_an_array(proto: Proto, sharding: list[Entry]) -> bool:
    """Of a sharding that is no tuple, whether it does."""
    dimensions = messages_of(proto, message_of(proto, sharding, _NAMED), _DIMENSIONS)
    is_replicated = number_of(sharding, _TYPE) == _REPLICATED
    return not is_replicated or any(
        messages_of(proto, dimension, _AXES) for dimension in dimensions
    )
