"""The name that was meant where one is mistyped: of a command, option, choice, rule,
run, host, metric or key.
"""

from __future__ import annotations

from collections.abc import Iterable

_NEAR = 0.6
"""Similarity from which a name is suggested, 0 to 1; difflib's own default."""


def nearest(
    name: str,
    known: Iterable[str],
) -> str | None:
    """The known name that is most like this one, None where none is near. Case does not
    count.
    """
    from difflib import get_close_matches  # only a mistake needs it

    by_lower = {word.lower(): word for word in known}
    near = get_close_matches(
        name.lower(),
        list(by_lower),
        n=1,
        cutoff=_NEAR,
    )
    return by_lower[near[0]] if near else None


def did_you_mean(
    name: str,
    known: Iterable[str],
) -> str:
    """` Did you mean analyze?` to end a message with, or nothing."""
    near = nearest(name, known)
    return f" Did you mean {near}?" if near is not None else ""
