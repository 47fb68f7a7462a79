"""Runs on GPUs and TPUs that nobody has published, built from
`benchmarks/accelerators/*.yaml`. Times are microseconds.

Names are those of public sources: kernels of cuBLAS, cuDNN, NCCL, hipBLASLt and Pallas
from listings, TPU lines and `hlo_category` from XLA's `xplane_schema` and
`xla_op_utils`, stats of TensorFlow 2.4 and PJRT from recordings.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any

import msgspec
import yaml

from support import hlo_builder as hlo
from support.places import ROOT
from support.trace_builder import TraceBuilder, _set, _stat_id, trace
from tfadvisor.report.model import Report
from tfadvisor.vocabulary import Severity

FOLDER = ROOT / "benchmarks" / "accelerators"
DOT = hlo.dot_numbers([1], [0])
COPIED = "kind_src:device kind_dst:device size:67108864 dest:1 async:1"
DETAILS = (
    "regs:168 static_shared:0 dynamic_shared:0 grid:132,1,1 block:384,1,1 occ_pct:25"
)
NAMES: dict[str, Any] = yaml.safe_load((FOLDER / "names.yaml").read_text("utf-8"))
"""Devices by model, and long names of kernels by a short one."""


class Truth(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an expert says of a trace."""

    verdict: str = ""
    """Classes that are right, separated by spaces; "" for any."""
    must: tuple[str, ...] = ()
    """Each of these is said by a finding."""
    never: str = r"(?!)"
    """No finding of at least `never_from` says this."""
    never_from: Severity = Severity.INFO
    quiet: bool = False
    """No finding is of medium severity or above."""
    first: str = ""
    """The first finding that judges the run says this."""
    steps: int = 0
    """So many steps, where it matters."""
    numbers: Mapping[str, tuple[float, float]] = {}
    """Lowest and highest value of a metric."""
    anywhere: str = ""
    """The report says it somewhere: a note about the trace, a device, a part of the
    step.
    """


class Case(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One trace and what is right about it."""

    name: str
    trace: Mapping[str, Any]
    """What `built` makes it from."""
    truth: Truth
    about: str = ""
    first: str = ""
    """What tfadvisor said at first sight where that was not right."""


def cases() -> list[Case]:
    """All of them, in the order of their files."""
    return [
        msgspec.convert(case, Case, strict=False)
        for file in sorted(FOLDER.glob("*.yaml"))
        if file.stem != "names"
        for case in yaml.safe_load(file.read_text("utf-8"))
    ]


def built(form: Mapping[str, Any], builder: TraceBuilder | None = None) -> TraceBuilder:
    """The trace that a case describes: a run of `jax`, `keras`, `tpu` or another scene,
    then devices, then events.
    """
    builder = builder or trace()
    for host in form.get("hosts", ()):
        builder.host(host["name"])
        built(host["trace"], builder)
    for scene in form.keys() & SCENES.keys():
        SCENES[scene](builder, **form[scene])
    for plane, about in form.get("planes", {}).items():
        builder.plane_stat(plane, **device(about))
    if "programs" in form:
        for name, about in form["programs"].items():
            builder.program(name, hlo_of(about))
    Player(builder).play(form.get("events", ()), 0)
    return builder


def device(about: str | Mapping[str, object]) -> Mapping[str, object]:
    """The stats of a model, or those that a case states."""
    return NAMES["devices"][about] if isinstance(about, str) else about


def kernel(name: str) -> str:
    """The name that a short one stands for."""
    whole: str = NAMES["kernels"].get(name, name)
    return whole


def hlo_of(about: Mapping[str, Any]) -> bytes:
    """HLO: one exchange, a loop of them, attention, or one op of square matrices."""
    if "exchange" in about:
        keys = about.keys() & {"of", "path", "shape", "name"}
        return hlo.exchange(
            about["exchange"],
            groups(about["among"]),
            **{key: about[key] for key in keys},
        )
    if "scan" in about:
        return scanned(
            about["scan"], groups(about["among"]), about.get("of", "argument")
        )
    if "attention" in about:
        return attention(about["attention"])
    if "gemv" in about:
        return vector_product(about["gemv"])
    return square(**about)


def groups(among: int | list[list[int]]) -> list[list[int]]:
    """All of so many devices together, or the groups that are given."""
    return [list(range(among))] if isinstance(among, int) else among


class Player:
    """Puts events into a trace. Each is a list: what it is, then its parts.

    A number is a time after the repetition's beginning; `{d}` in a text is the device.
    Of stats, `correlation_id: new` is the next number and `correlation_id: last` that
    one again.
    """

    def __init__(self, builder: TraceBuilder) -> None:
        self._builder = builder
        self._links = count(1)
        self._link = 0
        self._device: int | None = None
        self._count = 0

    def play(self, events: Sequence[list[Any]], at: float) -> None:
        """at: when this repetition begins."""
        for kind, *parts in events:
            getattr(self, f"_{kind}")(at, *parts)

    def _repeat(
        self, at: float, times: int, every: float, events: Sequence[list[Any]]
    ) -> None:
        outer = self._count
        for one in range(times):
            self._count = one
            self.play(events, at + one * every)
        self._count = outer

    def _devices(self, at: float, number: int, events: Sequence[list[Any]]) -> None:
        for one in range(number):
            self._device = one
            self.play(events, at)
        self._device = None

    def _plane(self, _at: float, name: str, about: str | Mapping[str, object]) -> None:
        self._builder.plane_stat(self._text(name), **device(about))

    def _thread(self, _at: float, name: str) -> None:
        self._builder.thread(name)

    def _step(self, at: float, start: float, end: float, name: str = "train") -> None:
        self._builder.step(at + start, at + end, name)

    def _call(
        self, at: float, name: str, start: float, end: float, *stats: Any
    ) -> None:
        self._builder.call(
            self._text(name), at + start, at + end, **self._stats(*stats)
        )

    def _event(
        self,
        at: float,
        plane: str,
        line: str,
        name: str,
        start: float,
        end: float,
        *stats: Any,
    ) -> None:
        self._builder.on_line(
            self._text(plane),
            line,
            self._text(kernel(name)),
            at + start,
            at + end,
            **self._stats(*stats),
        )

    def _copy(
        self,
        at: float,
        where: str,
        kind: str,
        start: float,
        end: float,
        size: int,
        memory: str,
    ) -> None:
        self._builder.copy(where, kind, at + start, at + end, size, memory)

    def _text(self, name: str) -> str:
        return name.replace("{d}", str(self._device)).replace("{n}", str(self._count))

    def _stats(self, stats: Mapping[str, Any] | None = None) -> dict[str, Any]:
        filled = {
            name: self._value(value, is_text=name.endswith("_name"))
            for name, value in (stats or {}).items()
        }
        if filled.get("correlation_id") == "new":
            self._link = next(self._links)
        if "correlation_id" in filled:
            filled["correlation_id"] = self._link
        return filled

    def _value(self, stated: Any, *, is_text: bool) -> Any:
        """`{d}` or `{n}` alone is a number."""
        if not isinstance(stated, str):
            return stated
        filled = self._text(stated)
        return int(filled) if stated in ("{d}", "{n}") and not is_text else filled


def jax(
    builder: TraceBuilder,
    gpus: tuple[int, str | Mapping[str, object]],
    kernels: Sequence[tuple[str, float, float, str]],
    program: Mapping[str, Any] | None = None,
    steps: int = 6,
    period: float = 10_000,
    marked: bool = True,
) -> None:
    """A JAX loop that runs one step ahead of its devices: every launch is early, every
    kernel linked to it.
    """
    if program is not None:
        builder.program("jit_train_step", hlo_of(program))
    number, model = gpus
    for one in range(number):
        builder.plane_stat(f"/device:GPU:{one}", **device(model))
    links = count(1)
    for step in range(steps):
        at = step * period + 100
        if marked:
            builder.step(at - 90, at - 90 + period, "train")
        builder.call("PjitFunction(train_step)", at - 80, at - 50 + 3 * len(kernels))
        for one in range(number):
            for index, named in enumerate(kernels):
                _launched(builder, at, one, index, named, next(links))


def _launched(
    builder: TraceBuilder,
    at: float,
    device: int,
    index: int,
    named: tuple[str, float, float, str],
    link: int,
) -> None:
    """One kernel of a step that begins at `at`, and its launch."""
    short, start, end, op = named
    name = kernel(short)
    copies = name.startswith("Memcpy")
    builder.call(
        "cuMemcpyAsync" if copies else "cuLaunchKernelEx",
        at - 75 + 3 * index,
        at - 73 + 3 * index,
        correlation_id=link,
        device_id=device,
    )
    stats: dict[str, object] = {"correlation_id": link}
    if copies:
        stats["memcpy_details"] = COPIED
    else:
        stats["kernel_details"] = DETAILS
    if op:
        stats |= {"hlo_op": op, "hlo_module": "jit_train_step", "program_id": 7}
    builder.on_line(
        f"/device:GPU:{device}", stream_of(name), name, at + start, at + end, **stats
    )


def stream_of(name: str) -> str:
    """Where a kernel of this name runs."""
    if "nccl" in name.lower():
        return "Stream #24(Compute)"
    if name.startswith("Memcpy"):
        return f"Stream #20({name})"
    return "Stream #13(Compute)"


def keras(
    builder: TraceBuilder,
    gpus: tuple[int, str],
    kernels: Sequence[tuple[str, float, float, str]],
    period: float = 10_000,
    wait: tuple[float, float] | None = None,
    copy: tuple[float, float, int, str] | None = None,
) -> None:
    """Six steps of Keras' fit: `train` markers, the executor's threads, ops as `tf_op`.

    wait: for the iterator. copy: of the batch, with its bytes and kind of memory.
    """
    number, model = gpus
    for one in range(number):
        builder.plane_stat(f"/device:GPU:{one}", **device(model))
    links = count(1)
    for step in range(6):
        at = step * period
        builder.thread("python3/1").step(at, at + period - 20, "train")
        builder.call(
            "EagerLocalExecute: __inference_train_function_1626",
            at + 10,
            at + period - 60,
        )
        builder.thread("tf_Compute/77")
        if wait:
            _wait(builder, at + wait[0], at + wait[1])
        if copy:
            _copy_batch(builder, at, *copy, link=next(links))
        begin = max(wait[1] if wait else 0, 20)
        for one in range(number):
            for index, named in enumerate(kernels):
                launched = at + begin + 2 * index
                _dispatched(builder, at, one, launched, named, next(links))


def _wait(builder: TraceBuilder, start: float, end: float) -> None:
    builder.call("IteratorGetNext:IteratorGetNext", start, end)
    builder.thread("tf_data_iterator_get_next/5")
    builder.call("IteratorGetNextOp::DoCompute", start + 1, end - 1, iter_num=0, id=5)
    builder.call("Iterator::Model::Prefetch", start + 2, end - 2, id=9)
    builder.thread("tf_Compute/77")


def _copy_batch(
    builder: TraceBuilder,
    at: float,
    start: float,
    end: float,
    size: int,
    memory: str,
    *,
    link: int,
) -> None:
    builder.call(
        "cuMemcpyHtoDAsync",
        at + start - 5,
        at + start,
        correlation_id=link,
        device_id=0,
    )
    builder.on_line(
        "/device:GPU:0",
        "Stream #14(MemcpyH2D)",
        "MemcpyH2D",
        at + start,
        at + end,
        memcpy_details=f"kind_src:{memory} kind_dst:device size:{size} dest:0 async:1",
        correlation_id=link,
    )


def _dispatched(
    builder: TraceBuilder,
    at: float,
    device: int,
    launched: float,
    named: tuple[str, float, float, str],
    link: int,
) -> None:
    """One kernel of TensorFlow's executor."""
    short, start, end, op = named
    name = kernel(short)
    builder.call(name, launched, launched + 1.5, correlation_id=link, device_id=device)
    builder.on_line(
        f"/device:GPU:{device}",
        stream_of(name),
        name,
        at + start,
        at + end,
        correlation_id=link,
        tf_op=op or "model/dense/MatMul:MatMul",
        kernel_details="regs:128 static_shared:0 dynamic_shared:0 grid:80,1,1 "
        "block:256,1,1 occ_pct:50",
    )


def tpu(
    builder: TraceBuilder,
    cores: tuple[int, str],
    ops: Sequence[tuple[str, float, float]],
    line: Mapping[str, str] | None = None,
    stated: Mapping[str, tuple[str, int, int]] | None = None,
    steps: int = 6,
    period: float = 10_000,
    module: str = "jit_train_step",
    marked: bool = True,
    begins: float = 0,
) -> None:
    """Ops of each step. line: where other than on XLA Ops an op stands, by its stem.
    stated: category, flops, bytes by stem. begins: the program, after the step.
    """
    number, model = cores
    for step in range(steps):
        at = step * period + 100
        if marked:
            builder.step(at - 90, at - 90 + period, "train")
        builder.call(f"PjitFunction({module.removeprefix('jit_')})", at - 80, at - 40)
        for one in range(number):
            plane = f"/device:TPU:{one}"
            end = max(op[2] for op in ops)
            builder.on_line(
                plane,
                "XLA Modules",
                f"{module}(123)",
                at + begins,
                at + end,
                run_id=step + 1,
            )
            for name, start, stop in ops:
                where = (line or {}).get(_stem(name) or name, "XLA Ops")
                builder.on_line(plane, where, name, at + start, at + stop)
    for one in range(number):
        builder.plane_stat(f"/device:TPU:{one}", **device(model))
        _state(builder, f"/device:TPU:{one}", stated or {})


def _stem(name: str) -> str:
    """Of an HLO op's text: what stands before its number."""
    return name.removeprefix("%").partition(" ")[0].rpartition(".")[0]


def _state(
    builder: TraceBuilder, name: str, stated: Mapping[str, tuple[str, int, int]]
) -> None:
    """What the profiler says of each op, beside its name."""
    plane = builder._plane_of(name)
    for entry in plane.event_metadata.values():
        for stat, value in zip(
            ("hlo_category", "flops", "bytes_accessed"),
            stated.get(_stem(entry.name.decode()), ()),
            strict=False,
        ):
            _set(entry.stats.add(metadata_id=_stat_id(plane, stat)), plane, value)


def queue(builder: TraceBuilder, model: str, pause: float) -> None:
    """A server that waits for requests: 4 decoded tokens, then nothing until the next
    request; Python waits in its queue.
    """
    builder.plane_stat(
        "/device:TPU:0",
        **{
            name: value
            for name, value in device(model).items()
            if name != "has_megacore"
        },
    )
    at = 0.0
    for turn in range(8):
        end = at + pause * (1 + turn % 3)
        builder.call("$queue.py:154 get", at, end)
        builder.call("$threading.py:323 wait", at + 5, end - 5)
        at = end
        for name, length in (
            ("prefill", 3000.0),
            ("insert", 200.0),
            *((("generate", 2000.0),) * 4),
        ):
            builder.call(f"PjitFunction({name})", at, at + 60)
            for line, what in (
                ("XLA Modules", f"jit_{name}(9)"),
                ("XLA Ops", f"%fusion.{len(name)} = bf16[8,8192] fusion(%p)"),
            ):
                builder.on_line("/device:TPU:0", line, what, at + 40, at + 40 + length)
            builder.call("np.asarray(jax.Array)", at + 70, at + 50 + length)
            at += length + 100


FORWARD_FILTER = (
    "void cudnn::winograd_nonfused::winogradForwardFilter4x4<float, float>(…)"
)
WINOGRAD = "volta_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1"
BACKPROP = "gradient_tape/model/conv2d/Conv2D/Conv2DBackpropFilter:Conv2DBackpropFilter"


def keras_2020(builder: TraceBuilder, wait: bool) -> None:
    """TensorFlow 2.3's callback: one batch, no marker but the function; ops in
    `annotation`, a derived line saved.
    """
    builder.plane_stat("/device:GPU:0", **device("T4"))
    begin = 80_000.0 if wait else 300.0
    builder.thread("python").call(
        "EagerLocalExecute: __inference_train_function_1626", 0, begin + 20_000
    )
    builder.call(
        "train_function",
        0,
        begin + 20_050,
        tf_function_call="notTraced-nonXla",
        tracing_count=2,
    )
    builder.call("EagerKernelExecute", 5, begin + 19_900)
    builder.thread("tf_Compute/7").call(
        "ExecutorState::Process", 10, begin + 19_000, id=3, iter_num=0
    )
    builder.call("IteratorGetNext:IteratorGetNext", 20, begin, group_id=0, is_eager=0)
    builder.thread("tf_data_iterator_get_next/5").call(
        "IteratorGetNextOp::DoCompute", 25, begin - 5, id=3, iter_num=0
    )
    builder.call("Iterator::Model", 30, begin - 10, id=8)
    builder.call("Iterator::Model::Map", 32, begin - 12, id=9, parent_id=8)
    builder.thread("tf_Compute/7")
    for one in range(190):
        at = begin + 100 + 100 * one
        name = WINOGRAD if one % 2 else FORWARD_FILTER
        link = one + 1
        builder.call(
            name,
            begin + 20 + 20 * one,
            begin + 30 + 20 * one,
            correlation_id=link,
            context_id=1,
        )
        builder.on_line(
            "/device:GPU:0",
            "Stream #13(Compute,MemcpyD2D)",
            name,
            at,
            at + 97,
            correlation_id=link,
            annotation=BACKPROP,
            kernel_details="regs:128 shm:16384 grid:64,1,1 block:256,1,1",
            group_id=0,
        )
    builder.drawn_line("/device:GPU:0", "Steps", ("0", begin + 100, begin + 19_100))


def _layers(big: bool) -> list[tuple[str, str, float]]:
    """The kernels of twelve convolutions forward and backward: name, op, length."""
    found: list[tuple[str, str, float]] = []
    for layer in range(12):
        op = f"model/conv{layer}/Conv2D:Conv2D"
        found += [
            (NAMES["kernels"]["TRANSFORM"], op, 40)
            if layer % 3
            else (NAMES["kernels"]["INDICES"], op, 4),
            ("volta_scudnn_128x64_relu_interior_nn_v1", op, 300 if big else 120),
            (NAMES["kernels"]["BIAS"], f"model/conv{layer}/BiasAdd:BiasAdd", 20),
        ]
    for layer in reversed(range(12)):
        of = f"gradient_tape/model/conv{layer}"
        found += [
            (
                "volta_scudnn_128x64_stridedB_splitK_interior_nn_v1",
                f"{of}/Conv2D/Conv2DBackpropFilter:Conv2DBackpropFilter",
                350 if big else 140,
            ),
            (
                NAMES["kernels"]["BIAS_GRAD"],
                f"{of}/BiasAdd/BiasAddGrad:BiasAddGrad",
                15,
            ),
            (
                "void tensorflow::functor::ApplyAdamKernel<float>(…)",
                f"Adam/Adam/update_{layer}/ResourceApplyAdam:ResourceApplyAdam",
                8,
            ),
        ]
    return found


def keras_batch(
    builder: TraceBuilder, gaps: float, tail: float, big: bool = False
) -> None:
    """One batch of TensorFlow 2.4 on a V100: a network's kernels in forward and
    backward order, launches on executor threads, the callback's export behind it.
    """
    builder.plane_stat("/device:GPU:0", **device("V100"))
    at = begin = 2000.0
    launch = at - 30
    for one, (name, op, length) in enumerate(_layers(big)):
        builder.thread(f"tf_Compute/{one % 3}").call(
            name, launch, launch + 9, correlation_id=one + 1, context_id=1
        )
        builder.on_line(
            "/device:GPU:0",
            "Stream #13(Compute,MemcpyD2D)",
            name,
            at,
            at + length,
            correlation_id=one + 1,
            annotation=op,
            kernel_details="regs:64 shm:0 grid:64,1,1 block:128,1,1",
            group_id=0,
        )
        at += length + gaps
        launch = at - 30 if gaps > 10 else launch + 20
    builder.thread("python").call(
        "train_function",
        500,
        at + 150,
        tf_function_call="notTraced-nonXla",
        tracing_count=2,
    )
    builder.call("EagerLocalExecute: __inference_train_function_1626", 900, at + 100)
    builder.call("EagerExecute: __inference_train_function_1626", 890, at + 110)
    builder.thread("tf_Compute/7").call(
        "ExecutorState::Process", begin - 200, at + 20, id=3, iter_num=0
    )
    builder.drawn_line("/device:GPU:0", "Steps", ("0", begin, at + 50))
    builder.thread("python").call("EagerExecute: WriteSummary", at + 300, at + 500)
    builder.call("EagerLocalExecute: WriteSummary", at + 310, at + 490)
    builder.call("MemoryDeallocation", at + tail, at + tail, allocator_name="GPU_0_bfc")


SCENES: dict[str, Callable[..., None]] = {
    "jax": jax,
    "keras": keras,
    "tpu": tpu,
    "queue": queue,
    "keras_2020": keras_2020,
    "keras_batch": keras_batch,
}
"""What the word stands for under which a case describes its run."""


def scanned(kind: str, among: list[list[int]], of: str) -> bytes:
    """A loop over layers whose body has one collective, of a slice of the stacked
    weights or of a product.
    """
    shape = "bf16[4096,4096]"
    state = f"(s32[], {shape}, bf16[8,4096,4096])"
    operand = 13 if of == "argument" else 15
    layer = hlo.metadata("jit(train_step)/while/body/layer/dense")
    third, second = hlo.field(13, 2), hlo.field(13, 1)
    body = hlo.computation(
        2,
        hlo.op(10, "parameter", state),
        hlo.op(11, "get-tuple-element", "bf16[8,4096,4096]", 10, extra=third),
        hlo.op(12, "get-tuple-element", "s32[]", 10),
        hlo.op(13, "dynamic-slice", shape, 11, 12, name="dynamic-slice.13"),
        hlo.op(14, "get-tuple-element", shape, 10, extra=second),
        hlo.op(15, "dot", shape, 14, 14, name="dot.2", extra=DOT),
        hlo.op(
            16,
            kind,
            shape,
            operand,
            name=f"{kind}.3",
            metadata=layer,
            extra=hlo.replica_groups(*among),
        ),
        hlo.op(17, "tuple", state, 12, 15, 11),
    )
    condition = hlo.computation(
        3, hlo.op(20, "parameter", state), hlo.op(21, "constant", "pred[]")
    )
    entry = hlo.computation(
        1,
        hlo.op(1, "parameter", state),
        hlo.op(2, "while", state, 1, name="while.1", calls=(2, 3)),
    )
    return hlo.module(body, condition, entry, name="jit_train_step")


def attention(dtype: str) -> bytes:
    """Two Triton kernels of attention."""
    shape = f"{dtype}[8,2048,16,128]"
    triton = "__gpu$xla.gpu.triton"
    ops = [
        hlo.op(number, "custom-call", shape, 1, 1, 1, name=name, target=triton)
        for number, name in ((2, "mha_forward.2"), (3, "mha_backward.3"))
    ]
    return hlo.module(
        hlo.computation(1, hlo.op(1, "parameter", shape), *ops), name="jit_train_step"
    )


def vector_product(name: str) -> bytes:
    """cuBLAS multiplies a matrix by a vector."""
    config = (
        '{"gemm_backend_config":{"alpha_real":1,"dot_dimension_numbers":'
        '{"lhs_contracting_dimensions":["1"],"rhs_contracting_dimensions":["0"]}}}'
    )
    product = hlo.op(
        5,
        "custom-call",
        "bf16[1,1536]",
        1,
        2,
        name="custom-call.5",
        target="__cublas$gemm",
        config=config,
    )
    return hlo.module(
        hlo.computation(
            1,
            hlo.op(1, "parameter", "bf16[1,8192]"),
            hlo.op(2, "parameter", "bf16[8192,1536]", number=1),
            product,
        ),
        name=name,
    )


def square(op: str, called: str, dtype: str = "f32", name: str = "jit_step") -> bytes:
    """One op of two matrices of 4096 x 4096."""
    shape = f"{dtype}[4096,4096]"
    return hlo.module(
        hlo.computation(
            1,
            hlo.op(1, "parameter", shape),
            hlo.op(2, op, shape, 1, 1, name=called, extra=DOT),
        ),
        name=name,
    )


def judged(report: Report, least: Severity = Severity.INFO) -> list[str]:
    """The words of each finding that judges the run, in order."""
    return [
        f"{one.title} {one.summary} "
        + " ".join(str(seen.value) for seen in one.evidence)
        + " ".join(f"{fix.do} {fix.snippet}" for fix in one.fixes)
        for one in report.findings
        if one.category != "capture" and one.severity.rank >= least.rank
    ]


def wrong(report: Report, truth: Truth) -> list[str]:
    """In what the report is not what an expert says."""
    words = judged(report)
    found = [
        f"nothing says /{one}/"
        for one in truth.must
        if not re.search(one, "\n".join(words), re.I)
    ]
    found += [
        f"says /{truth.never}/: {said}"
        for said in judged(report, truth.never_from)
        if re.search(truth.never, said, re.I)
    ]
    if truth.verdict and report.verdict.bottleneck not in truth.verdict.split():
        found.append(f"verdict {report.verdict.bottleneck}, not {truth.verdict}")
    if truth.quiet:
        found += [f"not quiet: {one}" for one in judged(report, Severity.MEDIUM)]
    if truth.first and not (words and re.search(truth.first, words[0], re.I)):
        found.append(f"does not begin with /{truth.first}/")
    if truth.steps and report.steps.count != truth.steps:
        found.append(f"{report.steps.count} steps")
    for name, (low, high) in truth.numbers.items():
        value = report.metrics[name].value
        if value is None or not low <= value <= high:
            found.append(f"{name} {value}")
    everything = str(msgspec.to_builtins(report))
    if truth.anywhere and not re.search(truth.anywhere, everything, re.I):
        found.append(f"/{truth.anywhere}/ is nowhere")
    return found
