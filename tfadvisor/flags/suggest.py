"""The known name that a wrong one was probably meant to be."""

from __future__ import annotations

from collections.abc import Iterable

from tfadvisor.flags.advice import variables
from tfadvisor.flags.recorded import Table, recording

_MOST = 20
"""A text can hold ten thousand wrong names, and comparing each with all would take minutes."""
_FURTHEST = 5


class Suggestions:
    """Names near to others. After the twentieth question the answer is always "": nobody reads on there."""

    def __init__(self, table: Table, version: str) -> None:
        """table, version: whose flags are suggested, beside those of TF_XLA_FLAGS."""
        other = recording().table("TF_XLA_FLAGS", "tensorflow")
        self._flags = [*table.names(version), *other.names(other.versions[-1])]
        self._asked = 0

    def flag(self, name: str) -> str:
        """The nearest flag, "" when none is near."""
        return self._nearest(name.replace("-", "_").lower(), self._flags)

    def variable(self, name: str) -> str:
        """The nearest variable."""
        return self._nearest(name.upper(), variables())

    def _nearest(self, name: str, names: Iterable[str]) -> str:
        self._asked += 1
        if self._asked > _MOST or len(name) > 100:
            return ""
        allowed = min(_FURTHEST, max(len(name) // 6, 1))
        best = ""
        for one in names:
            apart = edits(name, one, allowed)
            if apart is not None and (not best or apart < allowed):
                best, allowed = one, apart
                if not apart:
                    break
        return best


def edits(one: str, other: str, most: int) -> int | None:
    """Letters to change, add, leave out or swap with their neighbour (Damerau); None for more than `most`.

    Row by row over the table of prefixes, three rows kept; a row whose every entry is above `most` ends it.
    """
    if abs(len(one) - len(other)) > most:
        return None
    before: list[int] = []
    last = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        row = [i]
        for j, against in enumerate(other, 1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (letter != against))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == against:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return None
        before, last = last, row
    return last[-1] if last[-1] <= most else None
