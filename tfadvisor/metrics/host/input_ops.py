"""Which ops the functions of the input pipeline spend their time in."""

from __future__ import annotations

import re

from tfadvisor.metrics.needless.costly_ops import TEXT, bare_type
from tfadvisor.metrics.registry import MetricAbsent, Question, fact
from tfadvisor.metrics.steady import counted_hosts
from tfadvisor.units import percent

_MOST = 3
_WORTH_NAMING = 0.03
_KINDS = (
    ("Fourier transforms", re.compile(r"(?:Batch)?I?R?FFT(?:2D|3D|ND)?")),
    (
        "random numbers",
        re.compile(r"(?:Stateless|Stateful)?(?:Random(?!Shuffle|IndexShuffle)|Truncated|Parameterized)\w*"),
    ),
    ("one-hot rows", re.compile("OneHot")),
    ("conversions between sparse and dense", re.compile(r"SparseToDense|SparseTensorToDense|RaggedTensorTo\w+")),
    (TEXT.name, TEXT.ops),
)
"""What an op type is, where it has a cheaper form."""
_RESIZES = ("Resize", "ScaleAndTranslate", "CropAndResize")


@fact
def input_op(question: Question) -> str:
    """The op type that takes most of the time of the pipeline's functions: `DecodeJpeg`."""
    return _by_type(question)[0][0]


@fact
def input_ops(question: Question) -> str:
    """The op types that take most of the time of the pipeline's functions, with their shares of it: `DecodeJpeg 62%,
    ResizeBilinear 31%`.
    """
    found = _by_type(question)
    total = sum(time for _, time in found)
    return ", ".join(f"{kind} {percent(time / total)}" for kind, time in found[:_MOST] if time / total >= _WORTH_NAMING)


@fact
def input_op_kind(question: Question) -> str:
    """What the op is that takes most of the time of the pipeline's functions, where it is of a kind that has a cheaper form:
    `Fourier transforms`, `text`.
    """
    largest = _by_type(question)[0][0]
    found = next((name for name, types in _KINDS if types.fullmatch(bare_type(largest))), None)
    if found is not None:
        return found
    raise MetricAbsent(f"{largest} is of no kind that has a cheaper form")


@fact
def input_resizes(question: Question) -> str:
    """Whether the pipeline's functions resize pictures: yes or no."""
    return "yes" if any(kind.startswith(_RESIZES) for kind, _ in _by_type(question)) else "no"


def _by_type(question: Question) -> list[tuple[str, int]]:
    """(op type, ps) of all hosts, the longest first. Raises MetricAbsent where the trace names none."""
    time: dict[str, int] = {}
    for host in counted_hosts(question.run):
        for kind, ps in host.evidence.pipeline_ops.by_type:
            time[kind] = time.get(kind, 0) + ps
    if not any(time.values()):
        raise MetricAbsent("the trace names no op of the input pipeline's functions")
    return sorted(time.items(), key=lambda one: -one[1])
