"""Compiled functions that a step calls although what they give trains nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tfadvisor.arrays import descending
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric, once
from tfadvisor.metrics.steady import counted_hosts, counted_ps, known_steps
from tfadvisor.timeline.names.program_calls import function_of_module
from tfadvisor.timeline.summary import HostSummary
from tfadvisor.vocabulary import DeviceKind

if TYPE_CHECKING:
    from tfadvisor.causes.program_source import CalledInLoop

_OFTEN = 0.9
"""Of the counted steps, in which a function is called in each."""
IN_NO_STEP, IN_STEP = "goes into no step", "may go into the step"


class Called(NamedTuple):
    """A compiled function that a step calls."""

    name: str
    steps: int
    """Counted ones, in which it is called."""
    total_ps: int
    trains: bool | None
    """None where only the source can tell."""


@once
def _evaluated(question: Question) -> tuple[Called, Called] | None:
    """The costliest function that may train nothing, called in each step, and the one
    that does train; None where a step has no two such.

    Raises MetricAbsent.
    """
    known_steps(question.run)
    host = counted_hosts(question.run)[0]
    is_tensorflow = host.capture.framework == "tensorflow"
    found = _of_tensorflow(host) if is_tensorflow else _of_devices(host)
    often = _OFTEN * host.steps.steady_count
    found = [called for called in found if called.steps >= often]
    training = [called for called in found if called.trains]
    others = [called for called in found if called.trains is False]
    return (others[0], training[0]) if training and others else None


def _of_tensorflow(host: HostSummary) -> list[Called]:
    """By their ops: those that change no variable but by adding to it, as metrics do,
    train nothing. Raises MetricAbsent.
    """
    if {device.kind for device in host.devices} != {DeviceKind.CPU}:
        raise MetricAbsent(
            "on an accelerator a call of TensorFlow's ends before its work"
        )
    return [
        Called(calls.name, calls.steps, calls.total_ps, calls.changes)
        for calls in host.evidence.functions
    ]


def _of_devices(host: HostSummary) -> list[Called]:
    """Programs by their time on a device: the costliest trains. A function of JAX's
    changes nothing but by what it gives. None are known where the costliest has no
    name. Raises MetricAbsent.
    """
    device = next((device for device in host.devices if len(device.ops)), None)
    if device is None:
        raise MetricAbsent("no device works in this trace")
    owners, first = np.unique(device.ops.owner(), return_index=True)
    total = np.bincount(
        np.searchsorted(owners, device.ops.owner()), device.ops.total_ps
    )
    module_of = device.ops.module_of()
    found: list[Called] = []
    for number in descending(total).tolist():
        row = int(first[number])
        name = function_of_module(module_of(row))
        if name is None and not found:
            return []
        if name is not None:
            steps = device.steps_with(row)
            found.append(Called(name, steps, int(total[number]), not found))
    return found


@metric
def evaluated_fraction(question: Question) -> float:
    """Share of step time in a compiled function that a step calls beside the one that
    trains: of TensorFlow's one in which no op changes a variable otherwise than by
    adding to it, as metrics do; of JAX's any other, by its time on the device. 0 where
    there is none.
    """
    found = _evaluated(question)
    if found is None:
        return 0.0
    host = counted_hosts(question.run)[0]
    return found[0].total_ps / max(counted_ps(host), 1)


@fact
def evaluated_function(question: Question) -> str:
    """That function: `evaluate`."""
    return _both(question)[0].name


@fact
def trained_function(question: Question) -> str:
    """The function beside it that does: `train_step`."""
    return _both(question)[1].name


@fact
def evaluated_result(question: Question) -> str:
    """`goes into no step` where the loop that calls both gives nothing of it to the
    function that trains, `may go into the step` where it does, or an object keeps it.
    """
    return IN_STEP if _in_loop(question).may_feed_step else IN_NO_STEP


@fact
def evaluated_place(question: Question) -> str:
    """Where the loop calls it: `evaluate (train.py:87)`."""
    called = _in_loop(question)
    return f"{_both(question)[0].name} ({called.file}:{called.line})"


def _both(question: Question) -> tuple[Called, Called]:
    found = _evaluated(question)
    if found is None:
        raise MetricAbsent("a step calls no compiled function but the one that trains")
    return found


@once
def _in_loop(question: Question) -> CalledInLoop:
    """Raises MetricAbsent."""
    evaluated, trained = _both(question)
    source = question.settings.source
    found = None if source is None else source.called(evaluated.name, trained.name)
    if found is None:
        raise MetricAbsent("no loop of the program's source calls both by their names")
    return found
