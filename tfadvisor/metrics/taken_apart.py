"""Arrays that Python takes apart piece by piece, an op for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfadvisor.metrics.one_by_one import KEYS, lines_one_by_one, ops_by_name
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric, once
from tfadvisor.metrics.steady import counted_hosts, counted_steps
from tfadvisor.timeline.names.frames import place_in_words
from tfadvisor.timeline.names.program_calls import jitted_function

if TYPE_CHECKING:
    from tfadvisor.causes import Indexed

_TAKING = frozenset(
    "dynamic_index_in_dim dynamic_slice gather getitem slice take unstack "
    "Gather GatherNd GatherV2 ResourceGather Slice StridedSlice Unpack".split()
)
"""Ops that take a part of an array, of JAX and of TensorFlow."""
_SHAPING = frozenset(
    "convert_element_type reshape squeeze Cast Reshape Squeeze".split()
)
"""Ops that follow on them: `x[i]` is a slice and a squeeze."""
_MOST_SHAPING = 2
"""Of these for each part."""
_PARTS_OF_KEYS = 2
"""Taken for each call that splits a random key: `key, noise = split(key)`."""
_FEW = 8
"""Parts a step, below which a loop may take its batch with them."""


@metric
def indexing_op_share(question: Question) -> float:
    """Share of the ops that Python dispatches one by one, by number, that take a part
    of an array, as a row or a slice, or cast or reshape it then. Parts of new random
    keys do not count. 0 where a step takes fewer than eight parts.
    """
    ops = ops_by_name(question)
    taking = shaping = 0
    for name, many in ops.items():
        plain = name.lstrip("_")
        taking += many if plain in _TAKING else 0
        shaping += many if plain in _SHAPING else 0
    hosts = counted_hosts(question.run)
    taking = max(taking - _PARTS_OF_KEYS * _splits(question), 0)
    if taking < _FEW * counted_steps(hosts):
        return 0.0
    return (taking + min(shaping, _MOST_SHAPING * taking)) / sum(ops.values())


def _splits(question: Question) -> int:
    """How often the counted steps split random keys from Python."""
    return sum(
        many
        for host in counted_hosts(question.run)
        for name, many in host.evidence.calls.by_name.items()
        if any(word in (jitted_function(name) or "") for word in KEYS)
    )


@once
def _part(question: Question) -> Indexed:
    """Raises MetricAbsent."""
    source = question.settings.source
    if source is None:
        raise MetricAbsent("the program's source is not given: --source DIR")
    if not indexing_op_share(question):
        raise MetricAbsent("hardly an op that Python dispatches takes a part")
    for file, line in lines_one_by_one(question):
        found = source.indexed(file, line)
        if found is not None:
            return found
    raise MetricAbsent("no line that runs ops one by one takes a part in a loop")


@fact
def indexed_part(question: Question) -> str:
    """What a line that runs ops one by one takes of an array in each round of its loop,
    with its place: `losses[i, :lengths[i]] (train.py:67)`. By the program's source.
    """
    part = _part(question)
    return place_in_words(part.file, part.line, part.text)


@fact
def indexed_array(question: Question) -> str:
    """The array of which it takes that: `losses`."""
    return _part(question).array


@fact
def indexed_for(question: Question) -> str:
    """`call` where the round gives that part to a function that is compiled, else
    `unknown`.
    """
    return "call" if _part(question).goes_into_call else "unknown"
