"""The program's own files as a witness: on which line a cost lies, what is called there
with what, and how a call in the loop is tied to the step.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from tfadvisor.causes.account import RunPlace, RunShare
from tfadvisor.causes.answered import notes_failures
from tfadvisor.causes.arrays_of_values import makes_array
from tfadvisor.causes.call_in_loop import CallInLoop, call_in_loop
from tfadvisor.causes.called import last_name
from tfadvisor.causes.called_whole import CalledWhole, called_whole, is_in_loop
from tfadvisor.causes.compilable import HostWork, host_work
from tfadvisor.causes.compiled_again import CompiledAgain, of_a_maker
from tfadvisor.causes.compiled_in_objects import compiled_in_objects
from tfadvisor.causes.compiled_names import HostCalls, compiled_names
from tfadvisor.causes.costly_calls import CallsOfFile, MadeCall, Where
from tfadvisor.causes.eager_bodies import (
    EAGER_PROGRAMS,
    eager_body,
    run_while_traced,
)
from tfadvisor.causes.eager_ops import EagerOps, EagerSource, base_of, eager_ops
from tfadvisor.causes.frozen import Frozen, frozen_layers
from tfadvisor.causes.given_anew import Program, call_that_gives, given_anew
from tfadvisor.causes.graph_anew import graph_anew
from tfadvisor.causes.growing import Growing, growing_on
from tfadvisor.causes.hook_edits import HookEdit, done_on, every_nth, runs_seldom
from tfadvisor.causes.hooks import Hook, hooks_of
from tfadvisor.causes.indexed import Indexed, indexed_on
from tfadvisor.causes.loop_data import (
    asked_of,
    calls_of,
    feeds_itself,
    made_on,
    may_feed,
    on_same,
    runs_alone,
)
from tfadvisor.causes.loops_of_numbers import (
    calling_loop,
    compares,
    goes_on,
    is_of_numbers,
    loop_of_numbers,
)
from tfadvisor.causes.made_anew import (
    MadeAnew,
    called_again,
    made_and_given,
    made_anew,
    made_in_loop,
)
from tfadvisor.causes.metric_classes import (
    Thresholds,
    metric_class,
    metric_with_thresholds,
)
from tfadvisor.causes.model_anew import model_anew
from tfadvisor.causes.often_settings import OftenSetting, saved_often, validated_on
from tfadvisor.causes.one_after_another import OneAfterAnother, one_after_another
from tfadvisor.causes.optimizers_anew import optimizer_anew
from tfadvisor.causes.picture_order import PictureOrder
from tfadvisor.causes.pipeline_maps import (
    PipelineGenerator,
    PipelineMap,
    pipeline_generators,
    pipeline_maps,
    pipeline_pictures,
)
from tfadvisor.causes.python_numbers import NumberGiven, number_given
from tfadvisor.causes.range_index import RangeIndex, range_index
from tfadvisor.causes.read_each_round import ReadEachRound, read_each_round
from tfadvisor.causes.rounds import Rounds, rounds_of
from tfadvisor.causes.row_by_row import RowByRow, row_by_row
from tfadvisor.causes.rows_at_once import RowsAtOnce, rows_at_once
from tfadvisor.causes.runs_once import runs_once
from tfadvisor.causes.source_files import ParsedFile, SourceFiles
from tfadvisor.causes.static_objects import static_object
from tfadvisor.causes.ties import Tied, tie_of
from tfadvisor.causes.unchanged import Unchanged, unchanged_arguments
from tfadvisor.causes.unrolled_loops import UnrolledLoop, compiled_on, unrolled_loop
from tfadvisor.causes.walked import Function, Loop, calls_in, covers, loops
from tfadvisor.causes.whole_for_one import WholeForOne, whole_for_one
from tfadvisor.causes.witness import (
    Signature,
    Witness,
    called_in,
    defines,
    element_loop,
    function_around,
    function_at,
    head_of,
    line_of_call,
    line_within,
    signature,
    with_aliases,
    witness_of,
)
from tfadvisor.printable import cut
from tfadvisor.timeline.attribution import Spent
from tfadvisor.trace.noted_sources import NotedSource

_MOST_SEARCHED = 200
"""Files; a program of more keeps its settings in few of them."""
_MOST_LINES = 4
_WIDEST = 100
"""Characters of each of them."""
"""Of a call that is shown."""
_LONGEST = 400
"""Characters of a line."""


class Tie(msgspec.Struct, frozen=True):
    """How the call of a function is tied to the step."""

    tie: str
    """ARGUMENT, RESULT or STEP."""
    line: int
    """Where the loop calls it."""
    text: str
    """That line."""
    file: str = ""
    """Of the program."""
    tied: Tied | None = None
    """All that is known of it."""


class CalledInLoop(NamedTuple):
    """Where a loop calls a function beside a step."""

    file: str
    line: int
    may_feed_step: bool
    """Whether what the function gives may go into the step, through objects too."""


@notes_failures
class ProgramSource:
    """What the program's files say of the places that a trace names."""

    def __init__(
        self,
        place: Path | None,
        noted: Sequence[NotedSource] = (),
    ) -> None:
        """As SourceFiles."""
        self.files = SourceFiles(place, noted)
        self.unread = self.files.unread
        """What is not known of it, in sentences."""
        self._lines: dict[tuple[str, int, str, str], int] = {}
        """Those that were asked for: each walks the whole file."""
        self._host_work: dict[tuple[str, int], HostWork] = {}
        self._calls: dict[str, HostCalls] = {}
        self._costly: dict[str, CallsOfFile] = {}

    def tie(
        self,
        file: str,
        function: str,
        steps: frozenset[str],
        at: int = 0,
    ) -> Tie | None:
        """Of a function of the program in a file, as traces name both. steps: names of
        the compiled functions that a step calls. at: the line of the function; 0 for
        unknown.

        None where no loop of the file calls both the function, or one that calls it,
        and a step, or the file is not there or is there several times.
        """
        parsed = self.files.read(file)
        if parsed is None:
            return None
        tied = tie_of(parsed, function, at, steps, self._compiled)
        if tied is None:
            return None
        text = parsed.lines[tied.line - 1].strip()
        return Tie(tied.tie, tied.line, text, parsed.file, tied)

    def compiles(self, function: str) -> bool:
        """Whether one of the first files compiles a function of this name."""
        return function in self._compiled

    def called(
        self,
        function: str,
        step: str,
    ) -> CalledInLoop | None:
        """In the innermost loop that calls a function and a step by these names; None
        where none of the program's first files has one.
        """
        for parsed in self.files.first(_MOST_SEARCHED):
            for loop in loops(parsed.tree):
                asked = calls_of(loop, {function})
                stepping = calls_of(loop, {step})
                if asked and stepping:
                    feeds = may_feed(loop, asked, stepping) or feeds_itself(loop, asked)
                    return CalledInLoop(parsed.file, asked[0].lineno, feeds)
        return None

    def calls_of(self, function: str) -> frozenset[tuple[str, int]]:
        """(file, line) of each call of a function in a loop of the program's first
        files.
        """
        return frozenset(
            (parsed.file, call.lineno)
            for parsed in self.files.first(_MOST_SEARCHED)
            for loop in loops(parsed.tree)
            for call in calls_of(loop, {function})
        )

    def loop_calling(self, function: str) -> str:
        """The head of the loop that calls a function, and the lines of the call; ""
        where the program's first files have no such call, or several.
        """
        found: dict[tuple[str, int], str] = {}
        for parsed in self.files.first(_MOST_SEARCHED):
            for loop in loops(parsed.tree):
                for call in calls_of(loop, {function}):
                    place = parsed.file, call.lineno
                    found.setdefault(place, _shown(parsed.lines, loop, call))
        return next(iter(found.values())) if len(found) == 1 else ""

    def asked_of(self, step: str) -> tuple[str, str, int]:
        """(text, file, line) of what the innermost loop around a step asks of its
        results in each round; text is "" where it asks nothing.
        """
        for file, loop, stepping in self._around(step):
            asked = asked_of(loop, stepping)
            if asked is not None:
                return ast.unparse(asked), file, asked.lineno
        return "", "", 0

    def runs_alone(self, step: str) -> bool:
        """Whether the innermost loop around a step does nothing but its rounds."""
        return any(runs_alone(loop, calls) for _, loop, calls in self._around(step))

    def driven_rounds(self, step: str) -> Rounds | None:
        """The first loop around a step, where that and each other one does nothing but
        its rounds; of the first file that calls the step in a loop.
        """
        for parsed in self.files.first(_MOST_SEARCHED):
            found = rounds_of(parsed, step, self._is_pure(parsed.file))
            if found:
                return found[0] if all(found) else None
        return None

    def row_by_row(self, compiled: str) -> tuple[str, RowByRow] | None:
        """The file and the call in it, of the first files that call it in a loop."""
        for parsed in self.files.first(_MOST_SEARCHED):
            found = row_by_row(parsed, compiled)
            if found is not None:
                return parsed.file, found
        return None

    def rows_within(self, function: str) -> RowByRow | None:
        """The first such call in a function of the first files, of what is compiled."""
        for parsed in self.files.first(_MOST_SEARCHED):
            inside = parsed.names.functions.get(function)
            host = self._host_calls(parsed)
            for call in () if inside is None else calls_in(inside):
                name = last_name(call)
                found = row_by_row(parsed, name) if host.is_compiled(name) else None
                if found is not None and found.line == call.lineno:
                    return found
        return None

    def _is_pure(self, file: str) -> Callable[[Function], bool]:
        return lambda function: not host_work(self.files, file, function).what

    def _around(self, step: str) -> list[tuple[str, Loop, list[ast.Call]]]:
        """(file, innermost loop, its calls of the step), one at most."""
        for parsed in self.files.first(_MOST_SEARCHED):
            for loop in loops(parsed.tree):
                stepping = calls_of(loop, {step})
                if stepping:
                    return [(parsed.file, loop, stepping)]
        return []

    def runs_on_host(
        self,
        file: str,
        line: int,
    ) -> bool:
        """Whether all that is called on a line runs on the host, so that nothing there
        dispatches, or waits for a device, without a frame of its own.
        """
        parsed = self.files.read(file)
        return parsed is not None and self._host_calls(parsed).are_all_on(line)

    def _host_calls(self, parsed: ParsedFile) -> HostCalls:
        if parsed.file not in self._calls:
            self._calls[parsed.file] = HostCalls(parsed, self._compiled)
        return self._calls[parsed.file]

    def can_be_made_ahead(
        self,
        file: str,
        line: int,
        function: str,
        step_lines: frozenset[int],
    ) -> bool:
        """Whether what a loop makes on a line goes into a step of the same loop, and of
        nothing that a step gives. function: of the program, that it calls there; "" for
        none. step_lines: that run or call what is compiled, beside what they do on the
        host.
        """
        parsed = self.files.read(file)
        if parsed is None or function in self._compiled:
            return False
        host = self._host_calls(parsed)

        def is_step(call: ast.Call) -> bool:
            on_line = call.lineno in step_lines and host.may_dispatch(call)
            return on_line or last_name(call) in self._compiled

        for loop in (loop for loop in loops(parsed.tree) if covers(loop, line)):
            making = made_on(loop, line, function, self._compiled)
            steps = making.steps_of(loop, is_step)
            if steps:
                return making.goes_into(loop, steps) and not making.comes_of(
                    loop, steps, parsed.names
                )
        return False

    @cached_property
    def _compiled(self) -> frozenset[str]:
        """As compiled_names."""
        parsed = self.files.first(_MOST_SEARCHED)
        return compiled_names([file.tree for file in parsed])

    def same_arguments(
        self,
        file: str,
        step: str,
        again: str,
    ) -> bool:
        """Whether each loop of a file that calls two functions once calls both on the
        same values, but for what the first one gives; False where none calls both.
        """
        parsed = self.files.read(file)
        found = []
        for loop in loops(parsed.tree) if parsed is not None else ():
            first = calls_of(loop, {step})
            second = calls_of(loop, {again})
            if len(first) == len(second) == 1:
                found.append(on_same(loop, first[0], second[0]))
        return bool(found) and all(found)

    def text_at(
        self,
        file: str,
        line: int | None,
    ) -> str:
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

    def calls_method(self, name: str) -> bool:
        """Whether one of the first files calls a method or a module's function of this
        name.
        """
        return any(
            isinstance(call.func, ast.Attribute) and call.func.attr == name
            for parsed in self.files.first(_MOST_SEARCHED)
            for call in calls_in(parsed.tree)
        )

    def function_at(
        self,
        file: str,
        line: int,
    ) -> Signature | None:
        """The innermost function that holds a line; None outside of all."""
        parsed = self.files.read(file)
        found = None if parsed is None else function_around(parsed.tree, line)
        return None if found is None else signature(found)

    def made_anew(
        self,
        file: str,
        line: int,
        compiled: str = "",
        *,
        is_step: bool = False,
    ) -> MadeAnew | None:
        """The compiled function that a function around a line makes in each of its
        calls, which a loop of the program brings on. compiled: its name in the trace,
        "" for any. is_step: whether that may be the step, which a loop of the function
        calls.
        """
        parsed = self.files.read(file)
        if parsed is None:
            return None
        found = made_anew(parsed, line, compiled, but_in_loops=is_step)
        if found is not None and found.around.name in self._called_again:
            return found
        return made_in_loop(parsed, line, compiled)

    def compiled_again(
        self,
        file: str,
        line: int,
        compiled: str = "",
        *,
        is_step: bool = False,
    ) -> CompiledAgain | None:
        """As made_anew, and objects that a compiled method is static in, and bodies of
        loops and branches that no compiled function holds, and what a compiled function
        is given.
        """
        parsed = self.files.read(file)
        made = self.made_anew(file, line, compiled, is_step=is_step)
        if made is not None or parsed is None:
            return None if made is None else of_a_maker(made)
        files, again = self.files.first(_MOST_SEARCHED), self._called_again
        found = static_object(files, parsed, line, compiled, again)
        found = found or compiled_in_objects(files, parsed, line, compiled, again)
        found = found or self._given_anew(parsed, line, compiled)
        found = found or optimizer_anew(files, parsed, line, compiled)
        found = found or self._eager_body(parsed, line, compiled)
        return found or self._made_and_given(parsed, line, compiled)

    def _made_and_given(
        self, parsed: ParsedFile, line: int, compiled: str
    ) -> CompiledAgain | None:
        """What a function makes that a loop comes to, and gives to its caller: by its
        name, else of what the line calls.
        """
        on_line = (call for call in calls_in(parsed.tree) if covers(call, line))
        names = {compiled} if compiled else {last_name(call) for call in on_line}
        for name in sorted(names - {""}):
            for file in self.files.first(_MOST_SEARCHED):
                made = made_and_given(file, name)
                if made is not None and made.around.name in self._called_again:
                    return of_a_maker(made)
        return None

    def model_anew(
        self, file: str, lines: set[int], maker: str = ""
    ) -> CompiledAgain | None:
        """The model of Keras that lines of a file make, or predict with, where each
        call or round makes a new one. maker: the function that gives it, "" for any.
        """
        program = Program(self.files.first(_MOST_SEARCHED), self._called_again)
        return model_anew(program, file, lines, maker)

    def graph_anew(self, file: str, lines: Sequence[int]) -> CompiledAgain | None:
        """The graph or session of TensorFlow that what holds lines of a file, or is
        called on them, makes again and again.
        """
        program = Program(self.files.first(_MOST_SEARCHED), self._called_again)
        return graph_anew(program, file, lines)

    def _given_anew(
        self, parsed: ParsedFile, line: int, compiled: str
    ) -> CompiledAgain | None:
        """compiled: "" for what no trace names, which a compiled function may hold."""
        function = function_around(parsed.tree, line)
        is_traced = function is not None and function.name in self._run_while_traced
        if not compiled and is_traced:
            return None
        program = Program(self.files.first(_MOST_SEARCHED), self._called_again)
        is_whole = function is not None and not (
            function.decorator_list or self.host_work(parsed.file, line).what
        )
        return given_anew(program, parsed, line, compiled, is_whole=is_whole)

    def call_that_gives(self, file: str, line: int, by: str) -> str | None:
        """As of the innermost function around a line; None outside of all."""
        parsed = self.files.read(file)
        function = None if parsed is None else function_around(parsed.tree, line)
        if parsed is None or function is None:
            return None
        program = Program(self.files.first(_MOST_SEARCHED), self._called_again)
        return call_that_gives(program, parsed, function, by)

    def _eager_body(
        self, parsed: ParsedFile, line: int, compiled: str
    ) -> CompiledAgain | None:
        """compiled: "" for what no trace names, which a compiled function may hold."""
        found = self.function_at(parsed.file, line)
        is_traced = found is not None and found.name in self._run_while_traced
        if compiled not in EAGER_PROGRAMS and (compiled or is_traced):
            return None
        return eager_body(parsed, line, self._called_again)

    def number_given(self, compiled: str) -> NumberGiven | None:
        """As of the first files."""
        return number_given(self.files.first(_MOST_SEARCHED), compiled)

    def saved_often(self, file: str, line: int) -> OftenSetting | None:
        """As of the first files; None where the file is not there."""
        parsed = self.files.read(file)
        files = self.files.first(_MOST_SEARCHED)
        return None if parsed is None else saved_often(files, parsed, line)

    def validated_on(self, file: str, line: int) -> OftenSetting | None:
        """As of the file; None where that is not there."""
        parsed = self.files.read(file)
        return None if parsed is None else validated_on(parsed, line)

    def growing_on(self, file: str, line: int) -> Growing | None:
        """What a line reads that is longer in each round of a loop."""
        parsed = self.files.read(file)
        if parsed is None:
            return None
        return growing_on(self.files.first(_MOST_SEARCHED), parsed, line)

    @cached_property
    def _run_while_traced(self) -> frozenset[str]:
        return run_while_traced(self.files.first(_MOST_SEARCHED))

    @cached_property
    def _called_again(self) -> frozenset[str]:
        return called_again(self.files.first(_MOST_SEARCHED))

    def host_work(
        self,
        file: str,
        line: int,
    ) -> HostWork:
        """What of the innermost function around a line no compiler does in each call;
        NONE for nothing.
        """
        asked = file, line
        if asked not in self._host_work:
            self._host_work[asked] = self._work_at(file, line)
        return self._host_work[asked]

    def _work_at(
        self,
        file: str,
        line: int,
    ) -> HostWork:
        parsed = self.files.read(file)
        function = None if parsed is None else function_around(parsed.tree, line)
        if function is None:
            return HostWork(f"{file}:{line} lies in no function")
        return host_work(self.files, file, function)

    def call_in_loop(self, file: str, line: int) -> CallInLoop | None:
        """The statement on a line of a loop, if it only calls what can be compiled."""
        parsed = self.files.read(file)
        return None if parsed is None else call_in_loop(parsed, line)

    def called_whole(self, file: str, line: int, method: str) -> CalledWhole | None:
        """As of the file; None where that is not there."""
        parsed = self.files.read(file)
        return None if parsed is None else called_whole(parsed, line, method)

    def base_at(self, file: str, line: int) -> str:
        """As base_of the method around a line; "" for none."""
        parsed = self.files.read(file)
        found = None if parsed is None else function_around(parsed.tree, line)
        return "" if parsed is None or found is None else base_of(parsed, found)

    def is_in_loop(self, file: str, line: int) -> bool:
        """As of the file; False where that is not there."""
        parsed = self.files.read(file)
        return parsed is not None and is_in_loop(parsed, line)

    def element_loop(self, file: str, line: int) -> str:
        """The head of the innermost loop over elements around a line in its function,
        which calls nothing compiled and of no framework: `for row in rows`; "" where
        there is none.
        """
        parsed = self.files.read(file)
        loop = None if parsed is None else element_loop(parsed.tree, line)
        if isinstance(loop, ast.While) and parsed and compares(parsed, line):
            loop = element_loop(parsed.tree, loop.lineno)  # that has such rounds
        if parsed is None or loop is None or isinstance(loop, ast.While):
            return ""
        host = self._host_calls(parsed)
        if any(host.is_on_devices(call) for call in calls_in(loop)):
            return ""
        return head_of(loop)

    def read_each_round(self, file: str, line: int) -> ReadEachRound | None:
        """As of the file; None where that is not there."""
        parsed = self.files.read(file)
        if parsed is None:
            return None
        return read_each_round(parsed, line, self._host_calls(parsed))

    def one_after_another(self, function: str) -> OneAfterAnother | None:
        """As of the first of the first files that shows it."""
        found = (
            one_after_another(parsed, function, self._host_calls(parsed))
            for parsed in self.files.first(_MOST_SEARCHED)
        )
        return next(filter(None, found), None)

    def metric_class(self, file: str, line: int) -> str:
        """As of the file; "" where that is not there."""
        parsed = self.files.read(file)
        return "" if parsed is None else metric_class(parsed, line)

    @cached_property
    def metric_with_thresholds(self) -> Thresholds | None:
        """As of the first files."""
        return metric_with_thresholds(self.files.first(_MOST_SEARCHED))

    def loop_of_numbers(self, file: str, line: int) -> str:
        """As of the file; "" where that is not there."""
        parsed = self.files.read(file)
        return "" if parsed is None else loop_of_numbers(parsed, line)

    def calling_loop(self, file: str, line: int) -> str:
        """As of the file; "" where that is not there."""
        parsed = self.files.read(file)
        return "" if parsed is None else calling_loop(parsed, line)

    def goes_on(self, file: str, line: int) -> bool:
        """As of the file; False where that is not there."""
        parsed = self.files.read(file)
        return parsed is not None and goes_on(parsed, line)

    def is_of_numbers(self, file: str, line: int) -> bool:
        """As of the file; False where that is not there."""
        parsed = self.files.read(file)
        return parsed is not None and is_of_numbers(parsed, line)

    def makes_array(self, file: str, line: int) -> bool:
        """As of the file; False where that is not there."""
        parsed = self.files.read(file)
        return parsed is not None and makes_array(parsed, line)

    def rows_at_once(self, file: str, line: int) -> RowsAtOnce | None:
        """As of the file; None where that is not there."""
        parsed = self.files.read(file)
        return None if parsed is None else rows_at_once(parsed, line)

    def range_index(self, file: str, line: int) -> RangeIndex | None:
        """As of the file; None where that is not there."""
        parsed = self.files.read(file)
        return None if parsed is None else range_index(parsed, line)

    def costly_call(
        self,
        file: str,
        line: int,
        where: Where,
        paths: str = "",
        *,
        around: bool = False,
    ) -> MadeCall | None:
        """As CallsOfFile.made_on; None where the file is not there."""
        if file not in self._costly:
            parsed = self.files.read(file)
            if parsed is None:
                return None
            self._costly[file] = CallsOfFile(parsed)
        return self._costly[file].made_on(line, where, paths, around=around)

    def indexed(self, file: str, line: int) -> Indexed | None:
        """The part of an array, which may lie on a device, that a line takes with an
        index of the loop around it; None for none.
        """
        parsed = self.files.read(file)
        if parsed is None:
            return None
        return indexed_on(parsed, line, self._host_calls(parsed))

    def eager_ops(
        self, at: Sequence[RunShare], within: Sequence[RunPlace], framework: str
    ) -> EagerOps | None:
        """As eager_ops of what Python runs op by op."""

        def work(file: str, function: Function) -> HostWork:
            return host_work(self.files, file, function)

        with_text = [
            replace(place, text=place.text or self.text_at(place.file, place.line))
            for place in within
        ]
        known = EagerSource(self.files, self._host_calls, work, framework)
        return eager_ops(known, at, with_text)

    def unchanged_arguments(
        self, function: str, names: frozenset[str]
    ) -> Unchanged | None:
        """As of the first files."""
        return unchanged_arguments(self.files.first(_MOST_SEARCHED), function, names)

    def unrolled_on(self, file: str, line: int) -> UnrolledLoop | None:
        """The Python loop that a compiled function which a line calls goes through
        while it is traced; None for none.
        """
        parsed = self.files.read(file)
        if parsed is None:
            return None
        files = self.files.first(_MOST_SEARCHED)
        names = sorted(compiled_on(files, parsed, line))
        loops = (unrolled_loop(files, name) for name in names)
        return next(filter(None, loops), None)

    def runs_once(self, file: str, line: int) -> bool:
        """Whether the files show that no more than one call of the program comes to a
        line, and no loop.
        """
        parsed = self.files.read(file)
        if parsed is None:
            return False
        return runs_once(self.files.first(_MOST_SEARCHED), parsed, line)

    @cached_property
    def frozen_layers(self) -> Frozen | None:
        """As of the first files."""
        return frozen_layers(self.files.first(_MOST_SEARCHED))

    @cached_property
    def whole_for_one(self) -> WholeForOne | None:
        """As of the first files."""
        return whole_for_one(self.files.first(_MOST_SEARCHED))

    @cached_property
    def pipeline_maps(self) -> tuple[PipelineMap, ...]:
        """As of the first files."""
        return pipeline_maps(self.files.first(_MOST_SEARCHED))

    @cached_property
    def pipeline_pictures(self) -> tuple[PictureOrder, ...]:
        """As of the first files."""
        return pipeline_pictures(self.files.first(_MOST_SEARCHED))

    @cached_property
    def pipeline_generators(self) -> tuple[PipelineGenerator, ...]:
        """As of the first files."""
        return pipeline_generators(self.files.first(_MOST_SEARCHED))

    def mentions(self, pattern: re.Pattern[str]) -> bool:
        """Whether a line of the first files has it before its comment."""
        return any(pattern.search(line) for line in self._lines_of_code)

    @cached_property
    def _lines_of_code(self) -> list[str]:
        found: list[str] = []
        for parsed in self.files.first(_MOST_SEARCHED):
            found += [line.partition("#")[0] for line in parsed.lines]
        return found

    @cached_property
    def _hooks(self) -> tuple[Hook, ...]:
        return hooks_of(self.files.first(_MOST_SEARCHED))

    def hook_at(self, file: str, line: int) -> Hook | None:
        """The function around a line that a training loop calls around its batches, and
        of which it takes nothing back; None where there is none, or the line runs for
        some of the batches already.
        """
        for hook in self._hooks:
            if hook.holds(file, line):
                own = hook.line_in(file, line)
                return None if own is None or runs_seldom(hook, own) else hook
        return None

    def done_by_hook(self, hook: Hook, file: str, line: int) -> str:
        """As done_on."""
        return done_on(hook, file, line)

    def hook_edit(self, hook: Hook, at: Sequence[tuple[str, int]]) -> HookEdit | None:
        """As every_nth of the lines of the hook that come to these, by file."""
        lines = [hook.line_in(file, line) for file, line in at]
        return every_nth(hook, [line for line in lines if line is not None])

    def witness(self, spent: Spent) -> Witness | None:
        """What the source says of the call on that line; None where it is not known."""
        parsed = self.files.read(spent.file) if spent.file else None
        if parsed is None:
            return None
        names = with_aliases(parsed.tree, called_in(spent))
        return witness_of(parsed, self.line_of(spent), names)


def _shown(
    lines: Sequence[str],
    loop: ast.For | ast.While,
    call: ast.Call,
) -> str:
    """The loop's first line and those of the call, without their common indent."""
    first, last = call.lineno, (call.end_lineno or call.lineno)
    shown = lines[first - 1 : min(last, first + _MOST_LINES - 1)]
    indent = " " * (len(shown[0]) - len(shown[0].lstrip()))
    between = [f"{indent}..."] if first > loop.body[0].lineno else []
    head = [] if first == loop.lineno else [lines[loop.lineno - 1]]
    text = textwrap.dedent("\n".join([*head, *between, *shown]).expandtabs(4))
    return "\n".join(cut(line, _WIDEST) for line in text.split("\n"))
