"""ProfileRequest and ProfileResponse of tsl/profiler/protobuf/profiler_service.proto: the fields that a capture needs.

ProfileRequest   1 duration_ms   4 opts   5 repository_root   6 session_id   7 host_name   9 emit_xspace
opts             2 host_tracer_level   3 device_tracer_level   4 python_tracer_level   5 version
                 7 enable_hlo_proto   9 duration_ms
ProfileResponse  7 empty_trace   8 xspace
"""

from __future__ import annotations

import msgspec

from tfadvisor.trace.messages import FIXED_32, FIXED_64, SIZED, VARINT

METHOD = "/tensorflow.ProfilerService/Profile"


class ProfileRequest(msgspec.Struct, frozen=True):
    """One window on one host."""

    seconds: float
    python_tracer: bool
    repository_root: str
    """Where a server older than `emit_xspace` writes its trace: a logdir as it sees it."""
    session_id: str
    host_name: str

    def encoded(self) -> bytes:
        """In protobuf's wire format."""
        milliseconds = round(self.seconds * 1000)
        levels = {2: 2, 3: 1, 4: int(self.python_tracer), 5: 1, 7: 1, 9: milliseconds}
        options = b"".join(_number(field, value) for field, value in levels.items())
        return b"".join(
            (
                _number(1, milliseconds),
                _bytes(4, options),
                _bytes(5, self.repository_root.encode()),
                _bytes(6, self.session_id.encode()),
                _bytes(7, self.host_name.encode()),
                _number(9, 1),
            )
        )


class ProfileResponse(msgspec.Struct, frozen=True):
    """xspace: the trace, None from a server that has written it where it was told to."""

    xspace: bytes | None
    empty: bool


def decoded(message: bytes) -> ProfileResponse:
    """Raises ValueError for what is no protobuf message."""
    xspace: bytes | None = None
    empty = False
    place = 0
    while place < len(message):
        key, place = _varint(message, place)
        field, kind = key >> 3, key & 7
        if kind == SIZED:
            size, place = _varint(message, place)
            if place + size > len(message):
                raise ValueError("the message is cut short")
            if field == 8:
                xspace = message[place : place + size]
            place += size
        elif kind == VARINT:
            value, place = _varint(message, place)
            empty = empty or (field == 7 and value != 0)
        elif kind in (FIXED_64, FIXED_32):
            place += 8 if kind == FIXED_64 else 4
        else:
            raise ValueError(f"no field has the wire type {kind}")
    return ProfileResponse(xspace, empty)


def _varint(message: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while place < len(message):
        byte = message[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
        shift += 7
    raise ValueError("the message is cut short")


def _encoded_varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _number(field: int, value: int) -> bytes:
    return _encoded_varint(field << 3 | VARINT) + _encoded_varint(value)


def _bytes(field: int, value: bytes) -> bytes:
    return _encoded_varint(field << 3 | SIZED) + _encoded_varint(len(value)) + value
