"""All codemods: what each does in words, what it changes in the results of the program,
and what a rule may say of it.
"""

from __future__ import annotations

import msgspec

SURE = ("mechanical", "guess")
CHECKS = ("batches", "values", "none")
NEVER_MECHANICAL = frozenset(("compile-step",))
"""What XLA or a graph makes of a step is known once it has run."""
LAUNCH_LINE = "launch-line"
"""No codemod of a source: the fix's variables and flags as lines for the script that
launches the program.
"""


class About(msgspec.Struct, frozen=True):
    """A codemod in words."""

    module: str
    """Below tfadvisor.act.repair.codemods, with a function of the codemod's name; ""
    for the launch line.
    """
    does: str
    changes: str
    """What the program's results, logs or memory lose or gain; "" where nothing changes
    but the time.
    """


CODEMODS: dict[str, About] = {
    "prefetch": About("feeding", "ends the pipeline with a prefetch", ""),
    "parallel-calls": About(
        "feeding",
        "lets maps and interleaves run in parallel",
        "random ops of a map draw in another order",
    ),
    "every-constant": About(
        "loop",
        "does it every N steps, as the fix says",
        "only every Nth result is kept",
    ),
    "drop-wait": About(
        "loop",
        "no longer waits in each step",
        "times that the loop measures end at the dispatch",
    ),
    "steps-per-execution": About(
        "loop",
        "runs N steps a call, as the fix says",
        "callbacks for batches run every N batches",
    ),
    "compile-step": About(
        "compiling",
        "compiles the loop's step",
        "Python in it runs only while it is traced; sums may round differently",
    ),
    "run-eagerly": About(
        "compiling",
        "lets Keras compile its step",
        "Python in the step runs only while it is traced",
    ),
    LAUNCH_LINE: About(
        "", "sets variables and flags where the program is launched", "as the fix says"
    ),
}


class CodemodRef(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A rule's word on a codemod."""

    name: str
    sure: str
    """mechanical: derived from the source alone, results stay; guess: to be tried or
    confirmed.
    """
    check: str
    """What must stay the same to trust it: the first batches, the first steps' values,
    or nothing (none).
    """
    then: tuple[str, ...] = ()
    """Codemods that are applied on top, each where it finds one place."""
