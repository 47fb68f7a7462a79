"""The work of convolutions: hand counts, and a count of every single product."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import hlo_builder as hlo
from support.hlo_builder import Window

from tfadvisor.errors import TraceError
from tfadvisor.program.convolutions import convolution_flops, kernel_gradient
from tfadvisor.program.module import Instruction, Module

LABELS = "b01f_01io->b01f"
SAME = (3, 1, 1, 1, 1, 1)


def convolution(
    left: str,
    right: str,
    result: str,
    *window: Window,
    labels: str = LABELS,
    target: str = "",
    extra: bytes = b"",
    path: str = "",
) -> Instruction:
    numbers = hlo.window(*window) + hlo.convolution_numbers(labels) + extra
    body = hlo.computation(
        1,
        hlo.op(1, "parameter", left),
        hlo.op(2, "parameter", right, number=1),
        hlo.op(
            3,
            "custom-call" if target else "convolution",
            result,
            1,
            2,
            target=target,
            extra=numbers,
            metadata=hlo.metadata(path),
        ),
    )
    return Module(hlo.module(body)).entry.root


def products(instruction: Instruction) -> int:
    flops = convolution_flops(instruction)
    assert flops is not None
    return flops // 2


def test_padding_is_no_work() -> None:
    """3 taps at 14 positions meet 3 · 14 − 2 = 40 elements a dimension; XLA counts
    819,200 flops as well.
    """
    one = convolution("f32[2,14,14,8]", "f32[3,3,8,16]", "f32[2,14,14,16]", SAME, SAME)

    assert products(one) == 2 * 16 * 8 * 40 * 40 == 819_200 // 2


def test_a_stride_without_padding_uses_every_tap() -> None:
    """15 wide, stride 2: 7 positions of 3 taps."""
    valid = (3, 2, 0, 0, 1, 1)

    assert (
        products(
            convolution(
                "f32[2,15,15,8]", "f32[3,3,8,16]", "f32[2,7,7,16]", valid, valid
            )
        )
        == 2 * 16 * 8 * 21 * 21
    )


def test_groups_meet_only_their_own_features() -> None:
    """8 input features in 4 groups: a kernel of 2 input features."""
    one = convolution(
        "f32[2,14,14,8]",
        "f32[3,3,2,16]",
        "f32[2,14,14,16]",
        SAME,
        SAME,
        extra=hlo.field(50, 4),
    )

    assert products(one) == 2 * 16 * 2 * 40 * 40


def test_batch_groups_leave_fewer_batches_in_the_result() -> None:
    one = convolution(
        "f32[4,14,14,8]",
        "f32[3,3,8,16]",
        "f32[2,14,14,16]",
        SAME,
        SAME,
        extra=hlo.field(58, 2),
    )

    assert products(one) == 2 * 16 * 8 * 40 * 40


def test_without_spatial_dimensions_it_is_a_matrix_product() -> None:
    """As TPUs write a dot: 64 × 128 by 128 × 32."""
    assert (
        products(
            convolution("f32[64,128]", "f32[128,32]", "f32[64,32]", labels="bf_io->bf")
        )
        == 64 * 128 * 32
    )


@pytest.mark.parametrize(
    ("target", "left", "right", "result"),
    [
        ("__cudnn$convForward", "f16[2,8,14,14]", "f16[16,8,3,3]", "f16[2,16,14,14]"),
        (
            "__cudnn$convBiasActivationForward",
            "f16[2,8,14,14]",
            "f16[16,8,3,3]",
            "f16[2,16,14,14]",
        ),
        (
            "__cudnn$convBackwardInput",
            "f16[2,16,14,14]",
            "f16[16,8,3,3]",
            "f16[2,8,14,14]",
        ),
        (
            "__cudnn$convBackwardFilter",
            "f16[2,8,14,14]",
            "f16[2,16,14,14]",
            "f16[16,8,3,3]",
        ),
    ],
)
def test_the_gradients_of_a_convolution_are_as_much_work_as_itself(
    target: str, left: str, right: str, result: str
) -> None:
    """The dimension numbers of a library call are those of the forward convolution; the
    workspace comes behind.
    """
    one = convolution(
        left,
        right,
        f"({result}, u8[4096])",
        SAME,
        SAME,
        labels="bf01_oi01->bf01",
        target=target,
    )

    assert products(one) == 2 * 16 * 8 * 40 * 40


def test_other_calls_are_no_convolutions() -> None:
    assert (
        convolution_flops(
            convolution(
                "f32[8]", "f32[8]", "f32[8]", labels="bf_io->bf", target="cholesky"
            )
        )
        is None
    )


@given(
    st.integers(1, 6),
    st.integers(1, 6),
    st.integers(0, 6),
    st.integers(1, 4),
    st.integers(-3, 4),
    st.integers(1, 4),
    st.integers(1, 4),
)
def test_every_product_is_counted_once(
    image: int,
    kernel: int,
    output: int,
    stride: int,
    padding: int,
    window_dilation: int,
    base_dilation: int,
) -> None:
    """Against walking through all output and kernel positions."""
    elements = {position * base_dilation for position in range(image)}
    walked = sum(
        at * stride + tap * window_dilation - padding in elements
        for at in range(output)
        for tap in range(kernel)
    )
    window = (kernel, stride, padding, 0, window_dilation, base_dilation)

    one = convolution(
        f"f32[1,{image},1]",
        f"f32[{kernel},1,1]",
        f"f32[1,{output},1]",
        window,
        labels="b0f_0io->b0f",
    )

    assert products(one) == walked


def test_a_window_of_absurd_size_is_counted_without_walking_through_it() -> None:
    huge = 1 << 50
    one = convolution(
        f"f32[1,{huge},1]",
        f"f32[{huge},1,1]",
        f"f32[1,{huge},1]",
        (huge, 1, 0, 0, 1, 1),
        labels="b0f_0io->b0f",
    )

    assert products(one) == 1 << 61  # two operations each, at most 2**62


def test_contradictions_are_damage() -> None:
    with pytest.raises(TraceError, match="window of other dimensions"):
        convolution_flops(
            convolution("f32[2,14,14,8]", "f32[3,3,8,16]", "f32[2,14,14,16]", SAME)
        )
    with pytest.raises(TraceError, match="names a dimension"):
        convolution_flops(
            convolution("f32[2,14]", "f32[3,3,8,16]", "f32[2,14,14,16]", SAME, SAME)
        )


BACKWARD = "jit(step)/transpose(jvp(Net))/ConvTranspose_0/conv_general_dilated"


def gradient(
    image: int, window: int, result: int, dilation: int, path: str = BACKWARD
) -> Instruction:
    """The convolution that a kernel's gradient is: the window is as large as what the
    layer was given, or gave, and the result as large as the kernel.
    """
    steps = (window, 1, 0, 0, dilation, 1)
    sides = (f"f32[8,{image},{image},32]", f"f32[{window},{window},32,16]")
    return convolution(*sides, f"f32[8,{result},{result},16]", steps, steps, path=path)


@pytest.mark.parametrize(
    ("made", "size", "of_patches"),
    [
        (gradient(256, 128, 2, 2), "2 × 2", True),
        (gradient(258, 128, 4, 2), "4 × 4", False),
        (gradient(257, 128, 2, 2), "2 × 2", False),
        (gradient(130, 128, 3, 1), "3 × 3", False),
    ],
    ids=["patches", "which overlap", "with a rest", "of stride 1"],
)
def test_a_window_larger_than_its_result_makes_the_gradient_of_a_kernel(
    made: Instruction, size: str, of_patches: bool
) -> None:
    found = kernel_gradient(made)

    assert found is not None
    assert (found.size, found.is_of_patches) == (size, of_patches)


@pytest.mark.parametrize("field", [50, 58])
def test_groups_are_no_one_product(field: int) -> None:
    """As of a depthwise layer: Dense would mix its channels."""
    steps = (128, 1, 0, 0, 2, 1)
    sides = ("f32[8,256,256,32]", "f32[128,128,32,16]", "f32[8,2,2,16]")
    groups = hlo.field(field, 16)

    found = kernel_gradient(
        convolution(*sides, steps, steps, path=BACKWARD, extra=groups)
    )

    assert found is not None
    assert (found.size, found.is_of_patches) == ("2 × 2", False)


def test_a_call_that_computes_a_kernels_gradient_says_so() -> None:
    """32 × 32 patches of 2 × 2."""
    steps = (2, 2, 0, 0, 1, 1)
    target = "__cudnn$convBackwardFilter"
    sides = ("f32[8,64,64,3]", "f32[8,32,32,16]", "f32[2,2,3,16]")

    found = kernel_gradient(convolution(*sides, steps, steps, target=target))

    assert found is not None
    assert (found.kernel, found.stride, found.is_of_patches) == ((2, 2), (2, 2), True)


@pytest.mark.parametrize(
    "made",
    [
        gradient(256, 128, 2, 2, path="jit(step)/conv_general_dilated"),
        gradient(34, 3, 32, 1),
        gradient(4, 4, 1, 1),
        convolution(
            "f32[8,4]", "f32[4,16]", "f32[8,16]", labels="bf_io->bf", path=BACKWARD
        ),
    ],
    ids=[
        "of no gradient",
        "the gradient of an image",
        "of an image of one element, as of a transposed 4 × 4 convolution",
        "without a window",
    ],
)
def test_convolutions_that_make_no_kernels_gradient(made: Instruction) -> None:
    assert kernel_gradient(made) is None
