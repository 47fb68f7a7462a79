"""The period of a sequence: how far it is looked at, which length wins and where a
cycle begins.
"""

from __future__ import annotations

import numpy as np
import pytest

from tfadvisor.timeline.steps.periodicity import (
    Period,
    _candidate_lags,
    _cycle_starts,
    find_period,
)


def paused(text: str, before: str, extra: int = 100) -> Period | None:
    """One letter every 10 µs, 5 long, and a longer pause before each use of a
    letter.
    """
    gaps = np.array([10 + extra * (letter == before) for letter in text])
    starts = np.cumsum(gaps)
    return find_period(np.array([ord(letter) for letter in text]), starts, starts + 5)


def test_a_cycle_begins_after_the_longest_pause_on_average() -> None:
    """The trace begins in the middle of a cycle, and its pauses grow from cycle to
    cycle.
    """
    text = "bc" + "abc" * 5
    starts = np.cumsum(
        [10 + (100 + index) * (letter == "a") for index, letter in enumerate(text)]
    )

    period = find_period(np.array([ord(letter) for letter in text]), starts, starts + 5)

    assert period is not None
    assert (period.length, period.match, period.firsts.tolist()) == (
        3,
        1.0,
        [2, 5, 8, 11, 14],
    )


def test_the_first_cycle_tells_no_pause() -> None:
    """What came before the first item is not known. Before `a` lie 10 µs twice, before
    `b` 9 three times.
    """
    starts = np.cumsum([0, 14, 15, 14, 15, 14])
    period = find_period(np.array([1, 2, 1, 2, 1, 2]), starts, starts + 5)

    assert period is not None
    assert period.firsts.tolist() == [0, 2, 4]


def test_all_cycles_but_the_first_tell_the_pauses() -> None:
    """Before `a` lie 20 and 9 µs, before `b` always 10: 14.5 on average are the longer
    pause.
    """
    starts = np.cumsum([0, 15, 25, 15, 14, 15])
    period = find_period(np.array([1, 2, 1, 2, 1, 2]), starts, starts + 5)

    assert period is not None
    assert period.firsts.tolist() == [0, 2, 4]


def test_what_ends_later_than_its_successor_leaves_no_pause_behind_that() -> None:
    """`a` runs until 95 of 100; `b` from 10 to 15 within it, so `c` at 40 follows no
    pause, and the next `a` one of 5.
    """
    starts = np.array([cycle * 100 + at for cycle in range(5) for at in (0, 10, 40)])
    ends = np.array([cycle * 100 + at for cycle in range(5) for at in (95, 15, 45)])

    period = find_period(np.array([1, 2, 3] * 5), starts, ends)

    assert period is not None
    assert period.firsts.tolist() == [0, 3, 6, 9, 12]


@pytest.mark.parametrize(("left_out", "is_found"), [(0, True), (1, False)])
def test_a_long_cycle_that_uses_each_name_again_is_found(
    left_out: int, is_found: bool
) -> None:
    """Each of four names comes eight times in 32 items, and never a whole cycle after
    its last use. One item less is a part of a computation.
    """
    cycle = "abbcaddcbacdabbadcccbdadabdcadcb"[left_out:]
    period = paused(cycle * 6, "x")

    assert (period is not None) is is_found
    assert period is None or (period.length, period.match) == (32, 1.0)


def test_names_without_an_order_have_no_cycle() -> None:
    """Four of them, each of which comes again and again."""
    letters = np.random.default_rng(0).choice(list("abcd"), 400)

    assert paused("".join(letters), "x") is None


def test_a_call_more_in_one_cycle_moves_the_next_beginnings() -> None:
    """`x` comes once, behind the twelfth of sixteen cycles: most pauses lie before the
    first, fifth … letter.
    """
    text = "abcd" * 12 + "x" + "abcd" * 4

    period = paused(text, "a")

    assert period is not None
    assert period.firsts.tolist() == [*range(0, 48, 4), 49, 53, 57, 61]


@pytest.mark.parametrize(
    ("codes", "firsts"),
    [
        ("abcabcabcaa", [0, 3, 6, 9, 10]),  # one use more than cycles
        ("abcabcaacaa", [0, 3, 6, 9]),  # two more
        ("abcabcxbca", [0, 3, 9]),  # one less
        ("abcxbcxbca", [0, 3, 6, 9]),  # two less
    ],
)
def test_cycles_begin_with_the_name_that_they_use_once(
    codes: str, firsts: list[int]
) -> None:
    """As many uses of the name as cycles, or one more or less: else cycles are counted
    off.
    """
    assert _cycle_starts(np.array([ord(one) for one in codes]), 3, 0).tolist() == firsts


def test_cycles_are_counted_off_from_the_longest_pause() -> None:
    """`a` is used twice a cycle: of eight the second begins each."""
    assert _cycle_starts(np.array([1, 2, 1, 3] * 4), 4, 2).tolist() == [2, 6, 10, 14]


def test_three_cycles_must_fit() -> None:
    """A name comes again after 4 of 12 and of 11."""
    assert _candidate_lags(
        np.array([9, 1, 2, 3, 9, 4, 5, 6, 7, 8, 10, 11])
    ).tolist() == [4]
    assert _candidate_lags(np.array([9, 1, 2, 3, 9, 4, 5, 6, 7, 8, 10])).tolist() == []


def test_the_96_lengths_that_explain_most_are_tried() -> None:
    """Names that come again after 2, 3 … 130; one more comes 200 times in a row, 199
    times after 1.
    """
    fresh = iter(range(1000, 100_000))
    codes = [0] * 200
    for lag in range(2, 131):
        codes += [lag, *(next(fresh) for _ in range(lag - 1)), lag]

    assert _candidate_lags(np.array(codes)).tolist() == [1, *range(36, 131)]


def test_the_first_131072_items_tell_the_period() -> None:
    """8,192 of them, behind the first half, are names of their own: 8,196 of 131,068
    pairs differ. All behind differ.
    """
    items = 1 << 18
    codes = np.tile([0, 1, 2, 3], items // 4)
    codes[1 << 16 : (1 << 16) + (1 << 13)] = np.arange(10, 10 + (1 << 13))
    codes[1 << 17 :] = np.arange(100_000, 100_000 + (1 << 17))
    starts = np.arange(items) * 10

    period = find_period(codes, starts, starts + 5)

    assert period is not None
    assert (period.length, period.match) == (4, 1 - 8196 / 131_068)


@pytest.mark.parametrize(("odd", "found"), [(3, True), (4, False)])
def test_85_percent_of_the_items_must_repeat(odd: int, found: bool) -> None:
    """44 letters make 40 pairs a cycle apart. Each odd letter breaks two: three leave
    34 (85 %), four 32 (80 %).
    """
    text = list("abcd" * 11)
    for index in range(odd):
        text[6 + index * 9] = "wxyz"[index]

    assert (paused("".join(text), "a") is not None) is found


def test_a_cycle_that_explains_just_85_percent_is_one() -> None:
    """Of 44 letters three in the middle are others: 6 of 40 pairs four apart differ, 6
    of 36 and 6 of 32 further apart.
    """
    text = list("abcd" * 11)
    text[13], text[22], text[31] = "xyz"

    period = paused("".join(text), "a")

    assert period is not None
    assert (period.length, period.match) == (4, 0.85)


def test_a_cycle_that_explains_97_percent_of_the_best_is_as_good() -> None:
    """`abcd` all along, but an `x` every 64 letters, in 11 such cycles: of 700 pairs
    four letters apart 21 differ.
    """
    period = paused(("abcd" * 15 + "abcx") * 11, "a")

    assert period is not None
    assert (period.length, period.match) == (4, 1.0)


@pytest.mark.parametrize(("apart", "length"), [(80, 2), (56, 56)])
def test_of_lengths_that_explain_nearly_as_much_the_shortest_wins(
    apart: int, length: int
) -> None:
    """`ab` all along, but a `c` every 80 and 56 letters, in four such cycles, which
    explain all.

    A cycle of two fails at each `c` and behind it: 7 of 318 pairs are 2.2 %, 7 of 222
    are 3.2 %; 3 % are little enough.
    """
    period = paused(("ab" * (apart // 2 - 1) + "ac") * 4, "a")

    assert period is not None
    assert period.length == length


def test_a_branch_in_some_cycles_does_not_hide_the_others() -> None:
    """Ten rounds of a to h; the third and the sixth take a branch of two calls behind
    e, which moves what follows it.

    Of the items 8 apart only 56 of 76 agree (74 %). A branching round shares 8 of its
    10 calls with the usual one.
    """
    rounds = ["abcdexyfgh" if index in (2, 5) else "abcdefgh" for index in range(10)]

    period = paused("".join(rounds), "a")

    assert period is not None
    assert period.length == 8
    assert period.firsts.tolist() == [0, 8, 16, 26, 34, 42, 52, 60, 68, 76]
    assert period.match == pytest.approx((7 + 2 * 0.8) / 9)


def test_rounds_that_share_little_are_no_cycles() -> None:
    """Each begins with a and has eight calls, five of which no other round makes; two
    rounds are longer.
    """
    rounds = [
        "abc"
        + "".join(chr(200 + 9 * index + k) for k in range(7 if index in (2, 5) else 5))
        for index in range(10)
    ]

    assert paused("".join(rounds), "a") is None
