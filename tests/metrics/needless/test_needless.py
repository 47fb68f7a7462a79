"""Kinds of ops that steps seldom need, second calls, frozen layers and gradients of gradients, in steps of 100 µs."""

from __future__ import annotations

import pytest
from support.cpu_step import cpu_steps
from tfadvisor.metrics.needless.costly_kinds import KINDS, costly_kind

from tfadvisor.engine.loading.catalogue import built_in_rules

approx = pytest.approx


@pytest.mark.parametrize(
    ("op_type", "kind"),
    [
        ("CheckNumericsV2", "checks for NaN and Inf"),
        ("DebugNumericSummaryV2", "checks for NaN and Inf"),
        ("EncodePng", "summaries"),
        ("DecodeAndCropJpeg", "decoding of files and records"),
        ("ImageProjectiveTransformV3", "transformations of pictures"),
        ("ResizeBicubicGrad", "resizing of pictures"),
        ("StatelessRandomNormalV2", "random numbers"),
        ("StatelessTruncatedNormalV2", "random numbers"),
        ("ParameterizedTruncatedNormal", "random numbers"),
        ("RandomUniformInt", "random numbers"),
        ("StatelessRandomUniformFullIntV2", "random numbers"),
        ("RFFT2D", "Fourier transforms"),
        ("NonMaxSuppressionV5", "picking of boxes and sequences"),
        ("UniqueWithCountsV2", "searches for equal values"),
        ("DenseBincount", "counts of values"),
        ("Lgamma", "special functions"),
        ("TensorScatterUpdate", "writes into a few rows of a copied tensor"),
        ("OneHot", "one-hot rows"),
        ("Where", "selection of elements"),
        ("ExtractImagePatches", "cutting of patches"),
        ("StridedSliceGrad", "gradients of slices"),
        ("LRNGrad", "normalisation across channels"),
        ("SparseToDense", "conversions between sparse and dense"),
    ],
)
def test_kinds_by_op_type(op_type: str, kind: str) -> None:
    found = costly_kind(op_type, "")

    assert found is not None
    assert found.name == kind


@pytest.mark.parametrize(
    "op_type",
    "MatMul _MklNativeConv2D RandomShuffle Mul Sum FusedBatchNormV3 LayerNorm AssignAddVariableOp Softmax Normalizer".split(),
)
def test_what_steps_are_made_of_is_of_no_kind(op_type: str) -> None:
    assert costly_kind(op_type, "model/dense_1") is None


@pytest.mark.parametrize(
    ("layer", "kind"),
    [
        ("model/random_contrast_1", "transformations of pictures"),
        ("stft_2/frame", "Fourier transforms"),
        ("model/random_fourier_features", None),
        ("model/my_resizing_net", None),
    ],
)
def test_kinds_by_scope(layer: str, kind: str | None) -> None:
    found = costly_kind("Mul", layer)

    assert (found.name if found else None) == kind


def test_each_kind_has_a_fix() -> None:
    """The rule's fixes name in their conditions what they are for."""
    rule = next(one for one in built_in_rules() if one.id == "costly-ops")
    conditions = " ".join(repr(one.when) for one in rule.fixes)

    assert [one.name for one in KINDS if repr(one.name) not in conditions] == []


def test_names_of_kinds_are_distinct() -> None:
    assert len({one.name for one in KINDS}) == len(KINDS)


def test_the_kind_that_takes_most() -> None:
    """20 and 10 of 100 µs warp pictures, 25 draw numbers."""
    metrics = cpu_steps(
        ("model/random_rotation/ImageProjectiveTransformV3:ImageProjectiveTransformV3", 20),
        ("model/random_rotation/sub:Sub", 10),
        ("dropout/RandomUniform:RandomUniform", 25),
        ("dense/MatMul:MatMul", 45),
    ).measure()

    assert metrics.value("costly_op_fraction") == approx(0.3)
    assert metrics.fact("costly_op_kind") == "transformations of pictures"
    assert metrics.fact("costly_op") == "model/random_rotation/ImageProjectiveTransformV3"


def test_a_step_of_products() -> None:
    metrics = cpu_steps(("dense/MatMul:MatMul", 45)).measure()

    assert metrics.value("costly_op_fraction") == 0
    assert metrics.fact("costly_op_kind") is None


TRAINED = (
    ("net_1/dense/MatMul:MatMul", 10.0),
    ("gradient_tape/net_1/dense/MatMul/MatMul:MatMul", 20.0),
)


def test_a_second_call_without_gradients() -> None:
    """15 of 100 µs in another call of the layers that are trained, 2 of them no product."""
    metrics = cpu_steps(*TRAINED, ("net_3/dense/MatMul:MatMul", 13), ("net_3/relu/Relu:Relu", 2)).measure()

    assert metrics.value("called_again_fraction") == approx(0.15)
    assert metrics.value("called_again_times") == 1
    assert metrics.fact("called_again_layer") == "net_3"
    assert metrics.value("frozen_fraction") == 0


def test_a_frozen_backbone() -> None:
    """40 of 100 µs in a scope of the trained model that no gradient goes through."""
    metrics = cpu_steps(
        *TRAINED,
        ("net_1/backbone/conv/Conv2D:Conv2D", 30),
        ("net_1/backbone/relu/Relu:Relu", 10),
        ("net_1/pool/Mean:Mean", 5),
    ).measure()

    assert metrics.value("frozen_fraction") == approx(0.4)
    assert metrics.fact("frozen_layer") == "net_1/backbone"
    assert metrics.value("called_again_fraction") == 0


def test_what_one_model_makes_for_another_is_no_second_call() -> None:
    """The generator of two trained models runs without gradients too: it makes the other's batch."""
    metrics = cpu_steps(
        *TRAINED,
        ("critic/conv/Conv2D:Conv2D", 10),
        ("gradient_tape/critic/conv/Conv2D/Conv2DBackpropFilter:Conv2DBackpropFilter", 20),
        ("net_3/dense/MatMul:MatMul", 15),
    ).measure()

    assert metrics.value("called_again_fraction") == 0
    assert metrics.value("frozen_fraction") == 0


def test_inference_has_no_second_call() -> None:
    metrics = cpu_steps(("net_1/dense/MatMul:MatMul", 45)).measure()

    assert metrics.value("called_again_fraction") is None
    assert metrics.value("frozen_fraction") is None
    assert metrics.value("second_order_fraction") is None


def test_gradients_of_gradients_count_with_their_call() -> None:
    """10 + 10 + 15 of 100 µs in the call that the penalty is of; 30 in another."""
    metrics = cpu_steps(
        *TRAINED,
        ("net_5/dense/MatMul:MatMul", 10),
        ("gradient_tape/net_5/dense/MatMul/MatMul:MatMul", 10),
        ("gradient_tape/gradient_tape/net_5/dense/MatMul/MatMul/MatMul_1:MatMul", 15),
    ).measure()

    assert metrics.value("second_order_fraction") == approx(0.35)
    assert metrics.fact("second_order_layer") == "net_5/dense"


def test_what_a_recurrent_layers_own_cell_does_is_no_choice_of_the_programs() -> None:
    """The cell's slices take 30, the program's ten 10 of 100 µs."""
    metrics = cpu_steps(
        *TRAINED,
        ("gradient_tape/gru_1/gru_cell_1/strided_slice_1/StridedSliceGrad:StridedSliceGrad", 30),
        *((f"gradient_tape/strided_slice_{number}/StridedSliceGrad:StridedSliceGrad", 1) for number in range(10)),
    ).measure()

    assert metrics.value("costly_op_fraction") == approx(0.1)


@pytest.mark.parametrize(("slices", "share"), [(7, 0), (8, 0.4)])
def test_a_few_slices_are_windows_that_a_model_joins(slices: int, share: float) -> None:
    """Each gradient takes 5 of 100 µs."""
    gradients = [
        (f"gradient_tape/strided_slice_{number}/StridedSliceGrad:StridedSliceGrad", 5) for number in range(slices)
    ]
    metrics = cpu_steps(*gradients, ("dense/MatMul:MatMul", 90 - 5 * slices)).measure()

    assert metrics.value("costly_op_fraction") == approx(share)


def test_checks_for_nan_in_a_recurrent_layers_cell_are_a_choice() -> None:
    metrics = cpu_steps(*TRAINED, ("gru_1/gru_cell_1/MatMul/DebugNumericSummaryV2:DebugNumericSummaryV2", 30)).measure()

    assert metrics.value("costly_op_fraction") == approx(0.3)
    assert metrics.fact("costly_op_kind") == "checks for NaN and Inf"


def test_one_small_op_with_the_name_of_two_tapes_is_no_proof() -> None:
    """1 of 91 µs of compute."""
    metrics = cpu_steps(
        *TRAINED,
        ("net_2/dense/MatMul:MatMul", 60),
        ("gradient_tape/gradient_tape/net_1/dense/MatMul/Reserve:TensorListReserve", 1),
    ).measure()

    assert metrics.value("second_order_fraction") == 0


def test_differences_of_all_pairs() -> None:
    """10 forward, 12 and 8 of sums for both operands, 5 of a negation; the sum of one operand alone is a shift's."""
    metrics = cpu_steps(
        *TRAINED,
        ("sub:Sub", 10),
        ("gradient_tape/sub/Sum:Sum", 12),
        ("gradient_tape/sub/Neg:Neg", 5),
        ("gradient_tape/sub/Sum_1:Sum", 8),
        ("gradient_tape/net_1/shift/add/Sum_1:Sum", 9),
    ).measure()

    assert metrics.value("pairs_of_rows_fraction") == approx(0.35)
    assert metrics.fact("pairs_of_rows_op") == "sub"


def gradients(*names: str) -> list[tuple[str, float]]:
    return [(f"gradient_tape/net_1/{name}:{name.rpartition('/')[2].removesuffix('_1')}", 10.0) for name in names]


def test_two_losses_of_one_forward_pass() -> None:
    """The second pass is half of the 60 µs of gradients of each 100 µs."""
    once = ["a/BiasAdd/BiasAddGrad", "b/BiasAdd/BiasAddGrad", "c/convolution/Conv2DBackpropFilter"]
    metrics = cpu_steps(*gradients(*once, *(f"{name}_1" for name in once))).measure()

    assert metrics.value("backward_passes") == 2
    assert metrics.value("repeated_backward_fraction") == approx(0.3)
    assert metrics.fact("repeated_backward_layer") == "net_1/a"


def test_one_loss() -> None:
    once = ["a/BiasAdd/BiasAddGrad", "b/BiasAdd/BiasAddGrad", "c/convolution/Conv2DBackpropFilter"]
    metrics = cpu_steps(*gradients(*once)).measure()

    assert metrics.value("backward_passes") == 1
    assert metrics.value("repeated_backward_fraction") == 0
    assert metrics.fact("repeated_backward_layer") is None


def test_two_gradients_of_weights_tell_no_number_of_passes() -> None:
    metrics = cpu_steps(*gradients("a/BiasAdd/BiasAddGrad", "b/BiasAdd/BiasAddGrad")).measure()

    assert metrics.value("backward_passes") is None


def test_a_resized_input() -> None:
    """4 of 100 µs; what a decoder enlarges has a gradient."""
    metrics = cpu_steps(
        *TRAINED,
        ("net_1/resizing/resize/ResizeBicubic:ResizeBicubic", 4),
        ("net_1/up/resize/ResizeNearestNeighbor:ResizeNearestNeighbor", 6),
        ("gradient_tape/net_1/up/resize/ResizeNearestNeighborGrad:ResizeNearestNeighborGrad", 9),
    ).measure()

    assert metrics.value("resized_input_fraction") == approx(0.04)
    assert metrics.fact("resized_input_op") == "net_1/resizing/resize/ResizeBicubic"


def test_a_whole_jacobian() -> None:
    """20 and 15 of 100 µs; a layer called pfor_net is none."""
    metrics = cpu_steps(
        *TRAINED,
        ("gradient_tape/net_1/dense/MatMul/pfor/MatMul:MatMul", 20),
        ("loop_body/MatMul/pfor/MatMul:MatMul", 15),
        ("pfor_net/dense/MatMul:MatMul", 25),
    ).measure()

    assert metrics.value("jacobian_fraction") == approx(0.35)


@pytest.mark.parametrize(
    ("scope", "inside"), [("sequential_1/time_distributed_2_1", "yes"), ("sequential_1/dense_2_1", "no")]
)
def test_slices_of_time_distributed_are_told_from_others(scope: str, inside: str) -> None:
    names = [f"gradient_tape/{scope}/strided_slice_{number}/StridedSliceGrad:StridedSliceGrad" for number in range(12)]

    assert (
        cpu_steps(*((name, 5) for name in names), ("dense/MatMul:MatMul", 30))
        .measure()
        .fact("costly_op_in_time_distributed")
        == inside
    )
