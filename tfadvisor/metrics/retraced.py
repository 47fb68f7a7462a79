"""What of a tf.function's arguments makes TensorFlow trace it again, by the program's
source.
"""

from __future__ import annotations

from typing import NamedTuple

from tfadvisor.metrics.between_dispatches import recompiled_function
from tfadvisor.metrics.registry import Question, fact, once


class _Signature(NamedTuple):
    """How such a function is traced once."""

    words: str
    before: str
    after: str


@once
def _signature(question: Question) -> _Signature:
    """Raises MetricAbsent."""
    name, source = recompiled_function(question), question.settings.source
    given = None if source is None else source.number_given(name)
    if given is None:
        return _of_any(name)
    return _Signature(
        f"{name} is traced again for each number of Python that it is given: "
        f"`{given.written}`, which `{given.head}` changes ({given.place}). Give it as "
        "a tensor.",
        given.before,
        given.after,
    )


def _of_any(name: str) -> _Signature:
    """Where the source does not show what changes."""
    return _Signature(
        f"Give {name} one signature, pass tensors instead of Python numbers, and drop "
        "or pad the last, smaller batch.",
        f"@tf.function\ndef {name}(features, labels, rate): ...\n"
        f"{name}(features, labels, 0.1 / step)         # a Python number: traced for "
        "each",
        "@tf.function(input_signature=[tf.TensorSpec([None, 256], tf.float32), "
        "tf.TensorSpec([None], tf.int64),\n"
        "                              tf.TensorSpec([], tf.float32)])\n"
        f"def {name}(features, labels, rate): ...\n"
        f"{name}(features, labels, tf.constant(0.1 / step))\n"
        "dataset = dataset.batch(batch_size, drop_remainder=True)     # skips the "
        "remainder of each epoch",
    )


@fact
def one_signature(question: Question) -> str:
    """How the tf.function that is compiled again is traced once: by the number of
    Python that the source gives it, where it shows one.
    """
    return _signature(question).words


@fact
def one_signature_before(question: Question) -> str:
    """Its call, by the source, else an example."""
    return _signature(question).before


@fact
def one_signature_after(question: Question) -> str:
    """The same so that it is traced once."""
    return _signature(question).after
