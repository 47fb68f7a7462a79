"""The XPlane messages as protobuf classes, built from a field table instead of
generated code.

Generated `_pb2` modules are tied to the protobuf release that made them, and TensorFlow
pins different ones; a descriptor built at import time works with all. `xplane.proto` is
the same table in protobuf's own language. Importing this module imports protobuf: only
the twin decoder, the test builder and the recorders do.
"""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.descriptor_pb2 import FieldDescriptorProto as _Field

PACKAGE = "tfadvisor.trace"

# message -> (field, number, type, label or oneof). Types: i int64, u uint64, d double,
# b bytes, else a message name.
Table = dict[str, tuple[tuple[str, int, str, str], ...]]
TABLE: Table = {
    "XSpace": (
        ("planes", 1, "XPlane", "repeated"),
        ("errors", 2, "b", "repeated"),
        ("warnings", 3, "b", "repeated"),
        ("hostnames", 4, "b", "repeated"),
    ),
    "XPlane": (
        ("id", 1, "i", ""),
        ("name", 2, "b", ""),
        ("lines", 3, "XLine", "repeated"),
        ("event_metadata", 4, "XEventMetadata", "map"),
        ("stat_metadata", 5, "XStatMetadata", "map"),
        ("stats", 6, "XStat", "repeated"),
    ),
    "XLine": (
        ("id", 1, "i", ""),
        ("name", 2, "b", ""),
        ("timestamp_ns", 3, "i", ""),
        ("events", 4, "XEvent", "repeated"),
        ("duration_ps", 9, "i", ""),
        ("display_id", 10, "i", ""),
        ("display_name", 11, "b", ""),
    ),
    "XEvent": (
        ("metadata_id", 1, "i", ""),
        ("offset_ps", 2, "i", "oneof data"),
        ("num_occurrences", 5, "i", "oneof data"),
        ("duration_ps", 3, "i", ""),
        ("stats", 4, "XStat", "repeated"),
    ),
    "XStat": (
        ("metadata_id", 1, "i", ""),
        ("double_value", 2, "d", "oneof value"),
        ("uint64_value", 3, "u", "oneof value"),
        ("int64_value", 4, "i", "oneof value"),
        ("str_value", 5, "b", "oneof value"),
        ("bytes_value", 6, "b", "oneof value"),
        ("ref_value", 7, "u", "oneof value"),
        ("compressed_str_value", 8, "b", "oneof value"),
    ),
    "XEventMetadata": (
        ("id", 1, "i", ""),
        ("name", 2, "b", ""),
        ("metadata", 3, "b", ""),
        ("display_name", 4, "b", ""),
        ("stats", 5, "XStat", "repeated"),
    ),
    "XStatMetadata": (
        ("id", 1, "i", ""),
        ("name", 2, "b", ""),
        ("description", 3, "b", ""),
    ),
}

_SCALARS = {
    "i": _Field.TYPE_INT64,
    "u": _Field.TYPE_UINT64,
    "d": _Field.TYPE_DOUBLE,
    "b": _Field.TYPE_BYTES,
}


def file_descriptor(table: Table = TABLE) -> descriptor_pb2.FileDescriptorProto:
    """The table as a file descriptor, map entries and oneofs spelled out as protoc
    would.
    """
    file = descriptor_pb2.FileDescriptorProto(
        name="tfadvisor/trace/xplane.proto",
        package=PACKAGE,
        syntax="proto3",
    )
    for message_name, fields in table.items():
        message = file.message_type.add(name=message_name)
        for field_name, number, kind, label in fields:
            field = message.field.add(name=field_name, number=number)
            if label in ("repeated", "map"):
                field.label = _Field.LABEL_REPEATED
            else:
                field.label = _Field.LABEL_OPTIONAL
            if label == "map":
                _add_map_entry(message, field, kind)
            elif kind in _SCALARS:
                field.type = _SCALARS[kind]
            else:
                field.type = _Field.TYPE_MESSAGE
                field.type_name = f".{PACKAGE}.{kind}"
            if label.startswith("oneof "):
                field.oneof_index = _oneof(message, label.removeprefix("oneof "))
    return file


def _add_map_entry(
    message: descriptor_pb2.DescriptorProto,
    field: _Field,
    kind: str,
) -> None:
    entry_name = "".join(part.capitalize() for part in field.name.split("_")) + "Entry"
    entry = message.nested_type.add(name=entry_name)
    entry.options.map_entry = True
    entry.field.add(
        name="key",
        number=1,
        label=_Field.LABEL_OPTIONAL,
        type=_Field.TYPE_INT64,
    )
    entry.field.add(
        name="value",
        number=2,
        label=_Field.LABEL_OPTIONAL,
        type=_Field.TYPE_MESSAGE,
        type_name=f".{PACKAGE}.{kind}",
    )
    field.type = _Field.TYPE_MESSAGE
    field.type_name = f".{PACKAGE}.{message.name}.{entry_name}"


def _oneof(message: descriptor_pb2.DescriptorProto, name: str) -> int:
    names = [oneof.name for oneof in message.oneof_decl]
    if name not in names:
        message.oneof_decl.add(name=name)
        names.append(name)
    return names.index(name)


def classes_of(table: Table) -> dict[str, Any]:
    """The messages of a table, by name."""
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file_descriptor(table))
    if hasattr(message_factory, "GetMessageClass"):
        class_of = message_factory.GetMessageClass
    else:  # protobuf before 4.22
        class_of = message_factory.MessageFactory(pool).GetPrototype  # type: ignore[attr-defined]
    return {
        name: class_of(pool.FindMessageTypeByName(f"{PACKAGE}.{name}"))
        for name in table
    }


_CLASSES = classes_of(TABLE)

XSpace = _CLASSES["XSpace"]
XPlane = _CLASSES["XPlane"]
XLine = _CLASSES["XLine"]
XEvent = _CLASSES["XEvent"]
XStat = _CLASSES["XStat"]
XEventMetadata = _CLASSES["XEventMetadata"]
XStatMetadata = _CLASSES["XStatMetadata"]
