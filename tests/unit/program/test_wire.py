"""Fields of a message: what is compiled against its definition in Python."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfadvisor.errors import TraceError
from tfadvisor.program import wire
from tfadvisor.program.wire import (
    Fields,
    Proto,
    entries,
    entries_by_hand,
    numbers_of,
)

compiled = pytest.importorskip("tfadvisor.trace._wire")

NUMBER, TEXT, FIXED_32, FIXED_64 = 0x08, 0x12, 0x1D, 0x21
"""Keys of field 1, a number, and of fields 2 to 4."""

fields = st.one_of(
    st.integers(0, 127).map(lambda value: bytes([NUMBER, value])),
    st.integers(128, 16_383).map(
        lambda value: bytes([NUMBER, value & 0x7F | 0x80, value >> 7])
    ),
    st.binary(max_size=4).map(lambda text: bytes([TEXT, len(text)]) + text),
    st.binary(min_size=4, max_size=4).map(lambda four: bytes([FIXED_32]) + four),
    st.binary(min_size=8, max_size=8).map(lambda eight: bytes([FIXED_64]) + eight),
    st.binary(max_size=3),
)
messages = st.lists(fields, max_size=6).map(b"".join)


def answer(read, *asked: object) -> object:
    """What is read, or the error's words."""
    try:
        return read(*asked)
    except TraceError as error:
        return str(error)


@given(messages)
def test_fields_of_good_and_damaged_bytes(data: bytes) -> None:
    asked = Proto(data, "here"), 0, len(data)

    assert answer(entries, *asked) == answer(entries_by_hand, *asked)


@given(st.binary(max_size=24))
def test_packed_numbers_of_good_and_damaged_bytes(data: bytes) -> None:
    asked = Proto(data, "here"), [(TEXT, 0, len(data))], 2
    found = answer(numbers_of, *asked)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wire, "packed_numbers", None)
        assert found == answer(numbers_of, *asked)


def test_a_number_below_zero_is_packed_in_ten_bytes() -> None:
    """-1 is 64 ones, seven a byte: nine times 7 and one more."""
    data = b"\xff" * 9 + b"\x01"

    assert numbers_of(Proto(data, ""), [(TEXT, 0, 10)], 2) == (-1,)


@given(messages, messages)
def test_fields_that_are_read_in_one_go(data: bytes, more: bytes) -> None:
    """Fields 1 and 2 come in several wire types, and more than once."""
    asked = Proto(data + more, "here"), len(data) // 2, len(data + more)

    for fields in (
        Fields(texts=(2,), numbers=(1,)),
        Fields(lists=(1, 2)),
        Fields(numbers=(4,), places=(2, 3)),
    ):
        assert answer(fields.of, *asked) == answer(fields.by_hand, *asked)


def test_fields_come_in_the_order_in_which_they_are_asked_for() -> None:
    """Field 1 is 5 and then 7, field 2 the text `ab` and then bytes that are no UTF-8."""
    data = bytes([NUMBER, 5, TEXT, 2, *b"ab", NUMBER, 7, TEXT, 1, 0xFF])
    proto = Proto(data, "")

    assert Fields((2, 9), (1, 8)).of(proto, 0, 11) == ["\ufffd", "", 7, 0]
    assert Fields(lists=(1, 8), places=(2, 9)).of(proto, 0, 6) == [
        (5,),
        (),
        (4, 6),
        (0, 0),
    ]


def test_a_text_that_is_too_long_is_cut_as_by_hand() -> None:
    """300,000 bytes have the length 0xe0 0xa7 0x12; 2**18 of them are kept."""
    data = bytes([TEXT, 0xE0, 0xA7, 0x12]) + b"x" * 300_000

    assert Fields((2,)).of(Proto(data, ""), 0, len(data)) == ["x" * (1 << 18)]
