"""Time in 64-bit floats, by HLO and by kernels' names."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import hlo_builder as hlo
from support.gpu_step import gpu_steps
from support.trace_builder import trace

from tfadvisor.causes import ProgramSource
from tfadvisor.metrics.registry import Metrics, Settings

approx = pytest.approx


def test_hlo_tells_which_results_are_of_64_bits() -> None:
    """30 and 20 of 100 µs; a tuple counts by its parts."""
    program = hlo.module(
        hlo.computation(
            1,
            hlo.op(1, "parameter", "f64[8,8]"),
            hlo.op(
                2, "dot", "f64[8,8]", 1, 1, name="wide", extra=hlo.dot_numbers([1], [0])
            ),
            hlo.op(3, "custom-call", "(c128[8], s32[8])", 1, name="spectrum"),
            hlo.op(4, "convert", "f32[8,8]", 2, name="narrow"),
            hlo.op(5, "add", "s64[8]", 1, 1, name="numbers"),
        )
    )
    kernels = (
        ("g", 30.0, "wide"),
        ("c", 20.0, "spectrum"),
        ("n", 15.0, "narrow"),
        ("a", 5.0, "numbers"),
    )
    metrics = gpu_steps(*kernels, program=program).measure()

    assert metrics.value("double_precision_fraction") == approx(0.5)
    assert metrics.fact("double_precision_op") == "wide"


def test_kernels_names_tell_where_there_is_no_hlo() -> None:
    """40 of 100 µs in doubles, 20 in 16 bits, 30 of which no name tells."""
    doubles, halves = (
        ("sm80_xmma_gemm_f64f64_f64f64", 40.0),
        ("sm80_xmma_gemm_f16f16_f16f16", 20.0),
    )
    metrics = gpu_steps(doubles, halves, ("some_kernel", 30.0)).measure()

    assert metrics.value("double_precision_fraction") == approx(0.4)


def test_neither_hlo_nor_names_tell() -> None:
    metrics = gpu_steps(("some_kernel", 40)).measure()

    assert metrics.value("double_precision_fraction") is None
    assert "precision" in metrics["double_precision_fraction"].reason


def tensorflow_products(folder: Path, program: str) -> Metrics:
    """Eight steps of 100 µs, with a product of 60 µs that oneDNN did not take and one
    of 20 that it did.
    """
    (folder / "train.py").write_text(program)
    builder = trace()
    for step in range(8):
        at = 100 * step
        builder.thread("python").step(at, at + 100)
        builder.call("EagerLocalExecute: __inference_train_12", at, at + 99)
        builder.thread("tf_Compute/1")
        builder.call("dense/MatMul:MatMul", at + 5, at + 65)
        builder.call("head/MatMul:_MklMatMul", at + 70, at + 90)
    return builder.measure(Settings(source=ProgramSource(folder)))


@pytest.mark.parametrize(
    "asks",
    [
        'keras.backend.set_floatx("float64")',
        'keras.config.set_dtype_policy("float64")',
    ],
)
def test_tensorflows_products_are_double_where_the_program_asks_for_it(
    tmp_path: Path, asks: str
) -> None:
    metrics = tensorflow_products(tmp_path, asks)

    assert metrics.value("double_precision_fraction") == approx(0.6, abs=0.01)
    assert metrics.fact("double_precision_op") == "dense/MatMul"


@pytest.mark.parametrize(
    "says",
    ["x = np.zeros(8)", '# set_floatx("float64")', "x = tf.cast(x, tf.float64)"],
)
def test_tensorflows_products_are_not_double_by_themselves(
    tmp_path: Path, says: str
) -> None:
    metrics = tensorflow_products(tmp_path, says)

    assert not metrics.value("double_precision_fraction")
    assert metrics.fact("double_precision_op") is None


@pytest.mark.parametrize(
    ("path", "share"),
    [
        ("jit(f)/jit(slogdet)/lu", 0.75),
        ("jit(f)/vmap(jit(inv))/jit(solve)/jit(_lu_solve)/triangular_solve", 0.75),
        ("jit(f)/jit(_cholesky)/cholesky", 0.75),
        ("jit(f)/jit(cho_solve)/jit(_cho_solve)/triangular_solve", 0.75),
        ("jit(f)/jit(eigh)/eigh", 0.75),
        ("jit(f)/jit(inv)/mul", 0.75),
        ("jit(f)/jit(solve_step)/dot_general", 0.0),
        ("jit(f)/dot_general", 0.0),
    ],
)
def test_paths_tell_which_of_it_factorises_or_solves(path: str, share: float) -> None:
    """30 µs of 40 in 64 bits; 20 in 32 bits."""
    where = hlo.metadata(path, "gp.py", 22)
    program = hlo.module(
        hlo.computation(
            1,
            hlo.op(1, "parameter", "f64[8,8]"),
            hlo.op(2, "custom-call", "f64[8,8]", 1, name="asked", metadata=where),
            hlo.op(3, "negate", "f64[8,8]", 2, name="other"),
            hlo.op(4, "convert", "f32[8,8]", 2, name="narrow"),
        )
    )
    kernels = (("a", 30.0, "asked"), ("o", 10.0, "other"), ("n", 20.0, "narrow"))
    metrics = gpu_steps(*kernels, program=program).measure()

    assert metrics.value("double_precision_fraction") == approx(0.4)
    assert metrics.value("double_factored_share") == approx(share)


def test_without_64_bits_nothing_is_factorised_in_them() -> None:
    program = hlo.module(
        hlo.computation(
            1,
            hlo.op(1, "parameter", "f32[8,8]"),
            hlo.op(2, "negate", "f32[8,8]", 1, name="narrow"),
        )
    )
    metrics = gpu_steps(("n", 20.0, "narrow"), program=program).measure()

    assert metrics["double_factored_share"].reason == (
        "no op computes in 64-bit floats"
    )
