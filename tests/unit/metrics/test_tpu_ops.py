"""A TPU's ops by their HLO: layouts, memory, padding, offload. Times in µs, sizes
worked out by hand.
"""

from __future__ import annotations

import pytest
from support import hlo_builder as hlo
from support.trace_builder import TraceBuilder, _set, _stat_id, trace

from tfadvisor.timeline.names.device_events import proven_product

approx = pytest.approx
DOT = hlo.dot_numbers([1], [0])
V6E = {
    "device_type_string": "TPU v6 Lite",
    "peak_teraflops_per_second": 918.0,
    "peak_hbm_bw_gigabytes_per_second": 1640.0,
}


def tpu(
    *spans: tuple[str, float, float], program: bytes | None = None, **properties: object
) -> TraceBuilder:
    """Four steps of 100 µs on one TPU: ops (instruction, from, to)."""
    builder = trace().plane_stat("/device:TPU:0", **(properties or V6E))
    if program is not None:
        builder.program("jit_step", program)
    for step in range(4):
        at = step * 100
        builder.step(at, at + 100)
        builder.on_line("/device:TPU:0", "XLA Modules", "jit_step(7)", at, at + 99)
        for name, start, end in spans:
            builder.on_line("/device:TPU:0", "XLA Ops", name, at + start, at + end)
    for entry in builder._planes["host", "/device:TPU:0"].event_metadata.values():
        plane = builder._planes["host", "/device:TPU:0"]
        if b" = " in entry.name:
            stat = next(
                (
                    key
                    for key, one in plane.stat_metadata.items()
                    if one.name == b"program_id"
                ),
                None,
            )
            if stat is None:
                stat = len(plane.stat_metadata) + 1
                plane.stat_metadata[stat].id, plane.stat_metadata[stat].name = (
                    stat,
                    b"program_id",
                )
            entry.stats.add(metadata_id=stat).int64_value = 7
    return builder


def square(side: int, *more: bytes) -> bytes:
    shape = f"bf16[{side},{side}]"
    return hlo.module(
        hlo.computation(
            1,
            hlo.op(1, "parameter", shape),
            hlo.op(2, "transpose", shape, 1),
            hlo.op(3, "add", shape, 1, 2),
            hlo.op(4, "dot", shape, 1, 3, extra=DOT),
            *more,
        )
    )


def line(opcode: str, number: int, side: int) -> str:
    return (
        f"%{opcode}.{number} = bf16[{side},{side}]{{1,0}} "
        f"{opcode}(bf16[{side},{side}] %x)"
    )


def test_layout_conversions_of_a_tpu() -> None:
    spans = ((line("transpose", 2, 512), 0, 40), (line("dot", 4, 512), 40, 100))
    metrics = tpu(*spans, program=square(512)).measure()

    assert metrics.value("layout_conversion_fraction") == approx(0.4)
    assert metrics.fact("layout_conversion_op") == "transpose.2"


def test_without_hlo_the_profilers_own_counts_serve() -> None:
    """60 of 100 µs add and 30 multiply: 98.4 MB are the memory's 60 µs; 13.77 GFLOP
    half of the peak in 30 µs, with little read. What a custom kernel states is its
    author's guess, and 10 µs of it are less than the half that must be known."""
    spans = (
        ("%add.1 = f32[8] add(%x)", 0, 60),
        ("%dot.2 = f32[8] fusion(%x)", 60, 90),
        ("%own = f32[8] custom-call()", 90, 100),
    )
    builder, told = tpu(*spans), {}
    plane = builder._planes["host", "/device:TPU:0"]
    told[b"%add"] = ("loop fusion", 1_000, 98_400_000)
    told[b"%dot"] = ("convolution fusion", 13_770_000_000, 1_000_000)
    told[b"%own"] = ("custom-call", 1 << 60, 1 << 60)
    for entry in plane.event_metadata.values():
        for stat, value in zip(
            ("hlo_category", "flops", "bytes_accessed"),
            told.get(entry.name[:4], ()),
            strict=False,
        ):
            _set(entry.stats.add(metadata_id=_stat_id(plane, stat)), plane, value)

    metrics = builder.measure()

    assert metrics.value("flops_utilization") == approx(0.5 * 30 / 90, rel=1e-3)
    assert metrics.value("memory_bandwidth_utilization") == approx(
        99.4e6 / 1640e9 / 90e-6, rel=1e-3
    )
    assert metrics.value("memory_bound_fraction") == approx(0.6)


@pytest.mark.parametrize(
    ("opcode", "number", "expected"), [("add", 3, 0.9), ("dot", 4, 0.0)]
)
def test_memory_or_arithmetic(opcode: str, number: int, expected: float) -> None:
    """Of 4,096²: an addition moves 100 MB, 61 µs at 1,640 GB/s; a product computes 137
    GFLOP, 150 µs at 918 TFLOP/s.
    """
    metrics = tpu((line(opcode, number, 4096), 0, 90), program=square(4096)).measure()

    assert metrics.value("memory_bound_fraction") == approx(expected)


@pytest.mark.parametrize(
    ("side", "model", "padded"),
    [
        (4096, "TPU v6 Lite", 4096 * 4096 * 4096),
        (4000, "TPU v6 Lite", 4000 * 4096 * 4096),
        (192, "TPU v5e", 192 * 256 * 256),
    ],
)
def test_padding_of_a_product(side: int, model: str, padded: int) -> None:
    """Rows are rounded up to 8, columns and what is summed over to 256 since v6e and to
    128 before.
    """
    metrics = tpu(
        (line("dot", 4, side), 0, 100),
        program=square(side),
        device_type_string=model,
        peak_teraflops_per_second=100.0,
    ).measure()

    assert metrics.value("padding_fraction") == approx(1 - side**3 / padded)


def test_a_copy_to_the_hosts_memory_by_an_op_is_offload() -> None:
    start = (
        "%copy-start.1 = (bf16[8]{0:T(8)S(5)}, bf16[8]{0:T(8)}, u32[]) copy-start(%x)"
    )
    metrics = tpu(
        (start, 0, 30), (line("dot", 4, 512), 30, 100), program=square(512)
    ).measure()

    assert metrics.fact("hideable_copies") == "offload"
    assert metrics.value("hideable_copy_fraction") == approx(0.3)


def test_a_copy_of_a_gpu_that_no_op_asked_for_is_none() -> None:
    builder = trace().step(0, 100).busy("GPU:0", (0, 50)).copy("GPU:0", "D2H", 50, 60)
    builder.on_line(
        "/device:GPU:0",
        "Stream #9(MemcpyD2H)",
        "MemcpyD2H",
        60,
        90,
        hlo_op="copy-start.1",
        hlo_module="m",
    )
    metrics = builder.measure()

    assert metrics.fact("hideable_copies") == "offload"
    assert metrics.value("hideable_copy_fraction") == approx(0.4)


@pytest.mark.parametrize(
    ("category", "expected"),
    [("data formatting", 0.4), ("copy", 0.4), ("transpose", 0.4), ("loop fusion", 0.0)],
)
def test_without_a_program_the_profilers_category_says_what_only_changes_the_layout(
    category: str, expected: float
) -> None:
    """40 of 100 µs."""
    builder = tpu(
        ("%fusion.1 = bf16[8] fusion(%p)", 0, 60),
        ("%bitcast.5 = bf16[8] fusion(%x)", 60, 100),
    )
    plane = builder._planes["host", "/device:TPU:0"]
    for entry in plane.event_metadata.values():
        told = (
            "convolution fusion" if b"%fusion" in entry.name else category,
            1000,
            1000,
        )
        for stat, value in zip(
            ("hlo_category", "flops", "bytes_accessed"), told, strict=True
        ):
            _set(entry.stats.add(metadata_id=_stat_id(plane, stat)), plane, value)

    assert builder.measure().value("layout_conversion_fraction") == approx(expected)


@pytest.mark.parametrize(
    ("bytes_", "category", "expected"),
    [
        (16_400_000, "convolution fusion", 1.0),
        (16_300_000, "convolution fusion", 0.0),
        (164, "loop fusion", 0.0),
    ],
)
def test_an_op_that_uses_little_of_the_bandwidth_does_not_wait_for_memory(
    bytes_: int, category: str, expected: float
) -> None:
    """1,640 GB/s move 164 MB in 100 µs, a tenth of that is the least."""
    builder = tpu(("%fusion.1 = bf16[8] fusion(%p)", 0, 100))
    plane = builder._planes["host", "/device:TPU:0"]
    for entry in plane.event_metadata.values():
        for stat, value in zip(
            ("hlo_category", "flops", "bytes_accessed"),
            (category, 1, bytes_),
            strict=True,
        ):
            _set(entry.stats.add(metadata_id=_stat_id(plane, stat)), plane, value)

    assert builder.measure().value("memory_bound_fraction") == approx(
        expected, abs=1e-3
    )


def test_what_fusions_hold_is_not_known_without_a_program() -> None:
    """Their category says that they are loop fusions; whether they gather, cumulate or
    draw numbers, only HLO does.
    """
    builder = tpu(("%fusion.1 = bf16[8] fusion(%p)", 0, 60))
    plane = builder._planes["host", "/device:TPU:0"]
    for entry in plane.event_metadata.values():
        for stat, value in (
            ("hlo_category", "loop fusion"),
            ("flops", 1000),
            ("bytes_accessed", 1000),
        ):
            _set(entry.stats.add(metadata_id=_stat_id(plane, stat)), plane, value)

    metrics = builder.measure()

    for name in (
        "gather",
        "cumulative_op",
        "elementwise",
        "random_number",
        "scatter_loop",
    ):
        assert metrics.value(f"{name}_fraction") is None
    assert metrics.value("layout_conversion_fraction") == 0


OPERANDS = "(bf16[64,96]{1,0:T(8,128)(2,1)} %a, bf16[96,130]{1,0:T(8,128)(2,1)} %b)"
PRODUCT = 2 * 64 * 130 * 96


@pytest.mark.parametrize(
    ("instruction", "flops", "sides"),
    [
        (
            f"%f.1 = bf16[64,130]{{1,0:T(8,128)(2,1)}} fusion{OPERANDS}, kind=kOutput",
            PRODUCT,
            (64, 130, 96),
        ),
        (f"%d.2 = f32[64,130]{{1,0}} dot{OPERANDS}", PRODUCT, (64, 130, 96)),
        (
            "%f.3 = bf16[4,16,130]{2,1,0} fusion(f32[130]{0} %c, "
            "bf16[4,16,96]{2,1,0} %a, bf16[130,96]{1,0} %b), kind=kOutput",
            PRODUCT + 64 * 130,
            (64, 130, 96),
        ),
        (
            f"%more.4 = bf16[64,130]{{1,0}} fusion{OPERANDS}, kind=kOutput",
            PRODUCT * 11 // 10,
            None,
        ),
        (
            f"%less.5 = bf16[64,130]{{1,0}} fusion{OPERANDS}, kind=kLoop",
            PRODUCT - 1,
            None,
        ),
        (
            "%add.6 = bf16[64,64]{1,0} add(bf16[64,64]{1,0} %a, bf16[64,64]{1,0} %b)",
            64 * 64,
            None,
        ),
        (
            "%batch.7 = bf16[8,64,64]{2,1,0} fusion(bf16[8,64,96]{2,1,0} %a, "
            "bf16[8,96,64]{2,1,0} %b)",
            2 * 8 * 64 * 64 * 96,
            None,
        ),
        (
            f"%tuple.8 = (f32[64,130]{{1,0}}, f32[8]{{0}}) fusion{OPERANDS}, "
            "kind=kOutput",
            PRODUCT,
            None,
        ),
    ],
)
def test_shapes_and_operations_prove_a_product(
    instruction: str, flops: int, sides: tuple[int, int, int] | None
) -> None:
    """A bias beside it costs little; 10% more could be anything."""
    found = proven_product(instruction, flops)

    assert (found[1:] if found else None) == sides
