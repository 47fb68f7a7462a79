"""Names of kernels as a reader says them."""

from __future__ import annotations

import pytest

from tfadvisor.printable import short_kernel


@pytest.mark.parametrize(
    ("name", "short"),
    [
        (
            "void "
            "Eigen::internal::EigenMetaKernel<Eigen::TensorEvaluator<Eigen::TensorAssignOp<Eigen::TensorMap<float>, "
            "Eigen::TensorCwiseBinaryOp<Eigen::internal::scalar_product_op<float, "
            "float>, float const> > > >(int)",
            "EigenMetaKernel<…product…>",
        ),
        ("void tensorflow::BiasNHWCKernel<float>(int, float const*)", "BiasNHWCKernel"),
        (
            "%copy-done.4 = f32[5,1024,1024,256]{3,2,1,0} copy-done(%copy-start.4)",
            "copy-done.4",
        ),
        ("loop_convert_fusion.12", "loop_convert_fusion.12"),
        ("volta_cgemm_32x32_tn", "volta_cgemm_32x32_tn"),
        (
            "ampere_" + "x" * 60 + "_layer_11",
            "ampere_" + "x" * 22 + "…" + "x" * 21 + "_layer_11",
        ),
    ],
)
def test_short_and_unambiguous(name: str, short: str) -> None:
    assert short_kernel(name) == short
