"""What a rule may say of codemods: their names, and how far each is to be trusted. `repair` holds what they do."""

from __future__ import annotations

import msgspec

SURE = ("mechanical", "guess")
CHECKS = ("batches", "values", "none")
NEVER_MECHANICAL = frozenset(("compile-step",))
"""What XLA or a graph makes of a step is known once it has run."""
LAUNCH_LINE = "launch-line"
"""No codemod of a source: the fix's variables and flags as lines for the script that launches the program."""
CODEMODS = (
    "prefetch",
    "parallel-calls",
    "parallel-reads",
    "cache",
    "every-constant",
    "drop-wait",
    "steps-per-execution",
    "compile-step",
    "reduce-retracing",
    "debug-switches",
    "run-eagerly",
    "debug-print",
    LAUNCH_LINE,
)
"""All names."""


class CodemodRef(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A rule's word on a codemod."""

    name: str
    sure: str
    """mechanical: derived from the source alone, results stay; guess: to be tried or confirmed."""
    check: str
    """What must stay the same to trust it: the first batches, the first steps' values, or nothing (none)."""
    then: tuple[str, ...] = ()
    """Codemods that are applied on top, each where it finds one place."""
