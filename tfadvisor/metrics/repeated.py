"""A program of the step that computes what another one computes for its gradient: the
loss or the metrics for a log, by a pass of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from tfadvisor.metrics.kinds import known_ops, of_step_time
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric, once
from tfadvisor.metrics.steady import counted_hosts, share_of_spent
from tfadvisor.timeline.attribution import Spent
from tfadvisor.timeline.names.host_activities import DISPATCHES
from tfadvisor.timeline.names.program_calls import function_of_module
from tfadvisor.timeline.summary import HotOp, HotOps
from tfadvisor.vocabulary import TimeClass

if TYPE_CHECKING:
    from tfadvisor.program import Frame, SourceLocation

_ALIKE = 0.9
"""Of a program's time, in lines of another: a public program that computes its loss
twice has all of it in lines of the gradient's; targets by another network share two
thirds."""
SAME_BATCH = "the same batch"


class _Program(msgspec.Struct):
    """What a compiled program computes on lines of the user's."""

    ops: list[HotOp] = msgspec.field(default_factory=list)
    lines: dict[tuple[str, int], int] = msgspec.field(default_factory=dict)
    """ps by file and line."""
    steps: int = 0
    """In which it runs."""
    differentiates: bool = False

    @property
    def ps(self) -> int:
        """On all lines."""
        return sum(self.lines.values())


class Repeated(msgspec.Struct, frozen=True):
    """A program that runs hardly a line that another one does not run too and
    differentiate, in at least half as many steps.
    """

    name: str
    """Of the function or program that repeats: `compute_metrics`."""
    of: str
    """Of the one that differentiates."""
    ops: tuple[HotOp, ...]
    """Of the one that repeats."""
    line: str
    """That takes most of it: `model.py:59`."""
    at: Frame | None
    """The call in which it begins to run the lines of both."""
    of_at: Frame | None
    """That in which the other one does. Both None where the trace does not tell."""
    files: tuple[str, ...]
    """From which it is called, as far as known."""


@once
def repeated(question: Question) -> Repeated:
    """The one that takes most. Raises MetricAbsent where there is none."""
    programs = _programs(question, known_ops(question))
    for name in sorted(programs, key=lambda name: -programs[name].ps):
        for of in sorted(programs):
            if of != name and _repeats(programs[name], programs[of]):
                return _found(name, of, programs[name], programs[of])
    raise MetricAbsent(
        "no program of the step runs the lines of another one that differentiates them"
    )


def _programs(question: Question, found: HotOps) -> dict[str, _Program]:
    """By name, with a number where several programs have one name: a function and its
    gradient do.
    """
    name_and_steps = _of_rows(question, found)
    programs: dict[str, _Program] = {}
    for ran in found.ops:
        place = _place(ran)
        if place is None:
            continue
        name, steps = name_and_steps(ran)
        program = programs.setdefault(name, _Program(steps=steps))
        line = place.file, place.line
        program.ops.append(ran)
        program.lines[line] = program.lines.get(line, 0) + ran.total_ps
        program.differentiates |= "transpose(" in place.op_name
    return programs


def _place(ran: HotOp) -> SourceLocation | None:
    """On a line of the user's program, None for others."""
    place = ran.known.location if ran.known is not None else None
    return place if place and place.file and not place.is_installed else None


def _of_rows(question: Question, found: HotOps) -> Callable[[HotOp], tuple[str, int]]:
    """The name of an op's program, and in how many counted steps that runs."""
    host = next(
        host
        for host in question.run.hosts
        if host.program is not None and host.program.hot_ops is found
    )
    device = host.program_device
    name_of = device.ops.module_of()

    def of(ran: HotOp) -> tuple[str, int]:
        row = ran.rows[0]
        return name_of(row), device.steps_with(row)

    return of


def _repeats(ran: _Program, other: _Program) -> bool:
    alike = sum(ps for line, ps in ran.lines.items() if line in other.lines)
    smaller = not ran.differentiates or ran.ps < other.ps
    often = 2 * ran.steps >= other.steps
    return other.differentiates and smaller and often and alike >= _ALIKE * ran.ps


def _found(name: str, of: str, ran: _Program, other: _Program) -> Repeated:
    line = max(ran.lines.keys() & other.lines.keys(), key=lambda line: ran.lines[line])
    mine = _calls_to(ran, line)
    at, of_at = _where_they_part(mine, _calls_to(other, line))
    return Repeated(
        name=function_of_module(name) or name,
        of=function_of_module(of) or of,
        ops=tuple(ran.ops),
        line=f"{_file(line[0])}:{line[1]}",
        at=at,
        of_at=of_at,
        files=tuple(dict.fromkeys(_file(frame.file) for frame in mine)),
    )


def _calls_to(program: _Program, line: tuple[str, int]) -> list[Frame]:
    """The calls of the user's functions that lead to an op on a line, innermost first;
    none where the trace holds no stacks.
    """
    places = filter(None, map(_place, program.ops))
    found = next(place for place in places if (place.file, place.line) == line)
    return [frame for frame in found.frames if not frame.is_installed]


def _where_they_part(
    mine: list[Frame], theirs: list[Frame]
) -> tuple[Frame | None, Frame | None]:
    """The innermost calls that differ; None where none does."""
    for own, other in zip(mine, theirs, strict=False):
        if own != other:
            return own, other
    return None, None


def _in_words(frame: Frame | None) -> str:
    if frame is None:
        return ""
    return f"{frame.function} ({_file(frame.file)}:{frame.line})"


def _function(frame: Frame | None) -> tuple[str, str]:
    """(file, function) as frames of Python name it; "" where it is not known."""
    if frame is None:
        return "", ""
    return _file(frame.file), frame.function.rpartition(".")[2]


def _for_it(found: Repeated, part: Spent) -> bool:
    """Whether the host dispatches the program that repeats, by its name or, where the
    other one has the same, in the function that calls it; or waits there, where that is
    not the function that calls the other.
    """
    caller = _function(found.at)
    is_there = caller != _function(found.of_at) and (part.file, part.function) == caller
    if part.activity == f"{DISPATCHES}{found.name}":
        return is_there or found.name != found.of
    return is_there and part.kind is TimeClass.IDLE and part.detail.startswith("waits")


def _file(path: str) -> str:
    return path.rpartition("/")[2]


@metric
def repeated_pass_fraction(question: Question) -> float:
    """Share of step time in a program whose lines another program of the step runs too
    and differentiates, in at least half as many steps: the loss or the metrics for a
    log beside the step that computes its gradient. What the host takes to dispatch it
    and to wait for it, while no device works, belongs to it. 0 where there is none.
    """
    found = known_ops(question)
    try:
        again = repeated(question)
    except MetricAbsent:
        return 0.0
    host = [
        part
        for host in counted_hosts(question.run)
        for part in host.evidence.spent
        if _for_it(again, part)
    ]
    computing = of_step_time(question, list(again.ops), found)
    return computing + share_of_spent(question.run, host)


@fact
def repeating_program(question: Question) -> str:
    """The function whose program that is: `compute_metrics`."""
    return repeated(question).name


@fact
def repeated_program(question: Question) -> str:
    """The function that computes the same for its gradient: `train_step`."""
    return repeated(question).of


@fact
def repeated_line(question: Question) -> str:
    """The line of both that takes most of the one that repeats: `model.py:59`."""
    return repeated(question).line


@fact
def repeating_place(question: Question) -> str:
    """Where the function that repeats begins to run the lines of both:
    `compute_metrics (train.py:87)`.
    """
    return _in_words(repeated(question).at) or repeated(question).line


@fact
def repeated_place(question: Question) -> str:
    """Where the one that differentiates them does."""
    return _in_words(repeated(question).of_at) or repeated(question).line


@fact
def repeated_on(question: Question) -> str:
    """`the same batch` where the program's source shows that both functions get it,
    else `unknown`.
    """
    found, source = repeated(question), question.settings.source
    if source is not None and any(
        source.same_arguments(file, found.of, found.name) for file in found.files
    ):
        return SAME_BATCH
    return "unknown"
