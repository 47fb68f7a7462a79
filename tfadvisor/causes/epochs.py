"""Whether a program goes over its data several times, by its files."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator

from tfadvisor.causes.called import arguments_in, last_name
from tfadvisor.causes.definitions import LARGEST, whole_number
from tfadvisor.causes.unchanged import Program, given_for
from tfadvisor.causes.walked import (
    COMPREHENSIONS,
    calls_in,
    functions_in,
    nodes_in,
    own_nodes,
)
from tfadvisor.units import number_of

_DEEPEST = 10
"""Names that stand for each other, and calls and operations around them."""
_OPERATIONS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
}
_Inner = ast.For | ast.While | COMPREHENSIONS


def runs_epochs(program: Program) -> bool:
    """Whether a call of fit runs more than one epoch, or a loop of more than one, by
    its name of epochs, holds another loop.
    """
    numbers = _Numbers(program)
    for parsed in program.files:
        for node in nodes_in(parsed.tree):
            asked = _epochs_of(node)
            if asked is not None and numbers.of(asked) > 1:
                return True
    return False


def _epochs_of(node: ast.AST) -> ast.expr | None:
    """What says how many."""
    if isinstance(node, ast.Call) and last_name(node) == "fit":
        return {each.arg: each.value for each in node.keywords}.get("epochs")
    if isinstance(node, ast.For) and "epoch" in ast.unparse(node.target).lower():
        return _rounds_of(node)
    return None


def _rounds_of(loop: ast.For) -> ast.expr | None:
    """The end of its range; None where it holds no other loop."""
    ranges = [call for call in calls_in(loop.iter) if last_name(call) == "range"]
    inner = [node for each in loop.body for node in ast.walk(each)]
    if not ranges or not any(isinstance(node, _Inner) for node in inner):
        return None
    given = ranges[0].args[:2]
    return given[-1] if given else None


class _Numbers:
    """Which numbers expressions of a program stand for."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._known: dict[str, int] = {}

    def of(self, node: ast.expr, depth: int = 0) -> int:
        """0 for what is not known; of a default, that."""
        number = whole_number(node)
        if number is not None or isinstance(node, ast.Constant):
            return number or _of_text(node)
        if depth == _DEEPEST:
            return 0
        if isinstance(node, ast.Call) and node.args:  # int(os.environ.get("EPOCHS", 1))
            given = node.args if last_name(node) == "max" else node.args[-1:]
            return max(self.of(each, depth + 1) for each in given)
        if isinstance(node, ast.BinOp):
            return self._result(node, depth + 1)
        return self._of_a_name(node, depth)

    def _of_a_name(self, node: ast.expr, depth: int) -> int:
        """0 where it is given several, and where it stands for itself."""
        words = ast.unparse(node)
        if words not in self._known:
            self._known[words] = 0
            values: Iterator[ast.expr] = iter(())
            if isinstance(node, ast.Name):
                values = _named(self._program, node.id)
            elif isinstance(node, ast.Attribute):
                values = _defaults(self._program, node.attr)
            numbers = {self.of(value, depth + 1) for value in values}
            self._known[words] = numbers.pop() if len(numbers) == 1 else 0
        return self._known[words]

    def _result(self, node: ast.BinOp, depth: int) -> int:
        """0 where a side is not known."""
        left, right = self.of(node.left, depth), self.of(node.right, depth)
        operation = _OPERATIONS.get(type(node.op))
        result = operation(left, right) if operation and left and right else 0
        return min(max(result, 0), LARGEST)


def _of_text(node: ast.expr) -> int:
    value = node.value if isinstance(node, ast.Constant) else None
    return (number_of(value) if isinstance(value, str) else None) or 0


def _named(program: Program, name: str) -> Iterator[ast.expr]:
    """What a name is given: by assignments, by calls of functions whose argument it
    is, or by default.
    """
    for parsed in program.files:
        for node in nodes_in(parsed.tree):
            if isinstance(node, ast.Assign):
                yield from _assigned(node, name)
        for function in functions_in(parsed.tree):
            if name not in arguments_in(function.args):
                continue
            sites = program.sites(function.name)
            given = [given_for(site.call, function, name) for site in sites]
            yield from (value for value in given if value is not None)


def _assigned(node: ast.Assign, name: str) -> Iterator[ast.expr]:
    for target in node.targets:
        pairs = [(target, node.value)]
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            pairs = [*zip(target.elts, node.value.elts, strict=False)]
        for each, value in pairs:
            if isinstance(each, ast.Name) and each.id == name:
                yield value


def _defaults(program: Program, name: str) -> Iterator[ast.expr]:
    """Of an option, or of a field of a class."""
    for parsed in program.files:
        for call in calls_in(parsed.tree):
            options = {ast.unparse(each).strip("'\"-") for each in call.args}
            if last_name(call) == "add_argument" and name in options:
                yield from (x.value for x in call.keywords if x.arg == "default")
        for each in nodes_in(parsed.tree):
            if isinstance(each, ast.ClassDef):
                yield from _fields(each, name)


def _fields(defined: ast.ClassDef, name: str) -> Iterator[ast.expr]:
    for node in own_nodes(defined):
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == name:
            yield from [node.value] if node.value is not None else []
