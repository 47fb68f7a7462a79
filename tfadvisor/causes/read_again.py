"""What a program reads whole from one file again and again, by its own lines: members
of NumPy's archives, and files that it parses or loads anew in each call.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from tfadvisor.causes.called import Function, calls_in, last_name, owner_of
from tfadvisor.causes.loop_data import all_bindings_in, bindings_in
from tfadvisor.causes.unchanged import given_for, parameters
from tfadvisor.causes.witness import (
    COMPREHENSIONS,
    class_of,
    covers,
    own_nodes,
    scope_around,
    statement_at,
)
from tfadvisor.printable import cut

if TYPE_CHECKING:
    from tfadvisor.causes.source_files import ParsedFile

MEMBER, WHOLE = "npz member", "read again"
"""In the terms of costly_calls.yaml."""
_ARCHIVE = "numpy.load"
_WHOLE = frozenset(
    "json.load joblib.load numpy.fromfile numpy.genfromtxt numpy.load numpy.loadtxt "
    "pandas.read_csv pandas.read_excel pandas.read_feather pandas.read_hdf "
    "pandas.read_json pandas.read_parquet pandas.read_pickle pickle.load "
    "scipy.io.loadmat scipy.io.wavfile.read soundfile.read torch.load yaml.load "
    "yaml.safe_load".split()
)
"""What reads a file from its begin to its end."""
_OPENS = frozenset(
    "bz2.open gzip.open h5py.File io.open lzma.open pathlib.Path".split()
)
_PLAIN = frozenset({"open", "str"})
_METHODS = frozenset("format joinpath read read_bytes read_text readlines".split())
_LAZY = frozenset({"chunksize", "iterator", "mmap_mode", "nrows"})
"""Arguments with which it is not read whole, or not each time the same."""
_BEGINS = frozenset({"__init__", "__post_init__", "setup", "build"})
_DEEPEST = 4
_LONGEST = 60
"""Characters of what is shown."""
_Rounds = ast.For | ast.While | COMPREHENSIONS


class ReadAgain(NamedTuple):
    """Such a read."""

    name: str
    """MEMBER or WHOLE."""
    words: str
    """`self.archive['images']`."""
    own: str
    """What reads it once, in the program's own names; "" for unknown."""


def read_again(parsed: ParsedFile, node: ast.Call | ast.Subscript) -> ReadAgain | None:
    """Of a call, or of what is taken of an open file, that reads all of it, and the
    same in each round or call; None for any other, and in doubt.
    """
    name = _reads_whole(parsed, node)
    if name is None:
        return None
    scope = scope_around(parsed.tree, node.lineno)
    if not _Sameness(parsed).is_same(node, scope, node.lineno):
        return None
    return ReadAgain(name, cut(ast.unparse(node), _LONGEST), _once(parsed, node, scope))


def _reads_whole(parsed: ParsedFile, node: ast.Call | ast.Subscript) -> str | None:
    if isinstance(node, ast.Call):
        is_lazy = any(word.arg in _LAZY for word in node.keywords)
        is_known = parsed.names.called(node).path in _WHOLE
        return WHOLE if is_known and not is_lazy else None
    made = _maker(parsed, node.value)
    path = "" if made is None else parsed.names.called(made).path
    if path == _ARCHIVE and _is_text(node.slice):
        return MEMBER if _has_archives(parsed) else None
    return WHOLE if path == "h5py.File" and _is_all(node.slice) else None


def _has_archives(parsed: ParsedFile) -> bool:
    """Whether a file names or writes an archive: a plain array may have fields."""
    return any(
        (_is_text(node) and ".npz" in str(node.value))
        if isinstance(node, ast.Constant)
        else isinstance(node, ast.Call) and last_name(node).startswith("savez")
        for node in ast.walk(parsed.tree)
    )


def _is_text(index: ast.expr) -> bool:
    return isinstance(index, ast.Constant) and isinstance(index.value, str)


def _is_all(index: ast.expr) -> bool:
    """Whether it is `[:]`, `[()]` or `[...]`."""
    if isinstance(index, ast.Slice):
        return index.lower is index.upper is index.step is None
    is_empty = isinstance(index, ast.Tuple) and not index.elts
    return is_empty or (isinstance(index, ast.Constant) and index.value is ...)


def _maker(parsed: ParsedFile, node: ast.expr) -> ast.Call | None:
    """The call whose result an expression, or what it is a part of, is: its own, or
    that of the only statement which gives the name.
    """
    while isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Call):
        return node
    if not isinstance(node, ast.Name | ast.Attribute):
        return None
    text = ast.unparse(node)
    made = [
        binding.value
        for binding in all_bindings_in(parsed.tree)
        if text in binding.written and not isinstance(binding.target, ast.Subscript)
    ]
    known = made[0] if len(made) == 1 else None
    return known if isinstance(known, ast.Call) else None


class _Sameness:
    """Whether an expression is the same in each round and call: in doubt it is not."""

    def __init__(self, parsed: ParsedFile) -> None:
        self._parsed = parsed

    def is_same(
        self, node: ast.AST, scope: Function | ast.Module, line: int, depth: int = 0
    ) -> bool:
        if depth > _DEEPEST:
            return False
        parts = [*ast.walk(node)]
        calls = [part for part in parts if isinstance(part, ast.Call)]
        if not all(map(self._is_plain, calls)):
            return False
        attributes = [part for part in parts if isinstance(part, ast.Attribute)]
        if not all(map(self._stays, attributes)):
            return False
        names = {part.id for part in parts if isinstance(part, ast.Name)} - {"self"}
        changing = _written_in_rounds(scope, line)
        return names.isdisjoint(changing) and all(
            self._is_same_name(name, scope, depth) for name in names
        )

    def _is_plain(self, call: ast.Call) -> bool:
        """Whether equal arguments give equal results: it reads, or joins paths."""
        called = self._parsed.names.called(call)
        if called.path:
            is_path = called.path.startswith("os.path.")
            return is_path or called.path in _WHOLE | _OPENS
        name = last_name(call)
        return name in (_PLAIN if owner_of(call) is None else _METHODS)

    def _stays(self, attribute: ast.Attribute) -> bool:
        """Of an object, as it was when that was made."""
        if ast.unparse(attribute.value) != "self":
            return True
        text = ast.unparse(attribute)
        others = (
            node
            for node in ast.walk(self._parsed.tree)
            if isinstance(node, Function) and node.name not in _BEGINS
        )
        return not any(text in _written(node) for node in others)

    def _is_same_name(
        self, name: str, scope: Function | ast.Module, depth: int
    ) -> bool:
        if isinstance(scope, Function):
            if name in parameters(scope):
                return self._is_given_the_same(name, scope, depth)
            made = [b.value for b in bindings_in(scope) if name in b.written]
            if made:
                at = getattr(made[0], "lineno", 0)
                return len(made) == 1 and self.is_same(made[0], scope, at, depth + 1)
        of_module = [*own_nodes(self._parsed.tree)]
        loops = [node for node in of_module if isinstance(node, _Rounds)]
        return not any(name in _written(loop) for loop in loops)

    def _is_given_the_same(self, name: str, function: Function, depth: int) -> bool:
        """By all calls of the file, of which there is one at least."""
        if function.name.startswith("__"):
            return False
        tree = self._parsed.tree
        calls = [c for c in calls_in(tree) if last_name(c) == function.name]
        given = [given_for(call, function, name) for call in calls]
        return bool(given) and all(
            each is not None
            and self.is_same(
                each, scope_around(tree, each.lineno), each.lineno, depth + 1
            )
            for each in given
        )


def _written_in_rounds(scope: ast.AST, line: int) -> set[str]:
    """Names that loops around a line write."""
    around = [
        node
        for node in own_nodes(scope)
        if isinstance(node, _Rounds) and covers(node, line)
    ]
    return set[str]().union(*map(_written, around))


def _written(node: ast.AST) -> set[str]:
    return set[str]().union(*(binding.written for binding in bindings_in(node)))


# The same, read once.


def _once(parsed: ParsedFile, node: ast.expr, scope: Function | ast.Module) -> str:
    """Of all that the statement reads so."""
    statement = statement_at(scope, node.lineno)
    if statement is None:
        return ""
    reads = [*_alike(parsed, statement)]
    of_self = _first_argument(scope) == "self"
    kept: dict[str, str] = {}
    for read in reads:
        text = ast.unparse(read)
        if text not in kept:
            name = _name_for(parsed, read, statement, scope)
            kept[text] = f"self.{name}" if of_self else name
    where = "in __init__" if of_self and _has_init(parsed, scope) else "before the loop"
    lines = [f"# once, {where}"]
    for read in reads:
        source = ast.unparse(_without_locals(read, scope))
        line = f"{kept[ast.unparse(read)]} = {source}"
        lines += [] if line in lines else [line]
    after = ast.unparse(_Kept(kept).visit(copy.deepcopy(statement)))
    here = scope.name if isinstance(scope, Function) else "the loop"
    return "\n".join([*lines, f"# in {here}", after])


def _alike(parsed: ParsedFile, statement: ast.stmt) -> Iterator[ast.expr]:
    """The outermost expressions of a statement that read a whole file, or a member."""
    left: list[ast.AST] = [statement]
    while left:
        node = left.pop(0)
        if isinstance(node, ast.Call | ast.Subscript) and _reads_whole(parsed, node):
            yield node
        else:
            left += ast.iter_child_nodes(node)


def _name_for(
    parsed: ParsedFile, read: ast.expr, statement: ast.stmt, scope: ast.AST
) -> str:
    """The member's own, or that of what the statement gives; another one where the
    file has it already.
    """
    name = ""
    if isinstance(read, ast.Subscript):
        keys = [node for node in ast.walk(read) if isinstance(node, ast.Constant)]
        name = next((str(key.value) for key in keys if _is_text(key)), "")
    elif isinstance(statement, ast.Assign) and statement.value is read:
        name = ast.unparse(statement.targets[0])
    name = name if name.isidentifier() else "whole"
    taken = set(_names_of(parsed, scope))
    return f"all_{name}" if name in taken else name


def _names_of(parsed: ParsedFile, scope: ast.AST) -> Iterator[str]:
    """Variables of a scope, and attributes of `self` in the file."""
    for node in ast.walk(parsed.tree):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "self":
            yield node.attr
    for node in ast.walk(scope):
        if isinstance(node, ast.Name):
            yield node.id


def _first_argument(scope: ast.AST) -> str:
    return next(iter(parameters(scope)), "") if isinstance(scope, Function) else ""


def _has_init(parsed: ParsedFile, scope: ast.AST) -> bool:
    of = class_of(parsed.tree, scope) if isinstance(scope, Function) else None
    body: Sequence[ast.stmt] = () if of is None else of.body
    return any(isinstance(node, Function) and node.name == "__init__" for node in body)


def _without_locals(read: ast.expr, scope: ast.AST) -> ast.AST:
    """With what the function gives its own names, in place of these."""
    made = {}
    if isinstance(scope, Function):
        for binding in bindings_in(scope):
            if isinstance(binding.target, ast.Name):
                made[binding.target.id] = binding.value
    found: ast.AST = copy.deepcopy(read)
    for _ in range(_DEEPEST):
        found = _Named(made).visit(found)
    return found


class _Named(ast.NodeTransformer):
    def __init__(self, made: dict[str, ast.AST]) -> None:
        self._made = made

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """What gives it, for a name that something gives."""
        return copy.deepcopy(self._made.get(node.id, node))


class _Kept(ast.NodeTransformer):
    def __init__(self, kept: dict[str, str]) -> None:
        self._kept = kept

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """The name of what is kept, for what reads it."""
        if isinstance(node, ast.expr):
            name = self._kept.get(ast.unparse(node))
            if name is not None:
                return ast.parse(name, mode="eval").body
        return super().generic_visit(node)
