"""What an optimizer's update takes, by the names of scopes and by files in the HLO."""

from __future__ import annotations

import pytest
from support import hlo_builder as hlo
from support.cpu_step import cpu_steps
from support.gpu_step import gpu_steps

from tfadvisor.metrics.registry import Metrics

ADAM = (("adam/Mul_3:Mul", 30.0), ("adam/UnsortedSegmentSum:UnsortedSegmentSum", 20.0))
LOOKUP = ("model/items/GatherV2:GatherV2", 10.0)
TABLE = "f32[300000,32]"
FRAMES = hlo.stack_frames(
    ("/home/me/train.py", 12, "train_step", 0),
    (
        "/venv/site-packages/optax/_src/transform.py",
        283,
        UPDATE := "scale_by_adam.<locals>.update_fn",
        1,
    ),
)


def in_optax() -> Metrics:
    """Steps of 100 µs: Optax' Adam works on a table for 60, of which 1,280 rows are
    looked up.
    """
    add = hlo.op(
        4, "add", TABLE, 1, 1, name="add.4", metadata=hlo.metadata("add", frame=2)
    )
    program = hlo.module(
        hlo.computation(
            1,
            hlo.op(1, "parameter", TABLE, metadata=hlo.metadata("params['embed']")),
            hlo.op(2, "parameter", "s32[1280]", number=1, metadata=hlo.metadata("ids")),
            hlo.op(3, "gather", "f32[1280,32]", 1, 2, name="gather.3"),
            add,
        ),
        extra=hlo.field(8, hlo.alias([], 0)) + FRAMES,
    )
    return gpu_steps(
        ("gather", 5, "gather.3"), ("add", 60, "add.4"), program=program
    ).measure()


def test_a_convolution_fused_with_the_update_is_no_optimizer() -> None:
    """Of 100 µs 60 are a convolution whose result the update reads: XLA gives what it
    fuses with it the place of the update.
    """
    conv = hlo.op(
        3,
        "convolution",
        "f32[1,6,6,8]",
        1,
        2,
        name="conv.3",
        metadata=hlo.metadata("conv", frame=2),
    )
    program = hlo.module(
        hlo.computation(
            1,
            hlo.op(1, "parameter", "f32[1,8,8,4]"),
            hlo.op(2, "parameter", "f32[3,3,4,8]", number=1),
            conv,
        ),
        extra=FRAMES,
    )
    metrics = gpu_steps(("conv", 60, "conv.3"), program=program).measure()

    assert metrics.value("optimizer_update_fraction") == 0


def test_a_scope_of_keras_is_the_update() -> None:
    """50 of 100 µs."""
    metrics = cpu_steps(*ADAM, ("model/dense/MatMul:MatMul", 20)).measure()

    assert metrics.value("optimizer_update_fraction") == pytest.approx(0.5)
    assert metrics.fact("optimizer_update_name") == "adam"
    assert metrics.fact("optimizer_update_op") == "adam/Mul_3"


def test_an_op_of_tensorflow_that_applies_gradients_is_the_update() -> None:
    metrics = cpu_steps(
        ("training/update_w/ResourceApplyAdam:ResourceApplyAdam", 40)
    ).measure()

    assert metrics.value("optimizer_update_fraction") == pytest.approx(0.4)
    assert metrics.fact("optimizer_update_name") == "adam"


def test_files_of_optax_are_the_update() -> None:
    metrics = in_optax()

    assert metrics.value("optimizer_update_fraction") == pytest.approx(0.6)
    assert metrics.fact("optimizer_update_name") == "adam"
    assert metrics.fact("optimizer_update_op") == "add.4 (train.py:12)"


def test_the_hlo_tells_how_few_rows_of_a_table_are_used() -> None:
    assert in_optax().fact("rows_touched") == (
        "1,280 of the 300,000 rows of params['embed'], 32 numbers each"
    )


def test_without_hlo_gradients_that_come_as_rows_tell_the_layer() -> None:
    metrics = cpu_steps(*ADAM, LOOKUP).measure()

    assert metrics.fact("rows_touched") == "the rows that model/items looks up"


@pytest.mark.parametrize("ops", [(ADAM[0], LOOKUP), ADAM])
def test_a_dense_gradient_or_no_lookup_tells_of_no_table(
    ops: tuple[tuple[str, float], ...],
) -> None:
    assert cpu_steps(*ops).measure().fact("rows_touched") is None


def test_an_update_that_writes_the_rows_alone_has_no_others_to_leave() -> None:
    """Plain SGD scatters into the table: nothing of it but the looked-up rows."""
    scatter = ("sgd/ResourceScatterSub:ResourceScatterSub", 60)
    metrics = cpu_steps(scatter, LOOKUP).measure()

    assert metrics.fact("rows_touched") is None


def test_a_model_alone_has_no_update() -> None:
    metrics = cpu_steps(("model/dense/MatMul:MatMul", 50)).measure()

    assert metrics.value("optimizer_update_fraction") == 0
    assert metrics.fact("optimizer_update_name") is None
