"""Layers and types from the names of TensorFlow, Keras and JAX."""

from __future__ import annotations

import pytest

from tfadvisor.timeline.names.op_path import op_name, op_path


@pytest.mark.parametrize(
    ("path", "layer", "kind"),
    [
        ("sequential_1/conv2d_7/Conv2D:Conv2D", "sequential_1/conv2d_7", "Conv2D"),
        (
            "gradient_tape/m/conv2d_7/Conv2D/Conv2DBackpropFilter:Conv2DBackpropFilter",
            "m/conv2d_7",
            "Conv2DBackpropFilter",
        ),
        (
            "StatefulPartitionedCall/gradient_tape/model/dense/MatMul/MatMul_1:_MklMatMul",
            "model/dense",
            "_MklMatMul",
        ),
        ("model/dense/Tensordot/MatMul:MatMul", "model/dense", "MatMul"),
        ("Encoder/dense/MatMul:MatMul", "Encoder/dense", "MatMul"),
        ("Encoder/MatMul:MatMul", "Encoder", "MatMul"),
        (
            "model/lstm/while/body/_12/lstm_cell/MatMul:MatMul",
            "model/lstm/lstm_cell",
            "MatMul",
        ),
        (
            "m/gru/while/body/_1/m/gru/while/gru_cell/MatMul:MatMul",
            "m/gru/gru_cell",
            "MatMul",
        ),
        (
            "gradient_tape/m/gru/while/m/gru/while_grad/body/_9/gradient_tape/m/gru/while/gradients/m/gru/while/gru_cell/"
            "split_1_grad/concat:ConcatV2",
            "m/gru/gru_cell",
            "ConcatV2",
        ),
        (
            "gradient_tape/m/gru/while/m/gru/while/gradient_tape/m/gru/while/gradients/m/gru/while/gru_cell/split_1_grad/"
            "accumulator:TensorListReserve",
            "m/gru/gru_cell",
            "TensorListReserve",
        ),
        ("cond/then/_4/cond/critic/dense/MatMul:MatMul", "critic/dense", "MatMul"),
        (
            "Adam/Adam/update_2/ResourceApplyAdam:ResourceApplyAdam",
            "Adam",
            "ResourceApplyAdam",
        ),
        ("sgd_1/Mul_2:Mul", "sgd_1", "Mul"),
        ("concat_1:ConcatV2", "", "ConcatV2"),
        (
            "jit(train_step)/transpose(jvp(Model))/Dense_0/dot_general:",
            "Model/Dense_0",
            "dot_general",
        ),
        ("jit(train_step)/jvp()/jit(relu)/max", "", "max"),
        ("jit(f)/shard_map/bsd,de->bse/dot_general", "", "dot_general"),
    ],
)
def test_layer_and_type(path: str, layer: str, kind: str) -> None:
    found = op_path(path)

    assert found is not None
    assert (found.layer, found.op_type) == (layer, kind)


@pytest.mark.parametrize("path", ["XlaModule:", "KernelAndDeviceFunc::Run", ""])
def test_what_names_no_op(path: str) -> None:
    assert op_path(path) is None


def test_replicas_share_their_layers() -> None:
    first = op_path("gradient_tape/model/dense/MatMul:MatMul")
    second = op_path("gradient_tape/replica_1/model/dense/MatMul:MatMul")

    assert first is not None
    assert second is not None
    assert first.layer == second.layer == "model/dense"
    assert second.is_gradient


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("replica_4/bert/layer_1/Cast:Cast", "bert/layer_1/Cast"),
        (
            "gradient_tape/replica_1/m/dense/MatMul:MatMul",
            "gradient_tape/m/dense/MatMul",
        ),
        ("jit(f)/Dense_0/dot_general", "jit(f)/Dense_0/dot_general"),
        ("XlaModule:", ""),
    ],
)
def test_an_op_has_one_name_in_every_replica(path: str, name: str) -> None:
    assert op_name(path) == name
