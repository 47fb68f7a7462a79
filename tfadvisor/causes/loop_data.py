"""What a loop of the program gives from call to call, by its own lines."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from tfadvisor.causes.called import (
    KEEPING,
    READING,
    SHOWING,
    WAITING,
    FileNames,
    arguments_in,
    called_names,
    declared_outer,
    last_name,
    owner_of,
    stored_in,
)
from tfadvisor.causes.walked import (
    Function,
    Loop,
    asked_once,
    calls_in,
    covers,
    loops,
    nodes_in,
    own_nodes,
)
from tfadvisor.tallies import listed

ARGUMENT, RESULT, STEP = "argument", "result", "step"
"""How a call is tied to the step: it makes an argument of it, it reads its result and
gives nothing that is read, or it is the step. That it does neither no source can show:
it may change what the step reads elsewhere.
"""
_UNKNOWN = "self."
"""Stands for the attributes of a method that is defined elsewhere."""
_REDUCING = frozenset("abs all any bool float int item max mean min norm sum".split())
"""What gives one number of an array."""
_OF_PYTHON = ast.Is | ast.IsNot | ast.In | ast.NotIn
"""Comparisons that read no array."""
_OF_SHAPES = frozenset("dtype ndim shape size".split())
Name = str
"""Of a variable, or `self.state` for an attribute."""


def loops_around(
    tree: ast.Module, names: frozenset[str]
) -> list[tuple[Loop, list[ast.Call]]]:
    """The innermost loops around calls of these names, with the calls, as they stand in
    the file.
    """
    found: list[tuple[Loop, list[ast.Call]]] = []
    seen = set[int]()
    for loop in loops(tree):
        calls = [call for call in calls_of(loop, names) if id(call) not in seen]
        seen |= set(map(id, calls))
        if calls:
            found.append((loop, calls))
    return found[::-1]


def tie_in(
    loop: Loop,
    function: str,
    steps: frozenset[str],
) -> tuple[str, int] | None:
    """(tie, line of the call) of a function that the loop calls beside a step."""
    asked = calls_of(loop, {function})
    if not asked:
        return None
    line = asked[0].lineno
    if function in steps:
        return STEP, line
    stepping = calls_of(loop, steps)
    if not stepping:
        return None

    if _gives(loop, asked, stepping):
        return ARGUMENT, line
    return (RESULT, line) if only_reads(loop, asked, stepping) else None


def only_reads(loop: Loop, calls: list[ast.Call], steps: list[ast.Call]) -> bool:
    """Whether calls read what steps give, and neither give nor change anything that is
    read.
    """
    results = _roots(made_by(loop, steps))
    own = _roots({name for call in calls for name in names_in(call)})
    if _may_change(own - results, steps) or not _is_dropped(loop, calls):
        return False
    return bool(own & results)


def _gives(
    loop: ast.AST,
    calls: list[ast.Call],
    steps: list[ast.Call],
) -> bool:
    """Whether a step is given what the calls give, or what is made of it."""
    return _are_inside(calls, steps) or bool(
        made_by(loop, calls) & _names_in_arguments(steps)
    )


def may_feed(
    loop: Loop,
    calls: list[ast.Call],
    steps: list[ast.Call],
) -> bool:
    """Whether a step may get what the calls give: as an argument, or out of an object
    that is given it, as a buffer of samples is.
    """
    made = made_by(loop, calls)
    kept = kept_in(loop, calls, made)
    needed = _needed(loop, steps)
    if not needed:  # it reads what is not written here
        return bool(kept)
    return _are_inside(calls, steps) or bool(_roots(made | kept) & _roots(needed))


def feeds_itself(
    loop: Loop,
    calls: list[ast.Call],
) -> bool:
    """Whether what the calls give goes into the next of them, as the state does of a
    second model that the loop trains.
    """
    made = made_by(loop, calls)
    return bool(_roots(made) & _roots(_names_in_arguments(calls)))


def kept_in(
    loop: ast.AST,
    calls: list[ast.Call],
    made: set[Name],
) -> set[Name]:
    """Objects of which a method is given what the calls give or one of these values,
    but for what shows it.
    """
    kept: set[Name] = set()
    for node in ast.walk(loop):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        values = _values(node)
        is_given = any(names_in(value) & made for value in values)
        if (is_given or _hold(values, calls)) and node.func.attr not in SHOWING:
            kept |= names_in(node.func.value)
    return kept


def _needed(
    loop: Loop,
    steps: list[ast.Call],
) -> set[Name]:
    """What the arguments of the steps are made of, and the object whose method a step
    is.
    """
    needed = _names_in_arguments(steps)
    for step in steps:
        if isinstance(step.func, ast.Attribute):
            needed |= names_in(step.func.value)
    back = [(written, read) for read, written in _ties_in(loop)]
    return spread(back, needed)


def _may_change(
    names: set[Name],
    stepping: list[ast.Call],
) -> bool:
    """Whether a call that is given these may change what the step is given: an array
    that it fills, an object whose attribute the step reads.
    """
    given = _names_in_arguments(stepping)
    return bool(names & _roots(given))


def _is_dropped(
    loop: ast.AST,
    calls: list[ast.Call],
) -> bool:
    """Whether nothing reads what the calls give."""
    statements = [node.value for node in ast.walk(loop) if isinstance(node, ast.Expr)]
    return all(any(value is call for value in statements) for call in calls)


def asked_of(loop: Loop, steps: list[ast.Call]) -> ast.expr | None:
    """What the loop asks of the steps' results in each of its rounds, to know whether
    to go on; None where it asks for nothing of them.
    """
    made = made_by(loop, steps)
    tests = [loop.test] if isinstance(loop, ast.While) else []
    tests += [
        statement.test
        for statement in loop.body
        if isinstance(statement, ast.If) and _breaks(statement)
    ]
    for part in (part for test in tests for part in _parts(test)):
        if isinstance(part, ast.Compare) and _is_read(part, made):
            return part
    return None


def _breaks(statement: ast.If) -> bool:
    return isinstance(statement.body[-1], ast.Break)


def runs_alone(loop: Loop, steps: list[ast.Call]) -> bool:
    """Whether a loop does nothing but its rounds, so that it may be compiled whole: a
    round is given nothing new, and up to the end nothing else is called or written.
    """
    given = _names_in_arguments(steps) & stored_in(loop)
    if not given <= _roots(made_by(loop, steps)):
        return False
    kept: list[ast.AST] = [loop.test] if isinstance(loop, ast.While) else []
    for statement in loop.body:
        if isinstance(statement, ast.If) and _breaks(statement):
            kept += [statement.test, *statement.orelse]
        else:
            kept.append(statement)
    calls = [call for part in kept for call in calls_in(part) if call not in steps]
    return all(last_name(call) in _REDUCING for call in calls) and all(
        map(_only_names, kept)
    )


def _only_names(part: ast.AST) -> bool:
    """Whether it computes, and stores in plain variables at most."""
    if isinstance(part, ast.Assign):
        targets = part.targets
    elif isinstance(part, ast.AugAssign | ast.AnnAssign):
        targets = [part.target]
    else:
        return isinstance(part, ast.expr)
    nodes = [node for target in targets for node in ast.walk(target)]
    return not any(isinstance(node, ast.Subscript | ast.Attribute) for node in nodes)


def _parts(test: ast.expr) -> list[ast.expr]:
    """The first of those that `and` joins may decide for the rest: `step % 100 == 0 and
    loss < best` asks seldom.
    """
    if not isinstance(test, ast.BoolOp):
        return [test]
    head, *rest = test.values
    seldom = any(isinstance(node, ast.Mod) for node in ast.walk(head))
    return [head] if seldom else [head, *rest]


def _is_read(test: ast.Compare, made: set[Name]) -> bool:
    """Whether a comparison is of these values, and not of what an unknown call says of
    them.
    """
    if isinstance(test.ops[0], _OF_PYTHON) or _is_of_a_shape(test):
        return False
    calls = [node for node in ast.walk(test) if isinstance(node, ast.Call)]
    known = all(last_name(call) in _REDUCING for call in calls)
    return known and bool(_roots(names_in(test)) & _roots(made))


def _is_of_a_shape(test: ast.Compare) -> bool:
    """Whether it compares what an array is known by without its values."""
    attributes = [
        node.attr for node in ast.walk(test) if isinstance(node, ast.Attribute)
    ]
    return not _OF_SHAPES.isdisjoint(attributes)


def on_same(
    loop: ast.AST,
    step: ast.Call,
    again: ast.Call,
) -> bool:
    """Whether a later call gets a value that the step got, and besides only what the
    step gives.
    """
    given = set(map(ast.dump, _values(step)))
    results = _written_by(_holding(loop, [step]))
    touched = _touched_between(loop, step, again)
    others = [value for value in _values(again) if not names_in(value) <= results]
    if step.lineno >= again.lineno or not others:
        return False
    return all(
        ast.dump(value) in given
        and _is_lasting(value)
        and not names_in(value) & touched
        for value in others
    )


def _touched_between(
    loop: ast.AST,
    step: ast.Call,
    again: ast.Call,
) -> set[Name]:
    """Names of what is written or given to another call between two calls, so that it
    may be another value by then.
    """
    lines = range(step.lineno, again.lineno + 1)
    touching = (
        node
        for node in ast.walk(loop)
        if getattr(node, "lineno", 0) in lines and _may_write(node)
    )
    others = (node for node in touching if not _hold([node], [step, again]))
    return set().union(*map(names_in, others))


def _is_lasting(value: ast.AST) -> bool:
    """Whether an expression calls nothing, so that it gives the same again."""
    return not any(isinstance(node, ast.Call) for node in ast.walk(value))


def _may_write(node: ast.AST) -> bool:
    is_store = isinstance(getattr(node, "ctx", None), ast.Store | ast.Del)
    return is_store or isinstance(node, ast.Call)


def _values(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def _roots(names: set[Name]) -> set[Name]:
    return {name.partition(".")[0] for name in names}


def calls_of(
    loop: ast.AST,
    functions: Container[str],
) -> list[ast.Call]:
    """In a loop, of functions by these names."""
    return [call for call in calls_in(loop) if last_name(call) in functions]


def _hold(
    values: Iterable[ast.AST],
    calls: Iterable[ast.Call],
) -> bool:
    """Whether one of the calls is one of these values, or inside of one."""
    asked = set(map(id, calls))
    return any(id(node) in asked for value in values for node in ast.walk(value))


def _are_inside(
    calls: list[ast.Call],
    steps: list[ast.Call],
) -> bool:
    """Whether a step holds one of the calls."""
    return any(_hold(ast.iter_child_nodes(step), calls) for step in steps)


def _names_in_arguments(calls: list[ast.Call]) -> set[Name]:
    found: set[Name] = set()
    for call in calls:
        for value in _values(call):
            found.update(names_in(value))
    return found


def made_by(
    loop: ast.AST,
    calls: list[ast.Call],
) -> set[Name]:
    """Variables that hold what the calls give, or what is made of it."""
    return _with_what_is_made_of(loop, _written_by(_holding(loop, calls)))


def _with_what_is_made_of(
    loop: ast.AST,
    made: set[Name],
) -> set[Name]:
    """What is read through calls too: what is cast, padded or put on a device is still
    of the batch.
    """
    return spread(_ties_in(loop), made)


def _ties_in(loop: ast.AST) -> list[_Tie]:
    return [(binding.reads, binding.written) for binding in bindings_in(loop)]


class Binding(NamedTuple):
    """What gives names a value."""

    value: ast.AST
    target: ast.AST

    @property
    def reads(self) -> set[Name]:
        """Names of what it is made of."""
        return names_in(self.value)

    @property
    def written(self) -> set[Name]:
        """Names that hold it then, and nothing of an index."""
        return _targets(self.target)


def _written_by(bindings: Iterable[Binding]) -> set[Name]:
    return set[Name]().union(*(binding.written for binding in bindings))


def bindings_in(loop: ast.AST) -> Iterator[Binding]:
    """Heads of loops too, which write what they go over; nothing of functions that are
    defined there.
    """
    for node in (loop, *own_nodes(loop)):
        yield from _bound(node)


def all_bindings_in(tree: ast.AST) -> Iterator[Binding]:
    """With those of functions and classes that are defined there."""
    for node in nodes_in(tree):
        yield from _bound(node)


@asked_once
def bindings_by_name(tree: ast.Module) -> dict[Name, list[Binding]]:
    """Those of a file by what they write."""
    return listed(
        (name, binding) for binding in all_bindings_in(tree) for name in binding.written
    )


def names_in(node: ast.AST) -> set[Name]:
    """Variables and attributes that an expression reads or writes."""
    found: set[Name] = set()
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name):
            found.add(inner.id)
        elif isinstance(inner, ast.Attribute) and isinstance(inner.value, ast.Name):
            found.add(f"{inner.value.id}.{inner.attr}")
    return found - {"self", "np", "jnp", "jax", "tf"}


# What a round makes for its step, and of what.


class Made(msgspec.Struct, frozen=True):
    """What a line of a loop makes."""

    calls: tuple[ast.Call, ...]
    """That make it; of a line that calls nothing, none."""
    names: frozenset[Name]
    """That hold it, or what is made of it."""
    reads: frozenset[Name]
    """Of what it is made."""
    line: int

    def steps_of(
        self,
        loop: Loop,
        is_step: Callable[[ast.Call], bool],
    ) -> list[ast.Call]:
        """Those among the calls of a loop, beside these."""
        inside = {id(node) for own in self.calls for node in ast.walk(own)}
        others = [call for call in calls_in(loop) if id(call) not in inside]
        return list(filter(is_step, others))

    def goes_into(
        self,
        loop: Loop,
        steps: list[ast.Call],
    ) -> bool:
        """Whether a step gets it."""
        kept = kept_in(loop, list(self.calls), set(self.names))
        return _are_inside(list(self.calls), steps) or bool(
            (self.names | kept) & _names_in_arguments(steps)
        )

    def comes_of(
        self,
        loop: Loop,
        steps: list[ast.Call],
        names: FileNames,
    ) -> bool:
        """Whether it may be made of what a step gives or changes, or be made only
        where that is so: in doubt it is. names: of the file.
        """
        functions = names.functions
        ties = _ties(loop, steps, functions, self.line)
        changed = spread(ties, {_GIVEN})
        reads = set(self.reads) | _read_inside(self.calls, functions)
        if changed & (reads | {_ANYTHING, _ITSELF}):
            return True
        own, theirs = (_touched(functions, calls) for calls in (self.calls, steps))
        own |= {name for name in self.reads if name.startswith("self.")}
        return bool((own and _UNKNOWN in own | theirs) or own & (theirs | changed))


def _touched(
    methods: Mapping[str, ast.AST],
    calls: Iterable[ast.Call],
) -> set[Name]:
    """Attributes of `self` that the methods which these calls name may read or write,
    and those that they call; _UNKNOWN among them where one is not defined here.
    """
    left = {last_name(call) for call in calls if _is_of_self(call)}
    found: set[Name] = set()
    while left:
        name = left.pop()
        inside = names_in(methods[name]) if name in methods else {_UNKNOWN}
        touched = {inner for inner in inside if inner.startswith("self.")}
        left |= {
            inner.partition(".")[2]
            for inner in touched - found
            if inner.partition(".")[2] in methods
        }
        found |= touched
    return found


def _is_of_self(call: ast.Call) -> bool:
    owner = owner_of(call)
    return isinstance(owner, ast.Name) and owner.id == "self"


def made_on(
    loop: Loop,
    line: int,
    function: str,
    compiled: frozenset[str],
) -> Made:
    """function: that makes it there; "" for none. compiled: names of what makes none of
    it.
    """
    calls = [call for call in calls_in(loop) if covers(call, line)]
    of_function = [call for call in calls if last_name(call) == function]
    making = of_function or [
        call for call in calls if called_names(call).isdisjoint(compiled)
    ]
    holding = list(_holding(loop, making))
    if not calls:
        holding = list(_on_line(loop, line))
    reads = set[Name]().union(*map(names_in, making))
    if not of_function:  # the line makes all of it
        reads = reads.union(*(binding.reads for binding in holding))
    names = _with_what_is_made_of(loop, _written_by(holding))
    return Made(tuple(making), frozenset(names), frozenset(reads), line)


def _on_line(
    loop: ast.AST,
    line: int,
) -> Iterator[Binding]:
    for binding in bindings_in(loop):
        if isinstance(binding.value, ast.expr) and covers(binding.value, line):
            yield binding


def _holding(
    loop: ast.AST,
    calls: list[ast.Call],
) -> Iterator[Binding]:
    """What keeps what one of the calls gives."""
    for binding in bindings_in(loop):
        if _hold([binding.value], calls):
            yield binding


# What may hold what a step gives, or be changed by what is given that.

_Tie = tuple[set[Name], set[Name]]
"""Names that are read, and those that may change with them."""
_GIVEN, _ANYTHING, _ITSELF = "step()", "*", "!"
"""Stand for what a step gives, for what a call may change that is given that, and for
whether the making runs.
"""


def spread(
    ties: Iterable[_Tie],
    known: set[Name],
) -> set[Name]:
    """With all that these names are read into, directly or not."""
    into: dict[Name, list[set[Name]]] = defaultdict(list)
    for reads, written in ties:
        for name in reads:
            into[name].append(written)
    found, left = set(known), list(known)
    while left:
        for written in into.pop(left.pop(), ()):
            left += written - found
            found |= written
    return found


def _ties(
    loop: Loop,
    steps: list[ast.Call],
    own: Container[str],
    line: int,
) -> Iterator[_Tie]:
    """own: names of functions of the file. line: of the making."""
    asked = set(map(id, steps))
    left: list[tuple[ast.AST, Name]] = [(loop, "")]
    while left:
        node, under = left.pop()
        if isinstance(node, ast.Call):
            yield from _ties_of_call(node, asked, own)
        elif isinstance(node, ast.Continue):
            yield {under}, {_ANYTHING}
        elif isinstance(node, Function):
            yield _read(node, asked) | {under}, {node.name}
        for binding in _bound(node):
            yield _read(binding.value, asked) | {under}, binding.written
        if isinstance(node, ast.stmt) and covers(node, line):
            yield {under}, {_ITSELF}

        test = _test_of(node)
        if test is not None:
            above, under = under, f"?{id(node)}"
            yield _read(test, asked) | {above}, {under}
        left += [(below, under) for below in ast.iter_child_nodes(node)]


def _ties_of_call(
    node: ast.Call,
    asked: set[int],
    own: Container[str],
) -> list[_Tie]:
    owner = owner_of(node)
    names = names_in(owner) if owner is not None else set[Name]()
    if id(node) in asked:
        return [({_GIVEN}, names)]
    name, values = last_name(node), _values(node)
    given = set[Name]().union(*(_read(value, asked) for value in values))
    of_owner = _read(owner, asked) if owner is not None else set[Name]()
    if name in own:
        return [(given | of_owner, {_ANYTHING})]
    if _only_reads(node):
        return []
    if owner is not None and name in KEEPING:
        return [(given, names)]
    return [(given, {_ANYTHING}), (of_owner, set().union(*map(names_in, values)))]


def _only_reads(node: ast.Call) -> bool:
    """Whether a call that is not of the file changes nothing, by its name."""
    is_builtin = isinstance(node.func, ast.Name) and node.func.id in READING
    return is_builtin or last_name(node) in SHOWING | WAITING


def _read(
    value: ast.AST,
    asked: set[int],
) -> set[Name]:
    """Names in it, and what stands for a step's result where it calls one."""
    is_given = any(id(node) in asked for node in ast.walk(value))
    return names_in(value) | ({_GIVEN} if is_given else set())


def _bound(node: ast.AST) -> Iterator[Binding]:
    if isinstance(node, ast.Assign):
        yield from (Binding(node.value, target) for target in node.targets)
    elif isinstance(node, ast.AugAssign):
        value = ast.BinOp(node.target, node.op, node.value)
        yield Binding(ast.copy_location(value, node), node.target)
    elif isinstance(node, ast.AnnAssign | ast.NamedExpr):
        yield Binding(node.value or node.target, node.target)
    elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
        yield Binding(node.iter, node.target)
    elif isinstance(node, ast.withitem) and node.optional_vars is not None:
        yield Binding(node.context_expr, node.optional_vars)


def _targets(target: ast.AST) -> set[Name]:
    """Names that are written: nothing of an index."""
    if isinstance(target, ast.Tuple | ast.List):
        return set[Name]().union(*map(_targets, target.elts))
    if isinstance(target, ast.Subscript | ast.Starred):
        return _targets(target.value)
    return names_in(target)


def _test_of(node: ast.AST) -> ast.AST | None:
    """What decides whether, or how often, the parts of a statement run."""
    if isinstance(node, ast.If | ast.While):
        return node.test
    if isinstance(node, ast.Match):
        return node.subject
    return node.iter if isinstance(node, ast.For | ast.AsyncFor) else None


def _read_inside(
    calls: Iterable[ast.Call],
    functions: Mapping[str, ast.AST],
) -> set[Name]:
    """Names that the file's functions which these calls run have from outside."""
    left = set[str]().union(*map(called_names, calls))
    seen, found = set[str](), set[Name]()
    while left:
        name = left.pop()
        if name in seen or name not in functions:
            continue
        seen.add(name)
        function = functions[name]
        left |= called_names(function)
        found |= names_in(function) - _local_in(function)
    return found


def _local_in(function: ast.AST) -> set[Name]:
    outer = declared_outer(nodes_in(function))
    return (arguments_in(function) | stored_in(function)) - outer
