"""What a function of the program changes besides its own keeping, by its source: of one
that a loop only calls, what of it may come back to the step.
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tfadvisor.causes.called import (
    CHANGING,
    KEEPING,
    ON_DEVICES,
    SHOWING,
    TRACED_METHODS,
    FileNames,
    arguments_in,
    declared_outer,
    dotted,
    last_name,
)
from tfadvisor.causes.loop_data import all_bindings_in
from tfadvisor.causes.walked import Function, nodes_in
from tfadvisor.printable import cut

_LONGEST = 60
"""Characters of a call that is named."""
_MOST_NAMES = 50
"""That stand for one another."""
_WRITING = frozenset(
    "apply_gradients assign assign_add assign_sub backward compile copyto delattr "
    "fit load_weights minimize restore scatter_update set_learning_rate set_value "
    "set_weights setattr shuffle stop "
    "train_on_batch".split()
)
"""They change what they are called on, or given: mostly weights and settings."""
_READS = (
    (TRACED_METHODS - CHANGING)
    .difference("apply_gradients watch".split())
    .union(
        "copy count_params decode encode evaluate format get_config get_layer "
        "get_weights index item join lower numpy plot predict predict_on_batch "
        "repeat save save_weights savefig split startswith strip summary "
        "test_on_batch to_json tobytes tolist upper".split()
    )
)
"""They change nothing of what they are called on that a step reads."""
_ENDING = ("exit", "sys.exit", "os._exit")
_GIVES_OUTER = frozenset(
    "enumerate get_layer getattr list reversed sorted tuple zip".split()
)
"""What they give is, or holds, what they are given or called on."""
_READING_PACKAGES = (
    ON_DEVICES
    | sys.stdlib_module_names
    | frozenset(
        "PIL cv2 h5py imageio matplotlib mlflow numpy pandas plotly psutil scipy "
        "seaborn skimage sklearn tabulate tensorboardX tqdm wandb".split()
    )
)
"""What their functions are given they read."""
_MODELS = ("model",)
"""The attribute of a callback of Keras that is the model in training."""
_Chain = tuple[str, ...]


class Effects(NamedTuple):
    """Of a function and all that it calls of the program."""

    feeds: bool
    """Whether it changes what a step, or another function, reads."""
    doubt: str
    """The first call, or attribute, of which the source does not show that it does not;
    "" for none.
    """
    keeps: bool
    """Whether it keeps something of each call."""


class Scope(NamedTuple):
    """A function with what its names stand for."""

    names: FileNames
    function: Function
    owned: frozenset[str]
    """Attributes of its object that its class makes itself."""
    known: frozenset[str]
    """Functions and methods of the program that are looked at as well."""


def effects_of(scopes: Sequence[Scope]) -> Effects:
    """Of all these together."""
    found = [effect for scope in scopes for effect in _effects(scope)]
    doubts = [effect.doubt for effect in found if effect.doubt]
    return Effects(
        any(effect.feeds for effect in found),
        next(iter(doubts), ""),
        any(effect.keeps for effect in found),
    )


_FEEDS = Effects(True, "", False)
_KEEPS = Effects(False, "", True)


def _doubt(node: ast.expr) -> Effects:
    return Effects(False, cut(ast.unparse(node), _LONGEST), False)


def _effects(scope: Scope) -> Iterator[Effects]:
    outer = declared_outer(ast.walk(scope.function))
    for node in ast.walk(scope.function):
        if isinstance(node, ast.Call):
            yield from _of_call(scope, node)
        elif isinstance(node, ast.Raise | ast.Await | ast.Yield | ast.YieldFrom):
            yield _FEEDS
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
            if node.id in outer:
                yield _FEEDS
        elif isinstance(node, ast.Attribute | ast.Subscript) and isinstance(
            node.ctx, ast.Store | ast.Del
        ):
            yield from _of_store(scope, node)
    yield from _of_what_it_carries(scope.function)


# What is written.


def _of_store(scope: Scope, node: ast.Attribute | ast.Subscript) -> Iterator[Effects]:
    chain = outer_chain(scope, node.value)
    if chain is None:
        return
    is_attribute = isinstance(node, ast.Attribute) and chain == ("self",)
    is_item = isinstance(node, ast.Subscript) and _is_owned(scope, chain)
    yield _KEEPS if is_attribute or is_item else _FEEDS


def _is_owned(scope: Scope, chain: _Chain) -> bool:
    return chain[:1] == ("self",) and len(chain) == 2 and chain[1] in scope.owned


def _of_what_it_carries(function: Function) -> Iterator[Effects]:
    """An attribute that is made of what it was before, but for a count."""
    for node in nodes_in(function):
        if isinstance(node, ast.AugAssign):
            is_count = isinstance(node.value, ast.Constant)
            if dotted(node.target)[0] == "self" and not is_count:
                yield _doubt(node.target)
        elif isinstance(node, ast.Assign):
            yield from _carried(node)


def _carried(node: ast.Assign) -> Iterator[Effects]:
    reads = {ast.unparse(inner) for inner in ast.walk(node.value) if _is_read(inner)}
    written = (inner for target in node.targets for inner in ast.walk(target))
    for inner in written:
        if isinstance(inner, ast.Attribute) and ast.unparse(inner) in reads:
            yield _doubt(inner)


def _is_read(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)


# What is called.


def _of_call(scope: Scope, call: ast.Call) -> Iterator[Effects]:
    name, called = last_name(call), scope.names.called(call)
    if name in _WRITING or called.words in _ENDING or _trains(call):
        yield _FEEDS
    elif name in scope.known or called.words == "super":
        return
    elif called.path:
        yield from _of_library(scope, call, called.package)
    elif isinstance(call.func, ast.Attribute):
        yield from _of_method(scope, call, call.func)
    elif not _is_harmless(scope, name):
        yield _doubt(call)


def _is_harmless(scope: Scope, name: str) -> bool:
    """Whether a function or class by this name changes nothing: one of Python's own,
    but for `next`, or of the file.
    """
    is_defined = name in scope.names.defined or _is_local(scope, name)
    return name != "next" and (hasattr(builtins, name) or is_defined)


def _of_library(scope: Scope, call: ast.Call, package: str) -> Iterator[Effects]:
    """One of which nothing is known may change what it is given from outside."""
    given = [*call.args, *(each.value for each in call.keywords)]
    is_known = package in _READING_PACKAGES
    if not is_known and any(outer_chain(scope, each) for each in given):
        yield _doubt(call)


def _trains(call: ast.Call) -> bool:
    """Whether a model is told to learn from what it is given."""
    given = {each.arg: each.value for each in call.keywords}
    value = given.get("training")
    return isinstance(value, ast.Constant) and value.value is True


def _of_method(scope: Scope, call: ast.Call, func: ast.Attribute) -> Iterator[Effects]:
    chain = outer_chain(scope, func.value)
    if chain is None or func.attr in _READS:
        return
    if func.attr in KEEPING | SHOWING or _is_owned(scope, chain):
        yield _KEEPS
    elif chain == ("self",):
        if func.attr not in _MODELS:
            yield _doubt(call)
    elif chain[:2] != ("self", *_MODELS):  # a part of the model that is called
        yield _doubt(call)


# What names stand for.


def outer_chain(scope: Scope, node: ast.expr) -> _Chain | None:
    """The names that lead to what an expression is of, from outside of the function;
    None for what the function makes, for constants and modules.
    """
    return _chain(scope, node, set())


def _chain(scope: Scope, node: ast.expr, asked: set[str]) -> _Chain | None:
    """asked: names that were looked at, none of which leads out."""
    attributes: list[str] = []
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Starred):
        if isinstance(node, ast.Attribute):
            attributes.append(node.attr)
        node = node.value
    if isinstance(node, ast.Call):
        inner = _of_given(scope, node, asked)
        return None if inner is None else (*inner, *attributes[::-1])
    if not isinstance(node, ast.Name) or node.id in asked:
        return None
    root = _root(scope, node.id, asked)
    return None if root is None else (*root, *attributes[::-1])


def _root(scope: Scope, name: str, asked: set[str]) -> _Chain | None:
    asked.add(name)
    if name in _parameters(scope.function):
        return (name,)
    values = [
        binding.value
        for binding in all_bindings_in(scope.function)
        if name in binding.written
        and not isinstance(binding.target, ast.Subscript | ast.Attribute)
    ]
    if not values:
        is_module = bool(scope.names.stands_for(ast.Name(name, ast.Load())).path)
        return None if is_module or _is_local(scope, name) else (name,)
    for value in values if len(asked) < _MOST_NAMES else ():
        if isinstance(value, ast.expr):
            found = _chain(scope, value, asked)
            if found is not None:
                return found
    return None


def _of_given(scope: Scope, call: ast.Call, asked: set[str]) -> _Chain | None:
    if last_name(call) not in _GIVES_OUTER:
        return None
    owner = [call.func.value] if isinstance(call.func, ast.Attribute) else []
    for given in (*owner, *call.args):
        found = _chain(scope, given, asked)
        if found is not None:
            return found
    return None


def _parameters(function: Function) -> set[str]:
    return arguments_in(function.args)


def _is_local(scope: Scope, name: str) -> bool:
    """Whether the function defines it itself, as an inner function or an argument of
    one.
    """
    inner = (
        node
        for node in ast.walk(scope.function)
        if isinstance(node, Function | ast.Lambda) and node is not scope.function
    )
    return any(
        name in arguments_in(node.args) or getattr(node, "name", "") == name
        for node in inner
    )
