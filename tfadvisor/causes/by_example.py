"""Loops of the program that take the gradient of one example after the other and add
them up, where one gradient of the whole batch is the same.
"""

from __future__ import annotations

import ast
from typing import NamedTuple

from tfadvisor.causes.called import last_name, stored_in
from tfadvisor.causes.loop_data import names_in
from tfadvisor.causes.loop_elements import elements, leaves_out
from tfadvisor.causes.source_files import ParsedFile
from tfadvisor.causes.walked import calls_in, covers, own_nodes
from tfadvisor.causes.witness import head_of, scope_around

_TAPE, _GRADIENT = "GradientTape", "gradient"
_ADDING = frozenset(
    "add add_n assign_add divide enumerate fsum len list mean multiply "
    "range reduce_mean reduce_sum stack sum tuple zip zeros_like".split()
)
"""Calls that may take gradients where they are only added up."""
_EXPANDING = frozenset({"expand_dims", "reshape"})
_CHANGING = ("apply", "assign", "minimize", "train")
_SCALING = ast.Div | ast.Mult


class ByExample(NamedTuple):
    """Such a loop, and a pattern for the batch."""

    head: str
    """`for i in range(len(x))`."""
    line: int
    """On which it begins."""
    arrays: str
    """Of which it takes examples: `x, y`."""
    before: str
    after: str


def by_example(parsed: ParsedFile, line: int) -> ByExample | None:
    """Of a line in such a loop. None where an example is not known to be single, where
    the weights change in a round, and where gradients are more than added up.
    """
    scope = scope_around(parsed.tree, line)
    for loop in own_nodes(scope):
        if isinstance(loop, ast.For) and covers(loop, line):
            found = _Examples(loop)
            if found.is_single() and _only_adds(loop):
                return _described(loop, found)
    return None


class _Examples:
    """What a loop takes of its arrays in a round."""

    def __init__(self, loop: ast.For) -> None:
        self.tape = _tape_of(loop)
        of_round = dict(elements(loop.target, loop.iter))
        of_round = {} if leaves_out(loop.iter) else of_round
        self._numbers = {name for name, array in of_round.items() if not array}
        self._arrays = {name: array for name, array in of_round.items() if array}
        self._made = {
            name: node.value
            for node in own_nodes(loop)
            if isinstance(node, ast.Assign)
            for name in stored_in(node)
            if self.array_of(node.value)
        }
        """Names of parts that the round takes."""

    def is_single(self) -> bool:
        """Whether a call under the tape is given a batch of one example."""
        if self.tape is None:
            return False
        given = (value for call in calls_in(self.tape) for value in call.args)
        parts = (
            node for node in ast.walk(self.tape) if isinstance(node, ast.Subscript)
        )
        return any(map(self._is_batch_of_one, given)) and all(
            self.array_of(part)
            for part in parts
            if names_in(part.slice) & self._numbers
        )

    def _is_batch_of_one(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Name) and node.id in self._made:
            return self._is_batch_of_one(self._made[node.id])
        if not self.array_of(node):
            return False
        if isinstance(node, ast.Call | ast.List):
            return True
        return isinstance(node, ast.Subscript) and (
            self._is_next(_first(node)) or _is_new_axis(_first(node))
        )

    def array_of(self, node: ast.expr) -> str:
        """The array of which an expression is the round's example, alone or in a batch
        of one; "" for anything else.
        """
        if isinstance(node, ast.Name):
            return self._arrays.get(node.id, "")
        if isinstance(node, ast.Call) and last_name(node) in _EXPANDING and node.args:
            return self.array_of(node.args[0])
        if isinstance(node, ast.List) and len(node.elts) == 1:
            return self.array_of(node.elts[0])
        return self._of_part(node) if isinstance(node, ast.Subscript) else ""

    def arrays(self) -> list[str]:
        """All of which the tape reads examples."""
        nodes = [*ast.walk(self.tape)] if self.tape is not None else []
        read = [node for node in nodes if isinstance(node, ast.expr)]
        read.sort(key=lambda node: (node.lineno, node.col_offset))
        made = [self._made.get(getattr(node, "id", ""), node) for node in read]
        return [*dict.fromkeys(filter(None, map(self.array_of, made)))]

    def _of_part(self, node: ast.Subscript) -> str:
        first = _first(node)
        if self._is_next(first) or self._is_number(first):
            is_whole = isinstance(node.value, ast.Name | ast.Attribute)
            is_alone = not isinstance(node.slice, ast.Tuple)
            return ast.unparse(node.value) if is_whole and is_alone else ""
        return self.array_of(node.value) if _is_new_axis(first) else ""

    def _is_number(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Name) and node.id in self._numbers

    def _is_next(self, node: ast.AST) -> bool:
        """`i:i + 1`."""
        if not isinstance(node, ast.Slice) or node.step or node.lower is None:
            return False
        ends = node.upper
        return (
            self._is_number(node.lower)
            and isinstance(ends, ast.BinOp)
            and isinstance(ends.op, ast.Add)
            and ast.unparse(ends.left) == ast.unparse(node.lower)
            and ast.unparse(ends.right) == "1"
        )


def _first(node: ast.Subscript) -> ast.expr:
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return parts[0] if parts else node.slice


def _is_new_axis(node: ast.AST) -> bool:
    is_none = isinstance(node, ast.Constant) and node.value is None
    return is_none or (isinstance(node, ast.Attribute) and node.attr == "newaxis")


def _tape_of(loop: ast.For) -> ast.With | None:
    """The one whose gradient the loop itself takes, in no loop inside of it."""
    for node in loop.body:
        if isinstance(node, ast.With) and len(node.items) == 1:
            made = node.items[0].context_expr
            if isinstance(made, ast.Call) and last_name(made) == _TAPE:
                return node
    return None


# What becomes of the gradients.


def _only_adds(loop: ast.For) -> bool:
    """Whether a loop does nothing with gradients but add them up; nothing changes the
    weights meanwhile.
    """
    taken = [call for call in calls_in(loop) if last_name(call) == _GRADIENT]
    if len(taken) != 1 or any(map(_changes_weights, calls_in(loop))):
        return False
    made = _made_of(loop, taken[0])
    nodes = (node for node in ast.walk(loop) if node is not taken[0])
    return bool(made) and all(_may_take(node, made) for node in nodes)


def _changes_weights(call: ast.Call) -> bool:
    name = last_name(call)
    if name == "assign_add":  # to what sums them up
        return "grad" not in ast.unparse(call.func).lower()
    return name == "update" or name.startswith(_CHANGING)


def _made_of(loop: ast.For, gradient: ast.Call) -> set[str]:
    """Names of gradients, and of what they are added to."""
    found, before = set[str](), None
    while before != found:
        before = set(found)
        for node in own_nodes(loop):
            if isinstance(node, ast.Assign | ast.AugAssign):
                inside = any(inner is gradient for inner in ast.walk(node.value))
                if inside or names_in(node.value) & found:
                    found |= stored_in(node)
            elif isinstance(node, ast.For | ast.comprehension):
                is_of = names_in(node.iter) & found
                found |= stored_in(node.target) if is_of else set()
    return found


def _may_take(node: ast.AST, made: set[str]) -> bool:
    """Whether a call, an operation or a test of gradients is one of a sum."""
    if isinstance(node, ast.Call):
        return not _names_given(node) & made or last_name(node) in _ADDING
    if isinstance(node, ast.BinOp):
        return _is_sum(node, made)
    if isinstance(node, ast.AugAssign):
        is_of = bool(names_in(node.value) & made)
        return not is_of or isinstance(node.op, ast.Add)
    if isinstance(node, ast.If | ast.While | ast.IfExp):
        return not names_in(node.test) & made
    return not isinstance(node, ast.Yield)


def _is_sum(node: ast.BinOp, made: set[str]) -> bool:
    """Whether an operation, where it is of gradients, adds or scales them."""
    sides = [bool(names_in(side) & made) for side in (node.left, node.right)]
    is_scaled = isinstance(node.op, _SCALING) and not all(sides)
    return not any(sides) or isinstance(node.op, ast.Add) or is_scaled


def _names_given(call: ast.Call) -> set[str]:
    given = [*call.args, *(word.value for word in call.keywords)]
    return set[str]().union(*map(names_in, given))


# In words and code.


def _described(loop: ast.For, found: _Examples) -> ByExample | None:
    tape = found.tape
    taken = [call for call in calls_in(loop) if last_name(call) == _GRADIENT]
    if tape is None or not taken or not taken[0].args:
        return None
    arrays = ", ".join(found.arrays())
    head, gradient = head_of(loop), ast.unparse(taken[0])
    under = ast.unparse(tape.items[0])
    before = f"{head}:\n    with {under}:\n        ...\n    ... {gradient} ..."
    after = (
        f"with {under}:\n    ...                        # of the whole of {arrays}\n"
        f"    {ast.unparse(taken[0].args[0])} = tf.reduce_mean(losses)\n{gradient}"
    )
    return ByExample(head, loop.lineno, arrays, before, after)
