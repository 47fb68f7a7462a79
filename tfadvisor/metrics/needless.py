"""Work that a training step hardly needs: ops that could run elsewhere, gradients
nobody uses, the same on every device.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from tfadvisor.metrics.kinds import (
    known_ops,
    known_where,
    of_step_time,
    patterns_of_any_device,
)
from tfadvisor.metrics.layers import (
    ComputedOp,
    compute_parts,
    named_by_tensorflow,
)
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric, once
from tfadvisor.patterns import pattern
from tfadvisor.tallies import added_up
from tfadvisor.timeline.names.program_calls import function_of_module
from tfadvisor.timeline.summary import HotOp


class CostlyKind(NamedTuple):
    """A kind of ops with one cure."""

    name: str
    """As in `12% of step time is NAME`."""
    ops: re.Pattern[str]
    """Their types, without a prefix of oneDNN or a version: `RandomUniform` of
    `StatelessRandomUniformV2`.
    """
    scopes: re.Pattern[str]
    """Scopes that hold nothing else: TensorFlow's functions and Keras' layers name
    them.
    """


def _kind(
    name: str,
    ops: str,
    scopes: str = "",
) -> CostlyKind:
    words = "|".join(scopes.split())
    return CostlyKind(
        name,
        pattern("|".join(ops.split()) or "(?!)"),
        pattern(rf"(?:^|/)(?:{words})(?:_\d+)*(?:/|$)" if words else "(?!)"),
    )


_RESIZE = r"Resize(?:Bilinear|Bicubic|NearestNeighbor|Area) ScaleAndTranslate"
KINDS = (
    _kind(
        "checks for NaN and Inf",
        "CheckNumerics DebugNumericSummary DebugIdentity DebugNanCount",
        r"check_numerics\w* assert_all_finite\w*",
    ),
    _kind(
        "summaries and printing",
        r"\w*HistogramSummary \w*ImageSummary \w*AudioSummary WriteSummary "
        r"WriteScalarSummary EncodePng EncodeJpeg EncodeWav "
        r"StringFormat Print LogicalPrint",
        "histogram_summary image_summary write_summary",
    ),
    _kind(
        "decoding of files and records",
        r"Decode(?:And\w+|Jpeg|Png|Gif|Bmp|Image|Wav|Raw|Compressed|PaddedRaw|Proto) "
        r"ReadFile ParseTensor ParseExample\w* "
        r"ParseSingle\w+ ExtractJpegShape",
        "decode_image decode_jpeg",
    ),
    _kind(
        "augmentation and resizing of images",
        r"ImageProjectiveTransform AdjustHue AdjustSaturation AdjustContrast "
        r"RGBToHSV HSVToRGB "
        rf"SampleDistortedBoundingBox {_RESIZE}",
        r"random_(?:rotation|zoom|translation|contrast|brightness|crop|shear|hue|saturation|sharpness|color\w+|"
        r"gaussian_blur|perspective|elastic\w*|grayscale|invert|posterization|erasing) "
        r"rand_augment aug_mix mix_up cut_mix auto_contrast solarization "
        r"equalization resizing",
    ),
    _kind(
        "text",
        r"String(?!Format)\w* Unicode\w+ Regex\w+ StaticRegex\w+ DecodeBase64 "
        r"EncodeBase64 Substr ReduceJoin AsString DecodeCSV "
        r"DecodeJSON\w* LookupTableFind \w*Tokenize\w*",
        "text_vectorization string_lookup integer_lookup",
    ),
)
"""What a training step needs no gradient of."""
_PREFIX = pattern(r"^_Mkl(?:Native)?|^_Fused(?=[A-Z])")
_VERSION = pattern(r"V\d+$")
_RESIZES = pattern("|".join(_RESIZE.split()))
_TRAINED_RESIZE = ("Resize", "ScaleAndTranslate")


@lru_cache(maxsize=1 << 12)
def costly_kind(op_type: str, layer: str) -> CostlyKind | None:
    """What an op is by its type, else by its scopes; None for what steps are
    made of.
    """
    plain = bare_type(op_type)
    for kind in KINDS:
        if kind.ops.fullmatch(plain):
            return kind
    return next((kind for kind in KINDS if kind.scopes.search(layer)), None)


def bare_type(op_type: str) -> str:
    """Without a prefix of oneDNN or a version: `_MklNativeConv2DV2` -> `Conv2D`."""
    return _VERSION.sub("", _PREFIX.sub("", op_type))


@once
def _largest_kind(question: Question) -> tuple[str, tuple[ComputedOp, ...]]:
    """(the kind that takes most time, its ops, the largest first); ("", ()) where no op
    is of any.

    Raises MetricAbsent where the trace does not name the types of TensorFlow's ops.
    """
    found = named_by_tensorflow(question)
    trained = _layers_that_train_a_resize(found)
    kinds: dict[str, list[ComputedOp]] = {}
    for part in found:
        kind = costly_kind(part.op_type, part.layer)
        if kind is not None and not (
            part.layer in trained and _RESIZES.fullmatch(bare_type(part.op_type))
        ):
            kinds.setdefault(kind.name, []).append(part)
    if not kinds:
        return "", ()
    name = max(kinds, key=lambda title: sum(part.total_ps for part in kinds[title]))
    return name, tuple(kinds[name])


def _layers_that_train_a_resize(parts: Sequence[ComputedOp]) -> set[str]:
    """Layers whose resize has a gradient, as a decoder's that enlarges features: no
    preparation of inputs.
    """
    return {
        part.layer
        for part in parts
        if part.path
        and part.path.is_gradient
        and part.op_type.startswith(_TRAINED_RESIZE)
    }


def costly_ops(question: Question) -> tuple[ComputedOp, ...]:
    """Those of the kind that takes most time, the largest first. Raises
    MetricAbsent.
    """
    return _largest_kind(question)[1]


@fact
def costly_op_kind(question: Question) -> str:
    """Of costly_op_fraction: what these ops do, `checks for NaN and Inf`."""
    name, _ = _largest_kind(question)
    if not name:
        raise MetricAbsent("no op of the step prepares inputs or looks for faults")
    return name


# Random numbers that a compiled step draws.

_DRAWS = pattern(
    r"threefry2x32|random_bits|random_gamma|rng_bit_generator|rng_uniform|"
    r"jit\(_(?:normal|uniform|bernoulli|gumbel|laplace|exponential|truncated_normal|randint|gamma|poisson|categorical)\b"
)
"""Parts of JAX's paths."""


def random_draws(question: Question) -> list[HotOp]:
    """Ops that draw numbers, masks of dropout too. Raises MetricAbsent without HLO."""
    return known_where(question, lambda known: bool(_DRAWS.search(known.op_name)))


# What a step puts in order.

_SORTS = frozenset({"sort", "Sort", "ArgSort", "top_k", "topk", "TopK", "approx_top_k"})
"""Types of JAX's and TensorFlow's ops, without a version."""


def sorts(question: Question) -> tuple[ComputedOp, ...]:
    """Ops that sort, or take the largest few, the largest first. Raises
    MetricAbsent.
    """
    parts = compute_parts(question.run).parts
    return tuple(part for part in parts if bare_type(part.op_type) in _SORTS)


_SHUFFLES = pattern(r"jit\(_shuffle\)")
"""What jax.random's permutation, shuffle and choice call, which sorts random keys."""


@fact
def sorted_for(question: Question) -> str:
    """What the ops of sort_fraction that take most are for, by their paths in JAX's
    HLO: draw (a permutation, or rows without replacement) or order.
    """
    known = known_where(question, lambda known: "sort" in known.op_name)
    if not known:
        raise MetricAbsent("the trace's HLO does not name the path to an op that sorts")
    largest = max(known, key=lambda op: op.total_ps)
    return sorts_to(largest.known.op_name if largest.known is not None else "")


def sorts_to(path: str) -> str:
    """What an op that sorts is for, by its path: draw or order."""
    return "draw" if _SHUFFLES.search(path) else "order"


# What a program computes for nothing but numbers that it returns.

_NAMED = 0.1
"""Of that time, for a number to be named."""


@once
def for_numbers(question: Question) -> list[HotOp]:
    """Ops of one program, that which spends most on them, whose results nothing but
    numbers need that it returns beside arrays. Raises MetricAbsent without HLO.
    """
    found = known_where(question, lambda known: bool(known.only_for))
    time = added_up((op.module, op.total_ps) for op in found)
    most = max(time, key=time.__getitem__, default="")
    return [op for op in found if op.module == most]


def _numbers(question: Question) -> tuple[str, list[str]]:
    """The program, and which numbers those are as far as known, that which takes most
    first.
    """
    found = for_numbers(question)
    if not found:
        raise MetricAbsent("no op works for numbers alone that a program returns")
    time = added_up(
        (number, op.total_ps)
        for op in found
        for number in (op.known.only_for if op.known is not None else ())
    )
    least = _NAMED * sum(op.total_ps for op in found)
    names = [name for name in time if name and time[name] >= least]
    program = function_of_module(found[0].module) or found[0].module
    return program, sorted(names, key=lambda name: -time[name])


@fact
def number_only_results(question: Question) -> str:
    """Which numbers these are, that which takes most first, and what returns them:
    `global_norm (train.py:111), a number that train_step returns`.
    """
    program, names = _numbers(question)
    what = "numbers" if len(names) > 1 else "a number"
    comma = ", " if names else ""
    return f"{' and '.join(names)}{comma}{what} that {program} returns"


@fact
def number_only_place(question: Question) -> str:
    """Where that which takes most is made: `global_norm (train.py:111)`."""
    _, names = _numbers(question)
    if not names:
        raise MetricAbsent("the trace's HLO does not tell what makes the number")
    return names[0]


@fact
def number_only_kind(question: Question) -> str:
    """`gradients` where most of that time takes derivatives, by the paths of JAX's ops;
    else `values`.
    """
    found = for_numbers(question)
    taken = [op for op in found if op.known and "transpose(" in op.known.op_name]
    if not found:
        raise MetricAbsent("no op works for numbers alone that a program returns")
    is_most = 2 * sum(op.total_ps for op in taken) >= sum(op.total_ps for op in found)
    return "gradients" if is_most else "values"


# What every device of a run computes alike.


@metric
def same_work_fraction(question: Question) -> float:
    """Share of step time in which a device computes what the other devices compute too:
    of the hottest program's compute all but what one device's share would be.
    """
    patterns = patterns_of_any_device(question)
    ops = known_ops(question)
    mine = [op for op in ops.ops if op.module == patterns.module]
    return of_step_time(question, mine, ops) * (1 - 1 / patterns.equal_partitions)
