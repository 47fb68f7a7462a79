"""Functions of the program that a training loop calls after its batches, and of which
nothing comes back to it, by the source: callbacks of Keras, hooks of a loop of the
program's own.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tfadvisor.causes.called import dotted, last_name
from tfadvisor.causes.hook_effects import Effects, Scope, effects_of
from tfadvisor.causes.source_files import ParsedFile
from tfadvisor.causes.walked import (
    Function,
    Loop,
    calls_in,
    covers,
    functions_in,
    loops,
    nodes_in,
    own_nodes,
    walked,
)
from tfadvisor.causes.witness import class_of, element_loop, scope_around
from tfadvisor.timeline.names.frames import place_in_words

_OF_KERAS = frozenset(("keras", "tensorflow", "tf_keras"))
_OF_LIGHTNING = frozenset(("lightning", "pytorch_lightning"))
_BATCH_HOOKS = frozenset(
    "on_batch_begin on_batch_end on_train_batch_begin on_train_batch_end".split()
)
"""Methods of callbacks that fit calls around each batch; it drops what they give."""
_CALLBACK = "Callback"
_LAMBDA = "LambdaCallback"
_FIT = "fit"
_MOST_BASES = 8
_MOST_CALLED = 40
"""Functions that one hook comes to."""
_COUNTERS = frozenset(("enumerate", "range"))


class Hook(NamedTuple):
    """One of them."""

    parsed: ParsedFile
    function: Function
    owner: str
    """Its class; "" for a function of a module."""
    by: str
    """What calls it, and drops what it gives: `fit`, else `the loop at train.py:30`."""
    counter: str
    """Its argument that counts batches; "" for none."""
    has_epochs: bool
    """Whether what calls it calls `on_epoch_end` too."""
    called: tuple[tuple[ParsedFile, Function], ...]
    """The program's functions that it calls and nothing else does."""
    effects: Effects

    @property
    def name(self) -> str:
        """`Gallery.on_train_batch_end`."""
        return ".".join(filter(None, (self.owner, self.function.name)))

    @property
    def words(self) -> str:
        """`Gallery.on_train_batch_end (train.py:42)`."""
        return place_in_words(self.parsed.file, self.function.lineno, self.name)

    def holds(self, file: str, line: int) -> bool:
        """Whether a line of the program is run by it alone."""
        return any(
            parsed.file == file and covers(function, line)
            for parsed, function in ((self.parsed, self.function), *self.called)
        )

    def line_in(self, file: str, line: int) -> int | None:
        """The line of the hook itself that comes to a line which it holds; None for
        unknown.
        """
        if self.parsed.file == file and covers(self.function, line):
            return line
        for parsed, function in self.called:
            if parsed.file == file and covers(function, line):
                return self._line_that_calls(function)
        return None

    def _line_that_calls(self, function: Function) -> int | None:
        names, seen = [function.name], set[str]()
        while names:
            name = names.pop()
            for call in calls_in(self.function):
                if last_name(call) == name:
                    return call.lineno
            seen.add(name)
            names += [
                outer.name
                for _, outer in self.called
                if outer.name not in seen
                and any(last_name(call) == name for call in calls_in(outer))
            ]
        return None


def hooks_of(files: Sequence[ParsedFile]) -> tuple[Hook, ...]:
    """All of a program's files that change nothing which a step reads, as far as the
    source shows it.
    """
    found = [
        hook
        for parsed in files
        for hook in (*_of_classes(files, parsed), *_of_functions(files, parsed))
    ]
    return tuple(hook for hook in found if _is_beside(hook))


def _is_beside(hook: Hook) -> bool:
    """Whether it is no step itself, as far as the source shows it: what a library calls
    a callback is none, what a loop of the program calls may be one.
    """
    is_called_back = hook.has_epochs
    return not hook.effects.feeds and (is_called_back or not hook.effects.doubt)


# Methods.


def _of_classes(files: Sequence[ParsedFile], parsed: ParsedFile) -> Iterator[Hook]:
    packages = _packages_of_callbacks(parsed)
    for node in walked(parsed.tree).classes:
        for function in node.body:
            if not isinstance(function, ast.FunctionDef) or function.decorator_list:
                continue
            made = _method(files, parsed, node, function, packages.get(node, ""))
            if made is not None:
                yield made


def _method(
    files: Sequence[ParsedFile],
    parsed: ParsedFile,
    owner: ast.ClassDef,
    function: ast.FunctionDef,
    package: str,
) -> Hook | None:
    if package and function.name in _BATCH_HOOKS:
        is_keras = package in _OF_KERAS
        counter = _argument(function, 1) if is_keras else _named(function, "batch_idx")
        by = "fit" if is_keras else "the trainer"
        return _hook(files, parsed, function, owner, by, counter, has_epochs=True)
    if package:
        return None
    calls = _calls_in_turn(files, function.name)
    if not calls:
        return None
    caller, call, loop = calls[0]
    counter = _counter_in(caller, call, loop, function)
    by = f"the loop at {caller.file}:{loop.lineno}"
    return _hook(files, parsed, function, owner, by, counter, has_epochs=False)


def _packages_of_callbacks(parsed: ParsedFile) -> dict[ast.ClassDef, str]:
    """By class the library whose training loop calls its methods; "" for none."""
    classes = walked(parsed.tree).classes
    by_name = {node.name: node for node in classes}
    known: dict[ast.ClassDef, str] = {}
    for _ in range(_MOST_BASES):  # from the bases to what is made of them
        for node in classes:
            inner = (by_name.get(ast.unparse(base)) for base in node.bases)
            of_inner = ("" if each is None else known.get(each, "") for each in inner)
            own = (_package_of(parsed, base) for base in node.bases)
            found = (mine or of for mine, of in zip(own, of_inner, strict=True))
            known[node] = next(filter(None, found), "")
    return known


def _package_of(parsed: ParsedFile, base: ast.expr) -> str:
    """Of a callback of a library itself; "" for other classes."""
    path = parsed.names.stands_for(base).path
    package = path.partition(".")[0]
    is_known = package in _OF_KERAS | _OF_LIGHTNING
    return package if is_known and path.rpartition(".")[2] == _CALLBACK else ""


_InTurn = tuple[ParsedFile, ast.Call, Loop]


def _calls_in_turn(files: Sequence[ParsedFile], name: str) -> list[_InTurn]:
    """The calls of a method by this name of each of several objects in turn, in a loop,
    `for hook in hooks: hook.after_step(...)`, where no call of it does anything else.
    """
    found: list[_InTurn] = []
    for parsed in files:
        for call in walked(parsed.tree).calls_named(name):
            if _is_of_super(call):
                continue
            loop = _loop_over_objects(parsed, call)
            if loop is None:
                return []
            found.append((parsed, call, loop))
    return found


def _is_of_super(call: ast.Call) -> bool:
    func = call.func
    owner = func.value if isinstance(func, ast.Attribute) else None
    return isinstance(owner, ast.Call) and last_name(owner) == "super"


def _loop_over_objects(parsed: ParsedFile, call: ast.Call) -> Loop | None:
    """The loop around such a statement; None for any other call."""
    func = call.func
    if not isinstance(func, ast.Attribute) or not isinstance(func.value, ast.Name):
        return None
    for loop in loops(parsed.tree):
        is_one = isinstance(loop, ast.For) and isinstance(loop.target, ast.Name)
        if not is_one or not any(
            isinstance(node, ast.Expr) and node.value is call for node in loop.body
        ):
            continue
        target = loop.target if isinstance(loop, ast.For) else None
        is_of_loop = isinstance(target, ast.Name) and target.id == func.value.id
        return _around(parsed, loop) if is_of_loop else None
    return None


def _around(parsed: ParsedFile, inner: Loop) -> Loop | None:
    for loop in loops(parsed.tree):
        if loop is not inner and any(node is inner for node in own_nodes(loop)):
            return loop
    return None


def _counter_in(
    caller: ParsedFile, call: ast.Call, loop: Loop, function: ast.FunctionDef
) -> str:
    """The argument of a method to which the loop around gives its number."""
    around = (
        outer
        for outer in loops(caller.tree)
        if outer is loop or any(node is loop for node in own_nodes(outer))
    )
    number = next(filter(None, map(_number_of, around)), "")
    values = [(_argument(function, at + 1), each) for at, each in enumerate(call.args)]
    values += [(each.arg or "", each.value) for each in call.keywords]
    for name, value in values:
        if number and isinstance(value, ast.Name) and value.id == number:
            return name
    return ""


def _number_of(loop: Loop) -> str:
    """Of a loop that counts its rounds: `step` of `for step, batch in enumerate(x)`."""
    if not isinstance(loop, ast.For) or not isinstance(loop.iter, ast.Call):
        return ""
    kind, target = last_name(loop.iter), loop.target
    if kind not in _COUNTERS:
        return ""
    if kind == "enumerate" and isinstance(target, ast.Tuple):
        target = target.elts[0]
    return target.id if isinstance(target, ast.Name) else ""


# Functions that are given to a callback of Keras.


def _of_functions(files: Sequence[ParsedFile], parsed: ParsedFile) -> Iterator[Hook]:
    for call in calls_in(parsed.tree):
        called = parsed.names.called(call)
        if called.names[-1] != _LAMBDA or called.package not in _OF_KERAS:
            continue
        for each in call.keywords:
            is_hook = each.arg in _BATCH_HOOKS and isinstance(each.value, ast.Name)
            name = each.value.id if isinstance(each.value, ast.Name) else ""
            function = parsed.names.functions.get(name) if is_hook else None
            if isinstance(function, ast.FunctionDef) and not function.decorator_list:
                counter = _argument(function, 0)
                yield _hook(
                    files, parsed, function, None, "fit", counter, has_epochs=True
                )


# All that belongs to one.


def _hook(
    files: Sequence[ParsedFile],
    parsed: ParsedFile,
    function: ast.FunctionDef,
    owner: ast.ClassDef | None,
    by: str,
    counter: str,
    *,
    has_epochs: bool,
) -> Hook:
    reached = _reached(files, parsed, function)
    known = frozenset(inner.name for _, inner in reached)
    scopes = [
        Scope(each.names, inner, _owned(each, inner), known)
        for each, inner in ((parsed, function), *reached)
    ]
    effects = effects_of(scopes)
    if owner is not None and not effects.doubt:
        kept = {name for scope in scopes for name, _ in _attributes(scope.function)}
        effects = effects._replace(doubt=_read_elsewhere(files, owner, kept))
    return Hook(
        parsed,
        function,
        "" if owner is None else owner.name,
        by,
        counter,
        has_epochs,
        tuple(_only_its_own(files, function, reached)),
        effects,
    )


_Reached = list[tuple[ParsedFile, Function]]


def _reached(
    files: Sequence[ParsedFile], parsed: ParsedFile, function: Function
) -> _Reached:
    """The program's functions that one calls, directly or not."""
    found: _Reached = []
    left: _Reached = [(parsed, function)]
    while left and len(found) < _MOST_CALLED:
        inside, caller = left.pop()
        for call in calls_in(caller):
            callee = _callee(files, inside, caller, call)
            known = [function, *(each for _, each in found)]
            if callee is not None and all(callee[1] is not each for each in known):
                found.append(callee)
                left.append(callee)
    return found


def _callee(
    files: Sequence[ParsedFile], parsed: ParsedFile, caller: Function, call: ast.Call
) -> tuple[ParsedFile, Function] | None:
    called = parsed.names.called(call)
    if called.names[0] == "self" and len(called.names) == 2:
        owner = class_of(parsed.tree, caller)
        return None if owner is None else _in(parsed, owner, called.names[1])
    if len(called.names) == 1 and not called.path:
        return _in(parsed, parsed.tree, called.names[0])
    module, _, name = called.path.rpartition(".")
    file = f"{module.rpartition('.')[2]}.py"
    found = (_in(each, each.tree, name) for each in files if each.file == file)
    return next(filter(None, found), None)


def _in(
    parsed: ParsedFile, holder: ast.ClassDef | ast.Module, name: str
) -> tuple[ParsedFile, Function] | None:
    own = (node for node in holder.body if isinstance(node, Function))
    return next(((parsed, node) for node in own if node.name == name), None)


def _only_its_own(
    files: Sequence[ParsedFile], hook: Function, reached: _Reached
) -> _Reached:
    """Those that nothing outside of these calls, by name."""
    own = reached
    while True:
        inside = {
            id(node)
            for each in (hook, *(function for _, function in own))
            for node in ast.walk(each)
        }
        others = {
            last_name(call)
            for parsed in files
            for call in calls_in(parsed.tree)
            if id(call) not in inside
        }
        left = [each for each in own if each[1].name not in others]
        if len(left) == len(own):
            return own
        own = left


def _owned(parsed: ParsedFile, function: Function) -> frozenset[str]:
    """Attributes that its class makes by calls and displays alone."""
    owner = class_of(parsed.tree, function)
    if owner is None:
        return frozenset()
    own, others = set[str](), set[str]()
    for method in functions_in(owner):
        for name, value in _attributes(method):
            is_made = isinstance(value, _MADE)
            (own if is_made else others).add(name)
    return frozenset(own - others)


_MADE = (
    ast.Call
    | ast.List
    | ast.Dict
    | ast.Set
    | ast.ListComp
    | ast.DictComp
    | ast.SetComp
    | ast.Constant
)


def _attributes(method: Function) -> Iterator[tuple[str, ast.expr | None]]:
    """(name, what it is given) of the object's attributes; None for unknown."""
    for node in ast.walk(method):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                yield from _pairs(target, node.value)
        elif isinstance(node, ast.AnnAssign):
            yield from _pairs(node.target, node.value)


def _pairs(
    target: ast.expr, value: ast.expr | None
) -> Iterator[tuple[str, ast.expr | None]]:
    if isinstance(target, ast.Tuple | ast.List):
        is_tuple = isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts)
        values = value.elts if is_tuple and isinstance(value, ast.Tuple) else None
        for at, inner in enumerate(target.elts):
            yield from _pairs(inner, values[at] if values else None)
    elif isinstance(target, ast.Attribute) and dotted(target)[:-1] == ["self"]:
        yield target.attr, value


def _read_elsewhere(
    files: Sequence[ParsedFile], owner: ast.ClassDef, kept: set[str]
) -> str:
    """Where another object than that of a class reads an attribute by one of these
    names, and not behind the training alone; "" for nowhere.
    """
    inside = {id(node) for node in ast.walk(owner)}
    for parsed in files:
        for node in nodes_in(parsed.tree):
            is_read = isinstance(node, ast.Attribute) and node.attr in kept
            if not is_read or id(node) in inside or not isinstance(node, ast.Attribute):
                continue
            if isinstance(node.ctx, ast.Load) and not _is_behind(parsed, node.lineno):
                return ast.unparse(node)
    return ""


def _is_behind(parsed: ParsedFile, line: int) -> bool:
    """Whether a line comes after a call of fit in its function, and in no loop."""
    calls = calls_in(scope_around(parsed.tree, line))
    is_after = any(call.lineno < line for call in calls if last_name(call) == _FIT)
    return is_after and element_loop(parsed.tree, line) is None


# Arguments.


def _argument(function: ast.FunctionDef, at: int) -> str:
    names = [*function.args.posonlyargs, *function.args.args]
    return names[at].arg if at < len(names) else ""


def _named(function: ast.FunctionDef, name: str) -> str:
    return name if any(each.arg == name for each in function.args.args) else ""
