"""Products with a large square matrix that no step changes."""

from __future__ import annotations

import pytest
from support import hlo_builder as hlo

from tfadvisor.hlo.format.module import Module
from tfadvisor.hlo.needless.fixed_matrices import fixed_matrix

DOT = hlo.dot_numbers([1], [0])


def fixed_rows(
    matrix: str = "f32[1024,1024]",
    *,
    made_by: str = "parameter",
    result: str = "f32[16]",
    through: str = "copy",
) -> int:
    """Rows of the matrix that a product takes for a fixed one, 0 for none. through: what hands the matrix on.

    Beside it stand what it is multiplied by and two weights; the weights come back, the second as `result`.
    """
    origin = hlo.op(1, made_by, matrix)
    module = Module(
        hlo.module(
            hlo.computation(
                1,
                *([hlo.op(9, "parameter", "f32[1024,1024]", number=2)] if made_by == "negate" else []),
                hlo.op(1, made_by, matrix, 9) if made_by == "negate" else origin,
                hlo.op(2, "parameter", "f32[1024,8]", number=1),
                hlo.op(3, through, matrix, 1),
                hlo.op(4, "dot", "f32[1024,8]", 3, 2, name="product", extra=DOT),
                hlo.op(5, "parameter", "f32[16,4]", number=3),
                hlo.op(6, "parameter", "f32[16]", number=4),
                hlo.op(7, "tuple", f"(f32[1024,8], f32[16,4], {result})", 4, 5, 6),
            )
        )
    )
    product = module.instruction("product")
    assert product is not None
    found = fixed_matrix(product)
    return found.dims[0] if found else 0


@pytest.mark.parametrize("through", ["copy", "convert", "transpose", "bitcast"])
@pytest.mark.parametrize("made_by", ["parameter", "constant"])
def test_an_argument_that_no_result_replaces_and_a_constant(made_by: str, through: str) -> None:
    assert fixed_rows(made_by=made_by, through=through) == 1024


def test_a_matrix_that_the_step_updates_is_not_fixed() -> None:
    """A result has its type and dimensions: it is trained."""
    assert fixed_rows(result="f32[1024,1024]") == 0


@pytest.mark.parametrize("matrix", ["f32[1023,1023]", "f32[1024,2048]", "f32[1,1024,1024]"])
def test_a_small_one_a_rectangle_and_a_batch_of_matrices(matrix: str) -> None:
    assert fixed_rows(matrix) == 0


def test_a_matrix_that_the_step_computes() -> None:
    assert fixed_rows(made_by="negate") == 0


def test_a_program_that_brings_few_of_its_arrays_back_is_inference() -> None:
    """The result of the product and one of two weights come back: as many arrays as do not."""
    assert fixed_rows(result="s32[]") == 0


def test_a_product_inside_a_fusion() -> None:
    """The fusion's second operand is the matrix; another instruction of the fusion converts it."""
    fused = hlo.computation(
        2,
        hlo.op(11, "parameter", "f32[8,2048]", number=0),
        hlo.op(12, "parameter", "bf16[2048,2048]", number=1),
        hlo.op(13, "convert", "f32[2048,2048]", 12),
        hlo.op(14, "dot", "f32[8,2048]", 11, 13, extra=DOT),
    )
    entry = hlo.computation(
        1,
        hlo.op(1, "parameter", "f32[8,2048]"),
        hlo.op(2, "constant", "bf16[2048,2048]"),
        hlo.op(3, "fusion", "f32[8,2048]", 1, 2, calls=[2]),
    )
    module = Module(hlo.module(fused, entry))
    found = fixed_matrix(module.entry.root)

    assert found is not None and found.dims == (2048, 2048)
