"""A limit of a rule that the user wants otherwise, as it was written."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class LimitChange(msgspec.Struct, frozen=True):
    """Nothing of it is checked before the rules are known."""

    rule: str
    """The rule's id."""
    limit: str
    """The limit's name, as `tfadvisor rules show` lists it."""
    value: object
    """A number, or a share as text: `5%`."""
    said: str
    """Where it stands, to begin a message with: `tfadvisor.toml:12`."""


def changes_of(limits: Mapping[str, Mapping[str, object]] | None) -> tuple[LimitChange, ...]:
    """Of what Python programs give: rule -> limit -> value, as the `[rules]` of a tfadvisor.toml."""
    return tuple(
        LimitChange(rule, name, value, f"limits[{rule!r}][{name!r}]")
        for rule, named in (limits or {}).items()
        for name, value in (named.items() if isinstance(named, Mapping) else [("", named)])
    )
