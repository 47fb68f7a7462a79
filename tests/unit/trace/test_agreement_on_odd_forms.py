"""What protobuf allows and hardly anybody writes: how deep groups may nest, and numbers
in more bytes than they need.
"""

from __future__ import annotations

from collections.abc import Callable

import google.protobuf
import pytest
from google.protobuf.internal import api_implementation
from support.wire import groups, overlong, sized

from tfadvisor.errors import TraceError
from tfadvisor.trace import compiled_decoder, twin
from tfadvisor.trace.columns import Selection
from tfadvisor.trace.source import Source

UPB = (
    tuple(int(part) for part in google.protobuf.__version__.split(".")[:2])
    if api_implementation.Type() == "upb"
    else None
)
"""The release of protobuf, where it is read by upb."""

DEPTHS: dict[str, tuple[int, Callable[[bytes], bytes]]] = {
    "space": (0, lambda field: sized(1, b"") + field),
    "plane": (1, lambda field: sized(1, field)),
    "line": (2, lambda field: sized(1, sized(3, field))),
    "plane's stat": (2, lambda field: sized(1, sized(6, field))),
    "map entry": (2, lambda field: sized(1, sized(4, field))),
    "stat's map entry": (2, lambda field: sized(1, sized(5, field))),
    "event": (3, lambda field: sized(1, sized(3, sized(4, field)))),
    "event metadata": (3, lambda field: sized(1, sized(4, sized(2, field)))),
    "stat metadata": (3, lambda field: sized(1, sized(5, sized(2, field)))),
    "event's stat": (4, lambda field: sized(1, sized(3, sized(4, sized(4, field))))),
    "metadata's stat": (4, lambda field: sized(1, sized(4, sized(2, sized(5, field))))),
}


def read_by(data: bytes) -> tuple[bool, ...]:
    """Whether the compiled decoder takes the bytes, and whether the twin does."""
    found = []
    for decode in (compiled_decoder.decode, twin.decode):
        try:
            decode(Source("memory", memoryview(data), len(data)), Selection(None))
            found.append(True)
        except TraceError:
            found.append(False)
    return tuple(found)


@pytest.mark.skipif(
    UPB is None or UPB < (4, 25),
    reason="protobufs before 4.25 count a map's entries otherwise",
)
@pytest.mark.parametrize("place", DEPTHS)
def test_groups_nest_to_a_hundred_with_the_messages_around_them(place: str) -> None:
    depth, inside = DEPTHS[place]

    assert read_by(inside(groups(100 - depth))) == (True, True)
    assert read_by(inside(groups(101 - depth))) == (False, False)


@pytest.mark.skipif(
    UPB is None or UPB < (7,),
    reason="protobufs before 7 read lengths of ten bytes, as they do numbers",
)
@pytest.mark.parametrize("more", range(11))
def test_lengths_have_five_bytes(more: int) -> None:
    """The length 2 has one byte at least."""
    assert read_by(b"\x0a" + overlong(2, more) + b"\x08\x01") == (more <= 4,) * 2
    assert read_by(sized(1, b"\x12" + overlong(1, more) + b"a")) == (more <= 4,) * 2


@pytest.mark.skipif(UPB is None, reason="protobufs without upb count otherwise")
@pytest.mark.parametrize("more", range(11))
def test_numbers_have_ten_bytes(more: int) -> None:
    """The value 1 has one byte at least."""
    assert read_by(sized(1, b"\x08" + overlong(1, more))) == (more <= 9,) * 2


@pytest.mark.parametrize("more", range(6))
def test_tags_have_five_bytes(more: int) -> None:
    assert read_by(overlong(10, more) + b"\x02\x08\x01") == (more <= 4,) * 2
