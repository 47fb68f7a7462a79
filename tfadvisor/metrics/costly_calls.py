"""Of the program's lines that take much of the step the one that makes a call which is
known to cost more than it looks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from tfadvisor.metrics.far_ops import far_line
from tfadvisor.metrics.kinds import first_device_ops, of_step_time
from tfadvisor.metrics.layers import ComputedOp, compute_fraction_of, compute_parts
from tfadvisor.metrics.python_time import of_python, python_lines
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric, once
from tfadvisor.metrics.steady import a_device, class_shares
from tfadvisor.tallies import added_up, listed
from tfadvisor.timeline.names.frames import place_in_words
from tfadvisor.timeline.summary import HotOp
from tfadvisor.units import Unit, number_of
from tfadvisor.vocabulary import TimeClass

if TYPE_CHECKING:
    from tfadvisor.causes import CostlyCall, MadeCall, ProgramSource, Where
    from tfadvisor.program.jacobians import Jacobian

_LARGE = 0.1
"""Of the step; TensorFlow's GPU guide calls such a loss worth fixing."""
_MANY_MORE = 2
"""A pass forward and one backward cost about the same."""
_CALLED = "PartitionedCall/"
_TAPE = "gradient_tape/"
_OF_LINE = 0.2
"""Of a line's time, for an op's path to say what the line does."""


class _Line(msgspec.Struct, frozen=True):
    """A line of the program and what it takes."""

    fraction: float
    """Of step time."""
    file: str
    line: int
    function: str
    where: Where
    is_of_loop: bool = True
    """Whether the thread that dispatches the steps is on it, and none of an input
    pipeline."""
    paths: str = ""
    """Of its ops, as the framework names them."""
    callers: tuple[tuple[str, int], ...] = ()
    """(file, line) of the program's lines that lead to it, the innermost first."""
    jacobian: Jacobian | None = None
    """That its ops work for, where the shapes tell."""
    window: int | None = None
    """Elements of the largest kernel that its convolutions have; None without one."""
    square: bool = False
    """Whether a factor of its products of matrices is as high as it is wide."""
    width: int | None = None
    """The longest last axis of what its ops make; None for unknown."""
    parts: tuple[ComputedOp, ...] = ()
    """Ops of TensorFlow's graphs that it made."""


class _Costly(msgspec.Struct, frozen=True):
    """One that makes such a call."""

    at: _Line
    made: MadeCall

    @property
    def known(self) -> CostlyCall:
        """What the table says of it."""
        return self.made.known


@once
def _costly(question: Question) -> _Costly:
    """Of those that take a tenth of the step the largest. Raises MetricAbsent."""
    source = question.settings.source
    if source is None:
        raise MetricAbsent("the program's source is not given: --source DIR")
    lines = [line for line in _lines(question) if line.fraction >= _LARGE]
    for line in sorted(lines, key=lambda line: -line.fraction):
        found = _made_on(question, source, line)
        if found is not None:
            return _with_all(question, found)
    raise MetricAbsent("no line that takes a tenth of the step makes a call known here")


def _made_on(question: Question, source: ProgramSource, at: _Line) -> _Costly | None:
    made = source.costly_call(at.file, at.line, at.where, at.paths)
    if made is not None and _is_worth(question, made.known, at):
        return _Costly(at, made)
    for file, line in at.callers:
        made = source.costly_call(file, line, at.where, at.paths, around=True)
        if made is not None and _is_worth(question, made.known, at):
            caller = replace(at, file=file, line=line, function="")
            return _Costly(caller, made)
    return None


def _is_worth(question: Question, known: CostlyCall, at: _Line) -> bool:
    """Whether the other way to a Jacobian takes less than half of the passes, and a
    kernel is as large as is meant, as far as the shapes tell.
    """
    if known.classes and not _has_classes(question, known.classes, at):
        return False
    if at.window is not None and at.window < known.window:
        return False
    if known.square and not at.square:
        return False
    jacobian = at.jacobian
    if jacobian is None or not known.passes:
        return True
    many, few = jacobian.outputs, jacobian.inputs
    if known.passes == "inputs":
        many, few = few, many
    return many > _MANY_MORE * few


def _has_classes(question: Question, least: int, at: _Line) -> bool:
    """Whether there are so many, by shapes; where these are unknown, whether products
    take more time than convolutions, as where these are not classes of pixels.
    """
    if at.width is not None:
        return at.width >= least
    parts = compute_parts(question.run).parts
    products = sum(part.total_ps for part in parts if "MatMul" in part.op_type)
    return products > sum(x.total_ps for x in parts if "Conv" in x.op_type)


def _with_all(question: Question, costly: _Costly) -> _Costly:
    """Of a call that runs what the program's other lines do, their time too, and that
    of the lines that belong to it.
    """
    at = costly.at
    if at.parts:
        return _with_all_of_graphs(question, costly)
    if at.where != "device" or not (costly.known.around or costly.made.lines):
        return costly
    try:
        hot = first_device_ops(question)
    except MetricAbsent:
        return costly
    own = {(at.file, line) for line in (at.line, *costly.made.lines)}
    through = [
        op
        for op in hot.ops
        if _line_of(op) in own
        or (costly.known.around and not own.isdisjoint(_callers(op)))
    ]
    fraction = max(at.fraction, of_step_time(question, through, hot))
    return replace(costly, at=replace(at, fraction=fraction))


def _gradients_of(
    question: Question, forward: Sequence[ComputedOp]
) -> Iterator[ComputedOp]:
    """Ops that a gradient tape made of these, by their paths."""
    names = {part.name.rpartition(_CALLED)[2] for part in forward}
    for part in compute_parts(question.run).parts:
        of = part.name.rpartition(_TAPE)[2] if _TAPE in part.name else ""
        if of.rpartition("/")[0] in names:
            yield part


def _with_all_of_graphs(question: Question, costly: _Costly) -> _Costly:
    at, made = costly.at, costly.made
    own = {f"{at.file}:{line}" for line in made.lines}
    parts = [*at.parts]
    if own:
        parts = [part for part in compute_parts(question.run).parts if part.line in own]
    if costly.known.gradients:
        parts += _gradients_of(question, parts)
    fraction = max(at.fraction, compute_fraction_of(question, parts))
    return replace(costly, at=replace(at, fraction=fraction))


def _lines(question: Question) -> Iterator[_Line]:
    yield from _of_python(question)
    yield from _of_launches(question)
    yield from _of_devices(question)
    yield from _of_graphs(question)


def _of_python(question: Question) -> Iterator[_Line]:
    for line in python_lines(question):
        for place in line.share.places[:1]:
            own = place.file, place.line, place.function
            yield _Line(line.fraction, *own, "host", is_of_loop=line.is_of_loop)


def _of_launches(question: Question) -> Iterator[_Line]:
    """Lines that launch ops one by one, by samples of the run: of each no more than the
    trace has of such time while no device works.
    """
    account = question.settings.account
    if account is None:
        return
    most = of_python(question) + class_shares(question.run)[TimeClass.LAUNCH]
    for share in account.ops_at:
        for place in share.places[:1]:
            fraction = min(share.fraction, most)
            yield _Line(fraction, place.file, place.line, place.function, "launch")


def _of_devices(question: Question) -> Iterator[_Line]:
    """Lines that compiled programs are made of, by their HLO."""
    try:
        hot = first_device_ops(question)
    except MetricAbsent:
        return
    known = [op for op in hot.ops if op.known is not None and op.known.file]
    for (file, line), ops in listed((_line_of(op), op) for op in known).items():
        fraction = of_step_time(question, ops, hot)
        yield _Line(
            fraction,
            file,
            line,
            "",
            "device",
            paths=_paths(ops),
            callers=_callers(ops[0]),
            jacobian=_jacobian(ops),
            window=max((op.known.window for op in ops if op.known), default=0) or None,
            square=_has_square(ops),
            width=max(map(_width, ops), default=0) or None,
        )


def _of_graphs(question: Question) -> Iterator[_Line]:
    """Lines that made the ops of TensorFlow's graphs, as noted beside the trace."""
    noted = question.run.op_lines
    if not noted.ops:
        return
    made = [
        (noted.line_of(part.name, part.op_type), part)
        for part in compute_parts(question.run).parts
    ]
    for at, parts in listed((at, part) for at, part in made if at).items():
        paths = " ".join(part.name for part in parts)
        fraction = compute_fraction_of(question, parts)
        own = at.file, at.line, at.function
        yield _Line(fraction, *own, "device", paths=paths, parts=tuple(parts))


def _width(op: HotOp) -> int:
    """Of the last axis of what it makes; 0 for what has none."""
    shape = op.known.shape if op.known is not None else ""
    last = shape.partition("[")[2].partition("]")[0].rpartition(",")[2]
    return number_of(last) or 0


def _line_of(op: HotOp) -> tuple[str, int]:
    return (op.known.file, op.known.line) if op.known is not None else ("", 0)


def _jacobian(ops: list[HotOp]) -> Jacobian | None:
    found = {op.known.jacobian for op in ops if op.known and op.known.jacobian}
    return found.pop() if len(found) == 1 else None


def _has_square(ops: list[HotOp]) -> bool:
    sizes = [size for op in ops if op.known for size in op.known.products]
    matrices = (size for size in sizes if min(size.m, size.n, size.k) > 1)
    return any(size.k in (size.m, size.n) for size in matrices)


def _callers(op: HotOp) -> tuple[tuple[str, int], ...]:
    frames = op.known.location.frames if op.known and op.known.location else ()
    return tuple((frame.file.rpartition("/")[2], frame.line) for frame in frames)


def _paths(ops: list[HotOp]) -> str:
    """Of those that take much of the line's time, the line's own part alone."""
    time = added_up((_path(op), op.total_ps) for op in ops)
    least = _OF_LINE * sum(time.values())
    return " ".join(path for path, ps in time.items() if ps >= least)


def _path(op: HotOp) -> str:
    """What it does, where the compiler lost its path."""
    return op.known.op_name or op.known.effect if op.known is not None else ""


@metric(unit=Unit.FRACTION, needs=(a_device,))
def costly_call_fraction(question: Question) -> float:
    """Share of step time on the program's line that takes most of those which make a
    call that is known to cost more than it looks (costly_calls.yaml): by samples of the
    run where Python runs, by HLO where devices compute. Lines below a tenth of the step
    do not count.
    """
    return _costly(question).at.fraction


@metric(needs=(a_device,))
def costly_python_share(question: Question) -> float:
    """Share of that time in all of the step's time of Python and of input in which no
    device works, where the thread that dispatches the steps runs Python on that line.
    """
    at = _costly(question).at
    if at.where != "host" or not at.is_of_loop:
        raise MetricAbsent(f"{at.file}:{at.line} is no Python of the loop")
    return at.fraction / of_python(question)


@fact
def costly_call(question: Question) -> str:
    """That call, as the program writes it: `np.random.choice`."""
    return _costly(question).made.words


@fact
def few_of_order(question: Question) -> str:
    """That call, where it orders elements of which only the first or last few are
    taken, by the program's source: `jnp.argsort`.
    """
    made = _costly(question).made
    if not any(name.endswith("()[:k]") for name in made.known.calls):
        raise MetricAbsent("it orders nothing of which only a few are taken")
    return made.words


@fact
def far_op_of_call(question: Question) -> str:
    """The largest op of far_op_fraction, where its line makes that call, belongs to it,
    or is what that runs.
    """
    costly = _costly(question)
    at, far = costly.at, far_line(question)[0].op
    own = {(at.file, line) for line in (at.line, *costly.made.lines)}
    runs = costly.known.around and not own.isdisjoint(_callers(far))
    if at.where != "device" or not (runs or _line_of(far) in own):
        raise MetricAbsent("a costly call does not explain the largest of these ops")
    return far.name()


@fact
def costly_call_where(question: Question) -> str:
    """What its time is: host, where Python and NumPy run; launch, where Python runs ops
    one by one; device, where a compiled program runs.
    """
    return _costly(question).at.where


@fact
def costly_call_line(question: Question) -> str:
    """That line: `sample (train.py:31)`."""
    at = _costly(question).at
    return place_in_words(at.file, at.line, at.function)


@fact
def costly_call_does(question: Question) -> str:
    """What the call does, by its library's documentation, as the end of a sentence; of
    a Jacobian with the numbers of its outputs and inputs, where the shapes tell.
    """
    costly = _costly(question)
    sizes = costly.at.jacobian if costly.known.passes else None
    if sizes is None:
        return costly.known.why
    return f"{costly.known.why}, here {_counted(sizes)}"


def _counted(sizes: Jacobian) -> str:
    """`1,056 outputs of 30 inputs`."""
    words = ("output", sizes.outputs), ("input", sizes.inputs)
    return " of ".join(f"{n:,} {word}{'s' * (n != 1)}" for word, n in words)


@fact
def costly_call_change(question: Question) -> str:
    """What costs less, and when."""
    costly = _costly(question)
    return (costly.at.jacobian and costly.known.shown) or costly.known.change


@fact
def costly_call_before(question: Question) -> str:
    """An example of it, two lines or so."""
    return _costly(question).known.before.rstrip()


@fact
def costly_call_after(question: Question) -> str:
    """The same as it costs less, in the program's own names where these are known."""
    costly = _costly(question)
    is_open = costly.known.passes and costly.at.jacobian is None
    own = "" if is_open else costly.made.own
    return own or costly.known.after.rstrip()


@fact
def costly_call_cost(question: Question) -> str:
    """What the change costs or alters besides."""
    return _costly(question).known.cost


@fact
def costly_call_guide(question: Question) -> str:
    """The page of the library that says so."""
    return _costly(question).known.guide
