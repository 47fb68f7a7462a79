"""One module of a user's program as a tree: where each node stands, what surrounds it,
what is called how, how it is changed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, wraps
from typing import Any, TypeVar

from tfadvisor.act.repair.hits import Edit, Hit
from tfadvisor.tallies import listed

Answer = TypeVar("Answer")
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
LOOPS = (ast.For, ast.While)
_NEW_LINE = re.compile(rb"\r\n|\r|\n")
_BEHIND_AN_ARGUMENT = re.compile(rb"(?:\s|\\|#[^\r\n]*)*([,)])")
_BLOCKS = ("body", "orelse", "finalbody")


def text_of(node: ast.AST | Sequence[ast.AST]) -> str:
    """In one form, whatever quotes, blanks and comments it is written with; of several
    nodes, one a line.
    """
    if not isinstance(node, ast.AST):
        return "\n".join(map(text_of, node))
    text: str | None = getattr(node, "_text", None)
    if text is None:
        text = ast.unparse(node)
        node._text = text  # type: ignore[attr-defined]
    return text


def dotted(node: ast.AST) -> str:
    """`tf.data.Dataset` of a name or attribute, "" of anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        before = dotted(node.value)
        return f"{before}.{node.attr}" if before else ""
    return ""


def called(call: ast.Call) -> str:
    """The last name of what is called: `map` of `dataset.batch(8).map(f)`."""
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return dotted(call.func)


def names_in(node: ast.AST) -> set[str]:
    """Names that are read or written in it, not those of attributes and keywords."""
    names = set()
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name):
            names.add(inner.id)
    return names


def walk(node: ast.AST | Sequence[ast.AST]) -> Iterator[Any]:
    """The node, or each of several, and all below it, outermost first."""
    for root in [node] if isinstance(node, ast.AST) else node:
        yield root
        yield from walk(list(ast.iter_child_nodes(root)))


class Program:
    """A module. Raises SyntaxError for what is no Python."""

    def __init__(self, source: str) -> None:
        """Parses it."""
        self.source = source
        self.tree = ast.parse(source)
        self._bytes = source.encode()
        ends = [match.end() for match in _NEW_LINE.finditer(self._bytes)]
        self._starts = [0, *ends]
        self._parents: dict[ast.AST, ast.AST] = {}
        placed = []
        for node in ast.walk(self.tree):
            self._parents.update(dict.fromkeys(ast.iter_child_nodes(node), node))
            if hasattr(node, "lineno"):
                placed.append(node)

        self.nodes = sorted(placed, key=self._order)
        self.answers: dict[Any, Any] = {}
        """What was asked before."""
        functions = self.all(*FUNCTIONS)
        self.functions: dict[str, list[Any]] = listed(
            (function.name, function) for function in functions
        )

    def _order(self, node: Any) -> tuple[int, int]:
        first, last = self.span(node)
        return first, -last

    def all(self, *kinds: type) -> list[Any]:
        """Nodes of these kinds in the order in which they are written."""
        if kinds not in self.answers:
            found = [node for node in self.nodes if isinstance(node, kinds)]
            self.answers[kinds] = found
        known: list[Any] = self.answers[kinds]
        return known

    def calls(self, *names: str) -> list[Any]:
        """Calls, of a function or method of these names, or all."""
        calls = self.all(ast.Call)
        return [call for call in calls if called(call) in names] if names else calls

    def lines(self, node: Any) -> tuple[int, int]:
        """First and last line, from 1."""
        return node.lineno, node.end_lineno

    def span(self, node: Any) -> tuple[int, int]:
        """Its first byte, and the one behind it."""
        first = self._start(node.lineno) + node.col_offset
        return first, self._start(node.end_lineno) + node.end_col_offset

    def _start(self, line: int) -> int:
        """The first byte of a line, which counts from 1."""
        return self._starts[line - 1]

    def _line_end(self, line: int) -> int:
        if line < len(self._starts):
            return self._starts[line]
        return len(self._bytes)

    def written(self, node: Any) -> str:
        """As it stands in the file."""
        first, last = self.span(node)
        return self._bytes[first:last].decode()

    def around(self, node: ast.AST) -> Iterator[Any]:
        """What holds the node, from the inside out."""
        parent = self._parents.get(node)
        while parent is not None:
            yield parent
            parent = self._parents.get(parent)

    def inside(
        self,
        node: ast.AST,
        *kinds: type,
    ) -> Any:
        """The innermost node of these kinds around it, None without one."""
        for outer in self.around(node):
            if isinstance(outer, kinds):
                return outer
        return None

    def scope(self, node: ast.AST) -> Any:
        """The function around a node, or the module."""
        return self.inside(node, *FUNCTIONS, ast.Lambda) or self.tree

    def block(self, statement: ast.AST) -> list[Any]:
        """The statements among which it stands."""
        above = self._parents[statement]
        for name in _BLOCKS:
            block = getattr(above, name, None)
            if isinstance(block, list) and statement in block:
                return block
        return [statement]

    def imports(self, package: str) -> bool:
        """Whether the module imports it or a part of it."""
        named = [node.module or "" for node in self.all(ast.ImportFrom)]
        for statement in self.all(ast.Import):
            named += [alias.name for alias in statement.names]
        return any(name.split(".")[0] == package for name in named)

    def is_lone(self, statement: Any) -> bool:
        """Whether a statement has its lines to itself."""
        first, last = self.span(statement)
        line = self._start(statement.lineno)
        end = self._line_end(statement.end_lineno)
        before = self._bytes[line:first].strip()
        behind = self._bytes[last:end].strip()
        return not before and behind[:1] in (b"", b"#")

    # What may be done to it.

    def instead(
        self,
        node: Any,
        text: str,
    ) -> Edit:
        """Puts a text in place of a node."""
        return Edit(*self.span(node), text)

    def behind(
        self,
        node: Any,
        text: str,
    ) -> Edit:
        """Puts a text right behind a node."""
        last = self.span(node)[1]
        return Edit(last, last, text)

    def removed(self, statement: Any) -> Edit:
        """Takes a statement away that has its lines to itself; `pass` stays where a
        block would be empty.
        """
        alone = len(self.block(statement)) == 1
        if alone and not isinstance(self._parents[statement], ast.Module):
            return self.instead(statement, "pass")
        first = self._start(statement.lineno)
        return Edit(
            first,
            self._line_end(statement.end_lineno),
            "",
        )

    def line_above(
        self,
        node: Any,
        text: str,
    ) -> Edit:
        """Puts a line of its own above that of a node, indented as that is."""
        decorated = [node, *getattr(node, "decorator_list", ())]
        first = self._start(min(part.lineno for part in decorated))
        return Edit(first, first, f"{self._indent(node)}{text}{self._end()}")

    def with_keyword(
        self,
        call: ast.Call,
        name: str,
        value: str,
    ) -> Edit:
        """Gives a call this argument, in the place where it stood or at the end."""
        there = keyword(call, name)
        if there is not None:
            return self.instead(there.value, value)

        given: list[Any] = [*call.args, *call.keywords]
        end = self.span(call)[1] - 1
        if not given:
            return Edit(end, end, f"{name}={value}")

        last = max(
            given,
            key=lambda argument: self.span(argument)[1],
        )
        place, comma = self._behind_arguments(self.span(last)[1], end)
        if not comma:
            return Edit(place, place, f", {name}={value}")
        own_line = call.end_lineno != last.end_lineno
        between = f"{self._end()}{self._indent(last)}" if own_line else " "
        return Edit(place, place, f"{between}{name}={value},")

    def _behind_arguments(
        self,
        place: int,
        end: int,
    ) -> tuple[int, bool]:
        """(the byte behind the last argument, its parentheses and comma; whether a
        comma is the last of these). place: behind that argument. end: of the call.
        """
        comma = False
        found = _BEHIND_AN_ARGUMENT.match(self._bytes, place, end)
        while found is not None:
            place, comma = found.end(), found[1] == b","
            found = _BEHIND_AN_ARGUMENT.match(self._bytes, place, end)
        return place, comma

    def hit(
        self,
        node: Any,
        did: str,
        *edits: Edit,
        names: Sequence[str] = (),
    ) -> Hit:
        """The change that stands at a node."""
        return Hit(
            *self.lines(node),
            did,
            self._bytes,
            edits,
            tuple(names),
        )

    def _indent(self, node: Any) -> str:
        start = self._start(node.lineno)
        line = self._bytes[start : self._line_end(node.lineno)]
        indent = len(line) - len(line.lstrip())
        return line[:indent].decode()

    def _end(self) -> str:
        return "\r\n" if b"\r\n" in self._bytes else "\n"


@lru_cache(maxsize=4)
def program_of(source: str) -> Program:
    """The same text is parsed once, as long as few others are asked for. Raises
    SyntaxError.
    """
    return Program(source)


def once(question: Callable[[Program], Answer]) -> Callable[[Program], Answer]:
    """A question that is answered once for each program; the answer holds nodes
    of it.
    """

    @wraps(question)
    def asked(program: Program) -> Answer:
        if question not in program.answers:
            program.answers[question] = question(program)
        answer: Answer = program.answers[question]
        return answer

    return asked


@once
def pairs(program: Program) -> list[tuple[Any, Any]]:
    """(target, value) of all assignments, also of `a, b = c, d` and `a = b = c`, in the
    order in which they are written.
    """
    found = []
    for assign in program.all(ast.Assign):
        found += pairs_of(assign)
    return found


def pairs_of(assign: ast.Assign) -> list[tuple[Any, Any]]:
    """(target, value) of one assignment."""
    found: list[tuple[Any, Any]] = []
    values = _elements(assign.value)
    for target in assign.targets:
        targets = _elements(target)
        if values and len(targets) == len(values):
            found += zip(
                targets,
                values,
                strict=True,
            )
        else:
            found.append((target, assign.value))
    return found


def _elements(node: ast.AST) -> list[Any]:
    """Of a tuple or list; none of anything else."""
    return list(node.elts) if isinstance(node, ast.Tuple | ast.List) else []


def keyword(
    call: ast.Call,
    name: str,
) -> Any:
    """The argument of this name, None without one."""
    for given in call.keywords:
        if given.arg == name:
            return given
    return None


def positional(call: ast.Call) -> list[Any]:
    """Arguments without a name and without stars."""
    return [argument for argument in call.args if not isinstance(argument, ast.Starred)]
