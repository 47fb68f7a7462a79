"""The program's own files with calls of ours in them: around what reads back, writes,
keeps and evaluates, and around the batch and the step of the steps' loop. What these
calls do when the program runs is in `standing_in`.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator
from typing import Any

from .program_parts import (
    BEHIND,
    CALLBACKS,
    CHECKPOINTS,
    COMPILED,
    DELAY,
    EVALUATION,
    HALF,
    INPUT,
    READS,
    Parts,
)

BATCHES, NEW, STEP, CALL, LATER = (
    f"__tfadvisor_{name}__" for name in ("batches", "new", "step", "call", "later")
)
"""What our calls are named in the program."""
_READING = {
    "float",
    "int",
    "item",
    "numpy",
    "asarray",
    "array",
    "device_get",
    "block_until_ready",
    "tolist",
}
_CALLED = (
    (EVALUATION, r"eval|evaluate|evaluation|validate|validation"),
    (CHECKPOINTS, r"save|checkpoint|ckpt|dump|savez|backup"),
    (
        CALLBACKS,
        r"print|log|logging|info|debug|warning|write|writerow|plot|report|summary"
        r"|summaries|scalars?|histogram|flush|postfix|description|callbacks?|journal"
        r"|on",
    ),
)
_PATTERNS = tuple(
    (part, re.compile(rf"(?:^|_)(?:{words})(?:_|$)")) for part, words in _CALLED
)
_IS_STEP = re.compile(
    r"(?:^|_)"
    r"(?:step|train|update|fit|learn|optimize|minimize|apply_gradients)(?:_|\d|$)"
)
_LOADS = re.compile(
    r"(?:^|_)(?:load|batch|sample|fetch|read|next|get|decode|augment)(?:_|$)"
)
"""Where no step is recognised, only what such a call gives is taken for the batch."""
_NO_STEP = {"split", "fold_in", "append", "perf_counter", "monotonic", "time", "print"}
_SITES = itertools.count()
"""Each place that is changed has a number of its own."""
_AROUND = {"enumerate", "zip", "tqdm", "islice", "trange"}
"""Calls that hand on the items of what they are given."""
_IN_LOOPS = {INPUT, HALF, COMPILED, BEHIND, DELAY}
_IN_CALLS = {READS, EVALUATION, CHECKPOINTS, CALLBACKS}
_HOLDERS = (ast.With, ast.If, ast.Try)
"""Statements that hold others, which belong to a round as well."""


def with_parts(
    tree: ast.Module,
    parts: Parts,
    lines: set[int] | None,
) -> ast.Module:
    """Changes the tree in place; lines stay where they are. lines: of the loops that
    may be the steps, None for all.
    """
    nodes = ast.walk(tree)
    every = [node for node in nodes if isinstance(node, (ast.For, ast.While))]
    loops = [node for node in every if lines is None or node.lineno in lines]
    if READS in parts.hooked:
        _read_tests(loops)
    if parts.hooked & _IN_LOOPS:
        for loop in loops:
            taken = _Loop(loop)
            if DELAY in parts.hooked:
                taken.delay()
            taken.take_apart()
    if parts.hooked & _IN_CALLS:
        _PartCalls().visit(tree)
    return ast.fix_missing_locations(tree)


def _read_tests(loops: list[ast.For | ast.While]) -> None:
    """`if accuracy == 1.0` reads it."""
    tests: dict[ast.If, ast.expr] = {}
    for loop in loops:
        for _, statement in _flat(loop.body, whole=True):
            if isinstance(statement, ast.If):
                tests[statement] = statement.test
    for statement, test in tests.items():
        statement.test = _make(
            CALL,
            [READS, next(_SITES), False, None, test],
            test,
        )


def _called(call: Any) -> str:
    """The last word of what a call names, "" for none."""
    named = getattr(call, "func", None)
    if isinstance(named, ast.Attribute):
        return named.attr
    return named.id if isinstance(named, ast.Name) else ""


def _names(
    node: ast.AST,
    kind: type,
) -> set[str]:
    names = set()
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, kind):
            names.add(inner.id)
    return names


def _reads(node: ast.AST) -> set[str]:
    return _names(node, ast.Load)


def _sets(node: ast.AST) -> set[str]:
    return _names(node, ast.Store)


def _works(node: ast.AST) -> bool:
    """Whether an expression calls something or takes a part of something."""
    kinds = (ast.Call, ast.Subscript)
    return any(isinstance(inner, kinds) for inner in ast.walk(node))


def _make(
    name: str,
    given: list[Any],
    where: ast.AST,
) -> ast.Call:
    """A call of ours. given: nodes, or what becomes a constant."""
    nodes: list[Any] = [
        argument if isinstance(argument, ast.AST) else ast.Constant(value=argument)
        for argument in given
    ]
    function = ast.Name(
        id=name,
        ctx=ast.Load(),
    )
    return ast.copy_location(ast.Call(func=function, args=nodes, keywords=[]), where)


class _Loop:
    """The loop of the steps: what makes the batch, the call that it goes into, and what
    stands behind that.
    """

    def __init__(self, loop: Any) -> None:
        self.loop = loop
        self.statements = list(_flat(loop.body))
        self.carried = self.carried_round()

    def carried_round(self) -> set[str]:
        """Names that a round reads before it sets them, and sets: the state of the
        training.
        """
        known: set[str] = set()
        first_read: set[str] = set()
        for _, statement in self.statements:
            read = _reads(statement)
            if isinstance(statement, ast.AugAssign):
                read |= _sets(statement.target)
            first_read |= read - known
            known |= _sets(statement)
        return first_read & known

    def delay(self) -> None:
        """Each statement that does something can be delayed."""
        for body, statement in self.statements:
            if _works(statement):
                later = ast.Expr(value=_make(LATER, [next(_SITES)], statement))
                body.insert(body.index(statement), ast.copy_location(later, statement))

    def take_apart(self) -> None:
        """The batch can be kept or halved, the step compiled, the rest left out."""
        place = self.step()
        if isinstance(self.loop, ast.For):
            self.loop.iter = self.batches(self.loop.iter)
        if place is None:
            self.keep_batch(
                self.statements,
                set(),
                has_step=False,
            )
            return

        step = self.statements[place]
        before = self.statements[:place]
        behind = self.statements[place + 1 :]
        state = _sets(step[1]) & self.carried
        self.keep_batch(
            before,
            state,
            has_step=True,
        )
        self.leave_out(behind, state)
        self.call_step(*step)

    def keep_batch(
        self,
        before: list[tuple[list[Any], Any]],
        state: set[str],
        *,
        has_step: bool,
    ) -> None:
        """What makes the batch runs once. before: statements before the step. state: of
        the training.
        """
        computed = set(state)
        for body, statement in before:
            if _reads(statement) & computed:
                # A loss, gradients, an action: of the training, and no batch.
                computed |= _sets(statement)
            elif self.makes(statement) and (has_step or _loads(statement)):
                _once(body, statement, INPUT)

    def leave_out(
        self,
        behind: list[tuple[list[Any], Any]],
        state: set[str],
    ) -> None:
        """What the next round does not need. behind: statements behind the step."""
        needed = set(state)
        for _, statement in reversed(behind):
            if _sets(statement) & needed:
                needed |= _reads(statement)
        for body, statement in behind:
            if not _trains(statement, needed) and self.is_work(statement):
                _once(body, statement, BEHIND)

    def is_work(self, statement: Any) -> bool:
        """Whether a statement calls something, or loops over what no round hands on."""
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            return True
        if isinstance(statement, ast.For) and not _sets(statement) & self.carried:
            return True
        return self.makes(statement)

    def step(self) -> int | None:
        """The place of the statement that trains by a call, None where there is
        none.
        """
        ready: set[str] = set()
        if isinstance(self.loop, ast.For):
            ready = _sets(self.loop.target)
        for place, (_, statement) in enumerate(self.statements):
            if self.is_step(statement, ready):
                return place
            ready |= _sets(statement) - self.carried
        return None

    def is_step(
        self,
        statement: Any,
        ready: set[str],
    ) -> bool:
        """ready: names that a round has set so far, which may be the batch."""
        call = getattr(statement, "value", None)
        if not isinstance(call, ast.Call) or _called(call) in _NO_STEP:
            return False
        if _IS_STEP.search(_called(call)):
            return True
        return bool(_sets(statement) & self.carried and _reads(call) & ready)

    def makes(self, statement: Any) -> bool:
        """Whether a statement sets names by a call or an index, and none that rounds
        hand on.
        """
        if not isinstance(statement, ast.Assign):
            return False
        parts = (ast.Attribute, ast.Subscript)
        if any(isinstance(target, parts) for target in statement.targets):
            return False
        if _sets(statement) & self.carried or _called(statement.value) in _NO_STEP:
            return False
        return _works(statement.value)

    def batches(self, given: Any) -> Any:
        """What the loop iterates over, inside of calls that only hand on."""
        if isinstance(given, ast.Constant):
            return given
        if not isinstance(given, ast.Call) or _called(given) not in _AROUND:
            return _make(BATCHES, [given], given)

        given.args = [
            argument if isinstance(argument, ast.Starred) else self.batches(argument)
            for argument in given.args
        ]
        return given

    def call_step(
        self,
        body: list[Any],
        statement: Any,
    ) -> None:
        """Its arguments, but for the state, are the batch; what they call is called
        before.
        """
        call = statement.value
        data = [not _reads(argument) & self.carried for argument in call.args]
        keywords = [keyword for keyword in call.keywords if keyword.arg]
        named = [
            keyword.arg
            for keyword in keywords
            if not _reads(keyword.value) & self.carried
        ]
        for place, node in enumerate(call.args):
            if data[place]:
                call.args[place] = _given_before(
                    body,
                    statement,
                    place,
                    node,
                )
        site: Any = (next(_SITES), tuple(data), tuple(named))
        call.func = _make(
            STEP,
            [ast.Constant(value=site), call.func],
            call.func,
        )


def _loads(statement: Any) -> bool:
    """Whether what a statement calls sounds like loading."""
    return _LOADS.search(_called(statement.value)) is not None


def _trains(
    statement: ast.AST,
    needed: set[str],
) -> bool:
    """Whether a statement is of the training. needed: names of the next round."""
    if _sets(statement) & needed:
        return True
    calls = [_called(inner) for inner in ast.walk(statement)]
    return any(map(_IS_STEP.search, calls))


def _given_before(
    body: list[Any],
    statement: Any,
    place: int,
    argument: Any,
) -> Any:
    """An argument of the step; what it calls is called before, and once while the input
    is taken out. statement: the step, in this body.
    """
    is_starred = isinstance(argument, ast.Starred)
    inner = argument.value if is_starred else argument
    if not _works(inner):
        return argument

    name = f"__tfadvisor_given_{place}__"
    target = ast.Name(
        id=name,
        ctx=ast.Store(),
    )
    made = ast.Assign(targets=[target], value=inner)
    ast.copy_location(made, inner)
    body.insert(body.index(statement), made)
    _once(body, made, INPUT)
    known = ast.Name(id=name, ctx=ast.Load())
    ast.copy_location(known, inner)
    if not is_starred:
        return known
    return ast.Starred(value=known, ctx=ast.Load())


def _flat(
    body: list[Any],
    *,
    whole: bool = False,
) -> Iterator[tuple[list[Any], Any]]:
    """Statements of a round with the list that holds each, those inside of `with` and
    `if` too; an inner loop is one. whole: what holds them as well."""
    for statement in body:
        holds = isinstance(statement, _HOLDERS)
        if holds:
            yield from _flat(statement.body, whole=whole)
            yield from _flat(getattr(statement, "orelse", []), whole=whole)
        if whole or not holds:
            yield body, statement


def _once(
    body: list[Any],
    statement: Any,
    part: str,
) -> None:
    """Runs a statement in the first round alone, while its part is taken out."""
    test = _make(
        NEW,
        [next(_SITES), part, *sorted(_sets(statement))],
        statement,
    )
    kept = ast.If(
        test=test,
        body=[statement],
        orelse=[],
    )
    body[body.index(statement)] = ast.copy_location(kept, statement)


class _PartCalls(ast.NodeTransformer):
    """Calls by the names of what they call. What a statement calls for nothing can be
    left out; else the last value stands in.
    """

    def visit_FunctionDef(self, node: Any) -> Any:
        """What is decorated may be compiled from its bytecode or its source."""
        return node if node.decorator_list else self.generic_visit(node)

    def visit_Expr(self, node: Any) -> Any:
        """A call whose value nobody reads."""
        if isinstance(node.value, ast.Call):
            node.value = self.call(
                node.value,
                alone=True,
            )
        else:
            self.generic_visit(node)
        return node

    def visit_Call(self, node: Any) -> Any:
        """Any other."""
        return self.call(node, alone=False)

    def visit_FormattedValue(self, node: Any) -> Any:
        """`f"{loss:.3f}"` reads loss."""
        self.generic_visit(node)
        if node.conversion == -1:
            value = node.value
            node.value = _make(
                CALL,
                [READS, next(_SITES), False, None, value],
                value,
            )
        return node

    def call(
        self,
        node: ast.Call,
        *,
        alone: bool,
    ) -> ast.Call:
        """With ours around it where its name says what it is."""
        name = _called(node)
        self.generic_visit(node)
        part = _part_of(name)
        if part and (alone or part != CALLBACKS):
            about = (part, next(_SITES), alone)
            constants = [ast.Constant(value=value) for value in about]
            node.args[:0] = [*constants, node.func]
            node.func = ast.Name(id=CALL, ctx=ast.Load())
            ast.copy_location(node.func, node)
        return node


def _part_of(name: str) -> str:
    """The part that a call of this name is of, "" for none."""
    for part, named in _PATTERNS:
        if named.search(name):
            return part
    return READS if name in _READING else ""
