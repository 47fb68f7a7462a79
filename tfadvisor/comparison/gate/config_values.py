"""What a value of a configuration may be: each kind returns the value as it is used, or
raises ValueError with what is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import date, datetime
from typing import Any

from tfadvisor.did_you_mean import nearest

Kind = Callable[[Any], Any]
"""What a value must be: returns it as it is used, raises ValueError with what is wrong.
"""

_HUGE = 1e300
_PERCENT = re.compile(r"^\s*([+-]?\d+(?:\.\d+)?)\s*%\s*$")


def one_of(*names: str) -> Kind:
    """One of these words."""

    def kind(value: Any) -> str:
        if isinstance(value, str) and value in names:
            return value
        near = meant(value, names) if isinstance(value, str) else "."
        raise ValueError(
            f"is {_said(value)}, and must be one of {', '.join(names)}{near}"
        )

    return kind


def number_of_runs(value: Any) -> int:
    """A whole number from 1 to 1,000."""
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if not is_whole or not 1 <= value <= 1000:
        raise ValueError("is not a whole number from 1 to 1,000.")
    return int(value)


def words(value: Any) -> str:
    """A text that is not empty."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError("is not text, or an empty one.")
    return value


def label(value: Any) -> str:
    """A text or number, as text."""
    if not isinstance(value, str | int | float):
        raise ValueError("is not text or number.")
    return str(value)


def share(value: Any) -> float:
    """A number from 0 on, or a share such as "5%"."""
    number = _number(value)
    if number < 0:
        raise ValueError("is below 0.")
    if number > 10 and not isinstance(value, str):
        raise ValueError(f'is {number:g} times; did you mean "{number:g}%"?')
    return number


def rate(value: Any) -> float:
    """A share from 0.0001% to 20%."""
    number = share(value)
    if not 1e-6 <= number <= 0.2:
        raise ValueError("must lie between 0.0001% and 20%.")
    return number


def amount(unit: str, *, above_0: bool = False) -> Kind:
    """A number in a metric's unit; per cent for fractions only."""

    def kind(value: Any) -> float:
        if isinstance(value, str) and unit != "fraction":
            raise ValueError(f"is not a number of {unit}.")
        number = _number(value)
        if above_0 and number < 0:
            raise ValueError("is below 0; `worse` says which way is meant.")
        return number

    return kind


def day(value: Any) -> date:
    """As TOML writes it or as a text."""
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    try:
        return date.fromisoformat(value)
    except (TypeError, ValueError):
        raise ValueError(
            f"is {_said(value)}, and must be a day, such as 2026-12-31."
        ) from None


def anything(value: Any) -> Any:
    """A part of the configuration that is looked at later."""
    return value


def _number(value: Any) -> float:
    """A number, or a share such as "5%"."""
    percent = _PERCENT.match(value) if isinstance(value, str) else None
    if percent is not None:
        return float(percent.group(1)) / 100

    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not -_HUGE < value < _HUGE:
        raise ValueError(
            f'is {_said(value)}, and must be a number or a share such as "5%".'
        )
    return float(value)


def meant(name: str, known: Iterable[str]) -> str:
    """The end of a sentence: `; did you mean preset?` where one name is near, else a
    full stop.
    """
    near = nearest(name, known)
    return f"; did you mean {near}?" if near is not None else "."


def _said(value: Any) -> str:
    return f"{value!r:.60}"
