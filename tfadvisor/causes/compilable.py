"""Whether a function of the program can be compiled as it stands, by its source: what a
compiler runs once, while it traces, must not be needed in each call.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from tfadvisor.causes.witness import last_name

if TYPE_CHECKING:
    from tfadvisor.causes.source_files import ParsedFile, SourceFiles

_TRACED = frozenset(
    "chex dataclasses distrax einops equinox flax functools haiku itertools jax keras "
    "math operator optax tensorflow tensorflow_probability tf_keras typing".split()
)
"""Modules of which a compiler may run each call while it traces."""
_NOT_TRACED = frozenset("data device_get io optimizers summary Variable".split())
"""Parts of these modules that do more than compute, or only once."""
_ON_HOST = frozenset({"numpy", "random"})
_DRAWS = ("numpy.random.", "random.")
"""Modules that draw numbers on the host, which a compiler would draw once."""
_ON_CONSTANTS = frozenset(
    "bool_ ceil float16 float32 float64 floor inf int32 int64 log pi prod sqrt".split()
)
"""Of NumPy, what programs apply to sizes and constants."""
_GRADIENTS = frozenset("grad value_and_grad GradientTape gradient".split())
"""Of a function that trains: it calls the model that it is given."""
_CHANGING = frozenset("append extend set update".split())
"""Methods that change what they belong to, but of what JAX's `at` gives."""
_BUILTINS = frozenset(
    "abs all any callable dict divmod enumerate filter getattr hasattr isinstance len "
    "list map max min pow range reversed round set slice sorted sum super tuple type "
    "zip".split()
)
_METHODS = frozenset(
    "all any append apply apply_gradients argmax argmin astype batch_jacobian clip "
    "cumsum dot extend flatten get gradient items jacobian keys max mean min multiply "
    "prod ravel replace reshape round set squeeze std sum swapaxes take transpose "
    "update values var watch".split()
)
"""Of arrays, trees, tapes and optimizers."""
_DEEPEST = 6
"""Calls of the program's functions, one inside of another."""


class HostWork(msgspec.Struct, frozen=True):
    """What a compiler would not do in each call."""

    what: str
    """`np.random.uniform`, `yield`, `int`; "" for nothing."""
    on_arrays: bool = False
    """Whether it makes or gives arrays on the host, for a loop to take."""


NONE = HostWork("")
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def host_work(files: SourceFiles, file: str, function: _Function) -> HostWork:
    """Of a function of a file, with those of the program that it calls: what makes
    arrays first. What nobody knows counts as work of the host.
    """
    parsed = files.read(file)
    if parsed is None:
        return HostWork(f"{file} is not known")
    found = [*_Reader(files).of(parsed, function)]
    on_arrays = [work for work in found if work.on_arrays]
    return next(iter([*on_arrays, *found]), NONE)


class _Reader:
    """Follows calls through the program's files; each function is read once, with those
    inside of it.
    """

    def __init__(self, files: SourceFiles) -> None:
        self._files = files
        self._seen: set[tuple[str, int]] = set()

    def of(
        self, parsed: ParsedFile, function: _Function, depth: int = 0
    ) -> Iterator[HostWork]:
        """All that one finds in a function, and in what it calls."""
        key = parsed.file, function.lineno
        if key in self._seen:
            return
        self._seen.add(key)
        scope = _Scope.of(parsed, function)
        for node in ast.walk(function):
            if isinstance(node, ast.Call):
                yield from self._of_call(scope, node, depth)
            else:
                yield from _of_statement(scope, node)

    def _of_call(self, scope: _Scope, call: ast.Call, depth: int) -> Iterator[HostWork]:
        root, *attributes = _dotted(call.func)
        module = scope.modules.get(root, "")
        package = module.partition(".")[0]
        name = ".".join([root, *attributes])
        if package in _TRACED:
            if _NOT_TRACED & {*attributes, *module.split(".")}:
                yield HostWork(name)
        elif package in _ON_HOST:
            yield from _of_host_package(scope, name, ".".join([module, *attributes]))
        elif attributes and not module:
            if not scope.may_call(root, attributes):
                yield HostWork(name)
        elif root not in _BUILTINS and not scope.makes(root):
            yield from self._of_named(scope.parsed, root, attributes, module, depth)

    def _of_named(
        self,
        parsed: ParsedFile,
        root: str,
        attributes: list[str],
        module: str,
        depth: int,
    ) -> Iterator[HostWork]:
        """A function of this file, or of another one of the program."""
        name = attributes[-1] if attributes else root
        where: ParsedFile | None = parsed
        if module:
            own = module if attributes else module.rpartition(".")[0]
            name = name if attributes else module.rpartition(".")[2]
            where = self._files.read(f"{own.rpartition('.')[2]}.py")
        found = _defined(where, name)
        if where is None or found is None or depth >= _DEEPEST:
            yield HostWork(".".join([root, *attributes]))
            return
        yield from self.of(where, found, depth + 1)


class _Scope(msgspec.Struct, frozen=True):
    """What a function's names stand for."""

    parsed: ParsedFile
    modules: dict[str, str]
    """As _imported."""
    arguments: frozenset[str]
    assigned: frozenset[str]
    """Variables that it makes itself, and functions inside of it."""
    trains: bool
    """Whether it computes a gradient."""

    @classmethod
    def of(cls, parsed: ParsedFile, function: _Function) -> _Scope:
        """Of a function of a file."""
        nodes = [*ast.walk(function)]
        stored = {
            node.id
            for node in nodes
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        inner = {
            node.name
            for node in nodes
            if isinstance(node, ast.FunctionDef) and node is not function
        }
        arguments = frozenset(node.arg for node in nodes if isinstance(node, ast.arg))
        called = {last_name(node) for node in nodes if isinstance(node, ast.Call)}
        return cls(
            parsed,
            _imported(parsed.tree),
            arguments,
            frozenset(stored | inner),
            bool(called & _GRADIENTS),
        )

    def makes(self, name: str) -> bool:
        """Whether it calls what it made itself; what it is given it may call where it
        trains, as a model.
        """
        return name in self.assigned or (self.trains and name in self.arguments)

    def may_call(self, root: str, attributes: list[str]) -> bool:
        """Whether a method computes, and changes nothing from outside."""
        if attributes[-1] not in _METHODS:
            return False
        is_own = root in self.assigned or "at" in attributes or not root
        return is_own or attributes[-1] not in _CHANGING or self.trains


def _of_host_package(scope: _Scope, name: str, whole: str) -> Iterator[HostWork]:
    """whole: with its module, as `numpy.random.normal`."""
    if whole.startswith(_DRAWS):
        yield HostWork(name, on_arrays=not scope.trains)
    elif whole.rpartition(".")[2] not in _ON_CONSTANTS:
        yield HostWork(name)


def _of_statement(scope: _Scope, node: ast.AST) -> Iterator[HostWork]:
    if isinstance(node, ast.Yield | ast.YieldFrom):
        yield HostWork("yield", on_arrays=not scope.trains)
    elif isinstance(node, ast.Global | ast.Nonlocal | ast.Await):
        yield HostWork(type(node).__name__.lower())
    elif isinstance(node, ast.If | ast.While):
        if _asks_for_values(scope, node.test):
            yield HostWork("while" if isinstance(node, ast.While) else "if")
    elif isinstance(node, ast.Attribute | ast.Subscript):
        is_written = isinstance(node.ctx, ast.Store | ast.Del)
        root, *names = _dotted(node)
        is_local = root in scope.assigned - scope.arguments
        if is_written and (isinstance(node, ast.Attribute) or not is_local):
            yield HostWork(".".join([root, *names]))


def _asks_for_values(scope: _Scope, test: ast.expr) -> bool:
    """Whether a condition computes on what it is given, which has no value yet."""
    computes = any(
        isinstance(node, ast.Compare | ast.Call) and not _is_of_none(node)
        for node in ast.walk(test)
    )
    names = {node.id for node in ast.walk(test) if isinstance(node, ast.Name)}
    return computes and bool(names & scope.arguments)


def _is_of_none(node: ast.AST) -> bool:
    """Whether it compares with None, or with a text."""
    return isinstance(node, ast.Compare) and all(
        isinstance(other, ast.Constant) and isinstance(other.value, str | None)
        for other in node.comparators
    )


def _dotted(node: ast.expr) -> list[str]:
    """`jax.random.split` -> its names; "" first where a call gives what they are of."""
    names: list[str] = []
    while isinstance(node, ast.Attribute | ast.Subscript):
        if isinstance(node, ast.Attribute):
            names.append(node.attr)
        node = node.value
    root = node.id if isinstance(node, ast.Name) else ""
    return [root, *names[::-1]]


def _imported(tree: ast.Module) -> dict[str, str]:
    """Modules, and names out of modules, by what the file calls them."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                found[name] = alias.name if alias.asname else name
        elif isinstance(node, ast.ImportFrom):
            source = "." * node.level + (node.module or "")
            for alias in node.names:
                found[alias.asname or alias.name] = f"{source}.{alias.name}"
    return found


def _defined(parsed: ParsedFile | None, name: str) -> _Function | None:
    nodes = ast.walk(parsed.tree) if parsed is not None else ()
    for node in nodes:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return node
    return None
