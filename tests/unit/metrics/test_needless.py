"""Input preparation and debugging in steps of 100 µs."""

from __future__ import annotations

import pytest
from support.cpu_step import cpu_steps

from tfadvisor.advice.loading.catalogue import built_in_rules
from tfadvisor.metrics.needless import KINDS, costly_kind

approx = pytest.approx


@pytest.mark.parametrize(
    ("op_type", "kind"),
    [
        ("CheckNumericsV2", "checks for NaN and Inf"),
        ("DebugNumericSummaryV2", "checks for NaN and Inf"),
        ("EncodePng", "summaries and printing"),
        ("PrintV2", "summaries and printing"),
        ("StringFormat", "summaries and printing"),
        ("DecodeAndCropJpeg", "decoding of files and records"),
        ("ImageProjectiveTransformV3", "augmentation and resizing of images"),
        ("ResizeBicubic", "augmentation and resizing of images"),
        ("StringSplitV2", "text"),
        ("LookupTableFindV2", "text"),
    ],
)
def test_kinds_by_op_type(op_type: str, kind: str) -> None:
    found = costly_kind(op_type, "")

    assert found is not None
    assert found.name == kind


@pytest.mark.parametrize(
    "op_type",
    "MatMul _MklNativeConv2D RandomShuffle Mul Sum FusedBatchNormV3 LayerNorm "
    "AssignAddVariableOp Softmax Normalizer".split(),
)
def test_what_steps_are_made_of_is_of_no_kind(op_type: str) -> None:
    assert costly_kind(op_type, "model/dense_1") is None


@pytest.mark.parametrize(
    ("layer", "kind"),
    [
        ("model/random_contrast_1", "augmentation and resizing of images"),
        ("model/text_vectorization", "text"),
        ("model/random_fourier_features", None),
        ("model/my_resizing_net", None),
    ],
)
def test_kinds_by_scope(layer: str, kind: str | None) -> None:
    found = costly_kind("Mul", layer)

    assert (found.name if found else None) == kind


def test_each_kind_has_a_fix() -> None:
    """The fixes of two rules name in their conditions what they are for."""
    rules = ("debugging-in-step", "input-work-in-step")
    fixes = [fix for one in built_in_rules() if one.id in rules for fix in one.fixes]
    conditions = " ".join(repr(one.needs) for one in fixes)

    assert [one.name for one in KINDS if repr(one.name) not in conditions] == []


def test_names_of_kinds_are_distinct() -> None:
    assert len({one.name for one in KINDS}) == len(KINDS)


def test_the_kind_that_takes_most() -> None:
    """20 and 10 of 100 µs change images, 25 split text."""
    metrics = cpu_steps(
        (
            "model/random_rotation/ImageProjectiveTransformV3:ImageProjectiveTransformV3",
            20,
        ),
        ("model/random_rotation/sub:Sub", 10),
        ("vectorize/StringSplit/StringSplitV2:StringSplitV2", 25),
        ("dense/MatMul:MatMul", 45),
    ).measure()

    assert metrics.value("costly_fraction") == approx(0.3)
    assert metrics.fact("costly_op_kind") == "augmentation and resizing of images"
    assert (
        metrics.fact("costly_op") == "model/random_rotation/ImageProjectiveTransformV3"
    )


def test_what_a_decoder_enlarges_has_a_gradient_and_is_no_preparation() -> None:
    """The input's resize takes 4 of 100 µs."""
    metrics = cpu_steps(
        *TRAINED,
        ("net_1/resizing/resize/ResizeBicubic:ResizeBicubic", 4),
        ("net_1/up/resize/ResizeNearestNeighbor:ResizeNearestNeighbor", 6),
        (
            "gradient_tape/net_1/up/resize/ResizeNearestNeighborGrad:ResizeNearestNeighborGrad",
            9,
        ),
    ).measure()

    assert metrics.value("costly_fraction") == approx(0.04)
    assert metrics.fact("costly_op") == "net_1/resizing/resize/ResizeBicubic"


def test_a_step_of_products() -> None:
    metrics = cpu_steps(("dense/MatMul:MatMul", 45)).measure()

    assert metrics.value("costly_fraction") == 0
    assert metrics.fact("costly_op_kind") is None


TRAINED = (
    ("net_1/dense/MatMul:MatMul", 10.0),
    ("gradient_tape/net_1/dense/MatMul/MatMul:MatMul", 20.0),
)
