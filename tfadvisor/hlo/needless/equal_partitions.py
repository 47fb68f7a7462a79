"""Programs that every device runs with the same inputs, and in which nothing tells the devices apart: all compute the same.

Source: `spmd_parameters_shardings` in openxla/xla, xla/service/hlo.proto; `OpSharding` in xla/xla_data.proto.
"""

from __future__ import annotations

from tfadvisor.hlo.format.module import Instruction, Module
from tfadvisor.hlo.format.wire import Proto, entries, number_of, span, span_of

_SHARDINGS, _DEVICE_ASSIGNMENT = span(14), 15
_PARTITIONS = 2
_TYPE, _OF_TUPLE, _NAMED = 1, span(5), 14
_DIMENSIONS, _AXES = span(3), span(1)
_REPLICATED, _TUPLE = 0, 2
_TELLING_APART = frozenset("partition-id replica-id infeed recv rng".split())


def equal_partitions(module: Module) -> int:
    """How many devices compute the same; 1 where something may tell them apart, or the program does not say.

    Raises TraceError for damaged bytes.
    """
    proto, fields = module.proto, module.fields
    lo, hi = span_of(fields, _DEVICE_ASSIGNMENT)
    partitions = number_of(entries(proto, lo, hi), _PARTITIONS)
    inputs = [(at, end) for key, at, end in fields if key == _SHARDINGS]
    if partitions < 2 or not inputs or any(_splits(proto, at, end) for at, end in inputs):
        return 1
    instructions = (one for computation in module.computations for one in computation.instructions)
    return 1 if any(_tells_apart(one) for one in instructions) else partitions


def _tells_apart(one: Instruction) -> bool:
    return one.opcode in _TELLING_APART or (one.opcode == "custom-call" and "callback" in one.custom_call_target)


def _splits(proto: Proto, lo: int, hi: int) -> bool:
    """Whether a sharding gives each device a part of its own. Raises TraceError."""
    fields = entries(proto, lo, hi)
    kind = number_of(fields, _TYPE)
    if kind == _TUPLE:
        return any(_splits(proto, at, end) for key, at, end in fields if key == _OF_TUPLE)
    at, end = span_of(fields, _NAMED)
    dimensions = [(at, end) for key, at, end in entries(proto, at, end) if key == _DIMENSIONS]
    return kind != _REPLICATED or any(key == _AXES for at, end in dimensions for key, _, _ in entries(proto, at, end))
