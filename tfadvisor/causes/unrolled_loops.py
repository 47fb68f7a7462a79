"""Loops of Python that a compiled function runs while it is traced, by the program's
source: each round adds its ops to the program, and all of them are compiled.
"""

from __future__ import annotations

import ast
import operator
import textwrap
from collections.abc import Callable, Iterator, Sequence

import msgspec

from tfadvisor.causes.called import (
    KEEPING,
    ON_DEVICES,
    Function,
    arguments_in,
    calls_in,
    functions_in,
    last_name,
    owner_of,
    stored_in,
)
from tfadvisor.causes.compiled_names import COMPILERS
from tfadvisor.causes.source_files import ParsedFile
from tfadvisor.causes.witness import (
    class_of,
    covers,
    head_of,
    made_by_calls,
    own_nodes,
)

FEWEST_ROUNDS = 30
"""Fewer are compiled soon enough."""
_MOST_ROUNDS = 10**7
_DEEPEST = 6
"""Calls from the compiled function to one with the loop."""
_ON_HOST = frozenset(
    "callback io_callback numpy_function pure_callback py_function".split()
)
"""What runs a function that it is given on the host, and does not trace it."""
_CALLED_AS_OBJECT = "__call__", "call"
_MOST_LINES = 8
_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
}


class UnrolledLoop(msgspec.Struct, frozen=True):
    """Such a loop."""

    file: str
    line: int
    """On which it begins."""
    function: str
    """Around it."""
    head: str
    """`for t in range(LENGTH)`."""
    rounds: int
    compiled: str
    """The function that is traced, which comes to it."""
    before: str
    """Its lines."""
    after: str
    """The same as a compiled loop."""
    is_jax: bool

    @property
    def words(self) -> str:
        """What it does, in a sentence."""
        within = "" if self.function == self.compiled else f", which {self.compiled} "
        within += "comes to" if within else ""
        return (
            f"`{self.head}` in {self.function} ({self.file}:{self.line}){within}, runs "
            f"in Python while {self.compiled} is traced: each of its {self.rounds:,} "
            "rounds adds its ops to the program, and all of them are compiled"
        )

    @property
    def change(self) -> str:
        """What to do instead."""
        if self.is_jax:
            return (
                "Let jax.lax.scan run it (jax.lax.fori_loop where it needs no gradient "
                "and collects nothing): its body is traced and compiled once."
            )
        return (
            "Let it go over tf.range, which makes it one tf.while_loop: its body is "
            "traced once."
        )

    @property
    def cost(self) -> str:
        """What that asks for."""
        if self.is_jax:
            return (
                "The rounds cannot be fused with each other (unroll=4 lets some be), "
                "what is carried keeps its shape and dtype, and Python lists that it "
                "indexes must be arrays."
            )
        return (
            "What is carried keeps its shape and dtype, and what it collects goes into "
            "a tf.TensorArray."
        )


def unrolled_loop(files: Sequence[ParsedFile], compiled: str) -> UnrolledLoop | None:
    """Of those that a function comes to while it is traced the one of most rounds; None
    for none, and where the files define several functions by this name, or none.
    """
    try:
        return _Reader(files).most_rounds(compiled)
    except RecursionError:  # of an expression that no person writes
        return None


def compiled_on(files: Sequence[ParsedFile], parsed: ParsedFile, line: int) -> set[str]:
    """Functions which a line calls that a compiler decorates or is given."""
    names = {last_name(call) for call in calls_in(parsed.tree) if covers(call, line)}
    found = set[str]()
    for each in files:
        for function in functions_in(each.tree):
            if function.name in names and _is_compiler(*function.decorator_list):
                found.add(function.name)
        for name, call in made_by_calls(each.tree):
            if name in names and _is_compiler(call.func):
                found |= {arg.id for arg in call.args if isinstance(arg, ast.Name)}
    return found


def _is_compiler(*nodes: ast.expr) -> bool:
    words = {
        getattr(inner, "id", getattr(inner, "attr", ""))
        for node in nodes
        for inner in ast.walk(node)
    }
    return bool(words & COMPILERS)


class _Reader:
    """Of a program's files."""

    def __init__(self, files: Sequence[ParsedFile]) -> None:
        self._files = files
        self._found = [
            (parsed, function)
            for parsed in files
            for function in functions_in(parsed.tree)
        ]
        self._is_jax = any(
            name.split(".")[0] == "jax"
            for parsed in files
            for name in _imported(parsed.tree)
        )

    def most_rounds(self, compiled: str) -> UnrolledLoop | None:
        """As unrolled_loop."""
        if len(self._named(compiled)) != 1:
            return None
        found = [
            self._made(parsed, function, loop, rounds, compiled)
            for parsed, function in self._reached(compiled)
            for loop, rounds in _loops(parsed, function)
            if rounds >= FEWEST_ROUNDS and self._computes(parsed, loop.body)
        ]
        return max(found, key=lambda loop: loop.rounds, default=None)

    def _made(
        self,
        parsed: ParsedFile,
        function: Function,
        loop: ast.For,
        rounds: int,
        compiled: str,
    ) -> UnrolledLoop:
        after = _as_scan(function, loop) if self._is_jax else _over_tensors(loop)
        return UnrolledLoop(
            parsed.file,
            loop.lineno,
            function.name,
            head_of(loop),
            rounds,
            compiled,
            _cut(ast.unparse(loop)),
            after,
            self._is_jax,
        )

    def _named(self, name: str) -> list[tuple[ParsedFile, Function]]:
        return [found for found in self._found if found[1].name == name]

    def _reached(self, compiled: str) -> list[tuple[ParsedFile, Function]]:
        """The function, and those that it names, or that these do."""
        found = self._named(compiled)
        seen = {id(function) for _, function in found}
        at = found
        for _ in range(_DEEPEST):
            named = [each for _, function in at for each in self._named_in(function)]
            at = []
            for parsed, function in named:
                if id(function) not in seen:
                    seen.add(id(function))
                    at.append((parsed, function))
            found = [*found, *at]
        return found

    def _named_in(self, function: Function) -> Iterator[tuple[ParsedFile, Function]]:
        """Functions of the program by the names that it reads, where these are the only
        ones; of an object that the program makes of a class of its own its call.
        """
        read = set(_read_in(function))
        for name in read:
            named = self._named(name)
            if len(named) == 1:
                yield named[0]
        made = {
            last_name(call)
            for parsed in self._files
            for name, call in made_by_calls(parsed.tree)
            if name in read
        }
        for each, method in self._found:
            of = class_of(each.tree, method)
            is_call = of is not None and method.name in _CALLED_AS_OBJECT
            if is_call and of is not None and of.name in made:
                yield each, method

    def _computes(
        self, parsed: ParsedFile, body: Sequence[ast.AST], depth: int = 0
    ) -> bool:
        """Whether it calls ops or layers, itself or in functions of the program."""
        nodes = [node for each in body for node in ast.walk(each)]
        if any(_is_op(parsed, node) for node in nodes):
            return True
        if depth == _DEEPEST:
            return False
        calls = [node for node in nodes if isinstance(node, ast.Call)]
        named = [self._named(last_name(call)) for call in calls]
        only = [found[0] for found in named if len(found) == 1]
        return any(self._computes(of, each.body, depth + 1) for of, each in only)


def _is_op(parsed: ParsedFile, call: ast.AST) -> bool:
    if not isinstance(call, ast.Call):
        return isinstance(call, ast.MatMult)
    called = parsed.names.called(call)
    if called.package in ON_DEVICES:
        return True
    owner = owner_of(call)
    is_own = isinstance(owner, ast.Name) and owner.id == "self"
    return "at" in called.names[:-1] or (
        is_own and last_name(call) not in parsed.names.defined
    )


def _read_in(function: Function) -> Iterator[str]:
    """Names that it reads, but for what a callback on the host is given."""
    left: list[ast.AST] = [*function.body]
    while left:
        node = left.pop()
        if isinstance(node, ast.Call) and last_name(node) in _ON_HOST:
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        left += ast.iter_child_nodes(node)


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


# How many rounds.


def _loops(parsed: ParsedFile, function: Function) -> Iterator[tuple[ast.For, int]]:
    """A function's own, with their rounds."""
    for loop in own_nodes(function):
        if isinstance(loop, ast.For):
            yield loop, _rounds(parsed, function, loop)


def _rounds(parsed: ParsedFile, function: Function, loop: ast.For) -> int:
    """Of a loop over a range of numbers that stand in the file, which no round ends; 0
    for unknown.
    """
    over = loop.iter
    if not isinstance(over, ast.Call) or ast.unparse(over.func) != "range":
        return 0
    leaves = (ast.Break, ast.Return, ast.Yield, ast.YieldFrom)
    if any(isinstance(node, leaves) for node in ast.walk(loop)):
        return 0
    known = [_number(argument, function, parsed) for argument in over.args]
    numbers = [number for number in known if number is not None]
    if not numbers or len(numbers) < len(known) or 0 in numbers[2:]:
        return 0
    return min(len(range(*numbers[:3])), _MOST_ROUNDS)


def _number(
    node: ast.expr, function: Function | None, parsed: ParsedFile, depth: int = 0
) -> int | None:
    """None for what the file does not show."""
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else None
    if depth == _DEEPEST:
        return None
    if isinstance(node, ast.Name):
        return _named_number(node.id, function, parsed, depth)
    if not isinstance(node, ast.BinOp) or type(node.op) not in _OPERATORS:
        return None
    sides = [_number(n, function, parsed, depth + 1) for n in (node.left, node.right)]
    known = [side for side in sides if side is not None]
    return _OPERATORS[type(node.op)](*known) if len(known) == len(sides) else None


def _named_number(
    name: str, function: Function | None, parsed: ParsedFile, depth: int
) -> int | None:
    """Of a name that is given one value, in the function or else in the module."""
    scope: ast.AST = parsed.tree
    if function is not None and name in arguments_in(function):
        return None
    if function is not None and name in stored_in(function):
        scope = function
    else:
        function = None
    values = _values_of(scope, name)
    return _number(values[0], function, parsed, depth + 1) if values else None


def _values_of(scope: ast.AST, name: str) -> list[ast.expr]:
    """What it gives to a name that it writes once; else nothing."""
    nodes = [*own_nodes(scope)]
    stores = [
        node
        for node in nodes
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]
    if sum(node.id == name for node in stores) != 1:
        return []
    given = [pair for node in nodes for pair in _given(node)]
    return [
        value
        for target, value in given
        if isinstance(target, ast.Name) and target.id == name
    ]


def _given(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """(target, value) of an assignment."""
    if isinstance(node, ast.AnnAssign) and node.value is not None:
        yield node.target, node.value
    elif isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                yield from zip(target.elts, node.value.elts, strict=False)
            else:
                yield target, node.value


# The same as a compiled loop.


def _cut(lines: str) -> str:
    shown = lines.split("\n")
    if len(shown) <= _MOST_LINES:
        return lines
    return "\n".join([*shown[: _MOST_LINES - 1], "    ..."])


def _over_tensors(loop: ast.For) -> str:
    """The program's own lines over tf.range; a pattern where it collects in lists."""
    if any(last_name(call) in KEEPING for call in calls_in(loop)):
        return (
            f"kept = tf.TensorArray(tf.float32, size=0, dynamic_size=True)\n"
            f"for {ast.unparse(loop.target)} in tf.{ast.unparse(loop.iter)}:\n"
            f"    ...\n"
            f"    kept = kept.write({ast.unparse(loop.target)}, value)\n"
            f"values = kept.stack()"
        )
    head, *body = ast.unparse(loop).split("\n")
    return _cut("\n".join([head.replace(" in range(", " in tf.range(", 1), *body]))


def _as_scan(function: Function, loop: ast.For) -> str:
    """The program's own lines in a scan, where they only give names to values and
    append to one list; else a pattern.
    """
    turn, over = ast.unparse(loop.target), ast.unparse(loop.iter)
    numbers = f"jnp.a{over}"
    carried, kept = _carried(function, loop), _kept(loop)
    if not carried or kept is None:
        return (
            f"def turn(carry, {turn}):\n"
            "    ...                        # what a round computes\n"
            "    return carry, value        # None, if it collects nothing\n"
            f"carry, values = jax.lax.scan(turn, first, {numbers})"
        )
    names = ", ".join(carried)
    value, into = kept
    body = [
        ast.unparse(statement)
        for statement in loop.body
        if not isinstance(statement, ast.Expr)
    ]
    inside = textwrap.indent("\n".join(body), "    ")
    if len(carried) == 1:
        head, state = f"def turn({names}, {turn}):", names
    else:
        head, state = f"def turn(state, {turn}):\n    {names} = state", f"({names})"
    return (
        f"{head}\n{inside}\n    return {state}, {value}\n"
        f"{state}, {into} = jax.lax.scan(turn, {state}, {numbers})"
    )


def _carried(function: Function, loop: ast.For) -> list[str]:
    """Names that a round gives to the next; empty where it does more than give names to
    values, or what it names alone is read behind it.
    """
    names = _given_names(loop)
    before = arguments_in(function) | {
        node.id for node in _names_of(function, ast.Store) if node.lineno < loop.lineno
    }
    end = loop.end_lineno or loop.lineno
    behind = {node.id for node in _names_of(function, ast.Load) if node.lineno > end}
    if (names.keys() - before) & behind:
        return []
    return [name for name in names if name in before]


def _given_names(loop: ast.For) -> dict[str, None]:
    """In order; none where a round writes anything else, or decides."""
    simple = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr)
    written = [
        node
        for node in ast.walk(loop)
        if isinstance(getattr(node, "ctx", None), ast.Store)
    ]
    kinds = ast.Name | ast.Tuple | ast.List
    is_simple = all(isinstance(each, simple) for each in loop.body)
    if loop.orelse or not is_simple or not all(isinstance(n, kinds) for n in written):
        return {}
    turn = stored_in(loop.target)
    named = [node.id for node in written if isinstance(node, ast.Name)]
    return dict.fromkeys(name for name in named if name not in turn)


def _names_of(function: Function, kind: type[ast.expr_context]) -> list[ast.Name]:
    nodes = own_nodes(function)
    names = [node for node in nodes if isinstance(node, ast.Name)]
    return [node for node in names if isinstance(node.ctx, kind)]


def _kept(loop: ast.For) -> tuple[str, str] | None:
    """(what a round appends, to which list); (None, _) in words for nothing, None for
    anything else.
    """
    found = [each.value for each in loop.body if isinstance(each, ast.Expr)]
    if not found:
        return "None", "_"
    (call, *more) = found
    is_append = (
        isinstance(call, ast.Call)
        and last_name(call) == "append"
        and len(call.args) == 1
        and isinstance(owner_of(call), ast.Name)
    )
    if more or not is_append or loop.body[-1] is not _statement_of(loop, call):
        return None
    assert isinstance(call, ast.Call)
    return ast.unparse(call.args[0]), ast.unparse(owner_of(call) or call)


def _statement_of(loop: ast.For, value: ast.expr) -> ast.stmt | None:
    return next(
        (
            each
            for each in loop.body
            if isinstance(each, ast.Expr) and each.value is value
        ),
        None,
    )
