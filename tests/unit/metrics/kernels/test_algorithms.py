"""Decompositions and sorts, by TensorFlow's op types and by HLO."""

from __future__ import annotations

import pytest
from support import hlo_builder as hlo
from support.gpu_step import gpu_steps
from support.trace_builder import trace

approx = pytest.approx


def test_decompositions_by_tensorflows_op_types() -> None:
    """30 and 20 of 100 µs; a product is none."""
    builder = trace().steps(4, period=100).thread("tf_Compute/1")
    for at in range(0, 400, 100):
        builder.call("Svd:Svd", at, at + 20).call("gradient_tape/Svd:Svd", at + 20, at + 50)
        builder.call("dense/MatMul:MatMul", at + 50, at + 90)
    metrics = builder.measure()

    assert metrics.value("decomposition_fraction") == approx(0.5)
    assert metrics.fact("decomposition_op") == "gradient_tape/Svd:Svd"
    assert metrics.value("sort_fraction") == 0


def program(path: str) -> bytes:
    """A custom call on this path, a sort, and the largest few by a sort."""
    array = "f32[64]"
    return hlo.module(
        hlo.computation(
            1,
            hlo.op(1, "parameter", array),
            hlo.op(2, "custom-call", array, 1, name="call", target="lapack_sgesdd_ffi", metadata=hlo.metadata(path)),
            hlo.op(3, "sort", array, 2, name="all", metadata=hlo.metadata("jit(step)/sort", "model.py", 8)),
            hlo.op(4, "sort", array, 3, name="few", metadata=hlo.metadata("jit(step)/top_k")),
        )
    )


KERNELS = ("c", 40.0, "call"), ("s", 20.0, "all"), ("t", 10.0, "few")


def test_decompositions_by_jaxs_paths() -> None:
    metrics = gpu_steps(*KERNELS, program=program("jit(step)/jit(svd)/svd")).measure()

    assert metrics.value("decomposition_fraction") == approx(0.4)
    assert metrics.fact("decomposition_op") == "call"


def test_other_calls_of_libraries_decompose_nothing() -> None:
    metrics = gpu_steps(*KERNELS, program=program("jit(step)/svd_layer/dot_general")).measure()

    assert metrics.value("decomposition_fraction") == 0
    assert metrics.fact("decomposition_op") is None


def test_sorts_of_whole_arrays() -> None:
    """The largest few do not count."""
    metrics = gpu_steps(*KERNELS, program=program("")).measure()

    assert metrics.value("sort_fraction") == approx(0.2)
    assert metrics.fact("sort_op") == "all (model.py:8)"


def test_kernels_that_nothing_tells_about() -> None:
    metrics = gpu_steps(("some_kernel", 40.0)).measure()

    assert metrics.value("decomposition_fraction") is None
    assert "HLO" in metrics["decomposition_fraction"].reason


def test_shuffles_of_whole_arrays_by_tensorflows_op_type() -> None:
    """20 of 100 µs; the largest few do not count."""
    builder = trace().steps(4, period=100).thread("tf_Compute/1")
    for at in range(0, 400, 100):
        builder.call("RandomShuffle:RandomShuffle", at, at + 20).call("top:TopKV2", at + 20, at + 50)
        builder.call("dense/MatMul:MatMul", at + 50, at + 90)
    metrics = builder.measure()

    assert metrics.value("sort_fraction") == approx(0.2)
    assert metrics.fact("sort_op") == "RandomShuffle:RandomShuffle"


@pytest.mark.parametrize("scope", ["sort", "argsort_1", "loss/sort"])
def test_tensorflow_sorts_by_taking_the_largest_of_all(scope: str) -> None:
    """20 of 100 µs; tf.math.top_k is no sort."""
    builder = trace().steps(4, period=100).thread("tf_Compute/1")
    for at in range(0, 400, 100):
        builder.call(f"{scope}/TopKV2:TopKV2", at, at + 20).call("resort/TopKV2:TopKV2", at + 20, at + 50)
        builder.call("dense/MatMul:MatMul", at + 50, at + 90)
    metrics = builder.measure()

    assert metrics.value("sort_fraction") == approx(0.2)
    assert metrics.fact("sort_op") == f"{scope}/TopKV2:TopKV2"


def test_kernels_of_no_type_beside_named_ops_are_no_sorts() -> None:
    metrics = gpu_steps(("some_kernel", 40.0), ("dense/MatMul:MatMul", 20.0)).measure()

    assert metrics.value("sort_fraction") == 0
