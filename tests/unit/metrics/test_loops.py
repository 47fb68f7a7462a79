"""Scatters that became loops, slices copied in loops, loops that were unrolled."""

from __future__ import annotations

import pytest
from support import hlo_builder as hlo
from support.gpu_step import gpu_steps
from support.trace_builder import trace

approx = pytest.approx
SQUARE = "f32[64,64]"
DOT = hlo.dot_numbers([1], [0])


def loop(update: str, *more: bytes) -> bytes:
    """A loop whose body updates a slice under this name, after what else it does."""
    body = hlo.computation(
        2,
        hlo.op(1, "parameter", SQUARE),
        *more,
        hlo.op(
            9,
            "dynamic-update-slice",
            SQUARE,
            1,
            1,
            name="update",
            metadata=hlo.metadata(f"jit(step)/while/body/{update}", "model.py", 5),
        ),
    )
    return hlo.module(
        body,
        hlo.computation(
            1, hlo.op(1, "parameter", SQUARE), hlo.op(2, "while", SQUARE, 1, calls=[2])
        ),
    )


UPDATES = [("loop_dynamic_update_slice_fusion", 2.0, "update")] * 10


def test_a_scatter_that_became_a_loop() -> None:
    """Ten updates of 2 µs in each step of 100; the rest of the step has no known cause,
    which is the loop's too.
    """
    metrics = gpu_steps(*UPDATES, program=loop("scatter-add")).measure()

    assert metrics.value("looped_updates_per_step") == 10
    compute, launch, idle = (
        metrics.value(f"{one}_fraction") or 0.0
        for one in ("compute", "kernel_launch_gap", "idle")
    )
    assert metrics.value("scatter_loop_fraction") == approx(compute + launch + idle)
    assert compute == approx(0.2)
    assert metrics.fact("scatter_loop_op") == "update (model.py:5)"


def test_a_scan_that_stacks_its_results_is_no_scatter() -> None:
    metrics = gpu_steps(*UPDATES, program=loop("dynamic_update_slice")).measure()

    assert metrics.value("looped_updates_per_step") == 0
    assert metrics.value("scatter_loop_fraction") == 0


def test_slices_copied_around_a_loops_products() -> None:
    product = hlo.op(2, "dot", SQUARE, 1, 1, name="product", extra=DOT)
    kernels = (
        ("gemm", 50.0, "product"),
        ("loop_dynamic_update_slice_fusion", 30.0, "update"),
    )

    with_products = gpu_steps(
        *kernels, program=loop("dynamic_update_slice", product)
    ).measure()
    without = gpu_steps(kernels[1], program=loop("dynamic_update_slice")).measure()

    assert with_products.value("looped_slice_copy_fraction") == approx(0.3)
    assert without.value("looped_slice_copy_fraction") == 0


def test_a_cpu_run_may_scatter_in_loops_too() -> None:
    metrics = (
        trace().step(0, 10).thread("tf_Compute/1").call("a:MatMul", 0, 5).measure()
    )

    assert metrics.value("looped_updates_per_step") is None
    assert "HLO" in metrics["looped_updates_per_step"].reason


def unrolled(*places: tuple[str, int]) -> bytes:
    """A fusion of one product for each place (path, line of model.py), and another
    kernel.
    """
    products = [
        hlo.op(
            2 + index,
            "multiply",
            "f32[16]",
            1,
            1,
            metadata=hlo.metadata(path, "model.py", line),
        )
        for index, (path, line) in enumerate(places)
    ]
    return hlo.module(
        hlo.computation(2, hlo.op(1, "parameter", "f32[16]"), *products),
        hlo.computation(
            1,
            hlo.op(1, "parameter", "f32[16]"),
            hlo.op(2, "fusion", "f32[16]", 1, calls=[2], name="levels"),
            hlo.op(3, "negate", "f32[16]", 2, name="after"),
        ),
    )


LEVELS = ("loop_fusion", 60.0, "levels"), ("loop_negate_fusion", 20.0, "after")


def test_a_loop_that_was_unrolled_into_one_kernel() -> None:
    """200 turns, the kernel 60 of 100 µs."""
    metrics = gpu_steps(
        *LEVELS, program=unrolled(*[("jit(step)/jvp()/mul", 16)] * 200)
    ).measure()

    assert metrics.value("unrolled_fraction") == approx(0.6)
    assert metrics.fact("unrolled_op") == "levels (model.py:16)"


def test_tensorflow_numbers_what_it_unrolls() -> None:
    program = unrolled(*[(f"level/mul_{turn}", 16) for turn in range(150)])

    assert gpu_steps(*LEVELS, program=program).measure().value(
        "unrolled_fraction"
    ) == approx(0.6)


@pytest.mark.parametrize(
    "places",
    [
        pytest.param([("jit(step)/mul", 16)] * 127, id="a loop of few turns"),
        pytest.param(
            [("jit(step)/lgamma", 16)] * 300, id="one function that XLA expands"
        ),
        pytest.param(
            [("jit(step)/mul", line) for line in range(300)], id="a long program"
        ),
        pytest.param(
            [(f"jit(step)/layer_{index}/mul", 16) for index in range(300)],
            id="layers with names of their own",
        ),
    ],
)
def test_what_is_no_unrolled_loop(places: list[tuple[str, int]]) -> None:
    metrics = gpu_steps(*LEVELS, program=unrolled(*places)).measure()

    assert metrics.value("unrolled_fraction") == 0


def test_without_hlo_nothing_is_known_of_unrolled_loops() -> None:
    metrics = gpu_steps(("loop_fusion", 60.0)).measure()

    assert metrics.value("unrolled_fraction") is None
    assert "HLO" in metrics["unrolled_fraction"].reason
