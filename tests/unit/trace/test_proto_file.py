"""xplane.proto and the field table in messages.py say the same."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from google.protobuf import descriptor_pb2
from grpc_tools import protoc

from tfadvisor.trace import messages


def test_the_table_is_the_proto_file(tmp_path: Path) -> None:
    proto = resources.files("tfadvisor.trace") / "xplane.proto"
    out = tmp_path / "set.pb"
    with resources.as_file(proto) as path:
        assert (
            protoc.main(
                ["protoc", f"-I{path.parent}", f"--descriptor_set_out={out}", path.name]
            )
            == 0
        )
    compiled = descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes()).file[0]

    assert fields(compiled.message_type) == fields(
        messages.file_descriptor().message_type
    )


def fields(types) -> dict[str, list[tuple]]:
    """Message name -> (field, number, type, label, type name, oneof) of it and of the
    types inside it.
    """
    found = {}
    for message in types:
        oneofs = [oneof.name for oneof in message.oneof_decl]
        found[message.name] = sorted(
            (
                f.name,
                f.number,
                f.type,
                f.label,
                f.type_name,
                oneofs[f.oneof_index] if f.HasField("oneof_index") else "",
            )
            for f in message.field
        )
        found.update(
            {
                f"{message.name}.{name}": value
                for name, value in fields(message.nested_type).items()
            }
        )
    return found
