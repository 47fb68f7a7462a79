"""What a call in the program's source calls, by the imports and definitions of its
file, and what is known of calls by their names: one answer for all who ask.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import NamedTuple

from tfadvisor.causes.walked import Function, calls_in, functions_in, walked
from tfadvisor.timeline.names.stack_frames import FRAMEWORKS

# Packages, and what is in them.

ON_DEVICES = FRAMEWORKS | {"chex", "distrax", "einops", "tensorflow_probability"}
"""Packages whose calls may run on devices."""
TRACED = ON_DEVICES.union(
    "dataclasses functools itertools math operator typing".split()
)
"""Packages of which a compiler may run each call while it traces."""
NOT_TRACED = frozenset("data device_get io optimizers summary Variable".split())
"""Parts of these that do more than compute, or only once."""
ON_HOST = frozenset({"numpy", "random"})
DRAWING = ("numpy.random.", "random.")
"""Modules that draw numbers on the host, which a compiler would draw once."""
ON_CONSTANTS = frozenset(
    "bool_ ceil float16 float32 float64 floor inf int32 int64 log pi prod sqrt".split()
)
"""Of NumPy, what programs apply to sizes and constants."""
GRADIENTS = frozenset("grad value_and_grad GradientTape gradient".split())
"""Of a function that trains: it calls the model that it is given."""

# Builtins.

COMPUTING = frozenset(
    "abs all any callable dict divmod enumerate filter getattr hasattr isinstance len "
    "list map max min pow range reversed round set slice sorted sum super tuple type "
    "zip".split()
)
"""Those that a compiler may run while it traces."""
READING = frozenset("print float int str format len round".split())
"""Those that read what they are given, and change nothing."""

# Methods.

TRACED_METHODS = frozenset(
    "all any append apply apply_gradients argmax argmin astype batch_jacobian clip "
    "cumsum dot extend flatten get gradient items jacobian keys max mean min multiply "
    "prod ravel replace reshape round set squeeze std sum swapaxes take transpose "
    "update values var watch".split()
)
"""Of arrays, trees, tapes and optimizers."""
KEEPING = frozenset({"append", "extend"})
"""They change what they belong to, and nothing else."""
CHANGING = KEEPING | {"set", "update"}
"""They may change what they belong to, but for what JAX's `at` gives."""
SHOWING = frozenset(
    "add_scalar debug format info log log_metrics report scalar set_description "
    "set_postfix set_postfix_str warning write writerow".split()
)
"""They show or log what they are given."""
WAITING = frozenset({"block_until_ready", "device_get"})


class Called(NamedTuple):
    """What a call calls."""

    names: list[str]
    """As it is written: `np`, `random`, `normal`; "" first for what another call
    gives.
    """
    path: str
    """Of what is imported, `numpy.random.normal`; "" for anything else."""

    @property
    def words(self) -> str:
        """As it is written."""
        return ".".join(self.names)

    @property
    def package(self) -> str:
        """`numpy`; "" for a module beside the file, and for what is not imported."""
        return self.path.partition(".")[0]

    @property
    def is_method(self) -> bool:
        """Whether it belongs to a value of the program."""
        return len(self.names) > 1 and not self.path


class FileNames:
    """What the names in a file of the program stand for."""

    def __init__(self, tree: ast.Module) -> None:
        """tree: of the whole file."""
        self._imported = _imported(tree)
        self.functions = {
            function.name: function for function in reversed([*functions_in(tree)])
        }
        """Those that it defines; of several by one name the first."""
        self.defined = frozenset(
            node.name
            for node in walked(tree).nodes
            if isinstance(node, ast.FunctionDef | ast.ClassDef)
        )
        """Functions and classes."""
        self.methods = _methods(tree)
        """Of the file's classes, each bound anew where it is asked for."""

    def called(self, call: ast.Call) -> Called:
        """What a call in the file calls."""
        return self.stands_for(call.func)

    def stands_for(self, node: ast.expr) -> Called:
        """What a name in the file, with its attributes, is of."""
        root, *attributes = names = dotted(node)
        origin = self._imported.get(root)
        return Called(names, ".".join([origin, *attributes]) if origin else "")


def _methods(tree: ast.Module) -> frozenset[str]:
    """But for static ones, and for names that an attribute has too."""
    found = {
        inner.name
        for node in walked(tree).classes
        for inner in node.body
        if isinstance(inner, Function)
        and "staticmethod" not in map(ast.unparse, inner.decorator_list)
    }
    kept = {
        node.attr
        for node in walked(tree).nodes
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    }
    return frozenset(found - kept)


def _imported(tree: ast.Module) -> dict[str, str]:
    """Modules, and names out of modules, by what the file calls them."""
    found: dict[str, str] = {}
    for node in walked(tree).nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                found[name] = alias.name if alias.asname else name
        elif isinstance(node, ast.ImportFrom):
            source = "." * node.level + (node.module or "")
            for alias in node.names:
                found[alias.asname or alias.name] = f"{source}.{alias.name}"
    return found


def dotted(node: ast.expr) -> list[str]:
    """`jax.random.split` -> its names; "" first where a call gives what they are of."""
    names: list[str] = []
    while isinstance(node, ast.Attribute | ast.Subscript):
        if isinstance(node, ast.Attribute):
            names.append(node.attr)
        node = node.value
    root = node.id if isinstance(node, ast.Name) else ""
    return [root, *names[::-1]]


def last_name(call: ast.Call) -> str:
    """The last name of what is called: `step` of `trainer.step(x)`."""
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


def owner_of(call: ast.Call) -> ast.expr | None:
    """What a method belongs to: `trainer` of `trainer.step(x)`; None for a function."""
    return call.func.value if isinstance(call.func, ast.Attribute) else None


def called_names(node: ast.AST) -> set[str]:
    """The last names of all that is called in it."""
    return set(map(last_name, calls_in(node)))


def stored_in(node: ast.AST) -> set[str]:
    """Variables that are written in it."""
    return {
        inner.id
        for inner in ast.walk(node)
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)
    }


def declared_outer(nodes: Iterable[ast.AST]) -> set[str]:
    """Names that functions declare to be of their module or of an outer function."""
    return {
        name
        for node in nodes
        if isinstance(node, ast.Global | ast.Nonlocal)
        for name in node.names
    }


def arguments_in(node: ast.AST) -> set[str]:
    """Arguments of all functions in it."""
    return {inner.arg for inner in ast.walk(node) if isinstance(inner, ast.arg)}


def only_function(trees: Iterable[ast.Module], name: str) -> Function | None:
    """The one by a name that files define; None where none, or several, do."""
    found = [each for tree in trees for each in walked(tree).functions_named(name)]
    return found[0] if len(found) == 1 else None
