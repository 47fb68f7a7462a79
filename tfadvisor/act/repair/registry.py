"""All codemods by name: what each does in words, what it changes in the results of the program, what it gets and answers.

Their names stand in `advice.codemods` as well, for rules; a test compares.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from typing import Any

import msgspec

from tfadvisor.advice.codemods import LAUNCH_LINE
from tfadvisor.units import number_of


class Place(msgspec.Struct, frozen=True):
    """Where the finding says that its fault stands. Empty where the trace does not tell."""

    lines: tuple[int, ...] = ()
    """In the program at hand, from 1."""
    names: tuple[str, ...] = ()
    """Functions that the trace saw there."""
    snippets: str = ""
    """What the finding's fixes prescribe for this run, one after another."""
    told: bool = False
    """Whether the trace names this program's file."""

    def number(self, pattern: str, otherwise: int) -> str:
        """The number that the fixes prescribe, so that a patch writes what the text says; of a pattern with one group."""
        found = re.search(pattern, self.snippets)
        return found[1] if found is not None and (number_of(found[1]) or 0) > 1 else str(otherwise)


class Edit(msgspec.Struct, frozen=True):
    """What is put in place of some bytes of a program, in UTF-8."""

    first: int
    last: int
    """The one behind them."""
    text: str


class Hit(msgspec.Struct, frozen=True):
    """One place where a codemod applies, and what it changes there and nowhere else."""

    first: int
    """Line, from 1."""
    last: int
    """Line, from 1."""
    did: str
    """The change in words, for a list of them."""
    before: bytes
    """The whole program."""
    edits: tuple[Edit, ...]
    names: tuple[str, ...] = ()
    """Functions that it is about, to be compared with those that the trace saw."""

    @property
    def source(self) -> str:
        """The whole program after it."""
        whole = self.before
        for one in sorted(self.edits, key=lambda one: one.first, reverse=True):
            whole = whole[: one.first] + one.text.encode() + whole[one.last :]
        return whole.decode()


class About(msgspec.Struct, frozen=True):
    """A codemod in words."""

    module: str
    """Below tfadvisor.act.repair.codemods, with a function of the codemod's name; "" for the launch line."""
    does: str
    changes: str
    """What the program's results, logs or memory lose or gain; "" where nothing changes but the time."""


CODEMODS: dict[str, About] = {
    "prefetch": About("input", "ends the pipeline with a prefetch", ""),
    "parallel-calls": About(
        "input", "lets maps and interleaves run in parallel", "random ops of a map draw in another order"
    ),
    "parallel-reads": About("input", "reads several files at once", "examples come in another order"),
    "cache": About(
        "input",
        "caches what each epoch makes anew",
        "the whole data set is kept in host memory, as the first epoch made it",
    ),
    "every-constant": About(
        "loop",
        "does it every N steps, as the fix says",
        "of what was kept after each step 1 in N is left",
    ),
    "drop-wait": About("loop", "no longer waits in each step", "times that the loop takes itself end at the dispatch"),
    "steps-per-execution": About(
        "loop", "runs N steps a call, as the fix says", "callbacks for batches run every N batches"
    ),
    "compile-step": About(
        "compiling",
        "compiles the loop's step",
        "Python in it runs while it is traced only; sums may be rounded otherwise",
    ),
    "reduce-retracing": About("compiling", "lets the function generalise over shapes", ""),
    "debug-switches": About(
        "compiling", "removes settings left from debugging", "what they checked is no longer checked"
    ),
    "run-eagerly": About("compiling", "lets Keras compile its step", "Python in the step runs while it is traced only"),
    "debug-print": About("compiling", "removes prints from the compiled step", "these lines are no longer printed"),
    LAUNCH_LINE: About("", "sets variables and flags where the program is launched", "as the fix says"),
}


def load(name: str) -> Callable[[Any, Place], list[Hit]]:
    """A codemod's function."""
    module = import_module(f"tfadvisor.act.repair.codemods.{CODEMODS[name].module}")
    hits: Callable[[Any, Place], list[Hit]] = getattr(module, name.replace("-", "_"))
    return hits
