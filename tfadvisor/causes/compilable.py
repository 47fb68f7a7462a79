"""Whether a function of the program can be compiled as it stands, by its source: what a
compiler runs once, while it traces, must not be needed in each call.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from tfadvisor.causes.witness import own_nodes

if TYPE_CHECKING:
    from tfadvisor.causes.source_files import ParsedFile, SourceFiles

_TRACED = frozenset(
    "chex dataclasses distrax einops equinox flax functools haiku itertools jax keras "
    "math operator optax tensorflow tensorflow_probability tf_keras typing".split()
)
"""Modules of which a compiler may run each call while it traces."""
_HOST_ARRAYS = frozenset({"numpy", "random"})
"""Modules that work on the host: one that draws numbers would draw them once."""
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
    """Follows calls through the program's files; each function is read once."""

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
        modules = _imported(parsed.tree)
        for node in own_nodes(function):
            if isinstance(node, ast.Call):
                yield from self._of_call(parsed, function, node, modules, depth)
            else:
                yield from _of_statement(node, function)

    def _of_call(
        self,
        parsed: ParsedFile,
        function: _Function,
        call: ast.Call,
        modules: dict[str, str],
        depth: int,
    ) -> Iterator[HostWork]:
        root, *attributes = _dotted(call.func)
        module = modules.get(root, "")
        if module.partition(".")[0] in _TRACED:
            return
        if module.partition(".")[0] in _HOST_ARRAYS:
            yield HostWork(".".join([root, *attributes]), on_arrays=True)
        elif attributes and not module:
            if attributes[-1] not in _METHODS:
                yield HostWork(".".join([root, *attributes]))
        elif root in _names_made(function) or root in _BUILTINS:
            return
        else:
            yield from self._of_named(parsed, root, attributes, module, depth)

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


def _of_statement(node: ast.AST, function: _Function) -> Iterator[HostWork]:
    if isinstance(node, ast.Yield | ast.YieldFrom):
        yield HostWork("yield", on_arrays=True)
    elif isinstance(node, ast.Global | ast.Nonlocal | ast.Await):
        yield HostWork(type(node).__name__.lower())
    elif isinstance(node, ast.Assign | ast.AugAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            if isinstance(target, ast.Attribute):
                yield HostWork(ast.unparse(target))
            elif isinstance(target, ast.Subscript):
                root = _dotted(target.value)[0]
                if root not in _assigned(function):
                    yield HostWork(ast.unparse(target))


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
            for alias in node.names:
                found[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return found


def _assigned(function: _Function) -> frozenset[str]:
    """Variables that it makes itself."""
    return frozenset(
        node.id
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    )


def _names_made(function: _Function) -> frozenset[str]:
    """Its arguments, variables, and the functions inside of it."""
    arguments = (node.arg for node in ast.walk(function) if isinstance(node, ast.arg))
    inner = (
        node.name
        for node in ast.walk(function)
        if isinstance(node, ast.FunctionDef) and node is not function
    )
    return _assigned(function) | {*arguments, *inner}


def _defined(parsed: ParsedFile | None, name: str) -> _Function | None:
    nodes = ast.walk(parsed.tree) if parsed is not None else ()
    for node in nodes:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return node
    return None
