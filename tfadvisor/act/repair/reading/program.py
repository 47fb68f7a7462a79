"""One module of a user's program as a tree: where each node stands, what surrounds it, what is called how."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import wraps
from typing import Any, TypeAlias, TypeVar

import libcst as cst
from libcst.metadata import MetadataWrapper, ParentNodeProvider, PositionProvider

from tfadvisor.act.repair.registry import Hit

Change: TypeAlias = Callable[[Any], Any]
"""From a node, whose inside may have been changed already, to what is in its place."""
Answer = TypeVar("Answer")
_ANYWHERE = cst.Module([])
_MOST_CHANGED = 2_000_000
"""Characters of all texts that one codemod may make of a program."""
_MOST_KEPT = 150_000
"""Characters of the programs that are kept as trees."""


class TooManyChanges(Exception):
    """A codemod applies in so many places that nobody would choose one."""


def text_of(node: cst.CSTNode) -> str:
    """As it is written, without the blanks and comments around it."""
    return str(_ANYWHERE.code_for_node(node)).strip()


def dotted(node: cst.CSTNode) -> str:
    """`tf.data.Dataset` of a name or attribute, "" of anything else."""
    if isinstance(node, cst.Name):
        return str(node.value)
    if isinstance(node, cst.Attribute):
        before = dotted(node.value)
        return f"{before}.{node.attr.value}" if before else ""
    return ""


def called(call: cst.Call) -> str:
    """The last name of what is called: `map` of `dataset.batch(8).map(f)`."""
    if isinstance(call.func, cst.Attribute):
        return str(call.func.attr.value)
    return str(call.func.value) if isinstance(call.func, cst.Name) else ""


def names_in(node: cst.CSTNode) -> set[str]:
    """Names that are read or written in it, not those of attributes and keywords."""
    if isinstance(node, cst.Name):
        return {str(node.value)}
    skipped = node.attr if isinstance(node, cst.Attribute) else node.keyword if isinstance(node, cst.Arg) else None
    return {name for child in node.children if child is not skipped for name in names_in(child)}


def walk(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The node and all below it, outermost first, in the order in which they are written."""
    yield node
    for child in node.children:
        yield from walk(child)


class Program:
    """A module. Raises libcst.ParserSyntaxError for what is no Python."""

    def __init__(self, source: str) -> None:
        """Parses it; positions and parents are asked once."""
        wrapper = MetadataWrapper(cst.parse_module(source), unsafe_skip_copy=True)
        self.source = source
        self.module = wrapper.module
        self._spans: Mapping[cst.CSTNode, Any] = wrapper.resolve(PositionProvider)
        self._parents: Mapping[cst.CSTNode, cst.CSTNode] = wrapper.resolve(ParentNodeProvider)
        self.nodes = tuple(walk(self.module))
        self.changed_characters = 0
        """Of what the codemod at hand has made of it."""
        self.answers: dict[Any, Any] = {}
        """What `once` remembers."""
        self.functions = _by_name(self.all(cst.FunctionDef))

    def all(self, *kinds: type) -> list[Any]:
        """Nodes of these kinds in the order in which they are written."""
        return [node for node in self.nodes if isinstance(node, kinds)]

    def calls(self, *names: str) -> list[Any]:
        """Calls, of a function or method of these names, or all."""
        return [call for call in self.all(cst.Call) if not names or called(call) in names]

    def lines(self, node: cst.CSTNode) -> tuple[int, int]:
        """First and last line, from 1."""
        span = self._spans[node]
        return span.start.line, span.end.line

    def around(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """What holds the node, from the inside out."""
        while (parent := self._parents.get(node)) is not None:
            yield parent
            node = parent

    def end(self, node: cst.CSTNode) -> tuple[int, int]:
        """Line and column behind it."""
        span = self._spans[node]
        return span.end.line, span.end.column

    def inside(self, node: cst.CSTNode, *kinds: type) -> Any:
        """The innermost node of these kinds around it, None without one."""
        return next((one for one in self.around(node) if isinstance(one, kinds)), None)

    def statement(self, node: cst.CSTNode) -> Any:
        """The statement that holds it: one line, or a compound statement."""
        kinds = (cst.SimpleStatementLine, cst.BaseCompoundStatement)
        return node if isinstance(node, kinds) else self.inside(node, *kinds)

    def scope(self, node: cst.CSTNode) -> Any:
        """The function around a node, or the module."""
        return self.inside(node, cst.FunctionDef, cst.Lambda) or self.module

    def imports(self, package: str) -> bool:
        """Whether the module imports it or a part of it."""
        for one in self.all(cst.Import):
            if any(dotted(alias.name).split(".")[0] == package for alias in one.names):
                return True
        return any(
            one.module is not None and dotted(one.module).split(".")[0] == package for one in self.all(cst.ImportFrom)
        )

    def changed(self, changes: Mapping[cst.CSTNode, Change], *, line: str = "") -> str:
        """The source with these nodes replaced. line: a statement that is added behind the imports.

        Raises TooManyChanges.
        """
        self.changed_characters += len(self.source)
        if self.changed_characters > _MOST_CHANGED:
            raise TooManyChanges
        module = self.module.visit(_Replaced(changes))
        if line:
            (added,) = cst.parse_module(f"{line}\n", config=self.module.config_for_parsing).body
            place, body = _after_imports(module.body), list(module.body)
            added = added.with_changes(leading_lines=[cst.EmptyLine(indent=False)])
            module = module.with_changes(body=[*body[:place], added, *body[place:]])
        return str(module.code)

    def hit(
        self,
        node: cst.CSTNode,
        did: str,
        changes: Mapping[cst.CSTNode, Change],
        names: Sequence[str] = (),
    ) -> Hit:
        """The hit that stands at a node, with the program changed as `changed` does. Raises TooManyChanges."""
        return Hit(*self.lines(node), did, self.changed(changes), tuple(names))


def pairs(program: Program) -> list[tuple[Any, Any]]:
    """(target, value) of all assignments, also of `a, b = c, d` and `a = b = c`, in the order in which they are written."""
    return [pair for assign in program.all(cst.Assign) for pair in pairs_of(assign)]


def pairs_of(assign: Any) -> list[tuple[Any, Any]]:
    """(target, value) of one assignment."""
    found = []
    for one in assign.targets:
        target, value = one.target, assign.value
        both = isinstance(target, cst.Tuple | cst.List) and isinstance(value, cst.Tuple | cst.List)
        if both and len(target.elements) == len(value.elements):
            found += [(a.value, b.value) for a, b in zip(target.elements, value.elements, strict=True)]
        else:
            found.append((target, value))
    return found


def removed(program: Program, line: Any) -> Any:
    """Takes a statement away; `pass` stays where a block would be empty."""
    block = program.inside(line, cst.IndentedBlock)
    alone = block is not None and len(block.body) == 1
    return lambda node: node.with_changes(body=[cst.Pass()]) if alone else cst.RemovalSentinel.REMOVE


def instead(text: str) -> Change:
    """Puts the expression of a text in place of a node."""
    return lambda _: expression(text)


def expression(text: str) -> Any:
    """An expression from its text."""
    return cst.parse_expression(text)


def _by_name(functions: Sequence[Any]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for one in functions:
        found.setdefault(str(one.name.value), []).append(one)
    return found


def _after_imports(body: Sequence[cst.CSTNode]) -> int:
    """Behind the last import that stands on the module's own level before any definition."""
    place = 0
    for number, one in enumerate(body):
        if isinstance(one, cst.FunctionDef | cst.ClassDef):
            break
        if isinstance(one, cst.SimpleStatementLine) and isinstance(one.body[0], cst.Import | cst.ImportFrom):
            place = number + 1
    return place


class _Replaced(cst.CSTTransformer):
    """Replaces nodes by identity, the inner ones first."""

    def __init__(self, changes: Mapping[cst.CSTNode, Change]) -> None:
        super().__init__()
        self._changes = changes

    def on_leave(self, original_node: Any, updated_node: Any) -> Any:
        """What is in place of a node."""
        change = self._changes.get(original_node)
        return super().on_leave(original_node, updated_node) if change is None else change(updated_node)


def once(question: Callable[[Program], Answer]) -> Callable[[Program], Answer]:
    """A question that is answered once for each program; the answer holds nodes of it."""

    @wraps(question)
    def asked(program: Program) -> Answer:
        if question not in program.answers:
            program.answers[question] = question(program)
        answer: Answer = program.answers[question]
        return answer

    return asked


_KEPT: dict[str, Program] = {}


def program_of(source: str) -> Program:
    """The same text is parsed once, as long as others do not need its room."""
    program = _KEPT.pop(source, None) or Program(source)
    program.changed_characters = 0
    _KEPT[source] = program
    while len(_KEPT) > 1 and sum(map(len, _KEPT)) > _MOST_KEPT:
        del _KEPT[next(iter(_KEPT))]
    return program


# Arguments of calls: found by name or place, set, taken away.

_TIGHT = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))


def keyword(call: cst.Call, name: str) -> Any:
    """The argument of this name, None without one."""
    return next((arg for arg in call.args if arg.keyword is not None and arg.keyword.value == name), None)


def positional(call: cst.Call) -> list[Any]:
    """Arguments without a name and without stars."""
    return [arg for arg in call.args if arg.keyword is None and not arg.star]


def with_keyword(call: cst.Call, name: str, value: str) -> Any:
    """The call with this argument, in the place where it stood or at the end, before `**`."""
    new = cst.parse_expression(value)
    there = keyword(call, name)
    if there is not None:
        return call.with_changes(args=[arg.with_changes(value=new) if arg is there else arg for arg in call.args])
    added = cst.Arg(new, keyword=cst.Name(name), equal=_TIGHT)
    args = list(call.args)
    place = next((number for number, arg in enumerate(args) if arg.star == "**"), len(args))
    kept = args[:place]
    if kept:
        last = kept[-1]
        kept[-1] = last.with_changes(comma=cst.Comma(whitespace_after=_between(call)))
        added = added.with_changes(comma=last.comma)
    return call.with_changes(args=[*kept, added, *args[place:]])


def with_default(call: cst.Call, name: str, value: str) -> Any:
    """The call with this argument, inside `**kwargs` where it has such, so that a caller may still say otherwise."""
    given = next((arg for arg in call.args if arg.star == "**"), None)
    if given is None:
        return with_keyword(call, name, value)
    merged = expression(f'{{"{name}": {value}, **{text_of(given.value)}}}')
    return call.with_changes(args=[arg.with_changes(value=merged) if arg is given else arg for arg in call.args])


def _between(call: cst.Call) -> Any:
    """What stands between arguments: a line each where the last one ends with a comma on its line, else a blank."""
    own_lines = isinstance(call.args[-1].comma, cst.Comma) and isinstance(
        call.whitespace_before_args, cst.ParenthesizedWhitespace
    )
    return call.whitespace_before_args if own_lines else cst.SimpleWhitespace(" ")
