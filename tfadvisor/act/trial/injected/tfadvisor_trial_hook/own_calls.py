"""Parts that the program's own files do: calls that read back, write, keep and
evaluate, and the batch of the steps' loop.
"""

from __future__ import annotations

import ast
import builtins
import functools
import itertools
import re
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

from .parts import (
    BEHIND,
    CALLBACKS,
    CHECKPOINTS,
    COMPILED,
    EVALUATION,
    HALF,
    INPUT,
    READS,
    Parts,
    is_array,
    is_tracing,
)

_BATCHES, _NEW, _STEP, _CALL = (
    f"__tfadvisor_{one}__" for one in ("batches", "new", "step", "call")
)
_READING = {
    "float",
    "int",
    "item",
    "numpy",
    "asarray",
    "array",
    "device_get",
    "block_until_ready",
    "tolist",
}
_CALLED = (
    (EVALUATION, r"eval|evaluate|evaluation|validate|validation"),
    (CHECKPOINTS, r"save|checkpoint|ckpt|dump|savez|backup"),
    (CALLBACKS, r"print|log|logging|info|debug|warning|write|writerow|plot|report|summary|summaries|scalars?|histogram"
                r"|flush|postfix|description|callbacks?|journal|on"),
)  # fmt: skip
_IS_STEP = re.compile(
    r"(?:^|_)(?:step|train|update|fit|learn|optimize|minimize|apply_gradients)(?:_|\d|$)"
)
_LOADS = re.compile(
    r"(?:^|_)(?:load|batch|sample|fetch|read|next|get|decode|augment)(?:_|$)"
)
"""Where no step is recognised, only what such a call gives is taken for the batch."""
_NO_STEP = {"split", "fold_in", "append", "perf_counter", "monotonic", "time", "print"}
_SITES = itertools.count()
"""Each place that is changed has a number of its own."""
_AROUND = {"enumerate", "zip", "tqdm", "islice", "trange"}
"""Calls that hand on the items of what they are given."""


def with_parts(tree: ast.Module, parts: Parts, lines: set[int] | None) -> ast.Module:
    """Changes the tree in place; lines stay where they are. lines: of the loops that
    may be the steps, None for all.
    """
    every = [one for one in ast.walk(tree) if isinstance(one, (ast.For, ast.While))]
    loops = [one for one in every if lines is None or one.lineno in lines]
    if READS in parts.hooked:
        asked = {
            one: one.test
            for loop in loops
            for _, one in _flat(loop.body, whole=True)
            if isinstance(one, ast.If)
        }
        for one, test in asked.items():  # `if accuracy == 1.0` reads it
            one.test = _make(_CALL, [READS, next(_SITES), False, None, test], test)
    if parts.hooked & {INPUT, HALF, COMPILED, BEHIND}:
        for loop in loops:
            _Loop(loop).take_apart()
    if parts.hooked & {READS, EVALUATION, CHECKPOINTS, CALLBACKS}:
        _Calls().visit(tree)
    return ast.fix_missing_locations(tree)


def _called(call: ast.AST) -> str:
    """The last word of what a call names, "" for none."""
    named = getattr(call, "func", None)
    return (
        named.attr
        if isinstance(named, ast.Attribute)
        else named.id
        if isinstance(named, ast.Name)
        else ""
    )


def _names(node: ast.AST, kind: type) -> set[str]:
    return {
        one.id
        for one in ast.walk(node)
        if isinstance(one, ast.Name) and isinstance(one.ctx, kind)
    }


def _make(name: str, given: list[Any], where: ast.AST) -> ast.Call:
    nodes: list[Any] = [
        one if isinstance(one, ast.AST) else ast.Constant(value=one) for one in given
    ]
    return ast.copy_location(
        ast.Call(func=ast.Name(id=name, ctx=ast.Load()), args=nodes, keywords=[]), where
    )


class _Loop:
    """The loop of the steps: what makes the batch, the call that it goes into, and what
    stands behind that.
    """

    def __init__(self, loop: Any) -> None:
        self.loop = loop
        self.statements = list(_flat(loop.body))
        self.carried = self.carried_round()

    def carried_round(self) -> set[str]:
        """Names that a round reads before it sets them, and sets: the state of the
        training.
        """
        known: set[str] = set()
        first_read: set[str] = set()
        for _, one in self.statements:
            read = _names(one, ast.Load) | (
                _names(one.target, ast.Store)
                if isinstance(one, ast.AugAssign)
                else set()
            )
            first_read |= read - known
            known |= _names(one, ast.Store)
        return first_read & known

    def take_apart(self) -> None:
        """The batch can be kept or halved, the step compiled, the rest left out."""
        place = self.step()
        if isinstance(self.loop, ast.For):
            self.loop.iter = self.batches(self.loop.iter)
        state = (
            set()
            if place is None
            else _names(self.statements[place][1], ast.Store) & self.carried
        )
        computed, needed = set(state), set(state)
        for body, one in self.statements[:place]:
            if (
                _names(one, ast.Load) & computed
            ):  # a loss, gradients, an action: of the training, and no batch
                computed |= _names(one, ast.Store)
            elif self.makes(one) and (
                place is not None or _LOADS.search(_called(one.value))
            ):
                _once(body, one, INPUT)
        if place is None:
            return
        for _, one in reversed(self.statements[place + 1 :]):
            if _names(one, ast.Store) & needed:
                needed |= _names(one, ast.Load)
        for body, one in self.statements[place + 1 :]:
            trains = (
                any(_IS_STEP.search(_called(inner)) for inner in ast.walk(one))
                or _names(one, ast.Store) & needed
            )
            is_call = isinstance(one, ast.Expr) and isinstance(one.value, ast.Call)
            is_loop = (
                isinstance(one, ast.For) and not _names(one, ast.Store) & self.carried
            )
            if not trains and (is_call or is_loop or self.makes(one)):
                _once(body, one, BEHIND)
        self.call_step(*self.statements[place])

    def step(self) -> int | None:
        """The place of the statement that trains by a call, None where there is
        none.
        """
        ready = (
            _names(self.loop.target, ast.Store)
            if isinstance(self.loop, ast.For)
            else set()
        )
        for place, (_, one) in enumerate(self.statements):
            call = getattr(one, "value", None)
            if isinstance(call, ast.Call) and _called(call) not in _NO_STEP:
                sets_state = bool(_names(one, ast.Store) & self.carried) and bool(
                    _names(call, ast.Load) & ready
                )
                if sets_state or _IS_STEP.search(_called(call)):
                    return place
            ready |= _names(one, ast.Store) - self.carried
        return None

    def makes(self, one: Any) -> bool:
        """Whether a statement sets names by a call or an index, and none that rounds
        hand on.
        """
        if not isinstance(one, ast.Assign) or any(
            isinstance(t, (ast.Attribute, ast.Subscript)) for t in one.targets
        ):
            return False
        works = any(
            isinstance(inner, (ast.Call, ast.Subscript))
            for inner in ast.walk(one.value)
        )
        return (
            works
            and not _names(one, ast.Store) & self.carried
            and _called(one.value) not in _NO_STEP
        )

    def batches(self, given: Any) -> Any:
        """What the loop iterates over, inside of calls that only hand on."""
        if isinstance(given, ast.Call) and _called(given) in _AROUND:
            given.args = [
                one if isinstance(one, ast.Starred) else self.batches(one)
                for one in given.args
            ]
            return given
        return (
            given
            if isinstance(given, ast.Constant)
            else _make(_BATCHES, [given], given)
        )

    def call_step(self, body: list[Any], statement: Any) -> None:
        """Its arguments, but for the state, are the batch; what they call is called
        before.
        """
        call = statement.value
        data = [not _names(one, ast.Load) & self.carried for one in call.args]
        named = [
            one.arg
            for one in call.keywords
            if one.arg and not _names(one.value, ast.Load) & self.carried
        ]
        for place, one in enumerate(call.args):
            inner = one.value if isinstance(one, ast.Starred) else one
            if data[place] and any(
                isinstance(part, (ast.Call, ast.Subscript)) for part in ast.walk(inner)
            ):
                name = f"__tfadvisor_given_{place}__"
                made = ast.copy_location(
                    ast.Assign(
                        targets=[ast.Name(id=name, ctx=ast.Store())], value=inner
                    ),
                    inner,
                )
                body.insert(body.index(statement), made)
                _once(body, made, INPUT)
                known = ast.copy_location(ast.Name(id=name, ctx=ast.Load()), inner)
                call.args[place] = (
                    ast.Starred(value=known, ctx=ast.Load())
                    if inner is not one
                    else known
                )
        site: Any = (next(_SITES), tuple(data), tuple(named))
        call.func = _make(_STEP, [ast.Constant(value=site), call.func], call.func)


def _flat(body: list[Any], *, whole: bool = False) -> Iterator[tuple[list[Any], Any]]:
    """Statements of a round with the list that holds each, those inside of `with` and
    `if` too; an inner loop is one. whole: what holds them as well."""
    for one in body:
        if isinstance(one, (ast.With, ast.If, ast.Try)):
            yield from _flat(one.body, whole=whole)
            yield from _flat(getattr(one, "orelse", []), whole=whole)
        if whole or not isinstance(one, (ast.With, ast.If, ast.Try)):
            yield body, one


def _once(body: list[Any], one: Any, part: str) -> None:
    """Runs a statement in the first round alone, while its part is taken out."""
    test = _make(_NEW, [next(_SITES), part, *sorted(_names(one, ast.Store))], one)
    body[body.index(one)] = ast.copy_location(
        ast.If(test=test, body=[one], orelse=[]), one
    )


class _Calls(ast.NodeTransformer):
    """Calls by the names of what they call. What a statement calls for nothing can be
    left out; else the last value stands in.
    """

    def __init__(self) -> None:
        self.patterns = [
            (part, re.compile(rf"(?:^|_)(?:{words})(?:_|$)")) for part, words in _CALLED
        ]

    def visit_FunctionDef(self, node: Any) -> Any:
        """What is decorated may be compiled from its bytecode or its source."""
        return node if node.decorator_list else self.generic_visit(node)

    def visit_Expr(self, node: Any) -> Any:
        """A call whose value nobody reads."""
        if isinstance(node.value, ast.Call):
            node.value = self.call(node.value, alone=True)
        else:
            self.generic_visit(node)
        return node

    def visit_Call(self, node: Any) -> Any:
        """Any other."""
        return self.call(node, alone=False)

    def visit_FormattedValue(self, node: Any) -> Any:
        """`f"{loss:.3f}"` reads loss."""
        self.generic_visit(node)
        if node.conversion == -1:
            node.value = _make(
                _CALL, [READS, next(_SITES), False, None, node.value], node.value
            )
        return node

    def call(self, node: ast.Call, *, alone: bool) -> ast.Call:
        """With ours around it where its name says what it is."""
        name = _called(node)
        self.generic_visit(node)
        part = next(
            (part for part, named in self.patterns if named.search(name)),
            READS if name in _READING else "",
        )
        if part and (alone or part != CALLBACKS):
            node.args[:0] = [
                *(ast.Constant(value=one) for one in (part, next(_SITES), alone)),
                node.func,
            ]
            node.func = ast.copy_location(ast.Name(id=_CALL, ctx=ast.Load()), node)
        return node


# What those calls do when the program runs.


class OwnCalls:
    """Finds its ways into the program as builtins."""

    def __init__(self, parts: Parts, is_own: Callable[[str], bool]) -> None:
        """is_own: whether a file is the program's."""
        self.parts, self.is_own = parts, is_own
        self.values: dict[int, Any] = {}
        self.compiled: dict[int, tuple[Any, Any]] = {}
        self.seen: set[int] = set()

    def start(self) -> None:
        """From now on."""
        for name, do in (
            (_BATCHES, self.batches),
            (_NEW, self.new),
            (_STEP, self.step),
            (_CALL, self.call),
        ):
            setattr(builtins, name, do)

    def batches(self, given: Any) -> Any:
        """Data sets of TensorFlow do it themselves."""
        if isinstance(given, (range, itertools.count)) or hasattr(
            given, "element_spec"
        ):
            return given
        return _Again(given) if self.parts.takes(INPUT, at=sys._getframe(1)) else given

    def new(self, site: int, part: str, *names: str) -> bool:
        """Whether a statement runs: for the first time, where the names that it sets
        are not there, or as always.
        """
        at = sys._getframe(1)
        first = site not in self.seen or not set(names) <= at.f_locals.keys()
        self.seen.add(site)
        return not self.parts.takes(part, at=at) or first

    def step(
        self, place: tuple[int, tuple[bool, ...], tuple[str, ...]], do: Any
    ) -> Any:
        """What is called in place of the step. place: its number, and which arguments
        are the batch.
        """
        site, *data = place
        code = (
            getattr(do, "__code__", None)
            if isinstance(do, (types.FunctionType, types.MethodType))
            else None
        )
        if (
            code is not None
            and self.is_own(code.co_filename)
            and self.parts.takes(COMPILED, at=sys._getframe(1))
        ):
            known = self.compiled.get(site)
            if known is None or known[0] is not do:
                known = self.compiled[site] = do, _compiled(do)
            return known[1]
        return (
            functools.partial(self.halved, do, data)
            if self.parts.inside and HALF in self.parts.hooked
            else do
        )

    def halved(self, do: Any, data: list[Any], *given: Any, **named: Any) -> Any:
        """The step with half of each array of the batch whose first axis is as long as
        that of the first one.
        """
        places = [*data[0], *[data[0][-1]] * len(given)] if data[0] else []
        length: list[int] = []
        half = tuple(
            _half(one, length) if is_data else one
            for one, is_data in zip(given, places)
        )
        halves = {
            name: _half(one, length) if name in data[1] else one
            for name, one in named.items()
        }
        return (
            do(*half, **halves)
            if length and self.parts.takes(HALF)
            else do(*given, **named)
        )

    def call(
        self, part: str, site: int, alone: bool, do: Any, *given: Any, **named: Any
    ) -> Any:
        """A call of the program, or what stands in for it."""
        do = _number if do is None else do
        owner = type(getattr(do, "__self__", None)).__name__
        if part == CALLBACKS and "Checkpoint" in owner:
            part = CHECKPOINTS
        if (
            part not in self.parts.hooked
            or owner == "CallbackList"
            or (part == READS and not _reads(do, given))
            or is_tracing()
            or not self.parts.takes(part, at=sys._getframe(1))
        ):
            return do(*given, **named)
        if part == READS and getattr(do, "__name__", "") == "block_until_ready":
            return given[0] if given else do.__self__
        if alone and part != READS:
            return None
        if site not in self.values:
            self.values[site] = do(*given, **named)
        return self.values[site]


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
            rounds = (
                itertools.repeat(first, len(self.items))
                if hasattr(self.items, "__len__")
                else itertools.repeat(first)
            )
            for one in rounds:
                yield dict(one) if type(one) is dict else one
            return


def _number(value: Any) -> Any:
    return (
        value.item()
        if is_array(value) and hasattr(value, "item") and value.size == 1
        else value
    )


def _reads(do: Any, given: tuple[Any, ...]) -> bool:
    """Whether the call makes a value of the host of one of the device's, or waits for
    it.
    """
    module = str(getattr(do, "__module__", ""))
    if module.startswith("jax.numpy") or "jax._src.numpy" in module:
        return False
    value = given[0] if given else getattr(do, "__self__", None)
    return is_array(value) or getattr(do, "__name__", "") in (
        "device_get",
        "block_until_ready",
    )


def _half(value: Any, length: list[int]) -> Any:
    """Of each array of a length, which is that of the first one; in containers too."""
    if type(value) in (tuple, list):
        return type(value)(_half(one, length) for one in value)
    if type(value) is dict:
        return {name: _half(one, length) for name, one in value.items()}
    shape = getattr(value, "shape", None) if hasattr(type(value), "__array__") else None
    if not shape or shape[0] < 2:
        return value
    length[:] = length or [shape[0]]
    return value[: shape[0] // 2] if shape[0] == length[0] else value


def _compiled(do: Any) -> Any:
    """By the framework that its module has imported."""
    known = set(
        getattr(do, "__globals__", None) or getattr(do.__func__, "__globals__", {})
    )
    if "tensorflow" in sys.modules and (
        known & {"tf", "tensorflow"} or "jax" not in sys.modules
    ):
        return sys.modules["tensorflow"].function(do)
    return sys.modules["jax"].jit(do)
