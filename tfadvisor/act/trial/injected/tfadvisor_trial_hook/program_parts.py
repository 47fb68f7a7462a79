"""Parts of a program that are taken out of its run, or set in it, and how often each
hook took effect: a part whose hook never did is not in this program.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any

INPUT = "input"
HALF = "half the batch"
CALLBACKS = "callbacks"
CHECKPOINTS = "checkpoints"
EVALUATION = "evaluation"
READS = "values read back"
BEHIND = "work behind the step"
JIT_ON = "jit on"
JIT_OFF = "jit off"
EAGER_OFF = "eager off"
EIGHT_STEPS = "eight steps a call"
PRECISION = "mixed precision"
PREFETCH = "prefetch"
COMPILED = "step compiled"
ONE_BATCH = "predict on one batch"
APPLIED = "apply compiled"
DELAY = "delay"
"""Statements of the loop can be delayed. It takes nothing out."""
_ARRAYS = ("ArrayImpl", "EagerTensor", "ResourceVariable")


class Parts:
    """Those that are hooked in this run, and how often each took effect."""

    def __init__(self, order: dict[str, Any]) -> None:
        """Of an order: `parts`, and whether they are taken out (`acting`) or only
        counted.
        """
        self.hooked = frozenset(order.get("parts", ()))
        self.active = self.hooked
        """Those whose hooks work now; the arm of the block where arms alternate."""
        self.acting = bool(order.get("acting"))
        self.alternate = bool(order.get("arms"))
        """Whether arms change within this run."""
        self.took: dict[str, int] = {}
        self.places: dict[str, set[tuple[str, int]]] = {}
        """Files and lines of the program where it did."""
        self.inside = False
        """Whether the loop goes round."""
        self.settled: set[str] = set()
        """Those that were taken out for the whole run, as at set-up or in what is
        compiled: within one run they cannot alternate.
        """

    def settle(
        self,
        part: str,
        *,
        for_good: bool = True,
    ) -> bool:
        """As `takes`, for what is decided at set-up. for_good: no other hook can change
        it later.
        """
        if self.alternate or part not in self.hooked:
            return False
        if for_good:
            self.settled.add(part)
        return self.takes(part, always=True)

    def takes(
        self,
        part: str,
        *,
        always: bool = False,
        at: Any = None,
    ) -> bool:
        """Counts, where the part is hooked and the loop goes round, or always. Returns
        whether to take it out now. at: the program's frame."""
        if part not in self.active or not (always or self.inside):
            return False
        self.took[part] = self.took.get(part, 0) + 1
        if at is not None:
            place = at.f_code.co_filename, at.f_lineno
            self.places.setdefault(part, set()).add(place)
        return self.acting


def around(
    owner: Any,
    name: str,
    do: Callable[..., Any],
) -> None:
    """Puts `do` in place of a function; it is given that function first."""
    original = getattr(owner, name)

    @functools.wraps(original)
    def called(
        *given: Any,
        **named: Any,
    ) -> Any:
        return do(original, *given, **named)

    with contextlib.suppress(ValueError, TypeError):
        # Keras asks how its layers are made, without regard to what is wrapped.
        vars(called)["__signature__"] = inspect.signature(original)
    setattr(owner, name, called)


def is_array(value: Any) -> bool:
    """Whether it is an array of JAX or a tensor of TensorFlow that holds values."""
    return type(value).__name__ in _ARRAYS


def is_tracing() -> bool:
    """Whether JAX or TensorFlow compiles what runs now."""
    with contextlib.suppress(Exception):
        core = sys.modules.get("jax._src.core")
        if core is not None and not core.trace_state_clean():
            return True
        tensorflow = sys.modules.get("tensorflow")
        return tensorflow is not None and not tensorflow.executing_eagerly()
    return False
