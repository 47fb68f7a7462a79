"""Regular expressions that are compiled when they are first asked: a small trace asks
few of those that know names, and all together take a tenth of its time.
"""

from __future__ import annotations

import re
from typing import Any, cast

_METHODS = ("match", "fullmatch", "search", "sub", "split", "findall", "finditer")


class _Pattern:
    def __init__(self, text: str, flags: int) -> None:
        self._written = text, flags

    def __getattr__(self, name: str) -> Any:
        """Reached by the first question alone: after it the answers are the compiled
        pattern's.
        """
        compiled = re.compile(*self._written)
        for method in _METHODS:
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)


def pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """As re.compile. A mistake in the text is found by the first question."""
    return cast("re.Pattern[str]", _Pattern(text, flags))
