"""The program's own files as a witness: on which line a cost lies, what is called there
with what, and how a call in the loop is tied to the step.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import msgspec

from tfadvisor.causes.compilable import HostWork, host_work
from tfadvisor.causes.source_files import SourceFiles
from tfadvisor.causes.witness import (
    Signature,
    Witness,
    called_in,
    defines,
    function_at,
    functions_around,
    last_name,
    line_of_call,
    line_within,
    outer_functions,
    signature,
    with_aliases,
    witness_of,
)
from tfadvisor.timeline.attribution import Spent
from tfadvisor.trace.noted_sources import NotedSource

ARGUMENT, RESULT, STEP = "argument", "result", "step"
"""How a call is tied to the step: it makes an argument of it, it reads its result and
gives nothing that is read, or it is the step. That it does neither no source can show:
it may change what the step reads elsewhere.
"""
_SHOWING = frozenset(
    "add_scalar debug format info log log_metrics report scalar set_description "
    "set_postfix set_postfix_str warning write writerow".split()
)
"""Methods that show or log what they are given."""
_MOST_SEARCHED = 200
"""Files; a program of more keeps its settings in few of them."""
_MOST_LINES = 4
"""Of a call that is shown."""
_LONGEST = 400
"""Characters of a line."""
Name = str
"""Of a variable, or `self.state` for an attribute."""


class Tie(msgspec.Struct, frozen=True):
    """How the call of a function is tied to the step."""

    tie: str
    """ARGUMENT, RESULT or STEP."""
    line: int
    """Where the loop calls it."""
    text: str
    """That line."""


class CalledInLoop(NamedTuple):
    """Where a loop calls a function beside a step."""

    file: str
    line: int
    may_feed_step: bool
    """Whether what the function gives may go into the step, through objects too."""


class ProgramSource:
    """What the program's files say of the places that a trace names."""

    def __init__(self, folder: Path | None, noted: Sequence[NotedSource] = ()) -> None:
        """As SourceFiles."""
        self.files = SourceFiles(folder, noted)
        self._lines: dict[tuple[str, int, str, str], int] = {}
        """Those that were asked for: each walks the whole file."""

    def tie(self, file: str, function: str, steps: frozenset[str]) -> Tie | None:
        """Of a function of the program in a file, as traces name both. steps: names of
        the compiled functions that a step calls.

        None where no loop of the file calls both the function and a step, or the file
        is not there or is there several times.
        """
        parsed = self.files.read(file)
        if parsed is None or not function:
            return None
        for loop in _loops(parsed.tree):
            found = _tie_in(loop, function, steps)
            if found is not None:
                tie, line = found
                return Tie(tie, line, parsed.lines[line - 1].strip())
        return None

    def called(self, function: str, step: str) -> CalledInLoop | None:
        """In the innermost loop that calls a function and a step by these names; None
        where none of the program's first files has one.
        """
        for parsed in self.files.first(_MOST_SEARCHED):
            for loop in _loops(parsed.tree):
                asked = _calls_of(loop, frozenset({function}))
                stepping = _calls_of(loop, frozenset({step}))
                if asked and stepping:
                    feeds = _may_feed(loop, asked, stepping) or _feeds_itself(
                        loop, asked
                    )
                    return CalledInLoop(parsed.file, asked[0].lineno, feeds)
        return None

    def calls_of(self, function: str) -> frozenset[tuple[str, int]]:
        """(file, line) of each call of a function in a loop of the program's first
        files.
        """
        return frozenset(
            (parsed.file, call.lineno)
            for parsed in self.files.first(_MOST_SEARCHED)
            for loop in _loops(parsed.tree)
            for call in _calls_of(loop, frozenset({function}))
        )

    def loop_calling(self, function: str) -> str:
        """The head of the loop that calls a function, and the lines of the call; ""
        where the program's first files have no such call, or several.
        """
        found: dict[tuple[str, int], str] = {}
        for parsed in self.files.first(_MOST_SEARCHED):
            for loop in _loops(parsed.tree):
                for call in _calls_of(loop, frozenset({function})):
                    place = parsed.file, call.lineno
                    found.setdefault(place, _shown(parsed.lines, loop, call))
        return next(iter(found.values())) if len(found) == 1 else ""

    def same_arguments(self, file: str, step: str, again: str) -> bool:
        """Whether each loop of a file that calls two functions once calls both on the
        same values, but for what the first one gives; False where none calls both.
        """
        parsed = self.files.read(file)
        found = []
        for loop in _loops(parsed.tree) if parsed is not None else ():
            first = _calls_of(loop, frozenset({step}))
            second = _calls_of(loop, frozenset({again}))
            if len(first) == len(second) == 1:
                found.append(_on_same(loop, first[0], second[0]))
        return bool(found) and all(found)

    def text_at(self, file: str, line: int | None) -> str:
        """A line without its indent, as far as it is shown; "" where it is not
        there.
        """
        parsed = self.files.read(file)
        if parsed is None or not 0 < (line or 0) <= len(parsed.lines):
            return ""
        return parsed.lines[(line or 0) - 1].strip()[:_LONGEST]

    def line_of(self, spent: Spent) -> int:
        """The line on which the program spends it: of the call that the trace names,
        where the function around it makes it on one line alone; else as the trace has
        it.
        """
        asked = spent.file, spent.line, spent.called, spent.detail
        if asked not in self._lines:
            self._lines[asked] = self._line_of(spent)
        return self._lines[asked]

    def _line_of(self, spent: Spent) -> int:
        parsed = self.files.read(spent.file) if spent.file else None
        if parsed is None:
            return spent.line
        inner = line_within(spent.called or spent.detail, spent.file)
        if inner is not None:
            return inner
        function = function_at(parsed.tree, spent.line)
        if function is None:  # samples name lines, not functions
            return spent.line
        names = with_aliases(parsed.tree, called_in(spent))
        return line_of_call(function, names) or spent.line

    def defines(self, name: str) -> bool:
        """Whether one of the first files defines a function of this name, or gives the
        name to what a call makes.
        """
        first = self.files.first(_MOST_SEARCHED)
        return any(defines(parsed.tree, name) for parsed in first)

    def outer_of(self, name: str) -> tuple[str, Signature] | None:
        """(file, function) inside of which one of the first files defines a function of
        this name; None where it is defined elsewhere too, or nowhere.
        """
        found = [
            (parsed.file, outer)
            for parsed in self.files.first(_MOST_SEARCHED)
            for outer in outer_functions(parsed.tree, name)
        ]
        only = found[0] if len(found) == 1 else None
        return None if only is None or only[1] is None else (only[0], only[1])

    def function_at(self, file: str, line: int) -> Signature | None:
        """The innermost function that holds a line; None outside of all."""
        parsed = self.files.read(file)
        around = functions_around(parsed.tree, line) if parsed is not None else []
        return signature(around[-1]) if around else None

    def host_work(self, file: str, line: int) -> HostWork:
        """What of the innermost function around a line no compiler does in each call;
        NONE for nothing.
        """
        parsed = self.files.read(file)
        around = functions_around(parsed.tree, line) if parsed is not None else []
        if not around:
            return HostWork(f"{file}:{line} lies in no function")
        return host_work(self.files, file, around[-1])

    def mentions(self, pattern: re.Pattern[str]) -> bool:
        """Whether a line of the first files has it before its comment."""
        return any(pattern.search(line) for line in self._lines_of_code)

    @cached_property
    def _lines_of_code(self) -> list[str]:
        found: list[str] = []
        for parsed in self.files.first(_MOST_SEARCHED):
            found += [line.partition("#")[0] for line in parsed.lines]
        return found

    def witness(self, spent: Spent) -> Witness | None:
        """What the source says of the call on that line; None where it is not known."""
        parsed = self.files.read(spent.file) if spent.file else None
        if parsed is None:
            return None
        names = with_aliases(parsed.tree, called_in(spent))
        return witness_of(parsed, self.line_of(spent), names)


def _shown(lines: Sequence[str], loop: ast.For | ast.While, call: ast.Call) -> str:
    """The loop's first line and those of the call, without their common indent."""
    first, last = call.lineno, (call.end_lineno or call.lineno)
    shown = lines[first - 1 : min(last, first + _MOST_LINES - 1)]
    indent = " " * (len(shown[0]) - len(shown[0].lstrip()))
    between = [f"{indent}..."] if first > loop.body[0].lineno else []
    head = [] if first == loop.lineno else [lines[loop.lineno - 1]]
    return textwrap.dedent("\n".join([*head, *between, *shown]).expandtabs(4))


def _loops(tree: ast.Module) -> Iterator[ast.For | ast.While]:
    """The innermost first: what a loop inside of another calls belongs to it."""
    found = [node for node in ast.walk(tree) if isinstance(node, ast.For | ast.While)]
    yield from sorted(found, key=lambda loop: -loop.lineno)


def _tie_in(
    loop: ast.For | ast.While, function: str, steps: frozenset[str]
) -> tuple[str, int] | None:
    """(tie, line of the call) of a function that the loop calls beside a step."""
    asked = _calls_of(loop, frozenset({function}))
    if not asked:
        return None
    line = asked[0].lineno
    if function in steps:
        return STEP, line
    stepping = _calls_of(loop, steps)
    if not stepping:
        return None

    if _gives(loop, asked, stepping):
        return ARGUMENT, line
    results = _roots(_made_by(loop, stepping))
    own = _roots({name for call in asked for name in _names(call)})
    if _may_change(own - results, stepping) or not _is_dropped(loop, asked):
        return None
    return (RESULT, line) if own & results else None


def _gives(loop: ast.AST, calls: list[ast.Call], steps: list[ast.Call]) -> bool:
    """Whether a step is given what the calls give, or what is made of it."""
    is_inside = any(_holds(step, call) for step in steps for call in calls)
    return is_inside or bool(_made_by(loop, calls) & _names_in_arguments(steps))


def _may_feed(
    loop: ast.For | ast.While, calls: list[ast.Call], steps: list[ast.Call]
) -> bool:
    """Whether a step may get what the calls give: as an argument, or out of an object
    that is given it, as a buffer of samples is.
    """
    made = _made_by(loop, calls)
    kept = _kept_in(loop, calls, made)
    needed = _needed(loop, steps)
    if not needed:  # it reads what is not written here
        return bool(kept)
    is_inside = any(_holds(step, call) for step in steps for call in calls)
    return is_inside or bool(_roots(made | kept) & _roots(needed))


def _feeds_itself(loop: ast.For | ast.While, calls: list[ast.Call]) -> bool:
    """Whether what the calls give goes into the next of them, as the state does of a
    second model that the loop trains.
    """
    made = _made_by(loop, calls)
    return bool(_roots(made) & _roots(_names_in_arguments(calls)))


def _kept_in(loop: ast.AST, calls: list[ast.Call], made: set[Name]) -> set[Name]:
    """Objects of which a method is given what the calls give or one of these values,
    but for what shows it.
    """
    kept: set[Name] = set()
    for node in ast.walk(loop):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        is_given = any(
            _names(value) & made or any(_is_within(call, value) for call in calls)
            for value in _values(node)
        )
        if is_given and node.func.attr not in _SHOWING:
            kept |= _names(node.func.value)
    return kept


def _needed(loop: ast.For | ast.While, steps: list[ast.Call]) -> set[Name]:
    """What the arguments of the steps are made of, and the object whose method a step
    is.
    """
    needed = _names_in_arguments(steps)
    for step in steps:
        if isinstance(step.func, ast.Attribute):
            needed |= _names(step.func.value)
    before: set[Name] = set()
    while needed != before:
        before = set(needed)
        for node in _assignments(loop):
            if _written(node) & needed:
                needed |= _names(node.value)
    return needed


def _may_change(names: set[Name], stepping: list[ast.Call]) -> bool:
    """Whether a call that is given these may change what the step is given: an array
    that it fills, an object whose attribute the step reads.
    """
    given = _names_in_arguments(stepping)
    return bool(names & _roots(given))


def _is_dropped(loop: ast.AST, calls: list[ast.Call]) -> bool:
    """Whether nothing reads what the calls give."""
    statements = [node.value for node in ast.walk(loop) if isinstance(node, ast.Expr)]
    return all(any(value is call for value in statements) for call in calls)


def _on_same(loop: ast.AST, step: ast.Call, again: ast.Call) -> bool:
    """Whether a later call gets a value that the step got, and besides only what the
    step gives.
    """
    given = set(map(ast.dump, _values(step)))
    results = _given_by(loop, step)
    touched = _touched_between(loop, step, again)
    others = [value for value in _values(again) if not _names(value) <= results]
    if step.lineno >= again.lineno or not others:
        return False
    return all(
        ast.dump(value) in given and _is_lasting(value) and not _names(value) & touched
        for value in others
    )


def _given_by(loop: ast.AST, call: ast.Call) -> set[Name]:
    """Variables that hold what a call gives."""
    holding = (node for node in _assignments(loop) if _is_within(call, node.value))
    return set().union(*map(_written, holding))


def _touched_between(loop: ast.AST, step: ast.Call, again: ast.Call) -> set[Name]:
    """Names of what is written or given to another call between two calls, so that it
    may be another value by then.
    """
    lines = range(step.lineno, again.lineno + 1)
    touching = (
        node
        for node in ast.walk(loop)
        if getattr(node, "lineno", 0) in lines and _may_write(node)
    )
    others = (
        node
        for node in touching
        if not (_is_within(step, node) or _is_within(again, node))
    )
    return set().union(*map(_names, others))


def _is_lasting(value: ast.AST) -> bool:
    """Whether an expression calls nothing, so that it gives the same again."""
    return not any(isinstance(node, ast.Call) for node in ast.walk(value))


def _is_within(inner: ast.AST, outer: ast.AST) -> bool:
    return inner is outer or _holds(outer, inner)


def _may_write(node: ast.AST) -> bool:
    is_store = isinstance(getattr(node, "ctx", None), ast.Store | ast.Del)
    return is_store or isinstance(node, ast.Call)


def _values(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def _roots(names: set[Name]) -> set[Name]:
    return {name.partition(".")[0] for name in names}


def _calls_of(loop: ast.AST, functions: frozenset[str]) -> list[ast.Call]:
    calls = (node for node in ast.walk(loop) if isinstance(node, ast.Call))
    return [call for call in calls if last_name(call) in functions]


def _holds(outer: ast.AST, inner: ast.AST) -> bool:
    return any(node is inner for node in ast.walk(outer) if node is not outer)


def _names_in_arguments(calls: list[ast.Call]) -> set[Name]:
    found: set[Name] = set()
    for call in calls:
        for value in _values(call):
            found.update(_names(value))
    return found


def _made_by(loop: ast.AST, calls: list[ast.Call]) -> set[Name]:
    """Variables that hold what the calls give, or what is made of it."""
    made: set[Name] = set()
    for node in _assignments(loop):
        if any(node.value is call or _holds(node.value, call) for call in calls):
            made |= _written(node)
    return _with_what_is_made_of(loop, made)


def _with_what_is_made_of(loop: ast.AST, made: set[Name]) -> set[Name]:
    """Assignments that read one of the variables make others of it, through calls too:
    what is cast, padded or put on a device is still of the batch.
    """
    known = set(made)
    for node in _assignments(loop):
        if _names(node.value) & known:
            known |= _written(node)
    return known


def _assignments(loop: ast.AST) -> Iterator[ast.Assign]:
    for node in ast.walk(loop):
        if isinstance(node, ast.Assign):
            yield node


def _written(node: ast.Assign) -> set[Name]:
    found: set[Name] = set()
    for target in node.targets:
        found |= _names(target)
    return found


def _names(node: ast.AST) -> set[Name]:
    """Variables and attributes that an expression reads or writes."""
    found: set[Name] = set()
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name):
            found.add(inner.id)
        elif isinstance(inner, ast.Attribute) and isinstance(inner.value, ast.Name):
            found.add(f"{inner.value.id}.{inner.attr}")
    return found - {"self", "np", "jnp", "jax", "tf"}
