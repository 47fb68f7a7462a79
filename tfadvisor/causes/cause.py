"""The cause of a place's time as data."""

from __future__ import annotations

import msgspec

from tfadvisor.causes.witness import Witness

OPS_ONE_BY_ONE = "ops one by one"
"""Of which `by` names several, and `count` counts all."""


class Done(msgspec.Struct, frozen=True):
    """One thing that is done inside of a place's time."""

    what: str
    """As `flattening a tree of arguments`; "" where no event inside says it."""
    by: str
    """The event that says it: `_variable_flatten (variablelib.py:2012)`."""
    fraction: float
    """Of the place's time, 0..1."""
    count: float
    """How often in a step that has any of it; 0 for unknown."""
    slug: str
    """The same as `what` in one word, as rules have it: `flattening`."""


class Cause(msgspec.Struct, frozen=True):
    """What a place's time is spent on, how it is tied to the step, and how often it is
    there.
    """

    does: tuple[Done, ...]
    """The largest first; empty where nothing inside is recorded."""
    tie: str | None
    """argument: makes an argument of the step; result: only reads its result; step: is
    the step. None where nothing shows it.
    """
    often: str
    """every, most, some or once: in how many of the counted steps; "" for unknown."""
    count: int
    """The counted steps that have any of it."""
    of_steps: int
    """The counted steps."""
    worst_ms: float
    """In the step that has most of it, at least."""
    line: int | None = None
    """Where the loop calls it, by the program's source; None without one."""
    source: str = ""
    """That line."""
    witness: Witness | None = None
    """What the program's source says of the call that takes most of the time."""
