"""What the option --budget would have to say."""

from __future__ import annotations

_TO_SPARE = 1.2


def budget_for(seconds: float) -> str:
    """`--budget 6m`, which leaves a fifth more than so many seconds take."""
    return f"--budget {int(_TO_SPARE * seconds / 60) + 1}m"
