"""Rounds of the while loops of TensorFlow's graphs, what they are for, and what the
program's source says that they compute in vain.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tfadvisor.metrics.layers import ComputedOp, compute_fraction_of, compute_parts
from tfadvisor.metrics.one_by_one import step_function
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric, once
from tfadvisor.metrics.steady import counted_steps, device_steps, share
from tfadvisor.timeline.names.frames import place_in_words
from tfadvisor.timeline.names.op_path import forward_loop, loop_bodies, loop_of_body
from tfadvisor.units import Unit
from tfadvisor.vocabulary import Better, TimeClass

if TYPE_CHECKING:
    from tfadvisor.causes import WholeForOne
    from tfadvisor.trace.noted_ops import OpLine


@once
def _in_loops(question: Question) -> Mapping[str, list[ComputedOp]]:
    """By the body of the innermost loop the ops that it runs."""
    found: dict[str, list[ComputedOp]] = {}
    try:
        parts = compute_parts(question.run).parts
    except MetricAbsent:
        return found
    for part in parts:
        bodies = loop_bodies(part.name)
        if bodies:
            found.setdefault(bodies[-1], []).append(part)
    return found


def _of_nests(question: Question) -> Mapping[str, float]:
    """Rounds a step of each loop that is in no other one, with those of the loops in
    it, by its body: a loop has as many as its most frequent op has runs.
    """
    nests: dict[str, float] = {}
    steps = device_steps(question.run)
    for body, parts in _in_loops(question).items():
        outermost = loop_bodies(body)[0]
        rounds = max(part.count for part in parts) / steps
        nests[outermost] = nests.get(outermost, 0) + rounds
    return nests


@metric(unit=Unit.COUNT)
def loop_iterations_per_step(question: Question) -> float:
    """Number of iterations per step of the longest while loop inside TensorFlow's
    compiled functions, with those of the loops in it: tf.while_loop, tf.map_fn, loops
    over tensors, recurrent layers. XLA's loops do not count.
    """
    longest = sum(host.evidence.calls.loop_iterations for host in question.run.hosts)
    of_nests = max(_of_nests(question).values(), default=0.0)
    return max(longest / counted_steps(question.run.hosts), of_nests)


@metric(unit=Unit.COUNT)
def loop_ops_per_step(question: Question) -> float:
    """Number of ops per step that such loops run, of those that the trace has:
    TensorFlow writes few of the cheapest down.
    """
    counts = [part.count for parts in _in_loops(question).values() for part in parts]
    return sum(counts) / device_steps(question.run)


@fact
def loop_place(question: Question) -> str:
    """The line of the program that makes the loop of most such rounds, where `tfadvisor
    run` noted the lines: `update_state (train.py:41)`.
    """
    nests = _of_nests(question)
    most = max(nests, key=nests.__getitem__, default="")
    line = _made_at(question, most)
    if line is None:
        raise MetricAbsent("no line is known that makes a while loop")
    return place_in_words(line.file, line.line, line.function)


def _made_at(question: Question, body: str) -> OpLine | None:
    """Where the program makes the loop of a body: one with states, or without; of
    gradients, the loop that they go back through.
    """
    noted, path = question.run.op_lines, forward_loop(loop_of_body(body))
    return noted.line_of(path, "While") or noted.line_of(path, "StatelessWhile")


@fact
def loop_gradient(question: Question) -> str:
    """Whether a step that takes gradients takes any of what such loops compute, by the
    paths of the ops: `yes` or `no`.
    """
    taken = [
        part
        for part in compute_parts(question.run).parts
        if part.path is not None and part.path.is_gradient
    ]
    if not taken or not _in_loops(question):
        raise MetricAbsent("no loop runs in a step that takes gradients")
    return "yes" if any(loop_bodies(part.name) for part in taken) else "no"


# Loops that run a model over all that they extend, and use its result at one position.


@once
def _whole_for_one(question: Question) -> WholeForOne:
    """Raises MetricAbsent."""
    source = question.settings.source
    if source is None:
        raise MetricAbsent("the program's source is not given: --source DIR")
    found = source.whole_for_one
    if found is None:
        raise MetricAbsent(
            "no loop of the program's files uses one position of a result that it "
            "makes of all it extends"
        )
    return found


@metric(better=Better.NEITHER)
def whole_for_one_fraction(question: Question) -> float:
    """Share of step time in ops of while loops of TensorFlow's graphs, where a loop of
    the program's files calls a function on all of what its rounds extend, and uses its
    result at one position. Loops that are known to be made elsewhere do not count. Of a
    loop of Python that calls a compiled function so, the share of that.
    """
    known = _whole_for_one(question)
    step = step_function(question.run)
    if step is not None and step == known.call.partition("(")[0].rpartition(".")[2]:
        return share(question, TimeClass.COMPUTE)
    parts = [
        part
        for body, parts in _in_loops(question).items()
        if _may_be_at(question, loop_bodies(body)[0], known)
        for part in parts
    ]
    return compute_fraction_of(question, parts)


def _may_be_at(question: Question, body: str, known: WholeForOne) -> bool:
    line = _made_at(question, body)
    if line is None:
        return True
    return line.file == known.file and known.lines[0] <= line.line <= known.lines[1]


@fact
def whole_for_one_call(question: Question) -> str:
    """That call, and what is used of it: `self(tokens)[:, index - 1]`."""
    return _whole_for_one(question).call


@fact
def whole_for_one_place(question: Question) -> str:
    """Its line: `self (train.py:49)`."""
    found = _whole_for_one(question)
    return place_in_words(found.file, found.line, found.call.partition("(")[0])


@fact
def whole_for_one_extended(question: Question) -> str:
    """What the loop extends round by round: `tokens`."""
    return _whole_for_one(question).extended
