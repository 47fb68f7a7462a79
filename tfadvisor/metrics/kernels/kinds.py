"""Which kinds of work fill a GPU's compute time: shares of step time that one change could save, and where they come from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum

from msgspec.structs import replace

from tfadvisor.metrics.compute.parts import compute_parts
from tfadvisor.metrics.kernels.first_device import count_per_step
from tfadvisor.metrics.kernels.precision import narrow_matrix_share_without_tensor_cores
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric
from tfadvisor.metrics.remember import once
from tfadvisor.metrics.steady import accelerators, share
from tfadvisor.timeline.names.devices import instruction_name
from tfadvisor.timeline.names.host import op_type
from tfadvisor.timeline.names.kernels import kernel_kind, short_name
from tfadvisor.timeline.summary.hot_ops import HotOp, HotOps
from tfadvisor.units import Unit
from tfadvisor.vocabulary import Better, DeviceKind, TimeClass


class OpKind(Enum):
    """What an op does, by its HLO where the trace has it, else by its kernel's name. Each op is of one kind."""

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
    (OpKind.CUMULATIVE, ("devicescan", "scan_kernel", "scankernel", "cumsum", "cumprod", "cumulative")),
    (OpKind.CUMULATIVE, ("reduce_window", "reduce-window")),
    (
        OpKind.LAYOUT,
        ("nchwtonhwc", "nhwctonchw", "swapdimension", "transpose", "permute", "batchtospace", "tensorreorder"),
    ),
    (OpKind.GATHER, ("gather",)),
    (OpKind.UPDATE, ("dynamic_update_slice", "dynamic-update-slice", "dynamic_slice", "dynamic-slice")),
    (OpKind.CONCATENATE, ("concat", "splitopkernel", "split_v_kernel", "splitvkernel", "unpack", "pack_kernel")),
)
_COPY_STEMS = ("copy", "copy_fusion", "loop_copy_fusion", "wrapped_copy", "input_copy_fusion")
_ELEMENTWISE = ("_gpu_dt_", "eigenmetakernel", "elementwise", "biasnhwc", "biasnchw", "unary_", "binary_")
_NOT_ELEMENTWISE = ("reduc", "sort", "random", "philox", "rng", "pool", "softmax", "norm", "argm", "scatter")
_GENERATED = ("loop_", "wrapped_")
_ELEMENTWISE_OPS = frozenset(
    """
    Abs Add AddN AddV2 Atan2 BiasAdd BiasAddV1 Cast Ceil ClipByValue Cos Div DivNoNan Elu EluGrad Equal Erf Exp Expm1 Floor
    Greater GreaterEqual Inv InvGrad LeakyRelu LeakyReluGrad Less LessEqual Log Log1p Maximum Minimum Mul MulNoNan Neg Pow RealDiv
    Reciprocal ReciprocalGrad Relu Relu6 Relu6Grad ReluGrad Round Rsqrt RsqrtGrad Select SelectV2 Selu SeluGrad Sigmoid
    SigmoidGrad Sign Sin Softplus SoftplusGrad Sqrt SqrtGrad Square SquaredDifference Sub Tanh TanhGrad Xdivy
    """.split()
)
_ELEMENTWISE_OPCODES = frozenset(
    """
    abs add and atan2 cbrt ceil clamp compare convert cosine divide erf exponential exponential-minus-one floor is-finite log
    log-plus-one logistic maximum minimum multiply negate not or power remainder round-nearest-afz round-nearest-even rsqrt
    select sign sine sqrt subtract tan tanh xor
    """.split()
)
_TRANSPOSES = frozenset(("Transpose", "_MklTranspose", "ConjugateTranspose"))
_POOLING = ("pool",)


def kind_of(one: HotOp) -> OpKind:
    """The kind of one op. Pooling is a reduce-window too; its path in the framework's program says so."""
    known = one.known
    path = known.op_name.lower() if known is not None else ""
    kernel = instruction_name(one.kernel).lower()
    if any(word in path for word in _CUMULATIVE_OPS):
        return OpKind.CUMULATIVE
    if (known is not None and known.products) or kernel_kind(one.kernel).is_matrix:
        return OpKind.MATRIX
    if known is not None and known.effect in _BY_EFFECT:
        kind = _BY_EFFECT[known.effect]
        return OpKind.OTHER if kind is OpKind.CUMULATIVE and any(word in path for word in _POOLING) else kind
    if known is None:
        found = next((kind for kind, words in _BY_NAME if any(word in kernel for word in words)), None)
        if found is not None:
            return found
        if kernel.removesuffix(".kd").rstrip("0123456789_.") in _COPY_STEMS:
            return OpKind.LAYOUT
    generated = kernel.startswith(_GENERATED) or any(word in kernel for word in _ELEMENTWISE)
    return OpKind.ELEMENTWISE if generated and not any(word in kernel for word in _NOT_ELEMENTWISE) else OpKind.OTHER


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
    for one in hottest_ops(question).ops:
        found[kind_of(one)].append(one)
    return found


def of_step_time(question: Question, chosen: list[HotOp], among: HotOps | None = None) -> float:
    """The share of step time that these of the hottest ops take: their share of the compute time, of that in the steps.

    among: the hottest ops, those of the first GPU by default.
    """
    total = sum(one.total_ps for one in chosen)
    return total / (among or hottest_ops(question)).compute_ps * share(question, TimeClass.COMPUTE)


def place_of(chosen: list[HotOp]) -> str:
    """`fusion.3 (train.py:42)` of the hottest whose line is known. Raises MetricAbsent when none is."""
    for one in chosen:
        if one.place():
            return one.place()
    raise MetricAbsent("the trace holds no HLO that says where these kernels come from")


def name_of(chosen: list[HotOp]) -> str:
    """The hottest's name, shortened. Raises MetricAbsent when there is none."""
    if not chosen:
        raise MetricAbsent("none of the hottest kernels is of this kind")
    return short_name(chosen[0].name())


def _register(kind: OpKind, word: str, about: str) -> None:
    """Three names of a kind: its share of step time, its hottest op, and that one's place."""

    def fraction(question: Question) -> float:
        return of_step_time(question, *_of_kind(question, kind))

    def op(question: Question) -> str:
        return name_of(_of_kind(question, kind)[0])

    def place(question: Question) -> str:
        return place_of(_of_kind(question, kind)[0])

    words = word.replace("_", " ")
    for function, name, text in (
        (fraction, f"{word}_fraction", f"Share of step time in {about}."),
        (op, f"{word}_op", f"The {words} that takes most time."),
        (place, f"{word}_place", f"The {words} that takes most time, with its place in the user's program."),
    ):
        function.__name__, function.__doc__ = name, text
    metric(unit=Unit.FRACTION, better=Better.LESS)(fraction)
    fact(op)
    fact(place)


def _of_kind(question: Question, kind: OpKind) -> tuple[list[HotOp], HotOps]:
    """The ones of a kind among the hottest ops, and all of these. On a CPU only TensorFlow's transposes are told: all of
    them, as a network in another layout has a hundred.
    """
    on_cpu = _tensorflow_ops_on_cpu(question) if kind is OpKind.LAYOUT else None
    if on_cpu is None:
        return _by_kind(question)[kind], hottest_ops(question)
    found = compute_parts(question.run)
    transposes = [one for one in found.parts if one.op_type in _TRANSPOSES]
    ops = [HotOp(one.name, one.op_type, one.module, one.total_ps, one.count, None) for one in transposes]
    return ops, replace(on_cpu, compute_ps=found.compute_ps)


def _tensorflow_ops_on_cpu(question: Question) -> HotOps | None:
    """The hottest ops of a run of TensorFlow without an accelerator; None of another run."""
    host = next((host for host in question.run.hosts if host.devices), None)
    if (
        host is None
        or host.devices[0].kind is not DeviceKind.CPU
        or host.program is None
        or not host.program.hot_ops.compute_ps
    ):
        return None
    return host.program.hot_ops if any(op_type(one.name()) for one in host.program.hot_ops.ops) else None


_register(
    OpKind.LAYOUT,
    "layout_conversion",
    "kernels that only change the layout of data: transposes, copies, nchwToNhwc and back; on a CPU: TensorFlow's transposes",
)


@metric(unit=Unit.COUNT, better=Better.LESS)
def layout_conversions_per_step(question: Question) -> float:
    """Number of layout conversions (layout_conversion_fraction) per step of the first device."""
    found, _ = _of_kind(question, OpKind.LAYOUT)
    return count_per_step(question, found)


_register(OpKind.CUMULATIVE, "cumulative_op", "cumulative sums, products and maxima, known by the ops' names and HLO")
_register(OpKind.GATHER, "gather", "gathers, which pick rows of a tensor by index")
_register(OpKind.UPDATE, "slice_copy", "kernels that copy a slice into or out of a larger buffer (dynamic slices)")
_register(OpKind.CONCATENATE, "concatenation", "kernels that concatenate or split tensors")


@once
def _elementwise(question: Question) -> tuple[list[HotOp], HotOps]:
    """The elementwise ones among the hottest ops, and all of these. On a CPU the HLO shows them, or TensorFlow's op types."""
    host = next((host for host in question.run.hosts if host.devices), None)
    if host is None or host.devices[0].kind is not DeviceKind.CPU:
        return _by_kind(question)[OpKind.ELEMENTWISE], hottest_ops(question)
    if host.program is None:
        raise MetricAbsent("no op begins in a counted step")
    on_cpu = _tensorflow_ops_on_cpu(question)
    if on_cpu is not None:
        return [one for one in on_cpu.ops if op_type(one.name()) in _ELEMENTWISE_OPS], on_cpu
    if not any(one.known is not None for one in host.program.hot_ops.ops):
        raise MetricAbsent("the trace of this CPU run carries no HLO of the step's program")
    known = [one for one in host.program.hot_ops.ops if one.known is not None and not one.known.products]
    return [one for one in known if one.known and one.known.effect in _ELEMENTWISE_OPCODES], host.program.hot_ops


@metric(unit=Unit.FRACTION, better=Better.LESS)
def elementwise_fraction(question: Question) -> float:
    """Share of step time in elementwise kernels that XLA, MLIR and Eigen generate, without reductions. On a CPU: ops
    whose HLO ends in an elementwise op, or whose TensorFlow type is one.
    """
    return of_step_time(question, *_elementwise(question))


@fact
def elementwise_op(question: Question) -> str:
    """The elementwise op that takes most time: `loop_add_fusion`."""
    return name_of(_elementwise(question)[0])


@fact
def elementwise_place(question: Question) -> str:
    """The elementwise op that takes most time, with its place in the user's program: `loop_add_fusion (model.py:42)`."""
    return place_of(_elementwise(question)[0])


@metric(unit=Unit.FRACTION, better=Better.NEITHER)
def matrix_free_share(question: Question) -> float:
    """Share of the hottest ops' time that goes elsewhere than into matrix products, convolutions and attention. It is 1
    for a program without products.
    """
    ops = hottest_ops(question).ops
    return 1 - sum(one.total_ps for one in _by_kind(question)[OpKind.MATRIX]) / sum(one.total_ps for one in ops)


@metric(unit=Unit.FRACTION, better=Better.LESS)
def fallback_kernel_fraction(question: Question) -> float:
    """Share of step time in matrix and convolution kernels of 16 bits or fewer that leave the Tensor Cores idle, on
    GPUs that have them.
    """
    return narrow_matrix_share_without_tensor_cores(question) * share(question, TimeClass.COMPUTE)


def _is_generic(one: HotOp) -> bool:
    """Whether XLA's own loop emitter multiplies, instead of a library or Triton."""
    return one.kernel.lower().startswith(_GENERATED) and kind_of(one) is OpKind.MATRIX


def _untuned(one: HotOp) -> bool:
    return one.known is not None and one.known.tuned is False


def _chosen(question: Question, wanted: Callable[[HotOp], bool]) -> list[HotOp]:
    return [one for one in hottest_ops(question).ops if wanted(one)]


@metric(unit=Unit.FRACTION, better=Better.LESS)
def generic_product_fraction(question: Question) -> float:
    """Share of step time in matrix products that XLA runs as plain loops (`loop_dot_fusion`, `wrapped_dot`) instead of
    in kernels of a library or Triton. Such loops use neither Tensor Cores nor tiles.
    """
    return of_step_time(question, _chosen(question, _is_generic))


@fact
def generic_product_op(question: Question) -> str:
    """The matrix product as a plain loop that takes most time: `loop_dot_fusion.2`."""
    return name_of(_chosen(question, _is_generic))


@fact
def generic_product_place(question: Question) -> str:
    """The matrix product as a plain loop that takes most time, with its place in the user's program: `loop_dot_fusion.2
    (train.py:42)`.
    """
    return place_of(_chosen(question, _is_generic))


@metric(unit=Unit.FRACTION, better=Better.LESS)
def untuned_convolution_fraction(question: Question) -> float:
    """Share of step time in cuDNN convolutions for which XLA noted no algorithm in the HLO, as happens with autotuning
    off.
    """
    known = _chosen(question, lambda one: one.known is not None and one.known.tuned is not None)
    if not known:
        raise MetricAbsent("the trace holds no HLO of a convolution by a library")
    return of_step_time(question, [one for one in known if _untuned(one)])


@fact
def untuned_convolution_place(question: Question) -> str:
    """The costliest untuned convolution, with its place in the user's program: `cudnn-conv.1 (train.py:42)`."""
    return place_of(_chosen(question, _untuned))
