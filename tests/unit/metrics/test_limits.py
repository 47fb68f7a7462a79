"""The least time that the devices need, on programs and steps worked out on paper."""

from __future__ import annotations

import msgspec
import pytest
from support import hlo_builder as hlo
from support.gpu_step import gpu_steps
from support.trace_builder import trace

from tfadvisor.metrics.registry import Metrics, measure
from tfadvisor.trace.counters import (
    Counted,
    CounterReading,
    HostCounters,
    MachineRates,
)

GPU = {
    "gpu_device_name": "NVIDIA H100 80GB HBM3",
    "memory_bandwidth": 1_000_000_000_000,
    "compute_cap_major": 9,
    "compute_cap_minor": 0,
}
"""1,000 GB/s; NVIDIA's paper: 989.4 TFLOP/s in bf16, 66.9 in fp32."""
WIDE = "f32[1000000]"
"""4 MB."""
DOT = hlo.dot_numbers([1], [0])
SIDE = 1024
SQUARE = f"bf16[{SIDE},{SIDE}]"
"""2 MiB."""
PRODUCT_US = 2 * SIDE**3 / 989.4e12 * 1e6
"""2.17 µs at peak, 6.29 for its bytes."""
MOVED_US = 3 * 2 * SIDE**2 / 1e12 * 1e6


def a_sum() -> bytes:
    """Reads 8 MB and writes 4: 12 µs at 1,000 GB/s. A million additions take 15 ns."""
    return hlo.module(
        hlo.computation(
            1,
            hlo.op(1, "parameter", WIDE),
            hlo.op(2, "parameter", WIDE, number=1),
            hlo.op(3, "add", WIDE, 1, 2, name="add.3"),
        )
    )


def library_products(count: int) -> bytes:
    """So many calls of cuBLAS one after the other, each of two squares."""
    config = {
        "gemm_backend_config": {
            "dot_dimension_numbers": {
                "lhs_contracting_dimensions": ["1"],
                "rhs_contracting_dimensions": ["0"],
            }
        }
    }
    calls = [
        hlo.op(
            at,
            "custom-call",
            SQUARE,
            at - 1,
            1,
            target="__cublas$gemm",
            config=config,
        )
        for at in range(3, 3 + count)
    ]
    first = hlo.op(1, "parameter", SQUARE)
    second = hlo.op(2, "parameter", SQUARE, number=1)
    return hlo.module(hlo.computation(1, first, second, *calls))


def test_bytes_over_the_bandwidth_where_memory_is_the_limit() -> None:
    """12 µs of a step of 100, and the op takes 24."""
    metrics = gpu_steps(("add", 24, "add.3"), program=a_sum(), **GPU).measure()

    assert metrics.value("speed_of_light_fraction") == pytest.approx(0.12, rel=1e-3)
    assert metrics.value("near_limit_fraction") == pytest.approx(0.24, rel=1e-3)
    assert metrics.value("unknown_cost_fraction") == 0


def a_call_of_sums(opcode: str) -> bytes:
    """The sum that `a_sum` makes, in a loop of one round or in another call."""
    arrays = (hlo.op(11, "parameter", WIDE), hlo.op(12, "add", WIDE, 11, 11))
    rounds = {"known_trip_count": {"n": "1"}} if opcode == "while" else {}
    inner = hlo.op(22, opcode, WIDE, 21, calls=[1], config=rounds)
    return hlo.module(
        hlo.computation(1, *arrays),
        hlo.computation(2, hlo.op(21, "parameter", WIDE), inner),
        hlo.computation(
            3,
            hlo.op(31, "parameter", WIDE),
            hlo.op(32, "call", WIDE, 31, calls=[2], name="add.3"),
        ),
        entry=3,
    )


@pytest.mark.parametrize(("opcode", "near"), [("call", 0.2), ("while", 0.0)])
def test_what_a_loop_within_a_call_moves_may_stay_in_caches(
    opcode: str, near: float
) -> None:
    """4 MB read and 4 written are 8 µs; a million additions take 15 ns."""
    metrics = gpu_steps(
        ("add", 20, "add.3"), program=a_call_of_sums(opcode), **GPU
    ).measure()

    assert metrics.value("near_limit_fraction") == pytest.approx(near, rel=1e-3)
    unknown = 0.0 if near else 0.2
    assert metrics.value("unknown_cost_fraction") == pytest.approx(unknown, rel=1e-3)


@pytest.mark.parametrize(("takes", "near"), [(35, 0.35), (37, 0.0)])
def test_near_is_within_a_factor_of_three(takes: float, near: float) -> None:
    """Three times 12 µs are 36."""
    metrics = gpu_steps(("add", takes, "add.3"), program=a_sum(), **GPU).measure()

    assert metrics.value("near_limit_fraction") == pytest.approx(near, rel=1e-3)


def test_no_op_needs_more_than_it_takes() -> None:
    """Caches serve an op of 6 µs what would take 12 from memory."""
    metrics = gpu_steps(("add", 6, "add.3"), program=a_sum(), **GPU).measure()

    assert metrics.value("speed_of_light_fraction") == pytest.approx(0.06, rel=1e-3)


def test_an_op_of_unknown_cost_needs_nothing_and_is_said_to_be_unknown() -> None:
    metrics = gpu_steps(
        ("add", 24, "add.3"), ("other", 10), program=a_sum(), **GPU
    ).measure()

    assert metrics.value("speed_of_light_fraction") == pytest.approx(0.12, rel=1e-3)
    assert metrics.value("unknown_cost_fraction") == pytest.approx(0.1, rel=1e-3)


def test_with_most_of_the_time_unknown_there_is_no_answer() -> None:
    metrics = gpu_steps(
        ("add", 24, "add.3"), ("other", 30), program=a_sum(), **GPU
    ).measure()

    assert metrics["near_limit_fraction"].reason == (
        "the HLO does not tell what most of the computation costs"
    )


def test_without_rates_there_is_no_answer() -> None:
    metrics = gpu_steps(("add", 24, "add.3"), program=a_sum()).measure()

    assert metrics["speed_of_light_fraction"].reason == (
        "the trace does not say how fast the device and its memory are"
    )


def test_a_transcendental_function_counts_as_sixteen_operations() -> None:
    """Of 256 values 16 · 256 = 4,096 operations: 61 ps at 66.9 TFLOP/s, less than 2 kB
    take at 1,000 GB/s, 2 ns. A loop of 8,000 µs' worth shows it: 10^9 values of a fused
    chain of ten.
    """
    chain = [hlo.op(21, "parameter", WIDE)]
    chain += [hlo.op(22 + at, "exponential", WIDE, 21 + at) for at in range(100)]
    program = hlo.module(
        hlo.computation(2, *chain),
        hlo.computation(
            1,
            hlo.op(1, "parameter", WIDE),
            hlo.op(2, "fusion", WIDE, 1, calls=[2], name="fusion.2"),
        ),
    )
    metrics = gpu_steps(("fusion_2", 80, "fusion.2"), program=program, **GPU).measure()
    least_us = 100 * 1_000_000 * 16 / 66.9e12 * 1e6

    assert least_us > 8
    assert metrics.value("speed_of_light_fraction") == pytest.approx(
        least_us / 100, rel=1e-3
    )


def test_products_of_a_library_are_known_by_their_program() -> None:
    """Three calls a run, whose kernels bear the library's names: together they need
    three times what one's bytes take.
    """
    kernel = ("nvjet_sm90_tst_128x256_64x4_1x2_h_bz_coopA_NTN", 10)
    labels = {"hlo_module": "jit_step", "program_id": 7}
    builder = gpu_steps(program=library_products(3), **GPU)
    for step in range(4):
        for at in range(3):
            start = step * 100 + at * 20
            builder.on_line(
                "/device:GPU:0",
                "Stream #1(Compute)",
                kernel[0],
                start,
                start + kernel[1],
                **labels,
            )
    metrics = builder.measure()

    assert MOVED_US > PRODUCT_US
    assert metrics.value("speed_of_light_fraction") == pytest.approx(
        3 * MOVED_US / 100, rel=1e-3
    )
    assert metrics.value("mfu") == pytest.approx(3 * PRODUCT_US / 100, rel=1e-3)


def test_utilisation_counts_products_by_their_type() -> None:
    """One product in a step of 100 µs."""
    program = hlo.module(
        hlo.computation(
            1,
            hlo.op(1, "parameter", SQUARE),
            hlo.op(2, "parameter", SQUARE, number=1),
            hlo.op(3, "dot", SQUARE, 1, 2, name="dot.3", extra=DOT),
        )
    )
    metrics = gpu_steps(("sm90_gemm", 20, "dot.3"), program=program, **GPU).measure()

    assert metrics.value("mfu") == pytest.approx(PRODUCT_US / 100, rel=1e-3)


def test_more_than_the_peak_is_no_utilisation() -> None:
    """8192³ · 2 operations take 1,111 µs at peak and cannot be done in 100."""
    of = "bf16[8192,8192]"
    program = hlo.module(
        hlo.computation(
            1,
            hlo.op(1, "parameter", of),
            hlo.op(2, "parameter", of, number=1),
            hlo.op(3, "dot", of, 1, 2, name="dot.3", extra=DOT),
        )
    )
    metrics = gpu_steps(("sm90_gemm", 20, "dot.3"), program=program, **GPU).measure()

    assert metrics["mfu"].reason == (
        "at the device's peak the products of a step would take 11.1 times the time "
        "that the step takes"
    )


def test_a_program_without_products_has_no_utilisation() -> None:
    metrics = gpu_steps(("add", 24, "add.3"), program=a_sum(), **GPU).measure()

    assert metrics["mfu"].reason == "the trace holds no HLO of a product or convolution"


# On a CPU, whose rates are measured beside the recording.


def on_a_cpu(*counters: HostCounters) -> Metrics:
    """Four steps of 100 µs, in each of which the addition takes 80."""
    labels = {"hlo_op": "add.3", "hlo_module": "jit_step", "program_id": 7}
    builder = trace().program("jit_step", a_sum()).steps(4, period=100)
    builder.thread("tf_XLAEigen/1")
    for at in range(0, 400, 100):
        builder.call("add.3", at, at + 80, **labels)
    return measure(msgspec.structs.replace(builder.build(), counters=counters))


def test_a_cpu_is_measured_by_what_lies_beside_the_trace() -> None:
    """12 MB at 200 GB/s take 60 µs of a step of 100."""
    ends = CounterReading(50.0), CounterReading(51.0)
    rates = MachineRates(200e9, 1e12)
    metrics = on_a_cpu(HostCounters("host", Counted(1, *ends, rates=rates)))

    assert metrics.value("speed_of_light_fraction") == pytest.approx(0.6, rel=1e-3)


def test_a_cpu_that_was_not_measured_says_who_measures_it() -> None:
    assert on_a_cpu()["speed_of_light_fraction"].reason == (
        "how fast this machine computes and moves data was not measured; `tfadvisor "
        "run` measures it once the program has ended, if the cores are free then"
    )
