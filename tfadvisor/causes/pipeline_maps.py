"""The maps of a program's tf.data pipelines as its files write them: what stands before
each and behind it, and whether it gives the same in each epoch.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tfadvisor.causes.called import last_name
from tfadvisor.causes.epochs import runs_epochs
from tfadvisor.causes.picture_order import (
    PictureCall,
    PictureOrder,
    kind_of,
    picture_orders,
)
from tfadvisor.causes.same_each_time import Mapped, SameEachTime
from tfadvisor.causes.source_files import ParsedFile
from tfadvisor.causes.unchanged import Program
from tfadvisor.causes.walked import (
    Function,
    calls_in,
    functions_in,
    nodes_in,
    own_nodes,
)

_READS = re.compile(r"\A(?:open|load\w*|i?m?read\w*|from_?file|File)\Z")
"""Functions that read a file."""
_DEEPEST = 4
"""Functions that make pipelines of each other's."""
_BATCHES = frozenset({"batch", "padded_batch", "ragged_batch", "rebatch"})
_OF_DATASETS = _BATCHES | frozenset(
    "as_numpy_iterator interleave prefetch repeat take unbatch".split()
)
_MIXES = frozenset(
    "choose_from_datasets rejection_resample sample_from_datasets random".split()
)
"""They draw what they give."""
_CUTS = frozenset({"take", "skip", "take_while", "shard"}) | _BATCHES
"""Behind a shuffle they give other elements, or batches, in each epoch."""
_CHEAP = frozenset(
    "abs add cast clip_by_value concat constant divide equal exp greater less log "
    "log1p maximum minimum multiply negative not_equal one_hot ones_like pow round "
    "rsqrt sigmoid sign sqrt square squeeze stack subtract tanh truediv where "
    "zeros_like expand_dims relu convert_to_tensor".split()
)
"""Functions of TensorFlow that work on each element alone, or put a few together."""


class PipelineMap(NamedTuple):
    """A call of map."""

    file: str
    line: int
    function: str
    """What it calls for each element; "" for a lambda."""
    code: str
    """That, as the file writes it."""
    reaches: frozenset[str]
    """The functions of the program's files that it calls."""
    is_same: bool
    """Whether it gives the same in each epoch, of elements that are the same."""
    comes_again: bool
    """Whether the source runs several epochs over it, or repeats it, and has no cache
    before it or behind.
    """
    feeds_batch: bool
    """Whether a batch stands behind it, and none before it."""
    is_cheap: bool
    """Whether it works on numbers one by one alone."""


class PipelineGenerator(NamedTuple):
    """A Python generator that is a pipeline's source."""

    file: str
    line: int
    function: str
    code: str
    """That, as the file writes it."""
    is_same: bool
    """Whether it gives the same elements in each epoch, if in another order."""
    comes_again: bool
    reads_files: bool


class _Stage(NamedTuple):
    name: str
    call: ast.Call
    parsed: ParsedFile


_Flow = tuple[_Stage, ...]


def pipeline_maps(files: Sequence[ParsedFile]) -> tuple[PipelineMap, ...]:
    """Of all files, each call once."""
    try:
        return tuple(_Maps(files).maps())
    except RecursionError:  # of an expression that no person writes
        return ()


def pipeline_generators(files: Sequence[ParsedFile]) -> tuple[PipelineGenerator, ...]:
    """As pipeline_maps, of calls of from_generator."""
    try:
        return tuple(_Maps(files).generators())
    except RecursionError:
        return ()


def pipeline_pictures(files: Sequence[ParsedFile]) -> tuple[PictureOrder, ...]:
    """In which order the maps of a pipeline would compute less of pictures."""
    try:
        return tuple(_Maps(files).pictures())
    except RecursionError:
        return ()


class _Maps:
    def __init__(self, files: Sequence[ParsedFile]) -> None:
        self._program = Program(files)
        self._same = SameEachTime(files)
        self._elements = SameEachTime(files, any_order=True)
        self._again = runs_epochs(self._program)
        self._returned: dict[ast.AST, list[_Flow]] = {}
        self._flows: list[_Flow] = []
        for parsed in files:
            for scope in (*functions_in(parsed.tree), parsed.tree):
                self._read(scope, parsed, 0)

    # What stands behind what.

    def _read(
        self, scope: Function | ast.Module, parsed: ParsedFile, depth: int
    ) -> list[_Flow]:
        """The pipelines that a function gives; notes all that a scope makes."""
        if scope in self._returned or depth > _DEEPEST:
            return self._returned.get(scope, [])
        self._returned[scope] = []
        known: dict[str, _Flow] = {}
        for node in own_nodes(scope):
            if isinstance(node, ast.stmt) and not isinstance(node, Function):
                self._note(node, known, parsed, depth)
                self._bind(node, known, parsed, depth)
            if isinstance(node, ast.Return) and node.value is not None:
                found = self._of_value(node.value, known, parsed, depth)
                self._returned[scope] = found
        return self._returned[scope]

    def _note(
        self, node: ast.stmt, known: dict[str, _Flow], parsed: ParsedFile, depth: int
    ) -> None:
        for expression in _expressions(node):
            for call in calls_in(expression):
                flow = self._flow(call, known, parsed, depth)
                self._flows += [flow] if flow else []

    def _bind(
        self, node: ast.stmt, known: dict[str, _Flow], parsed: ParsedFile, depth: int
    ) -> None:
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            flows = self._of_value(node.value, known, parsed, depth)
            for target, flow in zip(_parts(node.targets[0]), flows, strict=False):
                known[ast.unparse(target)] = flow

    def _of_value(
        self, value: ast.expr, known: dict[str, _Flow], parsed: ParsedFile, depth: int
    ) -> list[_Flow]:
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
            return self._given(value.func.id, depth)
        return [self._flow(each, known, parsed, depth) for each in _parts(value)]

    def _given(self, name: str, depth: int) -> list[_Flow]:
        defined = self._same.definition(name)
        return [] if defined is None else self._read(*defined, depth + 1)

    def _flow(
        self, node: ast.expr, known: dict[str, _Flow], parsed: ParsedFile, depth: int
    ) -> _Flow:
        stages: list[_Stage] = []
        while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            stages.append(_Stage(node.func.attr, node, parsed))
            node = node.func.value
        before: _Flow = ()
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            before = next(iter(self._given(node.func.id, depth)), ())
        elif isinstance(node, ast.Name | ast.Attribute):
            before = known.get(ast.unparse(node), ())
        return (*before, *stages[::-1])

    # What is known of each.

    def maps(self) -> Iterator[PipelineMap]:
        for call, flow in self._longest(_is_map).items():
            at = next(i for i, stage in enumerate(flow) if stage.call is call)
            found = self._mapped(call.args[0], flow[at].parsed)
            if found is None:
                continue
            mapped, defined_in = found
            parsed, name = flow[at].parsed, _name_of(call.args[0])
            before = [stage.name for stage in flow[:at]]
            behind = [stage.name for stage in flow[at + 1 :]]
            reaches = self._reached(mapped)
            yield PipelineMap(
                parsed.file,
                _line_of(call),
                name,
                ast.unparse(call.args[0]),
                reaches,
                is_same=self._same.gives_same(mapped, defined_in)
                and self._same_before(flow[:at]),
                comes_again=self._comes_again(call, flow, parsed),
                feeds_batch=not _BATCHES.isdisjoint(behind)
                and _BATCHES.isdisjoint(before),
                is_cheap=_is_cheap(mapped, defined_in) and len(reaches) <= 1,
            )

    def generators(self) -> Iterator[PipelineGenerator]:
        for call, flow in self._longest(_is_generator).items():
            at = next(i for i, stage in enumerate(flow) if stage.call is call)
            given = _generator_of(call)
            found = None if given is None else self._mapped(given, flow[at].parsed)
            if given is None or found is None:
                continue
            mapped, defined_in = found
            yield PipelineGenerator(
                defined_in.file,
                mapped.lineno,
                _name_of(given),
                ast.unparse(given) if _name_of(given) else "generate",
                is_same=self._elements.gives_same(mapped, defined_in),
                comes_again=self._comes_again(call, flow, flow[at].parsed),
                reads_files=any(map(_reads_files, self._called_in(mapped))),
            )

    def pictures(self) -> Iterator[PictureOrder]:
        """Of each pipeline, as far as it goes."""
        flows = {flow[0].call: flow for flow in sorted(self._flows, key=len) if flow}
        for flow in flows.values():
            calls = [
                each
                for stage in flow
                if _is_map(stage.call)
                for each in self._pictures_of(stage)
            ]
            yield from picture_orders(calls)

    def _pictures_of(self, stage: _Stage) -> Iterator[PictureCall]:
        found = self._mapped(stage.call.args[0], stage.parsed)
        if found is not None:
            yield from self._picture_calls(*found, 0)

    def _picture_calls(
        self, mapped: Mapped, parsed: ParsedFile, depth: int
    ) -> Iterator[PictureCall]:
        """In the order in which they end, with those of functions that it calls."""
        name = mapped.name if isinstance(mapped, Function) else ""
        for call in sorted(calls_in(mapped), key=_end_of):
            kind = kind_of(parsed.names.called(call).path)
            if kind:
                yield PictureCall(kind, call, parsed.file, name)
                continue
            defined = self._same.definition(last_name(call))
            if defined is not None and depth < _DEEPEST:
                yield from self._picture_calls(*defined, depth + 1)

    def _longest(self, wanted: object) -> dict[ast.Call, _Flow]:
        """By each such call of a dataset the pipeline with most stages."""
        found: dict[ast.Call, _Flow] = {}
        for flow in self._flows:
            for stage in flow if any(map(_is_of_dataset, flow)) else ():
                is_wanted = wanted(stage.call)  # type: ignore[operator]
                if is_wanted and len(flow) > len(found.get(stage.call, ())):
                    found[stage.call] = flow
        return dict(sorted(found.items(), key=lambda item: item[0].lineno))

    def _mapped(
        self, given: ast.expr, parsed: ParsedFile
    ) -> tuple[Mapped, ParsedFile] | None:
        if isinstance(given, ast.Lambda):
            return given, parsed
        name = _name_of(given)
        return self._same.definition(name) if name else None

    def _reached(self, mapped: Mapped) -> frozenset[str]:
        """The names of a function and of those that it calls."""
        return frozenset(
            node.name for node in self._called_in(mapped) if isinstance(node, Function)
        )

    def _called_in(self, mapped: Mapped) -> list[Mapped]:
        """A function, and those of the files that it calls."""
        found = [mapped]
        for node in found:
            for name in {x.id for x in ast.walk(node) if isinstance(x, ast.Name)}:
                defined = self._same.definition(name)
                if defined is not None and defined[0] not in found:
                    found.append(defined[0])
        return found

    def _same_before(self, flow: _Flow) -> bool:
        names = [stage.name for stage in flow]
        if not _MIXES.isdisjoint(names):
            return False
        if "shuffle" in names and not _CUTS.isdisjoint(names[names.index("shuffle") :]):
            return False
        for stage in flow:
            if stage.name == "map" and not self._is_same_map(stage):
                return False
            if _is_generator(stage.call) and not self._is_same_generator(stage):
                return False
        return True

    def _is_same_map(self, stage: _Stage) -> bool:
        if not _is_map(stage.call):
            return False
        found = self._mapped(stage.call.args[0], stage.parsed)
        return found is not None and self._same.gives_same(*found)

    def _is_same_generator(self, stage: _Stage) -> bool:
        given = _generator_of(stage.call)
        found = None if given is None else self._mapped(given, stage.parsed)
        return found is not None and self._elements.gives_same(*found)

    def _comes_again(self, call: ast.Call, flow: _Flow, parsed: ParsedFile) -> bool:
        is_cached = any(stage.name in ("cache", "snapshot") for stage in flow)
        repeats = self._again or any(map(_repeats, flow))
        return repeats and not is_cached and self._is_made_once(call, parsed)

    def _is_made_once(self, call: ast.Call, parsed: ParsedFile, depth: int = 0) -> bool:
        """Whether no loop makes the pipeline anew: a cache lives as long as that."""
        around = [
            function
            for function in functions_in(parsed.tree)
            if any(node is call for node in nodes_in(function))
        ]
        scope = around[-1] if around else parsed.tree
        if _is_in_loop(scope, call):
            return False
        if not around or depth == _DEEPEST:
            return not around
        sites = self._program.sites(around[-1].name)
        return all(
            self._is_made_once(site.call, site.parsed, depth + 1) for site in sites
        )


def _is_in_loop(scope: ast.AST, call: ast.Call) -> bool:
    for node in own_nodes(scope):
        if isinstance(node, ast.For | ast.While):
            parts = [*node.body, *([] if isinstance(node, ast.For) else [node.test])]
            if any(inner is call for part in parts for inner in ast.walk(part)):
                return True
    return False


def _expressions(node: ast.stmt) -> Iterator[ast.expr]:
    """What a statement computes itself, nothing of the statements in it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            yield child
        elif isinstance(child, ast.withitem):
            yield child.context_expr


def _parts(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, ast.Tuple | ast.List) else [node]


def _is_map(call: ast.Call) -> bool:
    return last_name(call) == "map" and len(call.args) == 1 and _is_method(call)


def _is_method(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute)


def _end_of(call: ast.Call) -> tuple[int, int]:
    return call.end_lineno or 0, call.end_col_offset or 0


def _is_generator(call: ast.Call) -> bool:
    return last_name(call) == "from_generator"


def _reads_files(function: Mapped) -> bool:
    return any(_READS.search(last_name(call)) for call in calls_in(function))


def _generator_of(call: ast.Call) -> ast.expr | None:
    named = {each.arg: each.value for each in call.keywords}
    return call.args[0] if call.args else named.get("generator")


def _is_of_dataset(stage: _Stage) -> bool:
    name = stage.name
    return (
        name in _OF_DATASETS
        or name.endswith("Dataset")
        or name.startswith("from_")
        or "_dataset" in name
        or any(each.arg == "num_parallel_calls" for each in stage.call.keywords)
    )


def _name_of(given: ast.expr) -> str:
    """Of a function, or of the method that it is."""
    if isinstance(given, ast.Attribute):
        return given.attr
    return given.id if isinstance(given, ast.Name) else ""


def _line_of(call: ast.Call) -> int:
    """Of the method's name: a chain of calls goes over many lines."""
    at = call.func.end_lineno if isinstance(call.func, ast.Attribute) else None
    return at or call.lineno


def _repeats(stage: _Stage) -> bool:
    once = stage.call.args and ast.unparse(stage.call.args[0]) == "1"
    return stage.name == "repeat" and not once


def _is_cheap(mapped: Mapped, parsed: ParsedFile) -> bool:
    calls = [*calls_in(mapped)]
    called = [parsed.names.called(call) for call in calls]
    is_known = all(
        each.package in ("tensorflow", "keras") and each.names[-1] in _CHEAP
        for each in called
    )
    return is_known and (
        bool(calls) or any(isinstance(x, ast.BinOp) for x in ast.walk(mapped))
    )
