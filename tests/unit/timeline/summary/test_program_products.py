"""How much a device's programs multiplied, whether or not events bear their names."""

from __future__ import annotations

from support import hlo_builder as hlo
from support.gpu_step import STEPS, gpu_steps
from support.trace_builder import TraceBuilder

from tfadvisor.timeline.summary.program_products import ProgramProducts

SQUARE = "bf16[64,64]"
LABELS = {"hlo_module": "jit_step", "program_id": 7}
LINE = "/device:GPU:0", "Stream #1(Compute)"
GEMM = "nvjet_sm90_tst_128x256_64x4_1x2_h_bz_coopA_NTN"
CONFIG = {
    "gemm_backend_config": {
        "dot_dimension_numbers": {
            "lhs_contracting_dimensions": ["1"],
            "rhs_contracting_dimensions": ["0"],
        }
    }
}


def call(one: int) -> bytes:
    """A product by cuBLAS."""
    return hlo.op(
        one, "custom-call", SQUARE, 1, 1, target="__cublas$gemm", config=CONFIG
    )


def program(*body: bytes) -> bytes:
    """On one square matrix."""
    return hlo.module(hlo.computation(1, hlo.op(1, "parameter", SQUARE), *body))


def products(builder: TraceBuilder) -> ProgramProducts:
    """Of the only program."""
    host = builder.build().hosts[0]
    assert host.program is not None
    (found,) = host.program.products
    return found


def launched(builder: TraceBuilder, kernel: str, at: float) -> TraceBuilder:
    """The kernel in each step, 5 µs long, with its program but no name of an op."""
    for step in range(STEPS):
        start = step * 100 + at
        builder.on_line(*LINE, kernel, start, start + 5, **LABELS)
    return builder


def test_a_product_whose_name_an_event_bears_is_not_hidden() -> None:
    dot = hlo.op(2, "dot", SQUARE, 1, 1, extra=hlo.dot_numbers([1], [0]))
    found = products(gpu_steps(("dot_2", 10, "dot.2"), program=program(dot)))

    assert [(one.count, one.is_hidden) for one in found.products] == [(STEPS, False)]
    assert found.kernels == ()


def test_kernels_of_a_library_do_what_no_event_names() -> None:
    """Two calls a run, so eight kernels are four runs."""
    builder = gpu_steps(program=program(call(2), call(3)))
    launched(launched(builder, GEMM, 0), GEMM, 20)
    found = products(builder)

    assert [one.count for one in found.hidden] == [STEPS, STEPS]
    assert found.kernels == (GEMM,)
    assert found.kernels_ps == 2 * STEPS * 5_000_000


def test_runs_are_those_of_an_instruction_that_no_loop_holds() -> None:
    """The library splits its product over three kernels, which tells of no runs."""
    add = hlo.op(4, "add", SQUARE, 1, 1)
    builder = gpu_steps(("add_4", 10, "add.4"), program=program(call(2), add))
    for at in (20, 30, 40):
        launched(builder, GEMM, at)
    found = products(builder)

    assert [one.count for one in found.hidden] == [STEPS]


def test_kernels_that_do_not_fit_the_calls_tell_no_number() -> None:
    """Two calls a run, and a kernel in each of four steps, of which one has a fifth."""
    builder = launched(gpu_steps(program=program(call(2), call(3))), GEMM, 0)
    builder.on_line(*LINE, GEMM, 50, 55, **LABELS)
    found = products(builder)

    assert [one.count for one in found.hidden] == [None, None]


def test_a_kernel_that_serves_two_instructions_counts_the_runs_once() -> None:
    """XLA gives equal fusions one kernel, which bears the name of the first."""
    dots = [
        hlo.op(at, "dot", SQUARE, 1, 1, extra=hlo.dot_numbers([1], [0]))
        for at in (2, 3)
    ]
    add = hlo.op(4, "add", SQUARE, 1, 1)
    kernels = (("dot_2", 10, "dot.2"), ("dot_2", 10, "dot.2"), ("add_4", 5, "add.4"))
    found = products(gpu_steps(*kernels, program=program(*dots, add)))

    assert [one.count for one in found.products] == [STEPS, STEPS]
