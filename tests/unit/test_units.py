"""Numbers as a reader wants them, at every place where their form changes."""

from __future__ import annotations

import pytest

from tfadvisor.units import Unit, count, duration, in_words, percent, size


def packed(text: str) -> str:
    """Without the space before the unit."""
    return text.replace(" ", "")


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (0.1, "10%"),
        (0.0999, "10.0%"),
        (0.094, "9.4%"),
        (0.382, "38%"),
        (0.0, "0%"),
        (-0.1, "-10%"),
        (-0.02, "-2.0%"),
    ],
)
def test_shares_below_10_percent_have_a_decimal(share: float, words: str) -> None:
    assert packed(percent(share)) == words


@pytest.mark.parametrize(
    ("ms", "words"),
    [
        (1000, "1s"),
        (999, "999ms"),
        (1, "1ms"),
        (0.999, "999µs"),
        (0, "0ms"),
        (-2000, "-2s"),
        (-0.5, "-500µs"),
    ],
)
def test_durations_are_in_the_unit_that_fits(ms: float, words: str) -> None:
    assert packed(duration(ms)) == words


@pytest.mark.parametrize(
    ("ms", "words"),
    [
        (1.2345, "1.23ms"),
        (12.345, "12.3ms"),
        (9.999, "10.00ms"),
        (10.04, "10.0ms"),
        (123.45, "123ms"),
    ],
)
def test_three_digits_tell_enough(ms: float, words: str) -> None:
    assert packed(duration(ms)) == words


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (1023, "1,023B"),
        (1024, "1KiB"),
        (1 << 20, "1MiB"),
        (1 << 30, "1GiB"),
        (1 << 40, "1TiB"),
        (1 << 51, "2,048TiB"),
    ],
)
def test_sizes_have_binary_prefixes(number: float, words: str) -> None:
    assert packed(size(number)) == words


@pytest.mark.parametrize(
    ("number", "words"),
    [(1234, "1,234"), (99.96, "100.0"), (99.5, "99.5"), (100.4, "100")],
)
def test_counts_are_whole_where_they_can_be(number: float, words: str) -> None:
    assert count(number) == words


def test_each_unit_has_its_words() -> None:
    found = [
        packed(in_words(1.5, unit))
        for unit in (Unit.FRACTION, Unit.MS, Unit.US, Unit.BYTES, Unit.COUNT, Unit.GB_S)
    ]

    assert found == ["150%", "1.50ms", "1.50µs", "1.50B", "1.5", "1.5GB/s"]
