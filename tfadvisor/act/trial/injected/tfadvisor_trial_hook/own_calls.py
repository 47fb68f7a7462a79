"""Parts that the program's own files do: calls that read back, write, keep and evaluate, and the batch of the steps' loop."""

from __future__ import annotations

import ast
import builtins
import functools
import itertools
import re
import sys
import types
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from .parts import BEHIND, CALLBACKS, CHECKPOINTS, COMPILED, EVALUATION, HALF, INPUT, READS, Parts, is_array, is_tracing

_BATCHES, _NEW, _MADE, _KEPT, _STEP, _CALL, _LEFT = (
    f"__tfadvisor_{one}__" for one in ("batches", "new", "made", "kept", "step", "call", "left")
)
_READING = {"float", "int", "item", "numpy", "asarray", "array", "device_get", "block_until_ready", "tolist"}
_CALLED = (
    (EVALUATION, r"eval|evaluate|evaluation|validate|validation"),
    (CHECKPOINTS, r"save|checkpoint|ckpt|dump|savez|backup"),
    (CALLBACKS, r"print|log|logging|info|debug|warning|write|writerow|plot|report|summary|summaries|scalars?|histogram"
                r"|flush|postfix|description|callbacks?|journal|on"),
)  # fmt: skip
_IS_STEP = re.compile(r"(?:^|_)(?:step|train|update|fit|apply_gradients)(?:_|\d|$)")
_LOADS = re.compile(r"(?:^|_)(?:load|batch|sample|fetch|read|next|get|decode|augment)(?:_|$)")
"""Where no step is recognised, only what such a call gives is taken for the batch."""
_NO_STEP = {"split", "fold_in", "append", "perf_counter", "monotonic", "time", "print"}
_SITES = itertools.count()
"""Each place that is changed has a number of its own."""
_AROUND = {"enumerate", "zip", "tqdm", "islice", "trange"}
"""Calls that hand on the items of what they are given."""


def with_parts(tree: ast.Module, parts: Parts, lines: set[int] | None) -> ast.Module:
    """Changes the tree in place; lines stay where they are. lines: of the loops that may be the steps, None for all."""
    if parts.hooked & {INPUT, HALF, COMPILED, BEHIND}:
        loops = [one for one in ast.walk(tree) if isinstance(one, (ast.For, ast.While))]
        for loop in loops:
            if lines is None or loop.lineno in lines:
                _Loop(loop).take_apart()
    if parts.hooked & {READS, EVALUATION, CHECKPOINTS, CALLBACKS}:
        _Calls().visit(tree)
    return ast.fix_missing_locations(tree)


def _called(call: ast.AST) -> str:
    """The last word of what a call names, "" for none."""
    named = getattr(call, "func", None)
    return named.attr if isinstance(named, ast.Attribute) else named.id if isinstance(named, ast.Name) else ""


def _names(node: ast.AST, kind: type) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, kind)}


def _make(name: str, given: list[Any], where: ast.AST) -> ast.Call:
    nodes = [one if isinstance(one, ast.AST) else ast.Constant(value=one) for one in given]
    return ast.copy_location(ast.Call(func=ast.Name(id=name, ctx=ast.Load()), args=nodes, keywords=[]), where)


class _Loop:
    """The loop of the steps: what makes the batch, and the call that it goes into."""

    def __init__(self, loop: Any) -> None:
        self.loop = loop
        self.statements = list(_flat(loop.body))
        self.carried = self.carried_round()

    def carried_round(self) -> set[str]:
        """Names that a round reads before it sets them, and sets: the state of the training."""
        known: set[str] = set()
        first_read: set[str] = set()
        for one in self.statements:
            read = _names(one, ast.Load) | (_names(one.target, ast.Store) if isinstance(one, ast.AugAssign) else set())
            first_read |= read - known
            known |= _names(one, ast.Store)
        return first_read & known

    def take_apart(self) -> None:
        """The batch can be kept, or halved, and the step compiled."""
        found = self.step()
        before = self.statements[: self.statements.index(found[0])] if found else self.statements
        made = [one for one in before if self.makes(one) and (found or _LOADS.search(_called(one.value)))]
        if isinstance(self.loop, ast.For):
            self.loop.iter = self.batches(self.loop.iter)
        for one in made:
            one.value = self.kept(one.value)
        if found:
            for one in self.statements[self.statements.index(found[0]) + 1 :]:
                self.leave_out(one)
            self.call_step(found[1])

    def step(self) -> tuple[Any, ast.Call] | None:
        """The statement that trains and its call, None where that cannot be told."""
        ready = _names(self.loop.target, ast.Store) if isinstance(self.loop, ast.For) else set()
        for one in self.statements:
            call = getattr(one, "value", None)
            if isinstance(call, ast.Call) and _called(call) not in _NO_STEP:
                sets_state = bool(_names(one, ast.Store) & self.carried) and bool(_names(call, ast.Load) & ready)
                if sets_state or _IS_STEP.search(_called(call)):
                    return one, call
            ready |= _names(one, ast.Store) - self.carried
        return None

    def makes(self, one: Any) -> bool:
        """Whether a statement before the step sets names by a call or an index, and none that rounds hand on."""
        if not isinstance(one, ast.Assign) or any(isinstance(t, (ast.Attribute, ast.Subscript)) for t in one.targets):
            return False
        works = any(isinstance(inner, (ast.Call, ast.Subscript)) for inner in ast.walk(one.value))
        return works and not _names(one, ast.Store) & self.carried and _called(one.value) not in _NO_STEP

    def leave_out(self, one: Any) -> None:
        """A statement behind the step that hands nothing on to the next round: a call, what it gives to a name, a loop."""
        if _names(one, ast.Store) & self.carried or any(_IS_STEP.search(_called(inner)) for inner in ast.walk(one)):
            return
        if isinstance(one, ast.Expr) and isinstance(one.value, ast.Call):
            one.value = self.unless_left(one.value, ast.Constant(value=None))
        elif isinstance(one, ast.For):
            one.iter = self.unless_left(one.iter, ast.Tuple(elts=[], ctx=ast.Load()))
        elif self.makes(one):
            one.value = self.kept(one.value, BEHIND)

    def unless_left(self, value: Any, instead: Any) -> Any:
        """The value, or in its place nothing."""
        whole = ast.IfExp(test=_make(_LEFT, [], value), body=ast.copy_location(instead, value), orelse=value)
        return ast.copy_location(whole, value)

    def batches(self, given: Any) -> Any:
        """What the loop iterates over, inside of calls that only hand on."""
        if isinstance(given, ast.Call) and _called(given) in _AROUND:
            given.args = [one if isinstance(one, ast.Starred) else self.batches(one) for one in given.args]
            return given
        return given if isinstance(given, ast.Constant) else _make(_BATCHES, [next(_SITES), given], given)

    def kept(self, value: Any, part: str = INPUT) -> Any:
        """The value in the first round, in later ones what it was then."""
        site = next(_SITES)
        again = _make(_KEPT, [site], value)
        return ast.copy_location(
            ast.IfExp(
                test=_make(_NEW, [site, part], value), body=_make(_MADE, [site, part, value], value), orelse=again
            ),
            value,
        )

    def call_step(self, call: ast.Call) -> None:
        """Its arguments, but for the state, are the batch."""
        data = [not _names(one, ast.Load) & self.carried for one in call.args]
        named = [one.arg for one in call.keywords if one.arg and not _names(one.value, ast.Load) & self.carried]
        for one, is_data in zip(call.args, data):
            inner = one.value if isinstance(one, ast.Starred) else one
            if is_data and any(isinstance(part, (ast.Call, ast.Subscript)) for part in ast.walk(inner)):
                if isinstance(one, ast.Starred):
                    one.value = self.kept(inner)
                else:
                    call.args[call.args.index(one)] = self.kept(inner)
        given = ast.Constant(value=(tuple(data), tuple(named)))
        call.func = _make(_STEP, [next(_SITES), call.func, given], call.func)


def _flat(body: list[Any]) -> Iterator[Any]:
    """Statements of a round, those inside of `with` and `if` among them; inner loops and functions are one each."""
    for one in body:
        if isinstance(one, (ast.With, ast.If, ast.Try)):
            yield from _flat(one.body)
            yield from _flat(getattr(one, "orelse", []))
        else:
            yield one


class _Calls(ast.NodeTransformer):
    """Calls by the names of what they call. What a statement calls for nothing can be left out; else the last value stands in."""

    def __init__(self) -> None:
        self.patterns = [(part, re.compile(rf"(?:^|_)(?:{words})(?:_|$)")) for part, words in _CALLED]

    def visit_FunctionDef(self, node: Any) -> Any:
        """What is decorated may be compiled from its bytecode or its source."""
        return node if node.decorator_list else self.generic_visit(node)

    def visit_Expr(self, node: Any) -> Any:
        """A call whose value nobody reads."""
        if isinstance(node.value, ast.Call):
            node.value = self.call(node.value, alone=True)
        elif isinstance(node.value, ast.IfExp) and isinstance(node.value.orelse, ast.Call):  # as `unless_left` makes it
            node.value.orelse = self.call(node.value.orelse, alone=True)
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
            node.value = _make(_CALL, [READS, next(_SITES), False, None, node.value], node.value)
        return node

    def call(self, node: ast.Call, *, alone: bool) -> ast.Call:
        """With ours around it where its name says what it is."""
        name = _called(node)
        self.generic_visit(node)
        part = next((part for part, named in self.patterns if named.search(name)), READS if name in _READING else "")
        if part and (alone or part != CALLBACKS):
            node.args[:0] = [
                ast.Constant(value=part),
                ast.Constant(value=next(_SITES)),
                ast.Constant(value=alone),
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
        self.halves: dict[int, tuple[Any, Any]] = {}

    def start(self) -> None:
        """From now on."""
        for name, do in ((_BATCHES, self.batches), (_NEW, self.new), (_MADE, self.made), (_KEPT, self.values.get),
                         (_STEP, self.step), (_CALL, self.call), (_LEFT, self.left)):  # fmt: skip
            setattr(builtins, name, do)

    def batches(self, _site: int, given: Any) -> Any:
        """Data sets of TensorFlow do it themselves."""
        if isinstance(given, (range, itertools.count)) or hasattr(given, "element_spec") or not self.parts.takes(INPUT):
            return given
        return _Again(given)

    def new(self, site: int, part: str) -> bool:
        """Whether the value is to be made."""
        return site not in self.values or not self.parts.takes(part)

    def made(self, site: int, part: str, value: Any) -> Any:
        """It is."""
        if part in self.parts.hooked and self.parts.acting:
            self.values[site] = value
        elif not self.parts.acting:
            self.parts.takes(part)
        return value

    def left(self) -> bool:
        """Whether to leave out what stands behind the step."""
        return self.parts.takes(BEHIND)

    def step(self, site: int, do: Any, data: tuple[tuple[bool, ...], tuple[str, ...]]) -> Any:
        """What is called in place of the step."""
        code = getattr(do, "__code__", None) if isinstance(do, (types.FunctionType, types.MethodType)) else None
        if code is not None and self.is_own(code.co_filename) and self.parts.takes(COMPILED):
            known = self.compiled.get(site)
            if known is None or known[0] is not do:
                known = self.compiled[site] = do, _compiled(do)
            return known[1]
        return functools.partial(self.halved, do, data) if HALF in self.parts.hooked and self.parts.inside else do

    def halved(self, do: Any, data: tuple[tuple[bool, ...], tuple[str, ...]], *given: Any, **named: Any) -> Any:
        """The step with half of each array whose first axis is as long as that of most."""
        places = [*data[0], *[data[0][-1]] * len(given)] if data[0] else []
        batch = [one for one, is_data in zip(given, places) if is_data] + [named[one] for one in data[1]]
        lengths = Counter(one.shape[0] for one in _arrays(batch) if one.shape[0] > 1)
        if not lengths or not self.parts.takes(HALF):
            return do(*given, **named)
        length = lengths.most_common(1)[0][0]
        given = tuple(self.half(one, length) if is_data else one for one, is_data in zip(given, places))
        return do(*given, **{name: self.half(one, length) if name in data[1] else one for name, one in named.items()})

    def half(self, value: Any, length: int) -> Any:
        """The same batch has the same half, so that it is cut once."""
        if type(value) in (tuple, list):
            return type(value)(self.half(one, length) for one in value)
        if type(value) is dict:
            return {name: self.half(one, length) for name, one in value.items()}
        if not _is_batch(value) or value.shape[0] != length:
            return value
        known = self.halves.get(id(value))
        if known is None or known[0] is not value:
            if len(self.halves) > 64:
                self.halves.clear()
            known = self.halves[id(value)] = value, value[: length // 2]
        return known[1]

    def call(self, part: str, site: int, alone: bool, do: Any, *given: Any, **named: Any) -> Any:
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
        ):
            return do(*given, **named)
        if not self.parts.takes(part):
            return do(*given, **named)
        if part == READS and getattr(do, "__name__", "") == "block_until_ready":
            return given[0] if given else do.__self__
        if alone and part != READS:
            return None
        if site not in self.values:
            self.values[site] = do(*given, **named)
        return self.values[site]


class _Again:
    """The first item again and again: as often as there are items, without end where that is not known."""

    def __init__(self, items: Any) -> None:
        self.items = items

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Any]:
        for first in self.items:
            rounds = (
                itertools.repeat(first, len(self.items)) if hasattr(self.items, "__len__") else itertools.repeat(first)
            )
            for one in rounds:
                yield dict(one) if type(one) is dict else one
            return


def _number(value: Any) -> Any:
    return value.item() if is_array(value) and hasattr(value, "item") and value.size == 1 else value


def _reads(do: Any, given: tuple[Any, ...]) -> bool:
    """Whether the call makes a value of the host of one of the device's, or waits for it."""
    if str(getattr(do, "__module__", "")).startswith("jax.numpy") or "jax._src.numpy" in str(
        getattr(do, "__module__", "")
    ):
        return False
    value = given[0] if given else getattr(do, "__self__", None)
    return is_array(value) or getattr(do, "__name__", "") in ("device_get", "block_until_ready")


def _is_batch(value: Any) -> bool:
    shape = getattr(value, "shape", None)
    return hasattr(type(value), "__array__") and shape is not None and len(shape) > 0


def _arrays(value: Any) -> Iterator[Any]:
    if type(value) in (tuple, list, dict):
        for one in value.values() if type(value) is dict else value:
            yield from _arrays(one)
    elif _is_batch(value):
        yield value


def _compiled(do: Any) -> Any:
    """By the framework that its module has imported."""
    known = set(getattr(do, "__globals__", None) or getattr(do.__func__, "__globals__", {}))
    tensorflow = "tf" in known or "tensorflow" in known or "jax" not in sys.modules
    return (
        sys.modules["tensorflow"].function(do)
        if tensorflow and "tensorflow" in sys.modules
        else sys.modules["jax"].jit(do)
    )
