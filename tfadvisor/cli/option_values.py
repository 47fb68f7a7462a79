"""Values of options as they are written: `110M`, `2:8`, one of several names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import typer

from tfadvisor.did_you_mean import did_you_mean
from tfadvisor.errors import UsageError
from tfadvisor.limit_change import LimitChange

_COUNT = re.compile(r"^(\d+(?:\.\d+)?)\s*([kKmMbBgGtT]?)$")
_THOUSANDS = {"": 1, "k": 10**3, "m": 10**6, "b": 10**9, "g": 10**9, "t": 10**12}


def parameter_count(text: str) -> int:
    """`110M`, `6.7B` or `6,700,000,000`. Raises UsageError for anything else."""
    match = _COUNT.match(text.replace(",", "").replace("_", ""))
    if not match or float(match.group(1)) <= 0:
        raise UsageError(f"--params {text}: give a number of parameters, as 110M or 6700000000.")
    return round(float(match.group(1)) * _THOUSANDS[match.group(2).lower()])


def gigabytes_per_second(text: str) -> float:
    """A positive number. Raises UsageError for anything else."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise UsageError(f"--bandwidth {text}: give GB/s above 0.")
    return value


def limit_change(text: str) -> LimitChange:
    """`RULE.LIMIT=VALUE`. Raises UsageError for what is not of this form; whether there is such a limit is seen later."""
    name, equals, value = text.partition("=")
    rule, dot, limit = name.strip().partition(".")
    if not (rule and dot and limit and equals and value.strip()):
        raise UsageError(f"--set {text}: give RULE.LIMIT=VALUE, as input-made-in-loop.batch_python_fraction=40%.")
    return LimitChange(rule, limit, value.strip(), f"--set {text}")


def step_range(text: str) -> tuple[int, int]:
    """`2:8`, `2:` or `:8`; the last step is not included. Raises UsageError for anything else."""
    match = re.match(r"^(\d+)?:(\d+)?$", text)
    if not match:
        raise UsageError(f"--steps {text}: give a range as 2:8, 2: or :8.")
    first, last = match.groups()
    return int(first or 0), int(last) if last else 1 << 62


def choice(*flags: str, names: Sequence[str], help: str, panel: str | None = None) -> Any:
    """An option of Typer that takes one of these names. Any other raises UsageError and says which was meant."""

    def checked(context: typer.Context, value: str | None) -> str | None:
        if value is None or value in names or context.resilient_parsing:
            return value
        raise UsageError(f"{flags[0]} {value}: choose {listed(names)}.{did_you_mean(value, names)}")

    def completed() -> list[str]:
        return list(names)

    return typer.Option(
        *flags, metavar="|".join(names), help=help, callback=checked, autocompletion=completed, rich_help_panel=panel
    )


def listed(names: Sequence[str]) -> str:
    """`text, json or html`."""
    return f"{', '.join(names[:-1])} or {names[-1]}" if len(names) > 1 else "".join(names)
