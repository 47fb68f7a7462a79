"""What the program's source shows of lines on which Python runs ops one by one: arrays
that a loop takes apart, NumPy that goes through the device and back, and what of the
program can be compiled instead.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tfadvisor.causes.account import RunPlace, RunShare
from tfadvisor.causes.by_example import ByExample, by_example
from tfadvisor.causes.called import (
    ON_DEVICES,
    arguments_in,
    last_name,
    owner_of,
    stored_in,
)
from tfadvisor.causes.compilable import HostWork
from tfadvisor.causes.compiled_names import HostCalls
from tfadvisor.causes.indexed import (
    Indexed,
    gone_over_on,
    indexed_for_caller,
    indexed_on,
    made_of_outside,
)
from tfadvisor.causes.loop_data import bindings_in
from tfadvisor.causes.loop_elements import elements
from tfadvisor.causes.of_numpy import is_of_numpy
from tfadvisor.causes.source_files import ParsedFile, SourceFiles
from tfadvisor.causes.walked import Function, calls_in, covers, own_nodes
from tfadvisor.causes.witness import (
    class_of,
    element_loop,
    function_around,
    head_of,
    scope_around,
    signature,
)
from tfadvisor.timeline.names.frames import place_in_words

ELEMENTS, SUM, HOST, FUNCTION, LINES = "elements", "sum", "host", "function", "lines"
EACH, EXAMPLES = "each", "examples"
_MOSTLY = 0.5
"""Of the time of the ops."""
_READS = frozenset("asarray array".split())
_READ_BY = frozenset("item numpy tolist".split())
_ONE_HOT = frozenset({"jax.nn.one_hot", "tensorflow.one_hot", "keras.ops.one_hot"})
_CLASSES = frozenset({"depth", "num_classes"})
_BUILTINS = frozenset("bool float int".split())
_MODULES = frozenset("Layer Model Module".split())
_FORWARD = frozenset("__call__ call forward".split())


class EagerOps(NamedTuple):
    """How such lines stand in the source."""

    kind: str
    """ELEMENTS: a loop takes them from an array. SUM: and adds up what is made of each.
    EXAMPLES: a loop takes the gradient of one after the other, and adds them up.
    HOST: of NumPy's arrays, made NumPy's again at once. EACH: of NumPy's arrays, once
    for each element of a loop. FUNCTION: in one that can be
    compiled. LINES: in one that cannot.
    """
    what: str
    """The part, the call, or the function."""
    where: str
    """`sample (train.py:7)`."""
    before: str
    after: str
    """As code of the framework; "" where none is known to be the same."""
    why: str = ""
    """What keeps a function from being compiled; of elements, where else they may be
    read.
    """


class EagerSource(NamedTuple):
    """The program's files, as they are asked here."""

    files: SourceFiles
    host_calls: Callable[[ParsedFile], HostCalls]
    work: Callable[[str, Function], HostWork]
    framework: str


def eager_ops(
    source: EagerSource, at: Sequence[RunShare], within: Sequence[RunPlace]
) -> EagerOps | None:
    """at: the lines, most time first, with their shares of it. within: calls of the
    program in each of which nearly all of it lies, the outermost first: that one holds
    the loop, and is not to be compiled.
    """
    return (
        _by_example(source, at, within)
        or _taken_apart(source, at, within)
        or _through_the_device(source, at)
        or _for_each(source, at, within)
        or _to_compile(source, at, within)
    )


# Gradients of one example after the other.


def _by_example(
    source: EagerSource, at: Sequence[RunShare], within: Sequence[RunPlace]
) -> EagerOps | None:
    """Of a loop in which most of it lies."""
    if source.framework != "tensorflow":
        return None
    time: dict[tuple[str, int], float] = {}
    found: dict[tuple[str, int], ByExample] = {}
    inside = [RunShare("", "", 1.0, 0.0, 0, (place,)) for place in within]
    for share in (*at, *inside):
        place = share.places[0]
        parsed = source.files.read(place.file)
        known = None if parsed is None else by_example(parsed, place.line)
        if known is not None:
            key = place.file, known.line
            time[key] = time.get(key, 0.0) + share.fraction
            found[key] = known
    most = max(time, key=time.__getitem__, default=None)
    if most is None or time[most] < _MOSTLY:
        return None
    known = found[most]
    where = place_in_words(most[0], known.line, known.head)
    return EagerOps(EXAMPLES, known.arrays, where, known.before, known.after)


# Arrays that a loop takes apart.


def _taken_apart(
    source: EagerSource, at: Sequence[RunShare], within: Sequence[RunPlace]
) -> EagerOps | None:
    time: dict[tuple[str, int], float] = {}
    first: dict[tuple[str, int], EagerOps] = {}
    for share in at:
        found = _part_at(source, share.places[0], within)
        if found is not None:
            key, ops = found
            time[key] = time.get(key, 0.0) + share.fraction
            first.setdefault(key, ops)
    most = max(time, key=time.__getitem__, default=None)
    return None if most is None or time[most] < _MOSTLY else first[most]


def _part_at(
    source: EagerSource, place: RunPlace, within: Sequence[RunPlace]
) -> tuple[tuple[str, int], EagerOps] | None:
    """With the file of its loop and the line on which that begins."""
    parsed = source.files.read(place.file)
    if parsed is None:
        return None
    host, line = source.host_calls(parsed), place.line
    found = indexed_on(parsed, line, host) or gone_over_on(parsed, line, host)
    if found is not None:
        if found.goes_into_call:
            return None
        return _in_its_loop(source, parsed, place, line, found, sums=True)
    found = _part_for_caller(source, parsed, place, within)
    calling = None if found is None else source.files.read(found.file)
    if found is None or calling is None:
        return None
    return _in_its_loop(source, calling, place, found.line, found, sums=False)


def _in_its_loop(
    source: EagerSource,
    parsed: ParsedFile,
    place: RunPlace,
    line: int,
    found: Indexed,
    *,
    sums: bool,
) -> tuple[tuple[str, int], EagerOps] | None:
    """line: of the loop's body or head. sums: whether the loop itself may add up."""
    loop = _loop_at(parsed, line)
    if loop is None:
        return None
    words = place_in_words(place.file, place.line, found.text)
    summed = _summed(loop, source.framework) if sums else None
    if summed is not None:
        shown = f"{head_of(loop)}:\n    {summed[0]}"
        ops = EagerOps(SUM, found.array, words, shown, summed[1])
    else:
        ops = _elements_of_whole(source, parsed, loop, line, found, words)
    return (parsed.file, loop.lineno), ops


def _elements_of_whole(
    source: EagerSource,
    parsed: ParsedFile,
    loop: ast.For,
    line: int,
    found: Indexed,
    words: str,
) -> EagerOps:
    """Read once, before the loop, or where the loop itself makes the array."""
    shown = _shown(parsed, loop, line)
    whole = made_of_outside(parsed, line, found.array)
    own = found.array.rpartition(".")[2]
    here = "" if whole == found.array else f"{own} = np.asarray({found.array})"
    if whole:
        after = f"{_read_whole(whole, source.framework)}\n{shown}"
        why = f"before the loop, or `{here}` before it is indexed" if here else ""
        return EagerOps(ELEMENTS, whole, words, shown, after, why)
    head, inside = shown.split("\n", 1)
    after = f"{head}\n    {here}        # NumPy, before it is indexed\n{inside}"
    why = "before it is indexed"
    return EagerOps(ELEMENTS, found.array, words, shown, after, why)


def _part_for_caller(
    source: EagerSource,
    parsed: ParsedFile,
    place: RunPlace,
    within: Sequence[RunPlace],
) -> Indexed | None:
    calling = _caller(within, place)
    of_caller = None if calling is None else source.files.read(calling.file)
    if calling is None or of_caller is None:
        return None
    return indexed_for_caller(parsed, place.line, of_caller, calling.line)


def _caller(within: Sequence[RunPlace], place: RunPlace) -> RunPlace | None:
    """The call around a function in which a line lies."""
    names = [(call.file, call.function) for call in within]
    here = (place.file, place.function)
    row = names.index(here) if here in names else 0
    return within[row - 1] if row else None


def _loop_at(parsed: ParsedFile, line: int) -> ast.For | None:
    """The innermost one that has a line."""
    scope = scope_around(parsed.tree, line)
    found = None
    for node in own_nodes(scope):
        if isinstance(node, ast.For) and covers(node, line):
            found = node
    return found


def _shown(parsed: ParsedFile, loop: ast.For, line: int) -> str:
    inside = next(
        (node for node in loop.body if covers(node, line)),
        loop.body[0],
    )
    text = parsed.lines[inside.lineno - 1].strip()
    return f"{head_of(loop)}:\n    {text}"


def _read_whole(array: str, framework: str) -> str:
    name = array.rpartition(".")[2]
    if framework == "tensorflow":
        return f"{name} = tf.nest.map_structure(np.asarray, {array})    # once, whole"
    return f"{name} = jax.device_get({array})             # one copy of the whole"


def _summed(loop: ast.For, framework: str) -> tuple[str, str] | None:
    """(the statement that adds up what it makes of elements, the same for all of them
    in one op, "" for unknown); None where the loop does anything else.
    """
    if len(loop.body) != 1 or loop.orelse:
        return None
    (statement,) = loop.body
    if not isinstance(statement, ast.AugAssign) or not isinstance(
        statement.op, ast.Add
    ):
        return None
    total, value = ast.unparse(statement.target), statement.value
    element = dict(elements(loop.target, loop.iter))
    whole = _whole(value, element, "tf" if framework == "tensorflow" else "jnp")
    after = f"{total} += {whole}" if whole else ""
    return ast.unparse(statement), after


def _whole(value: ast.expr, element: dict[str, str], module: str) -> str:
    """An op on whole arrays that adds up a value for all elements."""
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):
        return _product(value, element, module)
    found = _array_of(value, element)
    if found is None:
        return ""
    add = "reduce_sum" if module == "tf" else "sum"
    return f"{module}.{add}({found[0]}, axis={found[1]})"


def _product(value: ast.BinOp, element: dict[str, str], module: str) -> str:
    """Of an element and of a part with its number; the same where the elements are
    numbers.
    """
    sides = sorted((value.left, value.right), key=lambda side: type(side) is ast.Name)
    part, factor = (_array_of(side, element) for side in sides)
    is_plain = isinstance(sides[1], ast.Name) and isinstance(sides[0], ast.Subscript)
    if part is None or factor is None or not is_plain:
        return ""
    given = [part[0], factor[0]] if part[1] else [factor[0], part[0]]
    return f"{module}.tensordot({', '.join(given)}, 1)"


def _array_of(side: ast.expr, element: dict[str, str]) -> tuple[str, int] | None:
    """(array, axis along which the elements lie: 0 or -1)."""
    if isinstance(side, ast.Name) and element.get(side.id):
        return element[side.id], 0
    if not isinstance(side, ast.Subscript):
        return None
    axis = _axis_of(side.slice, {name for name, of in element.items() if not of})
    return None if axis is None else (ast.unparse(side.value), axis)


def _axis_of(index: ast.expr, counts: set[str]) -> int | None:
    """0 or -1: the first or last axis, which alone has an index, by one of these."""
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    if len(parts) == 1 or all(map(_is_whole_axis, parts[1:])):
        part, axis = parts[0], 0
    elif all(map(_is_whole_axis, parts[:-1])):
        part, axis = parts[-1], -1
    else:
        return None
    return axis if isinstance(part, ast.Name) and part.id in counts else None


def _is_whole_axis(part: ast.expr) -> bool:
    is_ellipsis = isinstance(part, ast.Constant) and part.value is ...
    is_slice = isinstance(part, ast.Slice)
    return is_ellipsis or (is_slice and ast.unparse(part) == ":")


# NumPy that goes through the device and back.


def _through_the_device(source: EagerSource, at: Sequence[RunShare]) -> EagerOps | None:
    if not at or at[0].fraction < _MOSTLY:
        return None
    place = at[0].places[0]
    parsed = source.files.read(place.file)
    if parsed is None:
        return None
    scope = scope_around(parsed.tree, place.line)
    for node in own_nodes(scope):
        if isinstance(node, ast.Call) and covers(node, place.line):
            call = _read_at_once(parsed, node)
            if call is not None and _is_of_host(parsed, scope, call):
                after = _in_numpy(parsed, call)
                before = ast.unparse(node)
                words = place_in_words(place.file, place.line, place.function)
                return EagerOps(HOST, ast.unparse(call.func), words, before, after)
    return None


def _read_at_once(parsed: ParsedFile, node: ast.Call) -> ast.Call | None:
    """The call of a framework of which a call makes NumPy or a Python number."""
    called = parsed.names.called(node)
    read: ast.expr | None = None
    if called.package == "numpy" and last_name(node) in _READS:
        read = node.args[0] if node.args else None
    elif isinstance(node.func, ast.Name) and node.func.id in _BUILTINS:
        read = node.args[0] if len(node.args) == 1 else None
    elif last_name(node) in _READ_BY and not node.args:
        read = owner_of(node)
    if not isinstance(read, ast.Call):
        return None
    return read if parsed.names.called(read).package in ON_DEVICES else None


def _is_of_host(parsed: ParsedFile, scope: ast.AST, call: ast.Call) -> bool:
    """Whether all that it is given is of Python and NumPy."""
    made: dict[str, list[ast.AST]] = {}
    for binding in bindings_in(scope):
        for name in binding.written:
            made.setdefault(name, []).append(binding.value)
    given = [*call.args, *(word.value for word in call.keywords)]
    known = [name for name, values in made.items() if _are_of_host(parsed, values, ())]
    return bool(given) and _are_of_host(parsed, given, known)


def _are_of_host(
    parsed: ParsedFile, values: Sequence[ast.AST], known: Sequence[str]
) -> bool:
    """known: names of what is. At least one is an array of NumPy, and none may be of a
    device.
    """
    is_array = False
    for value in values:
        if isinstance(value, ast.Name) and value.id in known:
            is_array = True
        elif isinstance(value, ast.Call):
            if parsed.names.called(value).package != "numpy":
                return False
            is_array = True
        elif not isinstance(value, ast.Constant):
            return False
    return is_array


def _for_each(
    source: EagerSource, at: Sequence[RunShare], within: Sequence[RunPlace]
) -> EagerOps | None:
    """What a loop that prepares data asks of a framework for one array of NumPy after
    the other, and NumPy can do for all.
    """
    if not at or at[0].fraction < _MOSTLY:
        return None
    place = at[0].places[0]
    parsed = source.files.read(place.file)
    if parsed is None or not _is_in_rounds(source, place, _caller(within, place)):
        return None
    for node in own_nodes(scope_around(parsed.tree, place.line)):
        if isinstance(node, ast.Call) and covers(node, place.line):
            after = _of_all_in_numpy(parsed, node)
            if after:
                words = place_in_words(place.file, place.line, place.function)
                before = f"{ast.unparse(node)}        # for each"
                return EagerOps(EACH, ast.unparse(node.func), words, before, after)
    return None


def _is_in_rounds(
    source: EagerSource, place: RunPlace, caller: RunPlace | None
) -> bool:
    """Whether a loop around a line, or around the call of its function, calls nothing
    compiled, as that of the steps does.
    """
    for each in filter(None, (place, caller)):
        parsed = source.files.read(each.file)
        loop = None if parsed is None else element_loop(parsed.tree, each.line)
        if parsed is not None and loop is not None and not isinstance(loop, ast.While):
            host = source.host_calls(parsed)
            return not any(host.is_compiled(last_name(call)) for call in calls_in(loop))
    return False


def _of_all_in_numpy(parsed: ParsedFile, call: ast.Call) -> str:
    """The call of NumPy for all elements; "" for unknown, and where what the call is
    given first is none of NumPy's.
    """
    if not call.args or not is_of_numpy(parsed, call.args[0]):
        return ""
    name = ast.unparse(call.args[0]) if isinstance(call.args[0], ast.Name) else "rows"
    stacked = f"{name} = np.stack({name}_of_all)             # one array of NumPy"
    path, others = parsed.names.called(call).path, [*call.args[1:]]
    if path in _ONE_HOT:
        others += [word.value for word in call.keywords if word.arg in _CLASSES]
        classes = ast.unparse(others[0]) if others else "classes"
        return f"{stacked}\nnp.eye({classes}, dtype=np.float32)[{name}]      # of all"
    is_alone = all(isinstance(value, ast.Constant) for value in others)
    same = _in_numpy(parsed, call) if is_alone and last_name(call) not in _READS else ""
    return f"{stacked}\n{same}      # of all" if same else ""


def _in_numpy(parsed: ParsedFile, call: ast.Call) -> str:
    """The call of NumPy that gives it; "" for unknown."""
    called = parsed.names.called(call)
    given = [ast.unparse(value) for value in call.args]
    module, _, name = called.path.rpartition(".")
    if name == "segment_sum" and len(given) == 2:
        made = call.args[0]
        is_ones = isinstance(made, ast.Call) and last_name(made).startswith("ones")
        weights = "" if is_ones else f", weights={given[0]}"
        return f"np.bincount({given[1]}{weights})"
    is_same = module == "jax.numpy" and hasattr(np, name)
    return f"np.{name}({', '.join(given)})" if is_same and not call.keywords else ""


# What can be compiled.


def _to_compile(
    source: EagerSource, at: Sequence[RunShare], within: Sequence[RunPlace]
) -> EagerOps | None:
    found = [_function_at(source, place) for place in within]
    for row, known in enumerate(found[1:], 1):
        if known is not None:
            ops = _compiled_whole(source, known, within[row], within[row - 1])
            if ops is not None:
                return ops
    if len(within) < 2 or found[-1] is None or not at:
        return None
    return _of_lines(source, found[-1], within[-1], at)


class _Known(NamedTuple):
    parsed: ParsedFile
    function: Function
    base: str
    """The path of the class of a framework that its class is made of."""


def _function_at(source: EagerSource, place: RunPlace) -> _Known | None:
    parsed = source.files.read(place.file)
    if parsed is None:
        return None
    function = function_around(parsed.tree, place.line)
    if function is None or function.name != place.function:
        return None
    return _Known(parsed, function, base_of(parsed, function))


def base_of(parsed: ParsedFile, method: Function) -> str:
    """The path of the class of a framework that its class is made of; "" for none."""
    of = class_of(parsed.tree, method)
    bases = [] if of is None else of.bases
    paths = (parsed.names.stands_for(base).path for base in bases)
    return next((path for path in paths if path.rpartition(".")[2] in _MODULES), "")


def _compiled_whole(
    source: EagerSource, known: _Known, place: RunPlace, caller: RunPlace
) -> EagerOps | None:
    function, is_tf = known.function, source.framework == "tensorflow"
    shown, by = signature(function), _compiler(source, known)
    if function.decorator_list or not by:
        return None
    is_forward = bool(known.base) and function.name in _FORWARD
    if is_forward and not is_tf:
        return _forward(known, place, caller, by)
    if shown.is_method and not is_tf:
        return None
    if not is_forward and (
        source.work(place.file, function).what or _takes_sizes(function)
    ):
        return None
    before = f"{shown.head}\n    ...                                # op by op"
    after = f"@{by}\n{shown.head}\n    ..."
    return EagerOps(FUNCTION, function.name, place.words, before, after)


def _compiler(source: EagerSource, known: _Known) -> str:
    if source.framework == "tensorflow":
        return "tf.function"
    if source.framework != "jax":
        return ""
    if known.base.startswith("equinox."):
        return "eqx.filter_jit"
    is_nnx = any(
        parsed_name in ("nnx", "flax.nnx") for parsed_name in _imports(known.parsed)
    )
    return "nnx.jit" if is_nnx else "jax.jit"


def _imports(parsed: ParsedFile) -> Iterator[str]:
    for node in parsed.tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                yield alias.name


def _forward(
    known: _Known, place: RunPlace, caller: RunPlace, by: str
) -> EagerOps | None:
    """Of a model of Flax or Equinox that is called as it stands."""
    if known.base.startswith("flax.linen"):
        return None
    before = caller.text or "outputs = model(inputs)"
    after = (
        f"@{by}\ndef forward(model, inputs):        # once, and call it instead\n"
        "    return model(inputs)"
    )
    return EagerOps(
        FUNCTION, known.function.name, place.words, f"{before}  # op by op", after
    )


def _takes_sizes(function: Function) -> bool:
    """Whether it asks how long what it is given is: another length traces it anew."""
    given = arguments_in(function)
    return any(
        last_name(call) == "len"
        and any(
            isinstance(value, ast.Name) and value.id in given for value in call.args
        )
        for call in calls_in(function)
    )


def _of_lines(
    source: EagerSource, known: _Known, place: RunPlace, at: Sequence[RunShare]
) -> EagerOps | None:
    """The line that takes most, as a function of its own."""
    by = _compiler(source, known)
    here = [
        share.places[0].line
        for share in at
        if share.places[0].function == known.function.name
        and share.places[0].file == place.file
    ] or [place.line]
    statement = _statement_at(known.function, here[0])
    if not by or statement is None or _reads_values(known.parsed, statement):
        return None
    if any(map(_keeps, ast.walk(statement))):
        return None
    work = source.work(place.file, known.function).what
    reads = _locals_read(known.function, statement)
    written = sorted(stored_in(statement))
    text = ast.unparse(statement)
    given = f"@{by}\ndef one_round({', '.join(reads)}):        # once, not in the loop"
    ends = f"\n    ...\n    return {', '.join(written)}" if written else ""
    return EagerOps(
        LINES,
        known.function.name,
        place_in_words(place.file, here[0], known.function.name),
        f"{text}  # op by op",
        f"{given}\n    {text}{ends}",
        work,
    )


def _statement_at(function: Function, line: int) -> ast.stmt | None:
    for node in own_nodes(function):
        if isinstance(
            node, ast.Assign | ast.AugAssign | ast.Expr | ast.Return
        ) and covers(node, line):
            return node
    return None


def _reads_values(parsed: ParsedFile, statement: ast.stmt) -> bool:
    return any(
        last_name(call) in _READ_BY
        or parsed.names.called(call).package == "numpy"
        or (isinstance(call.func, ast.Name) and call.func.id in _BUILTINS)
        for call in calls_in(statement)
    )


def _keeps(node: ast.AST) -> bool:
    """Whether it writes an attribute, or has variables of its own."""
    is_written = isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    return is_written or isinstance(node, ast.comprehension)


def _locals_read(function: Function, statement: ast.stmt) -> list[str]:
    """In the order in which they stand there, what it belongs to first."""
    own = stored_in(function) | arguments_in(function)
    found = [
        node.id
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    ]
    names = [name for name in dict.fromkeys(found) if name in own]
    return sorted(names, key=lambda name: name != "self")
