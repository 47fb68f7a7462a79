"""What our calls in the program's own files do when it runs: the program's own, or what
stands in for it while its part is taken out.
"""

from __future__ import annotations

import builtins
import functools
import itertools
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

from .own_calls import BATCHES, CALL, NEW, STEP
from .program_parts import (
    CALLBACKS,
    CHECKPOINTS,
    COMPILED,
    HALF,
    INPUT,
    READS,
    Parts,
    is_array,
    is_tracing,
)

_WAITS = ("device_get", "block_until_ready")


class StandingIn:
    """Finds its ways into the program as builtins."""

    def __init__(
        self,
        parts: Parts,
        is_own: Callable[[str], bool],
    ) -> None:
        """is_own: whether a file is the program's."""
        self.parts, self.is_own = parts, is_own
        self.values: dict[int, Any] = {}
        self.compiled: dict[int, tuple[Any, Any]] = {}
        self.seen: set[int] = set()

    def start(self) -> None:
        """From now on."""
        setattr(builtins, BATCHES, self.batches)
        setattr(builtins, NEW, self.new)
        setattr(builtins, STEP, self.step)
        setattr(builtins, CALL, self.call)

    def batches(self, given: Any) -> Any:
        """Data sets of TensorFlow do it themselves."""
        if isinstance(given, (range, itertools.count)):
            return given
        if self.parts.alternate:
            return _Held(given, self.parts, sys._getframe(1))
        is_data_set = hasattr(given, "element_spec")
        if not is_data_set and self.parts.takes(INPUT, at=sys._getframe(1)):
            return _Again(given)
        return given

    def new(
        self,
        site: int,
        part: str,
        *names: str,
    ) -> bool:
        """Whether a statement runs: for the first time, where the names that it sets
        are not there, or as always.
        """
        at = sys._getframe(1)
        known = set(names) <= at.f_locals.keys()
        first = site not in self.seen or not known
        self.seen.add(site)
        return not self.parts.takes(part, at=at) or first

    def step(
        self,
        place: tuple[int, tuple[bool, ...], tuple[str, ...]],
        do: Any,
    ) -> Any:
        """What is called in place of the step. place: its number, and which arguments
        are the batch.
        """
        site, *data = place
        own = self.is_own_function(do)
        if own and self.parts.takes(COMPILED, at=sys._getframe(1)):
            return self.once_compiled(site, do)
        if self.parts.inside and HALF in self.parts.active:
            return functools.partial(self.halved, do, data)
        return do

    def is_own_function(self, do: Any) -> bool:
        """Whether it is a function of the program's own files."""
        if not isinstance(do, (types.FunctionType, types.MethodType)):
            return False
        code = getattr(do, "__code__", None)
        return code is not None and self.is_own(code.co_filename)

    def once_compiled(
        self,
        site: int,
        do: Any,
    ) -> Any:
        """The same as long as the step is."""
        known = self.compiled.get(site)
        if known is None or known[0] is not do:
            known = self.compiled[site] = do, _compiled(do)
        return known[1]

    def halved(
        self,
        do: Any,
        data: list[Any],
        *given: Any,
        **named: Any,
    ) -> Any:
        """The step with half of each array of the batch whose first axis is as long as
        that of the first one. data: which arguments are the batch, and which names.
        """
        places, names = data
        if places:
            places = [*places, *[places[-1]] * len(given)]
        length: list[int] = []
        half = tuple(
            _half(argument, length) if is_data else argument
            for argument, is_data in zip(given, places)
        )
        halves = {
            name: _half(argument, length) if name in names else argument
            for name, argument in named.items()
        }
        if length and self.parts.takes(HALF):
            return do(*half, **halves)
        return do(*given, **named)

    def call(
        self,
        part: str,
        site: int,
        alone: bool,
        do: Any,
        *given: Any,
        **named: Any,
    ) -> Any:
        """A call of the program, or what stands in for it."""
        do = _number if do is None else do
        owner = type(getattr(do, "__self__", None)).__name__
        if part == CALLBACKS and "Checkpoint" in owner:
            part = CHECKPOINTS
        if not self.is_of(part, owner, do, given):
            return do(*given, **named)
        if not self.parts.takes(part, at=sys._getframe(1)):
            return do(*given, **named)

        if part == READS and getattr(do, "__name__", "") == "block_until_ready":
            return given[0] if given else do.__self__
        if alone and part != READS:
            return None
        if site not in self.values:
            self.values[site] = do(*given, **named)
        return self.values[site]

    def is_of(
        self,
        part: str,
        owner: str,
        do: Any,
        given: tuple[Any, ...],
    ) -> bool:
        """Whether a call may be of a part that is hooked. owner: the class of what it
        is a method of.
        """
        if part not in self.parts.active or owner == "CallbackList":
            return False
        if part == READS and not _reads(do, given):
            return False
        return not is_tracing()


class _Again:
    """The first item again and again: as often as there are items, without end where
    that is not known.
    """

    def __init__(self, items: Any) -> None:
        self.items = items

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Any]:
        for first in self.items:
            rounds: Any = itertools.repeat(first)
            if hasattr(self.items, "__len__"):
                rounds = itertools.repeat(first, len(self.items))
            for item in rounds:
                yield _own(item)
            return


class _Held:
    """Items; while the input is taken out, the last one again and again. It ends after
    as many as there are, where that is known.
    """

    def __init__(
        self,
        items: Any,
        parts: Parts,
        at: Any,
    ) -> None:
        """at: the program's frame."""
        self.items, self.parts, self.at = items, parts, at

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Any]:
        coming = iter(self.items)
        number = _length(self.items)
        for held in coming:
            number -= 1
            yield _own(held)
            while number > 0 and self.parts.takes(INPUT, at=self.at):
                number -= 1
                yield _own(held)
            if number <= 0:
                return


def _length(items: Any) -> float:
    """Infinite where it is not known."""
    try:
        return len(items)
    except TypeError:
        return float("inf")


def _own(item: Any) -> Any:
    """A program may take a batch apart."""
    return dict(item) if type(item) is dict else item


def _number(value: Any) -> Any:
    if not is_array(value) or not hasattr(value, "item"):
        return value
    return value.item() if value.size == 1 else value


def _reads(
    do: Any,
    given: tuple[Any, ...],
) -> bool:
    """Whether the call makes a value of the host of one of the device's, or waits for
    it.
    """
    module = str(getattr(do, "__module__", ""))
    if module.startswith("jax.numpy") or "jax._src.numpy" in module:
        return False
    value = given[0] if given else getattr(do, "__self__", None)
    return is_array(value) or getattr(do, "__name__", "") in _WAITS


def _half(
    value: Any,
    length: list[int],
) -> Any:
    """Of each array of a length, which is that of the first one; in containers too."""
    if type(value) in (tuple, list):
        return type(value)(_half(inner, length) for inner in value)
    if type(value) is dict:
        return {name: _half(inner, length) for name, inner in value.items()}
    if not hasattr(type(value), "__array__"):
        return value

    shape = getattr(value, "shape", None)
    if not shape or shape[0] < 2:
        return value
    if not length:
        length.append(shape[0])
    if shape[0] != length[0]:
        return value
    return value[: shape[0] // 2]


def _compiled(do: Any) -> Any:
    """By the framework that its module has imported."""
    names = getattr(do, "__globals__", None)
    if not names:
        names = getattr(do.__func__, "__globals__", {})
    is_of_tensorflow = bool(set(names) & {"tf", "tensorflow"})
    has_jax = "jax" in sys.modules
    if "tensorflow" in sys.modules and (is_of_tensorflow or not has_jax):
        return sys.modules["tensorflow"].function(do)
    return sys.modules["jax"].jit(do)
