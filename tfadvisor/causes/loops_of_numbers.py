"""Loops and functions of the program that, by their source, work on single numbers in
plain Python.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeGuard

from tfadvisor.causes.called import last_name, only_function, owner_of
from tfadvisor.causes.loop_data import names_in
from tfadvisor.causes.range_index import range_index
from tfadvisor.causes.reducing_loops import reducing_loop
from tfadvisor.causes.walked import (
    COMPREHENSIONS,
    Function,
    calls_in,
    covers,
    nodes_in,
    own_nodes,
)
from tfadvisor.causes.witness import (
    element_loop,
    function_around,
    head_of,
    scope_around,
)

if TYPE_CHECKING:
    from tfadvisor.causes.source_files import ParsedFile

_OF_NUMBERS = frozenset("int float round divmod chr".split())
"""Functions of Python that take no array of several elements."""
_CHOOSE = frozenset({"min", "max"})
"""They compare what they are given, which arrays of several elements refuse."""
_PLAIN = _OF_NUMBERS | _CHOOSE
_PLAIN |= frozenset(
    "abs all any bool dict enumerate len list ord pow range reversed set str sum tuple"
    " zip isinstance".split()
)
_METHODS = frozenset(
    "add append count extend get index insert items keys pop setdefault update values"
    " lower upper strip split startswith endswith".split()
)
"""Of Python's lists, dicts, sets and texts."""
_ORDERS = ast.Lt | ast.LtE | ast.Gt | ast.GtE
_EQUALS = ast.Eq | ast.NotEq
_DEEPEST = 6
"""Functions that call one another."""
_Loop = ast.For | COMPREHENSIONS


def loop_of_numbers(parsed: ParsedFile, line: int) -> str:
    """The head of the innermost loop around a line in its function, where that goes
    through elements in plain Python: it compares or converts single numbers, or takes
    them by the positions of two loops, and calls no library. Also where it indexes by a
    range, and of loops inside of one another that reduce arrays to one number in each
    round. "" where it may work on arrays.
    """
    around = _loops_around(parsed, line)
    if not around:
        return ""
    if range_index(parsed, line) is not None:
        return head_of(around[-1])
    reducing = reducing_loop(parsed, around[0])
    if reducing is not None:
        return f"{head_of(around[0])}: {head_of(reducing)}"
    if not _is_plain(parsed, _with_its_statement(parsed, around[-1])):
        return ""
    is_of_numbers = _compares(around[-1]) or _takes_by_both(around)
    return head_of(around[-1]) if is_of_numbers else ""


def calling_loop(parsed: ParsedFile, line: int) -> str:
    """The head of the innermost loop around a line in its function; "" for none."""
    around = _loops_around(parsed, line)
    return head_of(around[-1]) if around else ""


def is_of_numbers(parsed: ParsedFile, line: int) -> bool:
    """Whether the function around a line is of single numbers, by its source: it, or
    one of the program's that it calls, compares or converts them, and none goes through
    elements by a loop of its own or calls a library.
    """
    function = function_around(parsed.tree, line)
    if function is None:
        return False
    chain = [function]
    return _stays_plain(parsed, function, chain) and any(map(_compares, chain))


def goes_on(parsed: ParsedFile, line: int) -> bool:
    """Whether the function around a line goes from one element to the next, as up a
    tree: in a while, or by calling itself.
    """
    function = function_around(parsed.tree, line)
    if function is None:
        return False
    again = any(last_name(call) == function.name for call in calls_in(function))
    return again or any(isinstance(node, ast.While) for node in nodes_in(function))


def compares(parsed: ParsedFile, line: int) -> bool:
    """Whether the innermost loop around a line does what arrays refuse."""
    loop = element_loop(parsed.tree, line)
    return loop is not None and _compares(loop)


def _stays_plain(parsed: ParsedFile, function: Function, chain: list[Function]) -> bool:
    """chain: functions that are looked at already, to which it adds those it calls."""
    nodes = [*nodes_in(function)]
    if any(isinstance(node, _Loop) or _is_of_arrays(node) for node in nodes):
        return False
    combining = [node.value for node in nodes if _combines_elements(node)]
    return all(
        call in combining or _calls_plain(parsed, call, chain)
        for call in calls_in(function)
    )


def _calls_plain(parsed: ParsedFile, call: ast.Call, chain: list[Function]) -> bool:
    """Python's own, a function of the file, or a method of the same object."""
    owner = owner_of(call)
    is_own = owner is None or ast.unparse(owner) == "self"
    name = last_name(call) if is_own else ""
    function = only_function([parsed.tree], name)
    if function is None:
        return _calls_python(parsed, call)
    if function in chain:
        return True
    chain.append(function)
    return len(chain) < _DEEPEST and _stays_plain(parsed, function, chain)


def _combines_elements(node: ast.AST) -> TypeGuard[ast.Assign]:
    """Whether it computes an element of others of the same container by what the
    object was given: `self.values[i] = self.operation(self.values[2 * i], other)`.
    """
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
        return False
    owner, (target, *_) = owner_of(node.value), node.targets
    if owner is None or ast.unparse(owner) != "self":
        return False
    if not isinstance(target, ast.Subscript):
        return False
    whole = ast.unparse(target.value)
    taken = [arg for arg in node.value.args if isinstance(arg, ast.Subscript)]
    return any(
        ast.unparse(arg.value) == whole
        and ast.unparse(arg.slice) != ast.unparse(target.slice)
        for arg in taken
    )


def _loops_around(parsed: ParsedFile, line: int) -> list[_Loop]:
    """In its function, the outermost first: but for those that give batches."""
    function = scope_around(parsed.tree, line)
    found = [
        node
        for node in own_nodes(function)
        if isinstance(node, _Loop) and covers(node, line)
    ]
    found.sort(key=lambda node: (node.lineno, node.col_offset))
    gives = ast.Yield | ast.YieldFrom
    return [
        loop
        for loop in found
        if not any(isinstance(node, gives) for node in ast.walk(loop))
    ]


def _with_its_statement(parsed: ParsedFile, loop: _Loop) -> ast.AST:
    """The statement that holds a comprehension: what it calls is on the line too."""
    if isinstance(loop, ast.For):
        return loop
    around = [
        node
        for node in nodes_in(parsed.tree)
        if isinstance(node, ast.stmt) and any(each is loop for each in ast.walk(node))
    ]
    return max(around, key=lambda node: (node.lineno, node.col_offset))


def _is_plain(parsed: ParsedFile, node: ast.AST) -> bool:
    """Whether it calls no library, and takes no parts of arrays."""
    if any(map(_is_of_arrays, ast.walk(node))):
        return False
    return all(_is_plain_call(parsed, call) for call in calls_in(node))


def _is_of_arrays(node: ast.AST) -> bool:
    is_rest = isinstance(node, ast.Constant) and node.value is Ellipsis
    return is_rest or isinstance(node, ast.Slice | ast.MatMult)


def _is_plain_call(parsed: ParsedFile, call: ast.Call) -> bool:
    if _calls_python(parsed, call):
        return True
    function = None
    if isinstance(call.func, ast.Name):
        function = only_function([parsed.tree], call.func.id)
    return function is not None and is_of_numbers(parsed, function.body[0].lineno)


def _calls_python(parsed: ParsedFile, call: ast.Call) -> bool:
    """A function of Python's own, a method of its lists and the like, or math."""
    function = call.func
    if isinstance(function, ast.Name):
        return function.id in _PLAIN
    if not isinstance(function, ast.Attribute):
        return False
    package = parsed.names.called(call).package
    return package == "math" or (not package and function.attr in _METHODS)


def _compares(node: ast.AST) -> bool:
    """Whether it does what arrays of several elements refuse."""
    return any(_refuses_arrays(inner) for inner in ast.walk(node))


def _refuses_arrays(node: ast.AST) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        is_choice = node.func.id in _CHOOSE and len(node.args) > 1
        return is_choice or node.func.id in _OF_NUMBERS
    tests: list[ast.expr] = []
    if isinstance(node, ast.If | ast.IfExp | ast.While):
        tests = [node.test]
    if isinstance(node, ast.comprehension):
        tests = node.ifs
    return any(_orders(inner) for test in tests for inner in ast.walk(test))


def _orders(test: ast.AST) -> bool:
    """Whether it asks which is more, or whether it is some number."""
    if not isinstance(test, ast.Compare):
        return False
    sides = [test.left, *test.comparators]
    of_number = any(
        isinstance(side, ast.Constant) and type(side.value) in (int, float)
        for side in sides
    )
    equals = of_number and any(isinstance(each, _EQUALS) for each in test.ops)
    return equals or any(isinstance(each, _ORDERS) for each in test.ops)


def _takes_by_both(around: Sequence[_Loop]) -> bool:
    """Whether the innermost takes an element by the positions of two loops: `x[i, j]`,
    `x[i][j]`.
    """
    targets = [names_in(target) for loop in around for target in _targets(loop)]
    return any(
        sum(bool(_indexes(node) & target) for target in targets) > 1
        for node in ast.walk(around[-1])
        if isinstance(node, ast.Subscript)
    )


def _targets(loop: _Loop) -> list[ast.expr]:
    if isinstance(loop, ast.For):
        return [loop.target]
    return [generator.target for generator in loop.generators]


def _indexes(node: ast.expr) -> set[str]:
    if not isinstance(node, ast.Subscript):
        return set()
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    plain = {part.id for part in parts if isinstance(part, ast.Name)}
    return plain | _indexes(node.value)
