"""What one run of a program multiplies: products by their executions."""

from __future__ import annotations

from support import hlo_builder as hlo

from tfadvisor.program.module import Module
from tfadvisor.program.products_of_run import products_of_run

DOT = hlo.dot_numbers([1], [0])
SIXTY_FOUR = "bf16[64,64]"
FLOPS = 2 * 64**3


def a_dot(one: int, *operands: int, **more: str) -> bytes:
    """64 × 64 by 64 × 64."""
    return hlo.op(one, "dot", SIXTY_FOUR, *operands, extra=DOT, **more)


def a_loop(config: dict[str, object] | str) -> bytes:
    """A program that loops over a dot."""
    body = hlo.computation(2, hlo.op(21, "parameter", SIXTY_FOUR), a_dot(22, 21, 21))
    until = hlo.computation(3, hlo.op(31, "parameter", SIXTY_FOUR))
    loop = hlo.op(2, "while", SIXTY_FOUR, 1, calls=[2, 3], config=config)
    return hlo.module(
        body, until, hlo.computation(1, hlo.op(1, "parameter", SIXTY_FOUR), loop)
    )


def test_a_dot_counts_once_with_its_type_and_bytes() -> None:
    """The operand is read once though it is used twice: 2 · 8,192 bytes in all."""
    program = hlo.module(
        hlo.computation(1, hlo.op(1, "parameter", SIXTY_FOUR), a_dot(2, 1, 1))
    )
    (found,) = products_of_run(Module(program))

    assert (found.name, found.dtype, found.flops) == ("dot.2", "bf16", FLOPS)
    assert (found.bytes, found.times, found.is_library) == (16_384, 1, False)


def test_a_loop_multiplies_as_often_as_it_turns() -> None:
    (found,) = products_of_run(Module(a_loop({"known_trip_count": {"n": "12"}})))

    assert (found.name, found.times) == ("dot.22", 12)


def test_how_often_a_loop_of_unknown_length_multiplies_is_not_known() -> None:
    (found,) = products_of_run(Module(a_loop("")))

    assert found.times is None


def test_a_fusion_bears_the_name_and_a_library_is_one() -> None:
    inside = hlo.computation(2, hlo.op(21, "parameter", SIXTY_FOUR), a_dot(22, 21, 21))
    config = {
        "gemm_backend_config": {
            "dot_dimension_numbers": {
                "lhs_contracting_dimensions": ["1"],
                "rhs_contracting_dimensions": ["0"],
            }
        }
    }
    call = hlo.op(
        3,
        "custom-call",
        f"({SIXTY_FOUR}, s8[1024])",
        1,
        2,
        target="__cublas$gemm",
        config=config,
    )
    program = hlo.module(
        inside,
        hlo.computation(
            1,
            hlo.op(1, "parameter", SIXTY_FOUR),
            hlo.op(2, "fusion", SIXTY_FOUR, 1, calls=[2], name="gemm_fusion.2"),
            call,
        ),
    )
    found = products_of_run(Module(program))

    assert [(one.name, one.is_library) for one in found] == [
        ("gemm_fusion.2", False),
        ("custom-call.3", True),
    ]
    assert [one.flops for one in found] == [FLOPS, FLOPS]


def test_what_only_adds_is_no_product() -> None:
    program = hlo.module(
        hlo.computation(
            1, hlo.op(1, "parameter", "f32[8]"), hlo.op(2, "add", "f32[8]", 1, 1)
        )
    )

    assert products_of_run(Module(program)) == ()
