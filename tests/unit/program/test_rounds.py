"""What the rounds of a loop need of each other, and arrays that a round copies whole."""

from __future__ import annotations

import pytest
from support import hlo_builder as hlo

from tfadvisor.program.module import Module
from tfadvisor.program.rounds import NO_ROUNDS, CarriedCopy, Rounds, rounds_of

ROWS, ROW, NUMBER = "f32[8,4]{1,0}", "f32[1,4]{1,0}", "s32[]"
SQUARE = "f32[4,4]{1,0}"
CARRIED = f"({NUMBER}, {ROWS}, {ROWS})"
"""A counter, what is given, and what is made."""


def element(one: int, whole: int, index: int, shape: str) -> bytes:
    extra = hlo.field(13, index)
    return hlo.op(one, "get-tuple-element", shape, whole, extra=extra)


COUNTS = (
    hlo.op(10, "parameter", CARRIED),
    element(11, 10, 0, NUMBER),
    element(12, 10, 1, ROWS),
    element(13, 10, 2, ROWS),
    hlo.op(14, "constant", NUMBER),
    hlo.op(15, "add", NUMBER, 11, 14),
)
"""The counter is 11, what is given 12, what is made 13, the next counter 15."""
WORK = (
    hlo.op(16, "dynamic-slice", ROW, 12, 11, 14),
    hlo.op(17, "tanh", ROW, 16, name="tanh"),
)
"""Makes 17, a row of what is given."""
WRITES = hlo.op(18, "dynamic-update-slice", ROWS, 13, 17, 11, 14, name="write")
UNTIL = hlo.computation(
    3,
    hlo.op(30, "parameter", CARRIED),
    element(31, 30, 0, NUMBER),
    hlo.op(32, "constant", NUMBER),
    hlo.op(33, "compare", "pred[]", 31, 32),
)
ZERO = hlo.op(
    27,
    "constant",
    NUMBER,
    extra=hlo.field(8, hlo.field(1, hlo.shape(NUMBER)) + hlo.packed(4, [0])),
)
PLACE = hlo.metadata("jit(f)/while", "train.py", 21)


def program(
    *body: bytes,
    handed_on: tuple[int, int, int] = (15, 12, 18),
    before: tuple[bytes, ...] = (),
    until: bytes = UNTIL,
    config: dict[str, object] | None = None,
    around: tuple[bytes, ...] = (),
) -> Module:
    """A loop of this body. before: computations that it calls. around: instructions
    beside the loop."""
    root = hlo.op(19, "tuple", CARRIED, *handed_on)
    loop = hlo.op(
        2,
        "while",
        CARRIED,
        1,
        calls=[2, 3],
        name="loop",
        metadata=PLACE,
        config={"known_trip_count": {"n": "8"}} if config is None else config,
    )
    return Module(
        hlo.module(
            *before,
            hlo.computation(2, *COUNTS, *body, root),
            until,
            hlo.computation(1, hlo.op(1, "parameter", CARRIED), *around, loop),
        )
    )


def free(*body: bytes, **more: object) -> list[str]:
    """Names of the loops whose rounds do not need each other."""
    return [loop.name for loop in rounds_of(program(*body, **more)).free]  # type: ignore[arg-type]


def test_rounds_that_each_write_a_row_of_their_own() -> None:
    """Five ops in each of 8 rounds: three of the work, a counter and a condition."""
    (loop,) = rounds_of(program(*WORK, WRITES)).free

    assert (loop.name, loop.line, loop.rounds) == ("loop", "train.py:21", 8)
    assert loop.kernels["tanh"] == loop.kernels["write"] == 1
    assert loop.kernels["loop"] == 5 * 8


def test_a_number_of_rounds_that_is_not_noted() -> None:
    (loop,) = rounds_of(program(*WORK, WRITES, config={})).free

    assert (loop.rounds, loop.kernels["loop"]) == (0, 0)


@pytest.mark.parametrize(
    "last",
    [
        hlo.op(18, "add", ROWS, 13, 17),
        hlo.op(18, "add", ROWS, 17, 13),
    ],
)
def test_rounds_that_add_up(last: bytes) -> None:
    assert free(*WORK, last) == ["loop"]


@pytest.mark.parametrize(
    ("at", "found"),
    [
        (11, ["loop"]),
        (15, ["loop"]),
        (20, ["loop"]),
        (30, ["loop"]),
        (21, []),
        (26, []),
        (29, []),
        (32, []),
    ],
    ids=[
        "the counter",
        "the next",
        "moved below 0",
        "counted down",
        "of the data",
        "often the first",
        "moved from n on",
        "moved below n",
    ],
)
def test_rounds_that_add_to_a_row_of_their_own(at: int, found: list[str]) -> None:
    """What was there before is no other round's, if each round has another place."""
    body = (
        hlo.op(20, "select", NUMBER, 22, 23, 11),
        hlo.op(21, "reduce", NUMBER, 12),
        hlo.op(26, "select", NUMBER, 22, 14, 11),
        hlo.op(24, "dynamic-slice", ROW, 13, at, 14),
        hlo.op(25, "multiply", ROW, 24, 17),
        hlo.op(18, "dynamic-update-slice", ROWS, 13, 25, at, 14),
    )
    is_less = hlo.field(63, "LT")
    below = (
        ZERO,
        hlo.op(22, "compare", "pred[]", 11, 27, extra=is_less),
        hlo.op(23, "add", NUMBER, 11, 14),
        hlo.op(28, "compare", "pred[]", 11, 14, extra=hlo.field(63, "GE")),
        hlo.op(29, "select", NUMBER, 28, 23, 11),
        hlo.op(30, "subtract", NUMBER, 14, 11),
        hlo.op(31, "compare", "pred[]", 11, 14, extra=is_less),
        hlo.op(32, "select", NUMBER, 31, 23, 11),
    )

    assert free(*WORK, *below, *body) == found


def test_a_row_that_is_looked_at_and_its_neighbour_too() -> None:
    body = (
        hlo.op(24, "dynamic-slice", ROW, 13, 11, 14),
        hlo.op(25, "dynamic-slice", ROW, 13, 15, 14),
        hlo.op(17, "add", ROW, 24, 25),
    )

    assert free(*body, WRITES) == []


@pytest.mark.parametrize(
    ("left", "right", "matrix"),
    [
        ((ROW, 17), (SQUARE, 27), "f32[4,4]"),
        ((ROW, 17), (SQUARE, 28), ""),
        ((ROW, 24), (SQUARE, 27), ""),
        (("f32[2,4]{1,0}", 26), (SQUARE, 27), ""),
    ],
    ids=[
        "a vector of the round, a matrix of all",
        "two of the round",
        "two of all rounds",
        "a matrix of the round",
    ],
)
def test_a_matrix_that_all_rounds_multiply_by_vectors(
    left: tuple[str, int], right: tuple[str, int], matrix: str
) -> None:
    (lhs, one), (_, other) = left, right
    body = (
        hlo.op(24, "slice", ROW, 12),
        hlo.op(26, "dynamic-slice", "f32[2,4]{1,0}", 12, 11, 14),
        hlo.op(27, "slice", SQUARE, 12),
        hlo.op(28, "dynamic-slice", SQUARE, 12, 11, 14),
        hlo.op(29, "dot", lhs, one, other, extra=hlo.dot_numbers([1], [0])),
        hlo.op(25, "reduce", ROW, 29),
        hlo.op(18, "dynamic-update-slice", ROWS, 13, 25, 11, 14),
    )

    (loop,) = rounds_of(program(*WORK, *body)).free

    assert loop.matrix == matrix


def test_counting_alone_is_no_work() -> None:
    assert free(handed_on=(15, 12, 13)) == []


@pytest.mark.parametrize(
    ("body", "handed_on"),
    [
        ((hlo.op(18, "tanh", ROWS, 13),), (15, 12, 18)),
        ((hlo.op(18, "add", ROWS, 13, 13),), (15, 12, 18)),
        (
            (
                hlo.op(16, "dynamic-slice", ROW, 13, 15, 14),
                hlo.op(17, "tanh", ROW, 16),
                WRITES,
            ),
            (15, 12, 18),
        ),
        ((*WORK, hlo.op(18, "subtract", ROWS, 17, 13)), (15, 12, 18)),
        (
            (*WORK, hlo.op(18, "dynamic-update-slice", ROWS, 13, 17, 14, 14)),
            (15, 12, 18),
        ),
        (
            (
                *WORK,
                hlo.op(20, "reduce", NUMBER, 12),
                hlo.op(18, "dynamic-update-slice", ROWS, 13, 17, 20, 14),
            ),
            (15, 12, 18),
        ),
        ((*WORK, WRITES), (15, 13, 18)),
        ((*WORK, WRITES), (11, 12, 18)),
        ((*WORK, WRITES, hlo.op(20, "add", NUMBER, 11, 11)), (20, 12, 18)),
        ((*WORK, WRITES, hlo.op(20, "all-reduce", ROW, 17)), (15, 12, 18)),
        (
            (
                *WORK,
                WRITES,
                hlo.op(20, "custom-call", ROW, 17, target="xla_python_cpu_callback"),
            ),
            (15, 12, 18),
        ),
        (
            (
                *WORK,
                hlo.op(20, "add", ROWS, 13, 17),
                hlo.op(18, "dynamic-update-slice", ROWS, 12, 20, 11, 14),
            ),
            (15, 18, 20),
        ),
    ],
    ids=[
        "a state",
        "a state that grows",
        "a row that the next round writes",
        "a difference that changes its sign",
        "always the same row",
        "a row that the data says",
        "an array in the place of another",
        "no counter",
        "a counter that doubles",
        "an exchange in each round",
        "a callback in each round",
        "rows of a running sum",
    ],
)
def test_rounds_that_need_those_before_them(
    body: tuple[bytes, ...], handed_on: tuple[int, int, int]
) -> None:
    assert free(*body, handed_on=handed_on) == []


WINDOW = "f32[2,4]{1,0}"
OTHER_ORDER = "f32[8,4]{0,1}"


@pytest.mark.parametrize(
    "body",
    [
        (
            hlo.op(16, "dynamic-slice", WINDOW, 13, 11, 14),
            hlo.op(17, "tanh", WINDOW, 16),
            WRITES,
        ),
        (
            *WORK,
            hlo.op(20, "dynamic-slice", ROW, 13, 11, 14),
            hlo.op(21, "dynamic-update-slice", ROWS, 13, 20, 11, 14),
            hlo.op(18, "dynamic-update-slice", ROWS, 21, 17, 15, 14),
        ),
        (
            *WORK,
            hlo.op(20, "dynamic-slice", ROW, 13, 14, 14),
            hlo.op(21, "dynamic-update-slice", ROWS, 13, 20, 14, 14),
            hlo.op(18, "dynamic-update-slice", ROWS, 21, 17, 11, 14),
        ),
        (
            hlo.op(20, "bitcast", OTHER_ORDER, 13),
            hlo.op(16, "dynamic-slice", ROW, 20, 11, 14),
            hlo.op(17, "tanh", ROW, 16),
            WRITES,
        ),
        (
            hlo.op(20, "bitcast", OTHER_ORDER, 13),
            hlo.op(21, "copy", ROWS, 20),
            hlo.op(16, "dynamic-slice", ROW, 21, 11, 14),
            hlo.op(17, "tanh", ROW, 16),
            WRITES,
        ),
    ],
    ids=[
        "two rows",
        "its own and the next one's",
        "the first and its own",
        "of what lies in another order",
        "of a copy of what lies in another order",
    ],
)
def test_rows_that_other_rounds_write_too(body: tuple[bytes, ...]) -> None:
    assert free(*body) == []


@pytest.mark.parametrize("opcode", ["remainder", "minimum"])
def test_places_that_come_again(opcode: str) -> None:
    place = hlo.op(20, opcode, NUMBER, 11, 14)
    write = hlo.op(18, "dynamic-update-slice", ROWS, 13, 17, 20, 14)

    assert free(*WORK, place, write) == []


def test_more_rounds_than_rows() -> None:
    assert free(*WORK, WRITES, config={"known_trip_count": {"n": "9"}}) == []


@pytest.mark.parametrize(
    "number",
    [
        hlo.op(17, "rng", ROW),
        hlo.op(17, "rng-get-and-update-state", ROW),
        hlo.op(17, "custom-call", ROW, target="other", extra=hlo.field(65, 1)),
        hlo.op(17, "fusion", ROW, calls=[4]),
    ],
    ids=["random", "a state of the device", "a side effect", "random in a fusion"],
)
def test_what_each_round_changes_out_of_sight(number: bytes) -> None:
    inner = hlo.computation(4, hlo.op(40, "rng", ROW))

    assert free(number, WRITES, before=(inner,)) == []


@pytest.mark.parametrize(
    "number",
    [
        hlo.op(17, "custom-call", ROW, target="other"),
        hlo.op(17, "rng-bit-generator", ROW, 12),
    ],
    ids=["a call without a side effect", "random numbers of a state that is given"],
)
def test_what_each_round_makes_alone(number: bytes) -> None:
    assert free(number, WRITES) == ["loop"]


def test_a_loop_until_its_result_is_good_needs_the_result() -> None:
    until = hlo.computation(
        3,
        hlo.op(30, "parameter", CARRIED),
        element(31, 30, 2, ROWS),
        hlo.op(33, "reduce", "pred[]", 31),
    )

    assert free(*WORK, WRITES, until=until) == []


@pytest.mark.parametrize("opcode", ["fusion", "call"])
@pytest.mark.parametrize(("read", "found"), [(41, ["loop"]), (40, [])])
def test_what_lies_in_a_fusion_or_a_call_is_looked_into(
    opcode: str, read: int, found: list[str]
) -> None:
    """Its arguments are what is made, what is given and the counter; it reads the first
    row of the first or the second."""
    inner = hlo.computation(
        4,
        hlo.op(40, "parameter", ROWS),
        hlo.op(41, "parameter", ROWS, number=1),
        hlo.op(42, "parameter", NUMBER, number=2),
        hlo.op(43, "constant", NUMBER),
        hlo.op(44, "dynamic-slice", ROW, read, 43, 43),
        hlo.op(45, "tanh", ROW, 44),
        hlo.op(46, "dynamic-update-slice", ROWS, 40, 45, 42, 43),
        hlo.op(47, "add", NUMBER, 42, 43),
        hlo.op(48, "tuple", f"({ROWS}, {NUMBER})", 46, 47),
    )
    body = (
        hlo.op(20, opcode, f"({ROWS}, {NUMBER})", 13, 12, 11, calls=[4]),
        element(18, 20, 0, ROWS),
        element(21, 20, 1, NUMBER),
    )

    assert free(*body, before=(inner,), handed_on=(21, 12, 18)) == found


def inner_loop(body: bytes, until: bytes) -> tuple[bytes, ...]:
    """Computations of a loop over a row, whose round is 51 to the next row."""
    carried = f"({NUMBER}, {ROW})"
    return (
        hlo.computation(
            4,
            hlo.op(50, "parameter", carried),
            element(51, 50, 1, ROW),
            element(52, 50, 0, NUMBER),
            body,
            hlo.op(54, "tuple", carried, 52, 53),
        ),
        hlo.computation(5, hlo.op(60, "parameter", carried), until),
    )


def test_a_recurrence_in_each_round_is_the_rounds_own() -> None:
    """The outer rounds do not need each other, those of the inner loop do."""
    body = (
        *WORK,
        hlo.op(20, "tuple", f"({NUMBER}, {ROW})", 14, 17),
        hlo.op(21, "while", f"({NUMBER}, {ROW})", 20, calls=[4, 5], name="inner"),
        element(22, 21, 1, ROW),
        hlo.op(18, "dynamic-update-slice", ROWS, 13, 22, 11, 14),
    )
    inner = inner_loop(
        hlo.op(53, "tanh", ROW, 51, name="state"), element(61, 60, 0, NUMBER)
    )

    (loop,) = rounds_of(program(*body, before=inner)).free

    assert loop.name == "loop"
    assert {"inner", "state"} < set(loop.kernels)


def test_an_inner_loop_that_begins_where_the_round_before_it_ended() -> None:
    body = (
        hlo.op(16, "dynamic-slice", ROW, 13, 14, 14),
        hlo.op(20, "tuple", f"({NUMBER}, {ROW})", 14, 16),
        hlo.op(21, "while", f"({NUMBER}, {ROW})", 20, calls=[4, 5], name="inner"),
        element(22, 21, 1, ROW),
        hlo.op(18, "dynamic-update-slice", ROWS, 13, 22, 11, 14),
    )
    inner = inner_loop(hlo.op(53, "tanh", ROW, 51), element(61, 60, 0, NUMBER))

    assert free(*body, before=inner) == []


def test_a_branch_that_what_was_made_decides() -> None:
    """Either branch gives a row of what is given."""
    branches = (
        hlo.computation(4, hlo.op(40, "parameter", ROW)),
        hlo.computation(5, hlo.op(50, "parameter", ROW), hlo.op(51, "negate", ROW, 50)),
    )

    def of(deciding: int) -> list[str]:
        body = (
            *WORK,
            hlo.op(20, "reduce", "pred[]", deciding),
            hlo.op(21, "conditional", ROW, 20, 17, 17, calls=[4, 5]),
            hlo.op(18, "dynamic-update-slice", ROWS, 13, 21, 11, 14),
        )
        return free(*body, before=branches)

    assert of(12) == ["loop"]
    assert of(13) == []


@pytest.mark.parametrize(
    ("beside", "counts"),
    [((), True), ((hlo.op(5, "tanh", CARRIED, 1),), False)],
    ids=["for the loop alone", "with other work"],
)
def test_a_call_that_is_there_for_the_loop(
    beside: tuple[bytes, ...], counts: bool
) -> None:
    root = hlo.op(19, "tuple", CARRIED, 15, 12, 18)
    loop = hlo.op(2, "while", CARRIED, 1, calls=[2, 3], name="loop")
    module = hlo.module(
        hlo.computation(2, *COUNTS, *WORK, WRITES, root),
        UNTIL,
        hlo.computation(4, hlo.op(1, "parameter", CARRIED), *beside, loop),
        hlo.computation(
            1, hlo.op(7, "parameter", CARRIED), hlo.op(6, "call", CARRIED, 7, calls=[4])
        ),
    )

    (found,) = rounds_of(Module(module)).free

    assert ("call.6" in found.kernels) is counts


READS = (
    hlo.op(16, "dynamic-slice", ROW, 13, 14, 14),
    hlo.op(17, "tanh", ROW, 16),
)


def test_a_copy_of_a_whole_array_of_which_a_round_writes_a_row() -> None:
    """8 rows of 4 numbers of 4 bytes."""
    copies = (
        hlo.op(20, "copy", ROWS, 13, name="copy"),
        hlo.op(18, "dynamic-update-slice", ROWS, 20, 17, 11, 14),
    )

    found = rounds_of(program(*READS, *copies))

    assert found == Rounds(copies=(CarriedCopy("copy", ROWS, 128, 8),))


@pytest.mark.parametrize(
    "copied",
    [
        (hlo.op(20, "copy", ROWS, 12), WRITES),
        (hlo.op(20, "copy", "f32[8,4]{0,1}", 13), WRITES),
        (hlo.op(20, "copy", ROW, 17), WRITES),
        (hlo.op(20, "copy", ROWS, 13), hlo.op(18, "tanh", ROWS, 20)),
        (
            hlo.op(20, "copy", ROWS, 13),
            hlo.op(18, "dynamic-update-slice", ROWS, 20, 17, 11, 14),
            hlo.op(21, "reduce", ROW, 13),
        ),
    ],
    ids=[
        "of what stays as it is",
        "into another layout",
        "of a row",
        "of what is made anew as a whole",
        "of what a round reads as a whole",
    ],
)
def test_copies_of_other_things(copied: tuple[bytes, ...]) -> None:
    assert rounds_of(program(*READS, *copied)).copies == ()


def test_calls_that_double_at_each_depth_are_given_up() -> None:
    """2 ** 30 instructions, if each call were read."""
    calls = [hlo.computation(100, hlo.op(1000, "parameter", ROW))]
    for depth in range(1, 31):
        one = 1000 + 10 * depth
        calls.append(
            hlo.computation(
                100 + depth,
                hlo.op(one, "parameter", ROW),
                hlo.op(one + 1, "call", ROW, one, calls=[99 + depth]),
                hlo.op(one + 2, "call", ROW, one + 1, calls=[99 + depth]),
            )
        )
    body = (
        *WORK,
        hlo.op(20, "call", ROW, 17, calls=[130]),
        hlo.op(18, "dynamic-update-slice", ROWS, 13, 20, 11, 14),
    )

    assert rounds_of(program(*body, before=tuple(calls))) == NO_ROUNDS
