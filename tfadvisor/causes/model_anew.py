"""Models of Keras that a program loads or builds anew for each prediction: a new model
traces its predict function anew.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from tfadvisor.causes.called import arguments_in, called_names, last_name, owner_of
from tfadvisor.causes.compiled_again import CompiledAgain
from tfadvisor.causes.given_anew import (
    Program,
    is_in,
    is_under_a_condition,
    loop_of,
    runs_again,
    where_again,
)
from tfadvisor.causes.made_anew import indented
from tfadvisor.causes.source_files import ParsedFile
from tfadvisor.causes.walked import (
    Function,
    Loop,
    calls_in,
    covers,
    nodes_in,
    own_nodes,
)
from tfadvisor.causes.witness import head_of, scope_around, signature
from tfadvisor.causes.wrapped_once import variables_in

_RUNS = frozenset(
    "evaluate predict predict_on_batch predict_step test_on_batch".split()
)
"""Methods of a model that need none of its own for each call."""
_TRAINS = frozenset("apply_gradients fit minimize train_on_batch".split())
"""A model that is trained may have to be a new one."""
_MAKERS = frozenset(
    "Functional Model Sequential clone_model from_config load_model model_from_config "
    "model_from_json model_from_yaml".split()
)
_LOADS = frozenset({"load_model"})
_PACKAGES = frozenset({"keras", "tensorflow", "tf_keras"})
_DEEPEST = 4
"""Functions of the program that give what another one made."""


class _Made(NamedTuple):
    """A call that gives a new model each time."""

    call: ast.Call
    """In the function that runs the model."""
    parsed: ParsedFile
    """Where it is made."""
    maker: ast.Call
    """Of Keras, or of a class of the program that is a model."""


class _Run(msgspec.Struct, frozen=True):
    """A call of a method of a new model."""

    parsed: ParsedFile
    call: ast.Call
    name: str
    """The variable that holds the model; "" for none."""
    made: _Made
    scope: Function | ast.Module
    loop: Loop | None
    """As of functions that are given anew."""


def model_anew(
    program: Program, file: str, lines: set[int], maker: str = ""
) -> CompiledAgain | None:
    """Of lines that make a model, or predict with it, where each call of their function
    that a loop calls, or each round of a loop, makes a new one. maker: the function
    that gives it, "" for any.
    """
    for run in _runs(program):
        is_it = maker in ("", last_name(run.made.call))
        if is_it and run.parsed.file == file and _is_at(run, lines):
            return _compiled_again(run)
    return None


def _is_at(run: _Run, lines: set[int]) -> bool:
    """Whether they are of the prediction, the making, or, in the function that makes
    it, where that is another one.
    """
    nodes = [run.call, run.made.call]
    if run.made.parsed is run.parsed:
        nodes.append(run.made.maker)
    return any(covers(node, line) for node in nodes for line in lines)


def _runs(program: Program) -> Iterator[_Run]:
    for parsed in program.files:
        for call in calls_in(parsed.tree):
            if last_name(call) in _RUNS:
                found = _run(program, parsed, call)
                if found is not None and not _is_trained(program, found):
                    yield found


def _run(program: Program, parsed: ParsedFile, call: ast.Call) -> _Run | None:
    """None where its model is kept, or is not known to be made."""
    owner = owner_of(call)
    scope = scope_around(parsed.tree, call.lineno)
    name = ast.unparse(owner) if isinstance(owner, ast.Name | ast.Attribute) else ""
    value = owner if not name else _only_value(scope, name)
    made = None
    if isinstance(value, ast.Call):
        made = _made(program, parsed, value)
    if made is None or is_under_a_condition(scope, made.call, ast.Try):
        return None
    loop = loop_of(scope, call)
    is_again = runs_again(program, scope) if loop is None else is_in(loop, made.call)
    return _Run(parsed, call, name, made, scope, loop) if is_again else None


def _only_value(scope: Function | ast.Module, name: str) -> ast.expr | None:
    """What a variable is given, in the one place that writes it."""
    values = [
        node.value
        for node in own_nodes(scope)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if ast.unparse(target) == name
    ]
    return values[0] if len(values) == 1 else None


def _made(
    program: Program, parsed: ParsedFile, call: ast.Call, depth: int = 0
) -> _Made | None:
    """Where a call of Keras, or of functions of the program, gives a new model."""
    called = parsed.names.called(call)
    is_of_keras = called.package in _PACKAGES and "keras" in called.path
    is_applied = ".applications." in called.path and last_name(call)[:1].isupper()
    if is_of_keras and (last_name(call) in _MAKERS or is_applied):
        return _Made(call, parsed, call)
    for file in program.files:
        function = file.names.functions.get(last_name(call))
        if function is not None and not called.package and depth < _DEEPEST:
            made = _given_by(program, file, function, depth + 1)
            return None if made is None else made._replace(call=call)
        if _is_a_model(file, last_name(call)):
            return _Made(call, parsed, call)
    return None


def _given_by(
    program: Program, parsed: ParsedFile, function: Function, depth: int
) -> _Made | None:
    """By all that a function returns, where nothing keeps it."""
    own = [*own_nodes(function)]
    values = [node.value for node in own if isinstance(node, ast.Return)]
    by = {*map(ast.unparse, function.decorator_list)}
    if len(values) != 1 or not by <= {"staticmethod", "classmethod"}:
        return None
    value = values[0]
    if isinstance(value, ast.Name):
        value = _only_value(function, value.id)
    if not isinstance(value, ast.Call) or is_under_a_condition(
        function, value, ast.Try
    ):
        return None
    return _made(program, parsed, value, depth)


def _is_a_model(parsed: ParsedFile, name: str) -> bool:
    """Whether a file has a class by this name that is a model of Keras."""
    return any(
        isinstance(node, ast.ClassDef)
        and node.name == name
        and any(
            parsed.names.stands_for(base).package in _PACKAGES
            and ast.unparse(base).rpartition(".")[2] in ("Model", "Sequential")
            for base in node.bases
        )
        for node in nodes_in(parsed.tree)
    )


def _is_trained(program: Program, run: _Run) -> bool:
    """Whether the function that runs it trains it too, or hands it to one that may."""
    functions = [
        function
        for parsed in program.files
        for function in parsed.names.functions.values()
    ]
    training = {
        function.name for function in functions if _TRAINS & called_names(function)
    }
    around = run.scope if run.loop is None else run.loop
    return any(
        (_is_of(call, run.name) and last_name(call) in _TRAINS)
        or (run.name in map(ast.unparse, call.args) and last_name(call) in training)
        for call in calls_in(around)
    )


def _is_of(call: ast.Call, name: str) -> bool:
    owner = owner_of(call)
    return owner is not None and ast.unparse(owner) == name


# In words and code.


def _compiled_again(run: _Run) -> CompiledAgain:
    maker = ast.unparse(run.made.maker.func)
    what = run.name or f"what {ast.unparse(run.made.call.func)} gives"
    loaded = "loaded" if last_name(run.made.maker) in _LOADS else "made"
    ran = f"{last_name(run.call)} ({run.parsed.file}:{run.call.lineno})"
    return CompiledAgain(
        words=f"{what}, a model whose {ran} is traced for each new one, is {loaded} "
        f"anew ({maker}) in {where_again(run.parsed, run.scope, run.loop)}",
        before=_before(run),
        once=_once(run),
    )


def _before(run: _Run) -> str:
    lines = [ast.unparse(run.call)]
    if run.name:
        lines = [f"{run.name} = {ast.unparse(run.made.call)}", *lines]
    if run.loop is not None:
        head = f"{head_of(run.loop)}:"
    else:
        assert isinstance(run.scope, Function)
        head = signature(run.scope).head
    return f"{head}\n{indented(chr(10).join(lines))}"


def _once(run: _Run) -> str:
    """Of a model that depends on what changes one for each of that, of which weights
    are set.
    """
    made = run.made
    name = run.name if run.name.isidentifier() else "model"
    around = run.scope if run.loop is None else run.loop
    key = _changing(made, around)
    if not key:
        outside = "the loop" if run.loop is not None else _name_of(run.scope)
        return f"# once, outside of {outside}\n{name} = {ast.unparse(made.call)}"
    text = ", ".join(key)
    asked = f"({text})" if len(key) > 1 else text
    return (
        f"models = {{}}          # once; one for each {text}\n"
        f"if {asked} not in models:\n"
        f"    models[{text}] = {ast.unparse(made.maker)}\n"
        f"{name} = models[{text}]   # and {name}.set_weights(...) where these differ"
    )


def _name_of(scope: Function | ast.Module) -> str:
    return scope.name if isinstance(scope, Function) else "the loop"


def _changing(made: _Made, around: ast.AST) -> list[str]:
    """What the making is given that may differ from call to call."""
    where = scope_around(made.parsed.tree, made.maker.lineno)
    local = {
        node.id
        for scope in (where, around)
        if not isinstance(scope, ast.Module)
        for node in nodes_in(scope)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    for scope in (where, around):
        if isinstance(scope, Function):
            local |= arguments_in(scope.args)
    given = [*made.maker.args, *(word.value for word in made.maker.keywords)]
    return [ast.unparse(node) for node in given if local & {*variables_in(node)}]
