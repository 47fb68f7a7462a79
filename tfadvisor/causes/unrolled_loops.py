"""Loops of Python that a compiled function runs while it is traced, by the program's
source: each round adds its ops to the program, and all of them are compiled.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

import msgspec

from tfadvisor.causes.called import ON_DEVICES, last_name, owner_of
from tfadvisor.causes.compiled_names import COMPILERS
from tfadvisor.causes.definitions import whole_number
from tfadvisor.causes.source_files import ParsedFile
from tfadvisor.causes.walked import (
    Function,
    functions_in,
    nodes_in,
    own_nodes,
    walked,
)
from tfadvisor.causes.witness import class_of, head_of, made_by_calls
from tfadvisor.tallies import listed

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
    """A compiled loop."""
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
    names = {last_name(call) for call in walked(parsed.tree).calls_on(line)}
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
        self._by_name = listed(
            (function.name, (parsed, function))
            for parsed in files
            for function in functions_in(parsed.tree)
        )
        self._makers = listed(
            (name, last_name(call))
            for parsed in files
            for name, call in made_by_calls(parsed.tree)
        )
        self._calls = listed(
            (of.name, (parsed, method))
            for parsed in files
            for method in functions_in(parsed.tree)
            if method.name in _CALLED_AS_OBJECT
            for of in (class_of(parsed.tree, method),)
            if of is not None
        )
        self._is_jax = any(
            name.split(".")[0] == "jax"
            for parsed in files
            for name in _imported(parsed.tree)
        )

    def most_rounds(self, compiled: str) -> UnrolledLoop | None:
        """As unrolled_loop."""
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
        after = _as_scan(loop) if self._is_jax else _over_tensors(loop)
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

    def _only(self, name: str) -> list[tuple[ParsedFile, Function]]:
        """The one by a name; empty for none, and for several."""
        found = self._by_name.get(name, [])
        return found if len(found) == 1 else []

    def _reached(self, compiled: str) -> list[tuple[ParsedFile, Function]]:
        """The function, and those that it names, or that these do."""
        found = self._only(compiled)
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
        read = dict.fromkeys(_read_in(function))
        for name in read:
            yield from self._only(name)
        made = dict.fromkeys(of for name in read for of in self._makers.get(name, ()))
        for of in made:
            yield from self._calls.get(of, ())

    def _computes(self, parsed: ParsedFile, body: Sequence[ast.AST]) -> bool:
        """Whether it calls ops or layers, itself or in functions of the program."""
        left = [(parsed, node) for node in _all_in(body)]
        seen = set[int]()
        for _ in range(_DEEPEST + 1):
            if any(_is_op(of, node) for of, node in left):
                return True
            called = self._called([node for _, node in left], seen)
            left = [(of, node) for of, each in called for node in _all_in(each.body)]
        return False

    def _called(
        self, nodes: Sequence[ast.AST], seen: set[int]
    ) -> list[tuple[ParsedFile, Function]]:
        """Functions of the program that nodes call, but for those that were seen."""
        names = {last_name(node) for node in nodes if isinstance(node, ast.Call)}
        called = [each for name in names for each in self._only(name)]
        new = [(of, each) for of, each in called if id(each) not in seen]
        seen.update(id(each) for _, each in new)
        return new


def _all_in(body: Sequence[ast.AST]) -> Iterator[ast.AST]:
    for statement in body:
        yield from ast.walk(statement)


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
    for node in nodes_in(tree):
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
    known = [whole_number(each, function, parsed.tree) for each in over.args]
    numbers = [number for number in known if number is not None]
    if not numbers or len(numbers) < len(known) or 0 in numbers[2:]:
        return 0
    return min(len(range(*numbers[:3])), _MOST_ROUNDS)


# As a compiled loop.


def _cut(lines: str) -> str:
    shown = lines.split("\n")
    if len(shown) <= _MOST_LINES:
        return lines
    return "\n".join([*shown[: _MOST_LINES - 1], "    ..."])


def _over_tensors(loop: ast.For) -> str:
    return (
        f"for {ast.unparse(loop.target)} in tf.{ast.unparse(loop.iter)}:\n"
        "    ...                        # what it keeps: kept = kept.write(t, value)"
    )


def _as_scan(loop: ast.For) -> str:
    return (
        f"def turn(carry, {ast.unparse(loop.target)}):\n"
        "    ...                        # what a round computes\n"
        "    return carry, value        # None, if it collects nothing\n"
        f"carry, values = jax.lax.scan(turn, first, jnp.a{ast.unparse(loop.iter)})"
    )
