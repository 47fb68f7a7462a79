"""What results are used for: two bits, one for each element of a program's result."""

from __future__ import annotations

import pytest
from support import hlo_builder as hlo

from tfadvisor.program.module import Module
from tfadvisor.program.uses import NEEDED, uses

ARRAY, PAIR = "f32[8]", "(f32[8], f32[8])"
FIRST, OTHER = 2, 4


def argument(number: int, shape: str = ARRAY, place: int = 0) -> bytes:
    return hlo.op(number, "parameter", shape, number=place, name=f"given.{number}")


def made(number: int, *operands: int, name: str = "", opcode: str = "negate") -> bytes:
    return hlo.op(number, opcode, ARRAY, *operands, name=name)


def found(*computations: bytes) -> dict[str, int]:
    """Of a program whose first result has the bit 2, and the second one 4."""
    module = Module(hlo.module(*computations, entry=1))
    return dict(uses(module, [FIRST, OTHER]))


def test_what_an_instruction_reaches_through_its_users() -> None:
    """`both` leads to either result; nothing uses `dead`."""
    body = hlo.computation(
        1,
        argument(1),
        made(2, 1, name="both"),
        made(3, 2, name="first"),
        made(4, 2, name="other"),
        made(5, 1, name="dead"),
        hlo.op(6, "tuple", PAIR, 3, 4),
    )

    used = found(body)

    assert (used["first"], used["other"]) == (FIRST, OTHER)
    assert (used["both"], used["dead"]) == (FIRST | OTHER, 0)


def test_each_element_of_a_fusions_result_is_followed_by_itself() -> None:
    """The fusion makes one result of its first operand, the other of its second."""
    fused = hlo.computation(
        2,
        argument(21),
        argument(22, place=1),
        made(23, 21),
        made(24, 22),
        hlo.op(25, "tuple", PAIR, 23, 24),
    )
    body = hlo.computation(
        1,
        argument(1),
        made(2, 1, name="first"),
        made(3, 1, name="other"),
        hlo.op(4, "fusion", PAIR, 2, 3, calls=[2]),
        hlo.op(5, "get-tuple-element", ARRAY, 4),
        hlo.op(6, "get-tuple-element", ARRAY, 4, extra=hlo.field(13, 1)),
        hlo.op(7, "tuple", PAIR, 5, 6),
    )

    used = found(fused, body)

    assert (used["first"], used["other"]) == (FIRST, OTHER)


def loop(*rows: bytes, root: tuple[int, int]) -> tuple[bytes, bytes, bytes]:
    """A loop over a pair whose body is these rows and a pair of two instructions; the
    pair's elements are 22 and 23.
    """
    shape = f"({ARRAY}, {ARRAY})"
    inside = hlo.computation(
        2,
        argument(21, shape),
        hlo.op(22, "get-tuple-element", ARRAY, 21),
        hlo.op(23, "get-tuple-element", ARRAY, 21, extra=hlo.field(13, 1)),
        *rows,
        hlo.op(29, "tuple", shape, *root),
    )
    ends = hlo.computation(
        3, argument(31, shape), hlo.op(32, "constant", "pred[]", name="ends")
    )
    body = hlo.computation(
        1,
        argument(1),
        made(2, 1, name="first"),
        made(3, 1, name="other"),
        hlo.op(4, "tuple", shape, 2, 3),
        hlo.op(5, "while", shape, 4, calls=[2, 3]),
        hlo.op(6, "get-tuple-element", ARRAY, 5),
        hlo.op(7, "get-tuple-element", ARRAY, 5, extra=hlo.field(13, 1)),
        hlo.op(8, "tuple", PAIR, 6, 7),
    )
    return inside, ends, body


def test_a_loops_elements_that_do_not_meet_stay_apart() -> None:
    used = found(*loop(made(24, 22, name="a"), made(25, 23, name="b"), root=(24, 25)))

    assert (used["a"], used["b"]) == (FIRST, OTHER)
    assert (used["first"], used["other"]) == (FIRST, OTHER)


def test_what_one_round_hands_to_the_next_is_used_there() -> None:
    """The second element is made of the first: all that makes that leads to both."""
    used = found(*loop(made(24, 22, name="a"), made(25, 22, name="b"), root=(24, 25)))

    assert (used["a"], used["b"]) == (FIRST | OTHER, OTHER)
    assert (used["first"], used["other"]) == (FIRST | OTHER, OTHER)


def test_what_decides_about_rounds_is_used_for_all_that_they_make() -> None:
    """The loop goes on by its second element, as a solver does by an error that it
    returns as well.
    """
    inside, _, body = loop(
        made(24, 22, name="a"), made(25, 22, name="b"), root=(24, 25)
    )
    goes_on = hlo.computation(
        3,
        argument(31, f"({ARRAY}, {ARRAY})"),
        hlo.op(32, "get-tuple-element", ARRAY, 31, extra=hlo.field(13, 1)),
        hlo.op(33, "compare", "pred[]", 32, 32),
    )

    used = found(inside, goes_on, body)

    assert used["b"] == FIRST | OTHER


def test_an_exchange_of_several_arrays_keeps_them_apart() -> None:
    body = hlo.computation(
        1,
        argument(1),
        made(2, 1, name="first"),
        made(3, 1, name="other"),
        hlo.op(4, "all-reduce", PAIR, 2, 3),
        hlo.op(5, "get-tuple-element", ARRAY, 4),
        hlo.op(6, "get-tuple-element", ARRAY, 4, extra=hlo.field(13, 1)),
        hlo.op(7, "tuple", PAIR, 5, 6),
    )

    used = found(body)

    assert (used["first"], used["other"]) == (FIRST, OTHER)


@pytest.mark.parametrize(
    "acting",
    [
        hlo.op(3, "custom-call", ARRAY, 2, target="callback"),
        hlo.op(3, "outfeed", "token[]", 2),
    ],
    ids=["a call that nothing uses", "outfeed"],
)
def test_what_acts_beside_its_result_needs_what_it_gets(acting: bytes) -> None:
    body = hlo.computation(
        1,
        argument(1),
        made(2, 1, name="sent"),
        acting,
        hlo.op(4, "tuple", PAIR, 1, 1),
    )

    assert found(body)["sent"] == NEEDED


def test_a_call_with_an_effect_whose_result_is_used_needs_what_it_gets() -> None:
    effect = hlo.field(65, 1)
    body = hlo.computation(
        1,
        argument(1),
        made(2, 1, name="sent"),
        hlo.op(3, "custom-call", ARRAY, 2, target="io_callback", extra=effect),
        hlo.op(4, "tuple", PAIR, 3, 1),
    )

    assert found(body)["sent"] == NEEDED | FIRST


def nested(levels: int) -> Module:
    """A fusion in a fusion in …, of which each hands its second result on; the first
    one is made of nothing else.
    """
    made = [
        hlo.computation(
            100,
            hlo.op(1001, "parameter", ARRAY),
            hlo.op(1002, "parameter", ARRAY, number=1),
            hlo.op(1003, "tuple", PAIR, 1001, 1002),
        )
    ]
    for level in range(101, 100 + levels):
        first = 10 * level
        inside = (
            hlo.op(first, "parameter", ARRAY),
            hlo.op(first + 1, "parameter", ARRAY, number=1),
            hlo.op(first + 2, "fusion", PAIR, first, first + 1, calls=[level - 1]),
        )
        made.append(hlo.computation(level, *inside))
    body = hlo.computation(
        1,
        hlo.op(1, "parameter", ARRAY),
        hlo.op(2, "negate", ARRAY, 1, name="first"),
        hlo.op(3, "negate", ARRAY, 1, name="other"),
        hlo.op(4, "fusion", PAIR, 2, 3, calls=[99 + levels]),
    )
    return Module(hlo.module(*made, body))


def test_fusions_are_looked_into_as_deep_as_any_compiler_nests_them() -> None:
    """Deeper, each operand is taken for used by all that the fusion makes."""
    assert uses(nested(3), [FIRST, OTHER])["first"] == FIRST
    assert uses(nested(3000), [FIRST, OTHER])["first"] == FIRST | OTHER
