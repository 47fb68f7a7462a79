"""Whether a function gives the same whenever it is called on the same, by the program's
files: it draws no random numbers, and reads nothing that changes.

What is not known counts as something that changes.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator, Sequence

import numpy as np

from tfadvisor.causes.called import (
    CHANGING,
    COMPUTING,
    READING,
    arguments_in,
    dotted,
    last_name,
    owner_of,
    stored_in,
)
from tfadvisor.causes.source_files import ParsedFile
from tfadvisor.causes.walked import Function, functions_in, nodes_in, own_nodes
from tfadvisor.tallies import listed

Mapped = Function | ast.Lambda
_DEEPEST = 8
"""Calls from the function."""
_COMPUTES = frozenset(
    "cv2 einops functools gzip io itertools json keras librosa math numpy operator os "
    "pathlib PIL re scipy skimage soundfile string struct tensorflow tensorflow_io "
    "tensorflow_text tf_keras unicodedata wave zlib".split()
)
"""Packages whose functions compute, or read files."""
_DRAWS = re.compile(
    r"rand(?!ar)|dropout|shuffle|permut|augment|distort|jitter|urandom|getpid|Variable"
    r"|Sequential|Model\b|load_model|gradient"
)
"""In the paths of functions that draw numbers, or make what changes."""
_DRAWING = frozenset(
    "act assign assign_add assign_sub bernoulli binomial bytes choice choices "
    "exponential gauss integers lognormal multinomial normal permutation poisson "
    "popleft predict put rand randint randn random read readline recv sample send "
    "shuffle standard_normal step uniform".split()
)
"""Methods that draw numbers, or ask something for its next."""
_ORDERS = frozenset({"permutation", "shuffle"})
"""Draws that change an order alone."""
_LAYERS = frozenset(
    "CategoryEncoding CenterCrop Discretization Hashing IntegerLookup Normalization "
    "Rescaling Resizing StaticHashTable StaticVocabularyTable StringLookup "
    "TextVectorization".split()
)
"""Layers and tables that are called on data, and change nothing while they are."""
_STATEFUL = re.compile(r"rand|rng|Generator|Variable|Model|Sequential|Queue|\Amake\Z")
"""In the name of the call that makes an object with a state."""
_SEEDED = ("default_rng", "RandomState", "Random")
_OF_DATA = frozenset(
    name for kind in (bytes, dict, list, set, str, np.ndarray) for name in dir(kind)
) | frozenset("get_shape iterrows itertuples lookup numpy set_shape to_numpy".split())
"""Methods of plain values, of arrays and of tables."""
_PLAIN = COMPUTING | READING | frozenset("bytes chr open ord print sum".split())


class SameEachTime:
    """The files of a program, asked of functions."""

    def __init__(self, files: Sequence[ParsedFile], *, any_order: bool = False) -> None:
        """any_order: whether draws of an order alone count as none."""
        self._files = files
        self._may = _ORDERS if any_order else frozenset[str]()
        self._known: dict[ast.AST, bool] = {}
        self._defined = listed(
            (function.name, (function, parsed))
            for parsed in files
            for function in functions_in(parsed.tree)
        )

    def gives_same(self, mapped: Mapped, parsed: ParsedFile, depth: int = 0) -> bool:
        """Whether a function does, with all that it calls in the program's files."""
        if depth > _DEEPEST:
            return False
        if mapped not in self._known:
            self._known[mapped] = True  # while it is asked: it may call itself
            self._known[mapped] = self._asks(mapped, parsed, depth)
        return self._known[mapped]

    def _asks(self, mapped: Mapped, parsed: ParsedFile, depth: int) -> bool:
        nodes = [x for each in own_nodes(mapped) for x in _with_body(each)]
        own = arguments_in(mapped) | stored_in(mapped)
        own |= {node.name for node in ast.walk(mapped) if isinstance(node, Function)}
        seeded = _seeded_in(nodes)

        def is_known(node: ast.AST) -> bool:
            if isinstance(node, ast.Call):
                return self._is_known_call(
                    node, parsed, own, seeded
                ) and self._is_known_method(node, mapped, parsed, depth)
            if isinstance(node, ast.Name):
                is_read = isinstance(node.ctx, ast.Load) and node.id not in own
                return not is_read or self._is_known_name(
                    node.id, mapped, parsed, depth
                )
            if isinstance(node, ast.Attribute) and dotted(node)[0] == "self":
                return self._is_known_attribute(node, parsed, depth)
            return not isinstance(node, ast.Global | ast.Nonlocal)

        return all(map(is_known, nodes))

    def _is_known_call(
        self, call: ast.Call, parsed: ParsedFile, own: set[str], seeded: set[str]
    ) -> bool:
        called, name = parsed.names.called(call), last_name(call)
        draws = _DRAWS.search(called.path or called.words)
        if called.names[0] in seeded or name in self._may or _is_of_seeded(call):
            return True
        if called.path:
            computes = called.package in _COMPUTES and not draws
            return computes or self.definition(name) is not None
        if called.is_method:
            return name not in _DRAWING and not draws
        return name in _PLAIN or (name not in own and self._is_own(name, parsed))

    def _is_known_method(
        self, call: ast.Call, mapped: Mapped, parsed: ParsedFile, depth: int
    ) -> bool:
        """Of what the function does not make itself: one that plain values have too,
        one of the files that gives the same, or one of an object that a known package
        makes. True for what is no method of such an object.
        """
        called = parsed.names.called(call)
        root, name = called.names[0], called.names[-1]
        is_inside = root == "" or root in arguments_in(mapped) | stored_in(mapped)
        is_asked_of_self = called.names == ["self", name]
        if not called.is_method or is_inside or is_asked_of_self or name in _OF_DATA:
            return True
        defined = self.definition(name)
        if defined is not None:
            return self.gives_same(*defined, depth + 1)
        scopes = [*_around(parsed.tree, mapped), parsed.tree]
        made = [value for scope in scopes for value, _ in _bindings(scope, root)]
        return bool(made) and all(self._computes(value, parsed) for value in made)

    def _computes(self, made: ast.expr | None, parsed: ParsedFile) -> bool:
        """Whether a known package makes an object that has no state."""
        if not isinstance(made, ast.Call):
            return False
        called = parsed.names.called(made)
        return called.package in _COMPUTES and not _DRAWS.search(called.path)

    def _is_own(self, name: str, parsed: ParsedFile) -> bool:
        return self.definition(name) is not None or self._is_layer(name, parsed)

    def _is_layer(self, name: str, parsed: ParsedFile) -> bool:
        made = [value for value, _ in _bindings(parsed.tree, name)]
        return len(made) == 1 and _made_by(made[0]) in _LAYERS

    def definition(self, name: str) -> tuple[Function, ParsedFile] | None:
        """The only function of this name in the files."""
        found = self._defined.get(name, [])
        return found[0] if len(found) == 1 else None

    def _is_known_name(
        self, name: str, mapped: Mapped, parsed: ParsedFile, depth: int
    ) -> bool:
        defined = self.definition(name)
        if defined is not None:
            return self.gives_same(*defined, depth + 1)
        imported = parsed.names.stands_for(ast.Name(name)).path
        if imported or hasattr(builtins, name) or name == "self":
            return True
        scopes = [*_around(parsed.tree, mapped), parsed.tree]
        scope = next((each for each in scopes if _binds(each, name)), None)
        return scope is not None and _stays(scope, name, parsed)

    def _is_known_attribute(
        self, node: ast.Attribute, parsed: ParsedFile, depth: int
    ) -> bool:
        """Of an object: a method that gives the same, or what it is made with."""
        name = dotted(node)[1]
        if name in parsed.names.functions:
            defined = self.definition(name)
            return defined is not None and self.gives_same(*defined, depth + 1)
        writing = [
            function.name
            for function in functions_in(parsed.tree)
            for inner in nodes_in(function)
            if isinstance(inner, ast.Attribute)
            and isinstance(inner.ctx, ast.Store)
            and inner.attr == name
        ]
        return writing == ["__init__"] and not _DRAWS.search(name)


def _with_body(node: ast.AST) -> Iterator[ast.AST]:
    """A node; of a function inside, all of it: it may be called."""
    yield node
    if isinstance(node, Function):
        for inner in node.body:
            yield from ast.walk(inner)


def _seeded_in(nodes: Sequence[ast.AST]) -> set[str]:
    """The names of generators of numbers that begin with the same ones."""
    return {
        name
        for node in nodes
        if isinstance(node, ast.Assign) and _is_seeded(node.value)
        for name in stored_in(node)
    }


def _is_seeded(node: ast.expr) -> bool:
    """A generator of numbers that begins with the same ones."""
    return (
        isinstance(node, ast.Call)
        and last_name(node) in _SEEDED
        and bool(node.args)
        and all(isinstance(each, ast.Constant) for each in node.args)
        and not any(
            isinstance(each, ast.Constant) and each.value is None for each in node.args
        )
    )


def _is_of_seeded(call: ast.Call) -> bool:
    owner = owner_of(call)
    return _is_seeded(call) or (owner is not None and _is_seeded(owner))


def _made_by(value: ast.expr | None) -> str:
    return last_name(value) if isinstance(value, ast.Call) else ""


def _around(tree: ast.Module, mapped: Mapped) -> list[Function]:
    """Functions that hold it, the innermost first."""
    found = [
        function
        for function in functions_in(tree)
        if function is not mapped and any(node is mapped for node in nodes_in(function))
    ]
    return found[::-1]


def _binds(scope: Function | ast.Module, name: str) -> bool:
    is_argument = isinstance(scope, Function) and name in arguments_in(scope.args)
    return is_argument or bool(_bindings(scope, name))


def _bindings(
    scope: Function | ast.Module, name: str
) -> list[tuple[ast.expr | None, ast.stmt]]:
    """(value, statement) of each that gives a name something; None for a part."""
    found: list[tuple[ast.expr | None, ast.stmt]] = []
    for node in own_nodes(scope):
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AnnAssign | ast.AugAssign | ast.For):
            targets = [node.target]
        elif isinstance(node, ast.With):
            targets = [x.optional_vars for x in node.items if x.optional_vars]
        for target in targets:
            if isinstance(target, ast.Name) and target.id == name:
                value = node.value if isinstance(node, ast.Assign) else None
                found.append((value, node))  # type: ignore[arg-type]
            elif name in stored_in(target):
                found.append((None, node))  # type: ignore[arg-type]
    return found


def _stays(scope: Function | ast.Module, name: str, parsed: ParsedFile) -> bool:
    """Whether a variable of a scope keeps what it got first."""
    bound = _bindings(scope, name)
    if len(bound) > 1 or any(isinstance(each, ast.For) for _, each in bound):
        return False
    if bound and _STATEFUL.search(_made_by(bound[0][0])):
        return False
    return not any(_changes(node, name) for node in _run_later(parsed.tree, name))


def _run_later(tree: ast.Module, name: str) -> Iterator[ast.AST]:
    """What functions do that have no variable of this name themselves."""
    for function in functions_in(tree):
        outer = {x for node in nodes_in(function) for x in getattr(node, "names", ())}
        if name in outer or not _binds(function, name):
            yield from own_nodes(function)


def _changes(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.Global | ast.Nonlocal):
        return name in node.names
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
        return dotted(node)[0] == name
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        is_changing = node.func.attr in CHANGING | {"add", "pop", "assign"}
        return is_changing and ast.unparse(node.func.value) == name
    return False
