"""What instructions cost, each number worked out on paper."""

from __future__ import annotations

import pytest
from support import hlo_builder as hlo

from tfadvisor.errors import TraceError
from tfadvisor.program.cost import Cost, Costs, total
from tfadvisor.program.module import Module

SUM = hlo.computation(
    9,
    hlo.op(91, "parameter", "f32[]"),
    hlo.op(92, "parameter", "f32[]", number=1),
    hlo.op(93, "add", "f32[]", 91, 92),
)
DOT = hlo.dot_numbers([1], [0])


def cost(*instructions: bytes, before: tuple[bytes, ...] = ()) -> Cost:
    """Of the last of the instructions."""
    module = Module(hlo.module(*before, hlo.computation(1, *instructions)))
    return Costs().of(module.entry.root)


def given(*shapes: str) -> list[bytes]:
    return [
        hlo.op(one, "parameter", shape, number=one - 1)
        for one, shape in enumerate(shapes, start=1)
    ]


@pytest.mark.parametrize(
    ("opcode", "shapes", "result", "expected"),
    [
        ("add", ("f32[8]", "f32[8]"), "f32[8]", Cost(8, bytes=96)),
        ("convert", ("f32[8]",), "bf16[8]", Cost(8, bytes=48)),
        ("tanh", ("f32[8]",), "f32[8]", Cost(bytes=64, transcendentals=8)),
        ("copy", ("f32[8]",), "f32[8]", Cost(bytes=64)),
        ("broadcast", ("f32[]",), "f32[8]", Cost(bytes=36)),
        ("bitcast", ("f32[8]",), "f32[2,4]", Cost()),
        ("tuple", ("f32[8]", "f32[8]"), "(f32[8], f32[8])", Cost()),
        ("slice", ("f32[100]",), "f32[8]", Cost(bytes=64)),
        ("dynamic-slice", ("f32[100]", "s32[]"), "f32[8]", Cost(bytes=68)),
        (
            "gather",
            ("f32[1000,64]", "s32[32]"),
            "f32[32,64]",
            Cost(bytes=2 * 8192 + 128),
        ),
        (
            "dynamic-update-slice",
            ("f32[100]", "f32[8]", "s32[]"),
            "f32[100]",
            Cost(bytes=68),
        ),
        ("sort", ("f32[1000]",), "f32[1000]", Cost(10_000, bytes=8000)),
        ("all-reduce", ("f32[8]",), "f32[8]", Cost(bytes=64)),
        ("copy-start", ("f32[8]",), "(f32[8], f32[8], u32[])", Cost(bytes=64)),
        ("copy-done", ("(f32[8], f32[8], u32[])",), "f32[8]", Cost()),
    ],
)
def test_an_instruction_by_itself(
    opcode: str, shapes: tuple[str, ...], result: str, expected: Cost
) -> None:
    last = hlo.op(50, opcode, result, *range(1, len(shapes) + 1))

    assert cost(*given(*shapes), last) == expected


def test_an_operand_used_twice_is_read_once() -> None:
    assert cost(*given("f32[8]"), hlo.op(2, "multiply", "f32[8]", 1, 1)) == Cost(
        8, bytes=64
    )


def test_a_dot_is_matrix_work() -> None:
    """2 · 64 · 128 · 32; 64·128 + 128·32 + 64·32 floats."""
    last = hlo.op(3, "dot", "f32[64,32]", 1, 2, extra=DOT)

    assert cost(*given("f32[64,128]", "f32[128,32]"), last) == Cost(524_288, 57_344)


def test_a_library_product_does_not_count_its_workspace() -> None:
    numbers = {"lhs_contracting_dimensions": ["1"], "rhs_contracting_dimensions": ["0"]}
    last = hlo.op(
        3,
        "custom-call",
        "(f32[64,32], s8[1000000])",
        1,
        2,
        target="__cublas$gemm",
        config={"gemm_backend_config": {"dot_dimension_numbers": numbers}},
    )

    assert cost(*given("f32[64,128]", "f32[128,32]"), last) == Cost(524_288, 57_344)


def test_an_unknown_call_says_so_and_counts_its_bytes() -> None:
    last = hlo.op(2, "custom-call", "f32[8]", 1, target="te_fused_attn_forward_ffi")

    assert cost(*given("f32[8]"), last) == Cost(bytes=64, unknown=True)
    assert cost(*given("f32[8]"), hlo.op(2, "from-the-future", "f32[8]", 1)).unknown


def test_a_reduction_applies_its_function_once_less_than_it_has_elements() -> None:
    """128 rows of 512: 511 additions each."""
    last = hlo.op(3, "reduce", "f32[128]", 1, 2, calls=[9])

    assert cost(*given("f32[128,512]", "f32[]"), last, before=(SUM,)) == Cost(
        128 * 511, bytes=4 * (65536 + 1 + 128)
    )


def test_a_pooling_window_applies_its_function_for_all_but_one_element() -> None:
    """2 × 2 windows: three additions for each of 8 · 8 results."""
    window = hlo.window((2, 2, 0, 0, 1, 1), (2, 2, 0, 0, 1, 1))
    last = hlo.op(3, "reduce-window", "f32[8,8]", 1, 2, calls=[9], extra=window)

    assert cost(*given("f32[16,16]", "f32[]"), last, before=(SUM,)).flops == 3 * 64


def test_a_scatter_applies_its_function_to_each_update() -> None:
    """Updates are read, and what they meet is read and written: three times 32 · 64
    floats, and 32 indices.
    """
    last = hlo.op(4, "scatter", "f32[1000,64]", 1, 2, 3, calls=[9])

    assert cost(
        *given("f32[1000,64]", "s32[32]", "f32[32,64]"), last, before=(SUM,)
    ) == Cost(2048, bytes=3 * 8192 + 128)


def test_a_fusion_computes_all_and_moves_only_what_it_is_given_and_returns() -> None:
    """x·y + x: two operations an element, three arrays of 32 bytes."""
    inside = hlo.computation(
        2,
        *given("f32[8]", "f32[8]"),
        hlo.op(23, "multiply", "f32[8]", 1, 2),
        hlo.op(24, "add", "f32[8]", 23, 1),
    )
    last = hlo.op(13, "fusion", "f32[8]", 1, 2, calls=[2])

    assert cost(*given("f32[8]", "f32[8]"), last, before=(inside,)) == Cost(
        16, bytes=96
    )


def test_a_fusion_reads_only_the_slices_that_it_takes() -> None:
    """One layer of ten, as a scan reads its weights; the index is a number of 4
    bytes.
    """
    inside = hlo.computation(
        2,
        *given("f32[10,64]", "s32[]"),
        hlo.op(23, "bitcast", "f32[640]", 1),
        hlo.op(24, "dynamic-slice", "f32[64]", 23, 2),
        hlo.op(25, "negate", "f32[64]", 24),
    )
    last = hlo.op(13, "fusion", "f32[64]", 1, 2, calls=[2])

    assert cost(*given("f32[10,64]", "s32[]"), last, before=(inside,)) == Cost(
        64, bytes=256 + 4 + 256
    )


def test_a_fusion_that_also_needs_the_whole_reads_the_whole_once() -> None:
    inside = hlo.computation(
        2,
        *given("f32[10]"),
        hlo.op(23, "slice", "f32[2]", 1),
        hlo.op(24, "negate", "f32[10]", 1),
        hlo.op(25, "tuple", "(f32[2], f32[10])", 23, 24),
    )
    last = hlo.op(13, "fusion", "(f32[2], f32[10])", 1, calls=[2])

    assert cost(*given("f32[10]"), last, before=(inside,)) == Cost(
        10, bytes=40 + 8 + 40
    )


def test_a_fusion_that_updates_in_place_writes_only_the_update() -> None:
    inside = hlo.computation(
        2,
        *given("f32[10,64]", "f32[1,64]", "s32[]"),
        hlo.op(24, "dynamic-update-slice", "f32[10,64]", 1, 2, 3, 3),
        hlo.op(25, "bitcast", "f32[640]", 24),
    )
    last = hlo.op(13, "fusion", "f32[640]", 1, 2, 3, calls=[2])

    assert cost(
        *given("f32[10,64]", "f32[1,64]", "s32[]"), last, before=(inside,)
    ) == Cost(bytes=256 + 4 + 256)


def test_a_fusion_reads_the_tables_that_it_holds() -> None:
    inside = hlo.computation(
        2,
        hlo.op(21, "constant", "f32[8]"),
        hlo.op(22, "constant", "f32[]"),
        hlo.op(23, "negate", "f32[8]", 21),
    )

    assert cost(hlo.op(13, "fusion", "f32[8]", calls=[2]), before=(inside,)) == Cost(
        8, bytes=64
    )


def test_a_loop_of_known_length_costs_its_body_and_condition_so_often() -> None:
    """Ten times 8 additions in the body and one comparison in the condition."""
    body = hlo.computation(2, *given("f32[8]"), hlo.op(22, "add", "f32[8]", 1, 1))
    condition = hlo.computation(
        3,
        *given("f32[8]"),
        hlo.op(32, "constant", "s32[]"),
        hlo.op(33, "compare", "pred[]", 32, 32),
    )
    config = {"known_trip_count": {"n": "10"}}
    last = hlo.op(5, "while", "f32[8]", 1, calls=[2, 3], config=config)

    assert cost(*given("f32[8]"), last, before=(body, condition)) == Cost(
        90, bytes=10 * (64 + 5)
    )


def test_a_loop_of_unknown_length_counts_once_and_says_so() -> None:
    body = hlo.computation(2, *given("f32[8]"), hlo.op(22, "add", "f32[8]", 1, 1))
    last = hlo.op(5, "while", "f32[8]", 1, calls=[2], name="while.5")

    assert cost(*given("f32[8]"), last, before=(body,)) == Cost(
        8, bytes=64, unknown=True
    )


def test_of_a_conditional_the_costlier_branch_counts() -> None:
    cheap = hlo.computation(2, *given("f32[8]"), hlo.op(22, "copy", "f32[8]", 1))
    dear = hlo.computation(3, *given("f32[8]"), hlo.op(32, "add", "f32[8]", 1, 1))
    last = hlo.op(5, "conditional", "f32[8]", 1, 1, calls=[2, 3])

    assert cost(*given("f32[8]"), last, before=(cheap, dear)) == Cost(8, bytes=64)


def test_a_module_costs_what_its_entry_does() -> None:
    """A dot, then its hyperbolic tangent."""
    body = hlo.computation(
        1,
        *given("f32[64,128]", "f32[128,32]"),
        hlo.op(3, "dot", "f32[64,32]", 1, 2, extra=DOT),
        hlo.op(4, "tanh", "f32[64,32]", 3),
    )

    assert hlo.cost_of(Module(hlo.module(body))) == Cost(
        524_288, 57_344 + 2 * 8192, transcendentals=64 * 32
    )


def test_a_long_chain_of_calls_is_no_deep_recursion() -> None:
    chain = [hlo.computation(2, *given("f32[8]"), hlo.op(22, "add", "f32[8]", 1, 1))]
    chain += [
        hlo.computation(
            one, *given("f32[8]"), hlo.op(2, "call", "f32[8]", 1, calls=[one - 1])
        )
        for one in range(3, 3000)
    ]
    main = hlo.computation(
        1, *given("f32[8]"), hlo.op(2, "call", "f32[8]", 1, calls=[2999])
    )

    assert hlo.cost_of(Module(hlo.module(*chain, main))) == Cost(8, bytes=64)


def test_a_sum_with_an_unknown_part_is_unknown() -> None:
    assert total([Cost(2, 3), Cost(1, unknown=True)]) == Cost(3, 3, unknown=True)


def test_an_instruction_without_its_operands_is_damage() -> None:
    for opcode in (
        "sort",
        "reduce",
        "scatter",
        "dynamic-update-slice",
        "fusion",
        "select-and-scatter",
    ):
        with pytest.raises(TraceError):
            cost(hlo.op(1, opcode, "f32[8]"))


def test_no_made_program_counts_further_than_int64() -> None:
    """A product of two matrices of 2**50 elements, whose 2**76 operations no JSON
    holds; and a loop around it that goes round 2**62 times.
    """
    wide = f"f32[{1 << 25},{1 << 25}]"
    product = cost(*given(wide, wide), hlo.op(3, "dot", wide, 1, 2, extra=DOT))

    assert product.flops == 1 << 62
    assert product.times(1 << 62).bytes == 1 << 62
    assert total([product, product]).flops == 1 << 62
