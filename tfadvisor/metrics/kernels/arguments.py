"""What a compiled program does to its arguments because it may not write into them."""

from __future__ import annotations

import re

from tfadvisor.metrics.kernels.first_device import known_where
from tfadvisor.metrics.registry import MetricAbsent, Question, fact
from tfadvisor.timeline.names.programs import function_of_module
from tfadvisor.timeline.summary.hot_ops import HotOp

_ARGUMENT = re.compile(r"^[A-Za-z_]\w*")
"""The name of an argument in front of what it holds: `memory` of `memory['obs']`."""


def copies_of_arguments(question: Question) -> list[HotOp]:
    """Of whole arguments that the program returns changed and may not overwrite. Raises MetricAbsent without HLO."""
    return known_where(question, lambda known: known.copied is not None)


@fact
def copied_arguments(question: Question) -> str:
    """The arguments that the program copies because they are not donated, the costliest first: `state.memory,
    state.moments`.
    """
    names = [one.known.copied for one in copies_of_arguments(question) if one.known is not None and one.known.copied]
    if not names:
        raise MetricAbsent("the trace holds no names of arguments that are copied")
    return ", ".join(list(dict.fromkeys(names))[:3])


@fact
def copying_function(question: Question) -> str:
    """The jitted function whose program copies the most of its arguments because they are not donated: `train_step`."""
    found = next((name for one in copies_of_arguments(question) if (name := function_of_module(one.module))), None)
    if found is None:
        raise MetricAbsent("the trace does not name the function whose arguments are copied")
    return found


@fact
def donated_names(question: Question) -> str:
    """The arguments of that function to donate, as its source names them: `"params", "memory"`."""
    function = copying_function(question)
    copied = [
        one
        for one in copies_of_arguments(question)
        if one.known is not None and function_of_module(one.module) == function
    ]
    roots = [match.group() for one in copied if (match := _ARGUMENT.match((one.known and one.known.copied) or ""))]
    if not roots or {"args", "kwargs"}.intersection(roots):
        raise MetricAbsent("the trace holds no names of arguments that are copied")
    return ", ".join(f'"{name}"' for name in dict.fromkeys(roots))
