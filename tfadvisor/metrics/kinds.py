"""Which kinds of work fill the compute time: shares of step time that one change could
save, and where they come from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING

from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric, once
from tfadvisor.metrics.steady import a_device, accelerators, counted_hosts, gpus, share
from tfadvisor.timeline.names.device_events import instruction_name
from tfadvisor.timeline.names.host_events import op_type
from tfadvisor.timeline.names.kernels import kernel_kind
from tfadvisor.timeline.names.program_calls import serving_phase
from tfadvisor.timeline.summary import HotOp, HotOps
from tfadvisor.vocabulary import Better, DeviceKind, TimeClass

if TYPE_CHECKING:
    from tfadvisor.timeline import InProgram
    from tfadvisor.timeline.summary import ProgramPatterns


class OpKind(Enum):
    """What an op does, by its HLO where the trace has it, else by its kernel's name.
    Each op is of one kind.
    """

    MATRIX = "matrix product, convolution or attention"
    CUMULATIVE = "cumulative sum"
    LAYOUT = "layout conversion"
    GATHER = "gather"
    UPDATE = "update of a slice"
    CONCATENATE = "concatenation or split"
    ELEMENTWISE = "elementwise"
    OTHER = "other"


_CUMULATIVE_OPS = ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp")
_BY_EFFECT = {
    **dict.fromkeys(("reduce-window",), OpKind.CUMULATIVE),
    **dict.fromkeys(("transpose", "copy"), OpKind.LAYOUT),
    "gather": OpKind.GATHER,
    **dict.fromkeys(("dynamic-update-slice", "dynamic-slice"), OpKind.UPDATE),
    "concatenate": OpKind.CONCATENATE,
}
_BY_NAME = (
    (
        OpKind.CUMULATIVE,
        ("devicescan", "scan_kernel", "scankernel", "cumsum", "cumprod", "cumulative"),
    ),
    (OpKind.CUMULATIVE, ("reduce_window", "reduce-window")),
    (
        OpKind.LAYOUT,
        (
            "nchwtonhwc",
            "nhwctonchw",
            "swapdimension",
            "transpose",
            "permute",
            "batchtospace",
            "tensorreorder",
        ),
    ),
    (OpKind.GATHER, ("gather",)),
    (
        OpKind.UPDATE,
        (
            "dynamic_update_slice",
            "dynamic-update-slice",
            "dynamic_slice",
            "dynamic-slice",
        ),
    ),
    (
        OpKind.CONCATENATE,
        (
            "concat",
            "splitopkernel",
            "split_v_kernel",
            "splitvkernel",
            "unpack",
            "pack_kernel",
        ),
    ),
)
_COPY_STEMS = (
    "copy",
    "copy_fusion",
    "loop_copy_fusion",
    "wrapped_copy",
    "input_copy_fusion",
)
_ELEMENTWISE = (
    "_gpu_dt_",
    "eigenmetakernel",
    "elementwise",
    "biasnhwc",
    "biasnchw",
    "unary_",
    "binary_",
)
_NOT_ELEMENTWISE = (
    "reduc",
    "sort",
    "random",
    "philox",
    "rng",
    "pool",
    "softmax",
    "norm",
    "argm",
    "scatter",
)
_GENERATED = ("loop_", "wrapped_")
_ELEMENTWISE_OPS = frozenset(
    """
        Abs Add AddN AddV2 Atan2 BiasAdd BiasAddV1 Cast Ceil ClipByValue Cos Div
        DivNoNan Elu EluGrad Equal Erf Exp Expm1 Floor Greater GreaterEqual Inv InvGrad
        LeakyRelu LeakyReluGrad Less LessEqual Log Log1p Maximum Minimum Mul MulNoNan
        Neg Pow RealDiv Reciprocal ReciprocalGrad Relu Relu6 Relu6Grad ReluGrad Round
        Rsqrt RsqrtGrad Select SelectV2 Selu SeluGrad Sigmoid SigmoidGrad Sign Sin
        Softplus SoftplusGrad Sqrt SqrtGrad Square SquaredDifference Sub Tanh TanhGrad
        Xdivy
    """.split()
)
_ELEMENTWISE_OPCODES = frozenset(
    """
        abs add and atan2 cbrt ceil clamp compare convert cosine divide erf exponential
        exponential-minus-one floor is-finite log log-plus-one logistic maximum minimum
        multiply negate not or power remainder round-nearest-afz round-nearest-even
        rsqrt select sign sine sqrt subtract tan tanh xor
    """.split()
)
_POOLING = ("pool",)
_MOST = 0.5


def kind_of(op: HotOp) -> OpKind:
    """The kind of one op. Pooling is a reduce-window too; its path in the framework's
    program says so.
    """
    known = op.known
    path = known.op_name.lower() if known is not None else ""
    kernel = instruction_name(op.kernel).lower()
    if any(word in path for word in _CUMULATIVE_OPS):
        return OpKind.CUMULATIVE
    if (known is not None and known.products) or kernel_kind(op.kernel).is_matrix:
        return OpKind.MATRIX
    if known is not None and known.effect in _BY_EFFECT:
        kind = _BY_EFFECT[known.effect]
        return (
            OpKind.OTHER
            if kind is OpKind.CUMULATIVE and any(word in path for word in _POOLING)
            else kind
        )
    if known is None:
        found = next(
            (kind for kind, words in _BY_NAME if any(word in kernel for word in words)),
            None,
        )
        if found is not None:
            return found
        if kernel.removesuffix(".kd").rstrip("0123456789_.") in _COPY_STEMS:
            return OpKind.LAYOUT
    generated = kernel.startswith(_GENERATED) or any(
        word in kernel for word in _ELEMENTWISE
    )
    return (
        OpKind.ELEMENTWISE
        if generated and not any(word in kernel for word in _NOT_ELEMENTWISE)
        else OpKind.OTHER
    )


@once
def hottest_ops(question: Question) -> HotOps:
    """Of the first GPU or TPU. Raises MetricAbsent when nothing computes on one."""
    host, _ = accelerators(question.run)[0]
    if host.program is None or not host.program.hot_ops.compute_ps:
        raise MetricAbsent("no kernel begins in a counted step")
    return host.program.hot_ops


@once
def _by_kind(question: Question) -> Mapping[OpKind, list[HotOp]]:
    """The hottest ops, by kind, the hottest first."""
    found: dict[OpKind, list[HotOp]] = {kind: [] for kind in OpKind}
    for op in hottest_ops(question).ops:
        found[kind_of(op)].append(op)
    return found


def of_step_time(
    question: Question,
    chosen: list[HotOp],
    among: HotOps | None = None,
) -> float:
    """The share of step time that these of the hottest ops take: their share of the
    compute time, of that in the steps.

    among: the hottest ops, those of the first GPU by default.
    """
    total = sum(op.total_ps for op in chosen)
    return (
        total
        / (among or hottest_ops(question)).compute_ps
        * share(question, TimeClass.COMPUTE)
    )


def of_kind(question: Question, kind: OpKind) -> tuple[list[HotOp], HotOps]:
    """The ones of a kind among the hottest ops of the first accelerator, and all of
    these. Raises MetricAbsent where none is known to be of the kind, and what most of a
    TPU's fusions hold is not known: their names do not tell.
    """
    found, every = _by_kind(question)[kind], hottest_ops(question)
    told = (
        ("fusion", "") if kind is not OpKind.LAYOUT else ("",)
    )  # categories distinguish those that only move data
    silent = [
        op
        for op in every.ops
        if op.known is None or (op.known.stated and op.known.opcode in told)
    ]
    is_tpu = accelerators(question.run)[0][1].kind is DeviceKind.TPU
    if (
        is_tpu
        and not found
        and sum(op.total_ps for op in silent) > _MOST * every.compute_ps
    ):
        raise MetricAbsent(
            "the trace carries no HLO of the TPU's fusions, and their names do not "
            "say what they hold"
        )
    return found, every


@once
def elementwise(question: Question) -> tuple[list[HotOp], HotOps]:
    """The elementwise ones among the hottest ops, and all of these. On a CPU the HLO
    shows them, or TensorFlow's op types.
    """
    host = next((host for host in question.run.hosts if host.devices), None)
    if host is None or host.devices[0].kind is not DeviceKind.CPU:
        return of_kind(question, OpKind.ELEMENTWISE)
    if host.program is None:
        raise MetricAbsent("no op begins in a counted step")
    hot = host.program.hot_ops
    if hot.compute_ps and any(op_type(op.name()) for op in hot.ops):
        return [op for op in hot.ops if op_type(op.name()) in _ELEMENTWISE_OPS], hot
    if not any(op.known is not None for op in hot.ops):
        raise MetricAbsent(
            "the trace of this CPU run carries no HLO of the step's program"
        )
    known = [op for op in hot.ops if op.known is not None and not op.known.products]
    return [
        op for op in known if op.known and op.known.effect in _ELEMENTWISE_OPCODES
    ], hot


def _of_phase(phase: str, question: Question) -> float:
    """Share of step time in a server's programs of one phase, by the programs' names.
    Raises MetricAbsent.
    """
    phases = [(op, serving_phase(op.module)) for op in hottest_ops(question).ops]
    if not any(of for _, of in phases):
        raise MetricAbsent("no program of this run is named for prefill or decoding")
    return of_step_time(question, [op for op, of in phases if of == phase])


@metric(better=Better.NEITHER)
def prefill_fraction(question: Question) -> float:
    """Share of step time in programs named for prefill."""
    return _of_phase("prefill", question)


@metric(better=Better.NEITHER)
def decode_fraction(question: Question) -> float:
    """Share of step time in programs named for decoding or generating."""
    return _of_phase("decode", question)


def generic_products(question: Question) -> list[HotOp]:
    """Those that XLA's own loop emitter multiplies, instead of a library or Triton."""
    found = hottest_ops(question).ops
    return [
        op
        for op in found
        if op.kernel.lower().startswith(_GENERATED) and kind_of(op) is OpKind.MATRIX
    ]


# How much of a step goes into things that the compiled program does and could do
# better.


def patterns_of(question: Question) -> ProgramPatterns:
    """Of the first accelerator's hottest program. Raises MetricAbsent where the trace
    lacks its HLO.
    """
    host, _ = accelerators(question.run)[0]
    if host.program is None or host.program.patterns is None:
        raise MetricAbsent("the trace carries no HLO of the step's program")
    return host.program.patterns


def between_products(question: Question) -> tuple[str, ...]:
    """The collectives of an accelerator's hottest program that a product waits for.
    Raises MetricAbsent as patterns_of.
    """
    return patterns_of(question).between_products


def patterns_of_any_device(question: Question) -> ProgramPatterns:
    """Of the hottest program on whatever device. Raises MetricAbsent where the trace
    lacks its HLO.
    """
    for host in counted_hosts(question.run):
        if host.program is not None and host.program.patterns is not None:
            return host.program.patterns
    raise MetricAbsent("the trace carries no HLO of the step's program")


def _named(question: Question, names: tuple[str, ...]) -> list[HotOp]:
    """The hottest ops of the hottest program that bear one of the names."""
    gpus(question.run)
    module = patterns_of(question).module
    return [
        op for op in hottest_ops(question).ops if op.op in names and op.module == module
    ]


def unfused_attention(question: Question) -> list[HotOp]:
    """Parts of attention that is not one fused kernel. Raises MetricAbsent as
    patterns_of.
    """
    return _named(question, patterns_of(question).attention)


def for_picked_rows(question: Question) -> list[HotOp]:
    """What computes for rows of which an argument picks few, or the round of a loop.
    Raises MetricAbsent as patterns_of_any_device.
    """
    found = patterns_of_any_device(question)
    return [
        op
        for op in known_ops(question).ops
        if op.op in found.picked.computed and op.module == found.module
    ]


@fact
def picked_rows(question: Question) -> str:
    """How many of them are kept, by which argument and where: `one of 256 rows, picked
    by pos on sample.py:70`.
    """
    found = patterns_of_any_device(question).picked
    if not found.rows:
        raise MetricAbsent("the program keeps all rows that it computes")
    line = f" on {found.line}" if found.line else ""
    return f"one of {found.rows} rows, picked by {found.argument}{line}"


# The hottest ops of the first device, whatever it is, with what the trace's HLO says of
# them.


@once
def first_device_ops(question: Question) -> HotOps:
    """Raises MetricAbsent when nothing computes."""
    a_device(question.run)
    program = next(host.program for host in question.run.hosts if host.devices)
    if program is None or not program.hot_ops.compute_ps:
        raise MetricAbsent("no op begins in a counted step")
    return program.hot_ops


@once
def known_ops(question: Question) -> HotOps:
    """The same where the HLO knows any of them. Raises MetricAbsent."""
    found = first_device_ops(question)
    if not any(op.known is not None and not op.known.stated for op in found.ops):
        raise MetricAbsent("the trace carries no HLO of the step's program")
    return found


def known_where(question: Question, wanted: Callable[[InProgram], bool]) -> list[HotOp]:
    """Those of known_ops of which the HLO says what is wanted, the hottest first.
    Raises MetricAbsent.
    """
    return [
        op
        for op in known_ops(question).ops
        if op.known is not None and wanted(op.known)
    ]


def count_per_step(question: Question, chosen: Sequence[HotOp]) -> float:
    """How often these ops run in a counted step of the first device, a mean."""
    host = next(host for host in question.run.hosts if host.devices)
    steps = int(
        (
            host.takes_part[host.program.device if host.program else 0]
            & host.steps.steady()
        ).sum()
    )
    return sum(op.count for op in chosen) / max(steps, 1)
