"""Names of kernels as a reader says them."""

from __future__ import annotations

import pytest

from tfadvisor.printable import names_apart, short_kernel


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


def test_layers_are_told_apart_by_the_part_of_the_path_that_differs() -> None:
    """Both end alike; two parts of a path stand where they suffice."""
    names = [
        "net/conv_1/Conv2D/BackpropInput",
        "net/conv_2/Conv2D/BackpropInput",
        "net/conv_1/Relu",
    ]

    assert list(names_apart(names, 40).values()) == [
        "conv_1/Conv2D/BackpropInput",
        "conv_2/Conv2D/BackpropInput",
        "conv_1/Relu",
    ]


def test_what_differs_in_the_middle_of_a_kernel_is_not_cut() -> None:
    """20 characters: the differing `nn` whole; before it 8 (an odd 9 is cut to 3, the
    ellipsis and 4), behind it the 10 that are left, as 4, the ellipsis and 5.
    """
    names = [f"gemm_128x128_32x3_{way}_align4_and_more" for way in ("nn", "nt")]

    assert list(names_apart(names, 20).values()) == [
        "gem…2x3_nn_ali…_more",
        "gem…2x3_nt_ali…_more",
    ]


def test_instances_of_one_template_differ_by_their_types() -> None:
    names = [f"void lib::Copy<lib::Source<{of}>, int>(int)" for of in ("float", "half")]

    assert list(names_apart(names, 40).values()) == ["Copy…float", "Copy…half"]


def test_names_that_differ_in_little_of_much_are_still_told_apart() -> None:
    """None of 24 characters tells all of them apart."""
    names = [
        f"{first * 40}_{middle}_{last * 40}"
        for first in "ab"
        for middle in "cd"
        for last in "ef"
    ]

    assert len(set(names_apart(names, 24).values())) == 8


def test_a_name_that_stands_alone_is_cut_in_its_middle() -> None:
    assert names_apart(["x" * 30 + "1"], 10) == {"x" * 30 + "1": "xxxx…xxxx1"}


def test_an_instruction_is_called_by_its_name_whatever_its_text_holds() -> None:
    text = '%add.3 = f32[8]{0} add(%a, %b), metadata={op_name="jit(f)/dense/add"}'

    assert names_apart([text], 40) == {text: "add.3"}
