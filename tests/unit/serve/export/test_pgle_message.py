"""The file that XLA reads."""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from tfadvisor.serve.export.pgle import InstructionCost, as_binary

COSTS = {
    "abc::loop_add_fusion.1": InstructionCost(1.5, 3),
    'a"b\\c\nd': InstructionCost(0.1, 1),
    "Größe": InstructionCost(1e-06, 1),
}


def profiled_instructions() -> type[Any]:
    """tsl/profiler/protobuf/profiled_instructions.proto, written out."""
    field = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(
        name="p.proto", package="p", syntax="proto3"
    )
    whole = file.message_type.add(name="ProfiledInstructionsProto")
    cost = whole.nested_type.add(name="InstructionCost")
    cost.field.add(
        name="name", number=1, type=field.TYPE_STRING, label=field.LABEL_OPTIONAL
    )
    cost.field.add(
        name="cost_us", number=2, type=field.TYPE_DOUBLE, label=field.LABEL_OPTIONAL
    )
    whole.field.add(
        name="costs",
        number=1,
        type=field.TYPE_MESSAGE,
        label=field.LABEL_REPEATED,
        type_name=".p.ProfiledInstructionsProto.InstructionCost",
    )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(
        pool.FindMessageTypeByName("p.ProfiledInstructionsProto")
    )


def test_protobuf_reads_back_what_was_written() -> None:
    message = profiled_instructions()()
    message.ParseFromString(as_binary(COSTS))

    assert {one.name: one.cost_us for one in message.costs} == {
        name: cost.us for name, cost in COSTS.items()
    }
