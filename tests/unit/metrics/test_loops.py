"""Scatters that became loops, rounds that do not need each other, copies in loops, and
loops that were unrolled.
"""

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
    assert metrics.fact("tiny_op_place") == "update (model.py:5)"
    assert metrics.fact("tiny_op_in_loop") == "yes"


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


CARRIED = f"(s32[], {SQUARE}, {SQUARE})"
"""A counter, what is given, and what is made."""


def element(one: int, index: int, shape: str) -> bytes:
    extra = hlo.field(13, index)
    return hlo.op(one, "get-tuple-element", shape, 10, extra=extra)


def rounds(made: bytes, *more: bytes, copied: bool = False) -> bytes:
    """Eight rounds, in a call that holds nothing else, and a kernel behind it. Each
    takes 17, the first row of given 12 or of made 13, and writes it into 13, or into a
    copy of it.
    """
    body = hlo.computation(
        2,
        hlo.op(10, "parameter", CARRIED),
        element(11, 0, "s32[]"),
        element(12, 1, SQUARE),
        element(13, 2, SQUARE),
        hlo.op(14, "constant", "s32[]"),
        hlo.op(15, "add", "s32[]", 11, 14),
        made,
        *more,
        hlo.op(
            18,
            "dynamic-update-slice",
            SQUARE,
            20 if copied else 13,
            17,
            11,
            14,
            name="write",
        ),
        hlo.op(19, "tuple", CARRIED, 15, 12, 18),
    )
    until = hlo.computation(
        3,
        hlo.op(30, "parameter", CARRIED),
        hlo.op(31, "get-tuple-element", "s32[]", 30),
        hlo.op(33, "compare", "pred[]", 31, 31),
    )
    loop = hlo.op(
        41,
        "while",
        CARRIED,
        40,
        calls=[2, 3],
        name="loop",
        config={"known_trip_count": {"n": "8"}},
        metadata=hlo.metadata("jit(step)/while", "train.py", 21),
    )
    return hlo.module(
        body,
        until,
        hlo.computation(4, hlo.op(40, "parameter", CARRIED), loop),
        hlo.computation(
            1,
            hlo.op(51, "parameter", CARRIED),
            hlo.op(52, "call", CARRIED, 51, calls=[4], name="call"),
            hlo.op(53, "tanh", CARRIED, 52, name="after"),
        ),
    )


OF_GIVEN, OF_MADE = (
    hlo.op(17, "dynamic-slice", "f32[1,64]", source, 14, 14, name="row")
    for source in (12, 13)
)
AFTER = ("loop_tanh_fusion", 20.0, "after")


def test_rounds_that_do_not_need_each_other_take_their_kernels_and_launches() -> None:
    """Of 17 kernels 16 are the loop's: of 1 and 3 µs, 32 of 52 µs of compute, and 16 of
    17 parts of what is no compute.
    """
    kernels = [("row", 1.0, "row"), ("write", 3.0, "write")] * 8
    metrics = gpu_steps(*kernels, AFTER, program=rounds(OF_GIVEN)).measure()

    compute, launch, idle = (
        metrics.value(f"{one}_fraction") or 0.0
        for one in ("compute", "kernel_launch_gap", "idle")
    )
    assert compute == approx(0.52)
    assert metrics.value("independent_loop_fraction") == approx(
        0.32 + 16 / 17 * (launch + idle)
    )
    assert metrics.value("independent_loop_op_us") == approx(2)
    assert metrics.fact("independent_rounds") == "the 8 rounds at train.py:21"
    assert metrics.fact("independent_loop_op") == "loop (train.py:21)"


def test_a_call_that_runs_all_rounds_counts_their_ops() -> None:
    """Four ops in each of 8 rounds, a counter and a condition among them: 32 take 64
    µs."""
    call = ("call", 64.0, "call")
    metrics = gpu_steps(call, program=rounds(OF_GIVEN)).measure()

    assert metrics.value("independent_loop_op_us") == approx(2)


def test_rounds_that_read_what_others_made() -> None:
    metrics = gpu_steps(("row", 50.0, "row"), program=rounds(OF_MADE)).measure()

    assert metrics.value("independent_loop_fraction") == 0
    assert "needs another" in metrics["independent_loop_op_us"].reason


def test_an_array_that_a_loop_copies_whole() -> None:
    """64 × 64 numbers of 4 bytes are 16 KiB; the copies take 8 × 5 of 100 µs."""
    copy = hlo.op(20, "copy", SQUARE, 13, name="copy")
    program = rounds(OF_MADE, copy, copied=True)
    metrics = gpu_steps(*[("copy", 5.0, "copy")] * 8, AFTER, program=program).measure()

    assert metrics.value("carried_copy_fraction") == approx(0.4)
    assert metrics.fact("carried_copy_op") == "copy"
    assert (
        metrics.fact("carried_copy_array") == "f32[64,64], 16 KiB, in each of 8 rounds"
    )


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
