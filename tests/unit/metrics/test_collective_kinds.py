"""Exposed communication by what it is for, and the settings that the run's own messages
suggest.
"""

from __future__ import annotations

import pytest
from support import hlo_builder as hlo
from support.trace_builder import TraceBuilder, trace

approx = pytest.approx
SQUARE = "f32[64,64]"
"""16,384 bytes."""
TWO = hlo.replica_groups([0, 1])
DOT = hlo.dot_numbers([1], [0])


def two_gpus(
    *calls: tuple[str, str, float, float],
    program: bytes | None = None,
    compute: float = 0,
) -> TraceBuilder:
    """Two GPUs, four steps of 100 µs: computation up to `compute`, collectives (kernel,
    op, from, to) behind or beside.
    """
    builder = trace()
    if program is not None:
        builder.program("jit_step", program)
    for index in range(4):
        at = index * 100
        builder.step(at, at + 100)
        for device in ("GPU:0", "GPU:1"):
            if compute:
                builder.busy(device, (at, at + compute), name="loop_add_fusion")
            for kernel, op, start, end in calls:
                stats: dict[str, object] = (
                    {"hlo_op": op, "hlo_module": "jit_step", "program_id": 7}
                    if op
                    else {}
                )
                builder.collective(device, at + start, at + end, kernel, **stats)
    return builder


def test_each_kind_has_its_part_of_what_is_exposed() -> None:
    """AllReduce 20, all-gather 10 and send 10 of 100 µs; one all-gather a step is no
    loop over layers.
    """
    metrics = two_gpus(
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL", "", 0, 20),
        ("ncclDevKernel_AllGather_RING_LL", "", 30, 40),
        ("ncclDevKernel_SendRecv", "send.1", 50, 60),
    ).measure()

    assert metrics.value("exposed_transfer_fraction") == approx(0.4)
    assert metrics.value("exposed_all_reduce_fraction") == approx(0.2)
    assert metrics.value("exposed_weight_gather_fraction") == 0
    assert metrics.value("exposed_permute_fraction") == approx(0.1)
    assert metrics.value("exposed_rest_fraction") == approx(0.3)
    assert "does not say how much" in metrics["costliest_message_bytes"].reason


def layers() -> bytes:
    return hlo.module(
        hlo.computation(
            1,
            hlo.op(1, "parameter", SQUARE),
            hlo.op(2, "all-gather", "f32[128,64]", 1, name="all-gather.1", extra=TWO),
            hlo.op(3, "reduce-scatter", SQUARE, 2, name="reduce-scatter.1", extra=TWO),
        )
    )


def test_an_all_gather_that_runs_twice_a_step_gathers_layers_weights() -> None:
    """10 µs each, and a reduce-scatter that runs once: 20 of 100 µs are the layers'."""
    gather = "ncclDevKernel_AllGather_RING_LL", "all-gather.1"
    builder = two_gpus(
        (*gather, 0, 10),
        (*gather, 30, 40),
        ("ncclDevKernel_ReduceScatter_Sum_f32_RING_LL", "reduce-scatter.1", 60, 65),
        program=layers(),
    )
    metrics = builder.measure()

    assert metrics.value("exposed_weight_gather_fraction") == approx(0.2)
    assert metrics.value("exposed_rest_fraction") == approx(0.05)
    assert metrics.value("collective_repeats_per_step") == 2
    assert metrics.value("costliest_message_bytes") == 32768
    assert metrics.fact("combine_all_gather_bytes") == "32768"
    assert metrics.fact("collective_dtype") == "f32"


def test_a_collective_between_two_products_is_tensor_parallelism() -> None:
    program = hlo.module(
        hlo.computation(
            1,
            hlo.op(1, "parameter", SQUARE),
            hlo.op(2, "dot", SQUARE, 1, 1, extra=DOT),
            hlo.op(3, "all-reduce", SQUARE, 2, name="all-reduce.3", extra=TWO),
            hlo.op(4, "dot", SQUARE, 3, 1, name="dot.4", extra=DOT),
            hlo.op(5, "all-reduce", SQUARE, 4, name="all-reduce.5", extra=TWO),
        )
    )
    kernel = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
    builder = two_gpus(
        (kernel, "all-reduce.3", 20, 50),
        (kernel, "all-reduce.5", 60, 70),
        program=program,
    )
    for index in range(4):
        at = index * 100
        stats = {"hlo_op": "dot.4", "hlo_module": "jit_step", "program_id": 7}
        builder.on_line(
            "/device:GPU:0", "Stream #1(Compute)", "sm80_gemm", at, at + 20, **stats
        )
    metrics = builder.measure()

    assert metrics.value("exposed_between_products_fraction") == approx(0.3)
    assert metrics.value("exposed_rest_fraction") == approx(0.1)
    assert metrics.value("exposed_all_reduce_fraction") == approx(0.4)


def test_on_a_cpu_the_events_name_the_collective_that_a_loop_repeats() -> None:
    """Two steps of 1,000 µs; in each `all-reduce.3` runs four times on device 0."""
    builder = trace().step(0, 1000).step(1000, 2000).thread("tf_XLAEigen/1")
    for at in (0, 1000):
        for turn in range(4):
            begin = at + 200 * turn
            builder.call(
                "dot.1",
                begin,
                begin + 100,
                hlo_op="dot.1",
                hlo_module="jit_step",
                device_ordinal=0,
            )
            stats = {
                "hlo_op": "all-reduce.3",
                "hlo_module": "jit_step",
                "device_ordinal": 0,
            }
            builder.call("all-reduce.3", begin + 100, begin + 150, **stats)

    assert builder.measure().value("collective_repeats_per_step") == 4


def test_collectives_of_one_name_in_two_programs_are_two() -> None:
    """Two steps; in each four programs run an `all-reduce` once."""
    builder = trace().step(0, 1000).step(1000, 2000).thread("tf_XLAEigen/1")
    for at in (0, 1000):
        for number in range(4):
            begin, program = at + 200 * number, f"jit_part{number}"
            builder.call(
                "dot.1",
                begin,
                begin + 100,
                hlo_op="dot.1",
                hlo_module=program,
                device_ordinal=0,
            )
            stats = {"hlo_op": "all-reduce", "hlo_module": program, "device_ordinal": 0}
            builder.call("all-reduce", begin + 100, begin + 150, **stats)

    assert builder.measure().value("collective_repeats_per_step") == 1


SUM = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"


@pytest.mark.parametrize(
    ("kernel", "turns", "cause"),
    [
        (SUM, 4, "loop"),
        (SUM, 3, "other"),
        ("ncclDevKernel_AllGather_RING_LL", 4, "exchange"),
        ("ncclDevKernel_AllToAll", 1, "exchange"),
        ("ncclDevKernel_ReduceScatter_Sum_f32_RING_LL", 4, "other"),
    ],
)
def test_why_devices_only_communicate(kernel: str, turns: int, cause: str) -> None:
    """The same collective so many times a step, 5 µs each, and one sum of 4 µs."""
    calls = [(kernel, "it", 10.0 * at, 10.0 * at + 5) for at in range(turns)]
    metrics = two_gpus(*calls, (SUM, "another", 90, 94)).measure()

    assert metrics.fact("communication_cause") == cause
    assert metrics.value("collective_repeats_per_step") == turns


def test_a_sum_in_each_turn_that_a_product_waits_for_is_no_sum_for_later() -> None:
    """The mean of a layer's batch over the devices, in four turns: the next layer's
    product needs it at once.
    """
    program = hlo.module(
        hlo.computation(
            1,
            hlo.op(1, "parameter", SQUARE),
            hlo.op(2, "dot", SQUARE, 1, 1, extra=DOT),
            hlo.op(3, "all-reduce", SQUARE, 2, name="all-reduce.3", extra=TWO),
            hlo.op(4, "dot", SQUARE, 3, 1, name="dot.4", extra=DOT),
        )
    )
    calls = [(SUM, "all-reduce.3", 10.0 * at, 10.0 * at + 5) for at in range(4)]

    builder = two_gpus(*calls, program=program)
    for at in (0, 100, 200, 300):
        stats = {"hlo_op": "dot.4", "hlo_module": "jit_step", "program_id": 7}
        builder.on_line(
            "/device:GPU:0",
            "Stream #1(Compute)",
            "sm80_gemm",
            at + 50,
            at + 60,
            **stats,
        )

    assert builder.measure().fact("communication_cause") == "other"


def test_where_computation_hides_all_communication_there_is_no_cause() -> None:
    hidden = two_gpus((SUM, "it", 10, 20), compute=50).measure()

    assert hidden.fact("communication_cause") is None


def test_on_a_tpu_the_events_name_the_collective_that_a_loop_repeats() -> None:
    """Two steps of 100 µs; in each `all-reduce.3` runs four times."""
    builder = trace().step(0, 100).step(100, 200)
    for at in (0, 100):
        builder.on_line("/device:TPU:0", "XLA Modules", "jit_step(1)", at, at + 95)
        for turn in range(4):
            begin = at + 20 * turn
            builder.on_line(
                "/device:TPU:0",
                "XLA Ops",
                "%fusion.1 = f32[8] fusion(f32[8] %p)",
                begin,
                begin + 10,
            )
            builder.on_line(
                "/device:TPU:0",
                "XLA Ops",
                "%all-reduce.3 = f32[8] all-reduce(f32[8] %q)",
                begin + 10,
                begin + 15,
            )

    assert builder.measure().value("collective_repeats_per_step") == 4


def test_kernels_of_one_name_are_not_one_collective() -> None:
    metrics = two_gpus(
        *[
            ("ncclDevKernel_AllReduce_Sum_f32_RING_LL", "", at, at + 5)
            for at in (0, 10, 20)
        ]
    ).measure()

    assert metrics.value("collective_repeats_per_step") is None
    assert metrics.fact("combine_all_gather_bytes") is None


def test_communication_counts_beside_computation_too() -> None:
    """60 µs of communication, of which computation covers 20: to hide all, the batch
    must be three times as large.
    """
    metrics = two_gpus(
        ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "", 10, 70), compute=30
    ).measure()

    assert metrics.value("exposed_rest_fraction") == approx(0.4)
    assert metrics.fact("collective_dtype") == "bf16"


def test_a_single_device_communicates_nothing() -> None:
    metrics = trace().steps(3, period=100).busy("GPU:0", (0, 300)).measure()

    for name in ("exposed_rest_fraction", "exposed_permute_fraction"):
        assert metrics.value(name) is None
        assert metrics[name].reason


def with_product(builder: TraceBuilder) -> TraceBuilder:
    """The program's own product from 0 to 50 µs of each step."""
    stats = {"hlo_op": "dot.2", "hlo_module": "jit_step", "program_id": 7}
    for at in range(0, 400, 100):
        builder.on_line(
            "/device:GPU:0", "Stream #1(Compute)", "sm80_gemm", at, at + 50, **stats
        )
    return builder


def unrolled(
    operand: str, kind: str = "all-gather", path: str = "jit(step)/layer_0/all_gather"
) -> bytes:
    """A program with one collective of its argument, or of a product of it."""
    return hlo.module(
        hlo.computation(
            1,
            hlo.op(1, "parameter", SQUARE),
            hlo.op(2, "dot", SQUARE, 1, 1, extra=DOT),
            hlo.op(3, "convert", SQUARE, 1 if operand == "argument" else 2),
            hlo.op(
                4,
                kind,
                "f32[128,64]",
                3,
                name="it",
                metadata=hlo.metadata(path),
                extra=TWO,
            ),
        )
    )


@pytest.mark.parametrize(
    ("operand", "path", "weights", "use"),
    [
        ("argument", "jit(step)/layer_0/all_gather", 0.2, "weights"),
        ("product", "jit(step)/layer_0/all_gather", 0.0, "asked for"),
        ("product", "jit(step)/layer_0/dot_general", 0.0, "resharding"),
    ],
)
def test_an_all_gather_of_an_argument_is_one_of_weights(
    operand: str, path: str, weights: float, use: str
) -> None:
    """Once a step, in no loop."""
    builder = two_gpus(
        ("ncclDevKernel_AllGather_RING_LL", "it", 60, 80),
        program=unrolled(operand, path=path),
    )
    metrics = with_product(builder).measure()

    assert metrics.value("exposed_weight_gather_fraction") == approx(weights)
    assert metrics.value("exposed_rest_fraction") == approx(0.2 - weights)
    assert metrics.fact("exposed_collective_use") == use


@pytest.mark.parametrize(
    ("path", "use"),
    [
        ("jit(step)/moe/all_to_all", "experts"),
        ("jit(step)/attention/all_to_all", "asked for"),
    ],
)
def test_an_all_to_all_as_send_and_receive_is_what_the_hlo_says(
    path: str, use: str
) -> None:
    program = unrolled("product", "all-to-all", path)
    metrics = with_product(
        two_gpus(("ncclDevKernel_SendRecv", "it", 60, 80), program=program)
    ).measure()

    assert metrics.fact("exposed_collective_kind") == "all-to-all"
    assert metrics.fact("exposed_collective_use") == use


def looped(*, carried: bool) -> bytes:
    """A loop over layers that gathers a slice of its weights, or of what it carries
    from turn to turn.
    """
    stack, rows = "f32[8,64,64]", "f32[1,64,64]"
    loop = f"(s32[], {stack})"
    return hlo.module(
        hlo.computation(
            2,
            hlo.op(1, "parameter", loop),
            hlo.op(2, "get-tuple-element", "s32[]", 1),
            hlo.op(3, "get-tuple-element", stack, 1, extra=hlo.field(13, 1)),
            hlo.op(4, "dynamic-slice", rows, 3, 2),
            hlo.op(5, "all-gather", "f32[1,128,64]", 4, name="it", extra=TWO),
            hlo.op(6, "negate", stack, 3),
            hlo.op(7, "tuple", loop, 2, 6 if carried else 3),
        ),
        hlo.computation(
            1,
            hlo.op(1, "parameter", loop),
            hlo.op(2, "while", loop, 1, calls=(2,)),
        ),
    )


@pytest.mark.parametrize("carried", [False, True])
def test_in_a_loop_weights_are_what_no_turn_changes(carried: bool) -> None:
    builder = two_gpus(
        ("ncclDevKernel_AllGather_RING_LL", "it", 60, 80),
        program=looped(carried=carried),
    )
    metrics = with_product(builder).measure()

    assert metrics.value("exposed_weight_gather_fraction") == approx(
        0 if carried else 0.2
    )


PLAIN = ("%all-reduce.3 = f32[8] all-reduce(f32[8] %q), to_apply=%add",)
OFFLOADED = (
    "%all-reduce.3.cloned.1.call-start = ((f32[8], token[]), f32[8]) call-start(%q), "
    'async_execution_thread="sparsecore"',
    "%all-reduce.3.cloned.1.call-done = f32[8] "
    "call-done(%all-reduce.3.cloned.1.call-start)",
)
"""As libtpu 0.0.42 compiles one for a v6e, without and with flags that move it to the
sparse cores.
"""


@pytest.mark.parametrize(
    ("model", "ops", "sparse", "found"),
    [
        ("TPU v6 Lite", PLAIN, False, "by flags"),
        ("TPU v6e", PLAIN, False, "by flags"),
        ("TPU7x", PLAIN, False, "by default"),
        ("TPU v7x", PLAIN, False, "by default"),
        ("TPU v5 lite", PLAIN, False, None),
        ("TPU v6 Lite", PLAIN, True, "by flags"),  # they run something else
        ("TPU v6 Lite", ("all-reduce.3",), True, None),
        ("TPU v6 Lite", ("all-reduce.3",), False, "by flags"),
        ("TPU v6 Lite", ("all-reduce.3.cloned.1.call-done",), True, "runs"),
        ("TPU v6 Lite", OFFLOADED, True, "runs"),
        ("TPU v6 Lite", OFFLOADED, False, "runs"),
        ("TPU7x", OFFLOADED, True, "runs"),
        (
            "TPU7x",
            ("%async-done.3 = f32[8] async-done(%async-start.3), calls=%all-gather.1",),
            False,
            "runs",
        ),
        (
            "TPU v6 Lite",
            ("%async-collective-done.1 = f32[8] fusion(%q)",),
            False,
            "by flags",
        ),
    ],
)
def test_where_a_tpus_collective_runs_stands_in_its_op(
    model: str, ops: tuple[str, ...], sparse: bool, found: str | None
) -> None:
    """Of each step of 100 µs a collective takes 30 in which nothing else runs."""
    builder = trace().plane_stat("/device:TPU:0", device_type_string=model)
    for at in (0, 100):
        builder.step(at, at + 100).on_line(
            "/device:TPU:0", "XLA Ops", "%fusion.1 = f32[8] fusion(%p)", at, at + 60
        )
        for number, name in enumerate(ops):
            builder.on_line(
                "/device:TPU:0",
                "XLA Ops",
                name,
                at + 60 + 2 * number,
                at + 62 + 28 * number,
            )
        if sparse:
            builder.on_line(
                "/device:TPU:0 SparseCore 0",
                "Sparse Core Ops",
                "%sort.1 = f32[8] sort(%p)",
                at,
                at + 10,
            )

    metrics = builder.measure()

    assert metrics.fact("sparse_core_offload") == found
    assert metrics.value("exposed_collective_fraction") > 0


def test_gpus_have_no_sparse_cores() -> None:
    metrics = two_gpus(("ncclDevKernel_AllReduce_Sum_f32_RING_LL", "", 0, 20)).measure()

    assert metrics.fact("sparse_core_offload") is None
