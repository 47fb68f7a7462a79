"""Text and tables inside the model's step, which the input pipeline could prepare ahead of it."""

from __future__ import annotations

import re

from tfadvisor.metrics.compute.largest import compute_fraction_of
from tfadvisor.metrics.compute.parts import Part, compute_parts
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric
from tfadvisor.metrics.remember import once
from tfadvisor.units import Unit
from tfadvisor.vocabulary import Better

_TEXT_OP = re.compile(
    r"^(?:String(?!Format$)\w*|Unicode\w+|Regex\w+|StaticRegex\w+|DecodeBase64|EncodeBase64|Substr|ReduceJoin|AsString|"
    r"DecodeCSV|DecodeRaw|DecodeJSON\w*|ParseExample\w*|ParseSingle\w+|LookupTableFind\w*|\w*Tokenize\w*)$"
)
"""Types of TensorFlow's ops on strings and hash tables."""
_PRODUCTS = ("MatMul", "Conv", "Einsum")
"""Parts of the types of ops that are the model's own, whatever else its scope holds."""
_PRINTING_OP = frozenset(("StringFormat", "PrintV2", "Print", "LogicalPrint"))
"""What tf.print makes of the step's values."""


def is_text_op(kind: str) -> bool:
    """Whether a type of TensorFlow's ops is one on strings or hash tables."""
    return _TEXT_OP.match(kind) is not None


def _is_text(part: Part) -> bool:
    return is_text_op(part.op_type)


@once
def _text_parts(question: Question) -> tuple[Part, ...]:
    """Ops on text, and all others of the same layer: `text_vectorization/Equal` compares strings too."""
    found = compute_parts(question.run).parts
    layers = {one.layer for one in found if _is_text(one)} - {""}
    return tuple(one for one in found if _is_text(one) or (one.layer in layers and not _is_product(one)))


def _is_product(part: Part) -> bool:
    return any(word in part.op_type for word in _PRODUCTS)


def _needs_types(question: Question) -> None:
    if not any(one.op_type for one in compute_parts(question.run).parts):
        raise MetricAbsent("the trace does not name the types of ops")


@metric(unit=Unit.FRACTION, better=Better.LESS, needs=(_needs_types,))
def text_op_fraction(question: Question) -> float:
    """Share of step time in TensorFlow's ops on strings and lookup tables, and in the other ops of their layers."""
    return compute_fraction_of(question, _text_parts(question))


@fact
def text_op(question: Question) -> str:
    """The op on strings or tables that takes most time: `text_vectorization/StringSplit/StringSplitV2`."""
    found = [one for one in compute_parts(question.run).parts if _is_text(one)]
    if not found:
        raise MetricAbsent("no op works on strings or tables")
    return found[0].name


@metric(unit=Unit.FRACTION, better=Better.LESS, needs=(_needs_types,))
def printing_op_fraction(question: Question) -> float:
    """Share of step time in TensorFlow's ops that format and print values inside the step."""
    found = [one for one in compute_parts(question.run).parts if one.op_type in _PRINTING_OP]
    return compute_fraction_of(question, found)
