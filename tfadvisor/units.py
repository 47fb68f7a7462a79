"""Units of metrics, and the only place where numbers become words."""

from __future__ import annotations

from enum import Enum

PS_PER_US = 1_000_000
PS_PER_MS = 1_000_000_000
PS_PER_S = 1_000_000_000_000


class Unit(Enum):
    """What a metric's number counts; the value is its name in the JSON report."""

    FRACTION = "fraction"
    MS = "ms"
    US = "us"
    BYTES = "bytes"
    COUNT = "count"
    GB_S = "GB/s"


_MOST_DIGITS = 18
"""Of a number that fits into int64."""


def number_of(digits: str) -> int | None:
    """What decimal digits say; None of any other text, and of more digits than there
    are things to count.
    """
    if len(digits) <= _MOST_DIGITS and digits.isascii() and digits.isdecimal():
        return int(digits)
    return None


def in_words(value: float, unit: Unit) -> str:
    """A number as a reader wants it: `38.2%`, `1.25 ms`, `3.1 MiB`."""
    if unit is Unit.FRACTION:
        return percent(value)
    if unit is Unit.BYTES:
        return size(value)
    if unit is Unit.COUNT:
        return count(value)
    if unit is Unit.GB_S:
        return f"{value:.3g} GB/s"
    return duration(value / 1000 if unit is Unit.US else value)


def limit_in_words(value: float, unit: Unit) -> str:
    """A number that a user wrote: a share with all of its digits, `0.5%`, `99.5%`."""
    return f"{value * 100:g}%" if unit is Unit.FRACTION else in_words(value, unit)


def percent(fraction: float) -> str:
    """`0.382` -> `38%`; one decimal below 10%, so that small shares do not vanish."""
    scaled = fraction * 100
    return f"{scaled:.0f}%" if abs(scaled) >= 10 or scaled == 0 else f"{scaled:.1f}%"


def duration(milliseconds: float) -> str:
    """Three significant digits in the unit that fits: µs, ms or s."""
    if abs(milliseconds) >= 1000:
        return f"{_three_digits(milliseconds / 1000)} s"
    if abs(milliseconds) >= 1 or milliseconds == 0:
        return f"{_three_digits(milliseconds)} ms"
    return f"{_three_digits(milliseconds * 1000)} µs"


def size(number: float) -> str:
    """Bytes with a binary prefix."""
    for prefix in ("B", "KiB", "MiB", "GiB"):
        if abs(number) < 1024:
            return f"{_three_digits(number)} {prefix}"
        number /= 1024
    return f"{_three_digits(number)} TiB"


def rate(a_second: float, what: str) -> str:
    """With a decimal prefix, as data sheets have it: `3.60 MB/s`, `300 GB/s`."""
    for prefix in ("", "k", "M", "G"):
        if abs(a_second) < 1000:
            return f"{_three_digits(a_second)} {prefix}{what}/s"
        a_second /= 1000
    return f"{_three_digits(a_second)} T{what}/s"


def count(number: float) -> str:
    """Whole where it is whole, thousands separated."""
    if float(number).is_integer():
        return f"{int(number):,}"
    return f"{number:,.1f}" if abs(number) < 100 else f"{number:,.0f}"


def counted(
    number: str,
    one: str,
    many: str,
) -> str:
    """A number in words with the noun that fits it: `1 step`, `2.5 steps`."""
    return f"{number} {one if number == '1' else many}"


def _three_digits(number: float) -> str:
    magnitude = abs(number)
    if magnitude >= 100 or float(number).is_integer():
        return f"{number:,.0f}"
    return f"{number:.1f}" if magnitude >= 10 else f"{number:.2f}"


_TO_SPARE = 1.2
"""Of a budget."""


def budget_for(seconds: float) -> str:
    """`--budget 6m`, which leaves a fifth more than so many seconds take."""
    return f"--budget {int(_TO_SPARE * seconds / 60) + 1}m"
