"""Products with one-hot rows, by TensorFlow's names and by HLO."""

from __future__ import annotations

import pytest
from support import hlo_builder as hlo
from support.cpu_step import cpu_steps
from support.gpu_step import gpu_steps

approx = pytest.approx


def test_products_of_the_layer_that_makes_one_hot_rows() -> None:
    """10 for the rows, 20 and 30 for the product and its gradient; other layers' products do not count."""
    metrics = cpu_steps(
        ("StatefulPartitionedCall/bag/one_hot:OneHot", 10),
        ("StatefulPartitionedCall/bag/Tensordot/MatMul:_MklMatMul", 20),
        ("StatefulPartitionedCall/gradient_tape/bag/MatMul:MatMul", 30),
        ("StatefulPartitionedCall/bag/Reshape:Reshape", 5),
        ("StatefulPartitionedCall/bags/MatMul:MatMul", 15),
    ).measure()

    assert metrics.value("one_hot_fraction") == approx(0.6)
    assert metrics.fact("one_hot_op") == "StatefulPartitionedCall/gradient_tape/bag/MatMul:MatMul"


def test_labels_of_a_loss_outside_of_any_layer_are_one_hot_rows_alone() -> None:
    metrics = cpu_steps(("one_hot:OneHot", 4), ("dense/MatMul:MatMul", 60)).measure()

    assert metrics.value("one_hot_fraction") == approx(0.04)


def test_a_sparse_tensor_made_dense_outside_of_any_layer() -> None:
    """6 to make the rows; the largest product there, 20 and 30 with its gradient, multiplies them."""
    metrics = cpu_steps(
        ("SparseToDense:SparseToDense", 6),
        ("MatMul:_MklMatMul", 20),
        ("gradient_tape/MatMul/MatMul:_MklMatMul", 30),
        ("matmul_1:_MklMatMul", 10),
        ("dense/MatMul:_MklMatMul", 30),
    ).measure()

    assert metrics.value("one_hot_fraction") == approx(0.56)


@pytest.mark.parametrize(("making", "share"), [(2.9, 0.029), (3.1, 0.531)])
def test_labels_take_less_to_make_than_rows_of_a_product(making: float, share: float) -> None:
    """Of 100 µs: one-hot rows, a product of 50 outside of any layer, and twenty ops of nearly 2.4 that are cooler than both."""
    others = [(f"dense_{number}/Relu:Relu", (50 - making) / 20) for number in range(20)]
    metrics = cpu_steps(("one_hot:OneHot", making), ("MatMul:_MklMatMul", 50), *others).measure()

    assert metrics.value("one_hot_fraction") == approx(share)


def test_an_embedding_is_no_product() -> None:
    metrics = cpu_steps(("bag/GatherV2:GatherV2", 10), ("dense/MatMul:MatMul", 60)).measure()

    assert metrics.value("one_hot_fraction") == 0
    assert metrics.fact("one_hot_op") is None


def bag(path: str) -> bytes:
    """A product of rows that a fusion makes, as the framework's path says, and one of a parameter."""
    numbers = hlo.dot_numbers([1], [0])
    made = hlo.computation(2, hlo.op(1, "parameter", "s32[8]"), hlo.op(2, "compare", "pred[8,64]", 1, 1))
    return hlo.module(
        made,
        hlo.computation(
            1,
            hlo.op(1, "parameter", "s32[8]"),
            hlo.op(2, "parameter", "f32[64,64]", number=1),
            hlo.op(3, "fusion", "f32[8,64]", 1, calls=[2], name="rows", metadata=hlo.metadata(path)),
            hlo.op(4, "dot", "f32[8,64]", 3, 2, name="picked", extra=numbers),
            hlo.op(5, "dot", "f32[8,64]", 4, 2, name="hidden", extra=numbers),
        ),
    )


KERNELS = ("loop_fusion", 10.0, "rows"), ("gemm_1", 40.0, "picked"), ("gemm_2", 20.0, "hidden")


@pytest.mark.parametrize(
    ("path", "share"), [("jit(step)/jvp(jit(_one_hot))/convert_element_type", 0.4), ("jit(step)/jvp()/gather", 0.0)]
)
def test_products_of_a_one_hot_by_hlo(path: str, share: float) -> None:
    assert gpu_steps(*KERNELS, program=bag(path)).measure().value("one_hot_fraction") == approx(share)


def test_one_hot_rows_inside_the_products_own_fusion() -> None:
    """The fusion's parameter is looked up outside of it."""
    inner = hlo.computation(
        3,
        hlo.op(1, "parameter", "f32[8,64]"),
        hlo.op(2, "parameter", "f32[64,64]", number=1),
        hlo.op(3, "dot", "f32[8,64]", 1, 2, extra=hlo.dot_numbers([1], [0])),
    )
    program = hlo.module(
        inner,
        hlo.computation(
            1,
            hlo.op(1, "parameter", "s32[8]"),
            hlo.op(2, "parameter", "f32[64,64]", number=1),
            hlo.op(3, "compare", "f32[8,64]", 1, 1, name="rows", metadata=hlo.metadata("jit(step)/jit(_one_hot)/eq")),
            hlo.op(4, "fusion", "f32[8,64]", 3, 2, calls=[3], name="picked"),
        ),
    )

    assert gpu_steps(("gemm", 40.0, "picked"), program=program).measure().value("one_hot_fraction") == approx(0.4)
