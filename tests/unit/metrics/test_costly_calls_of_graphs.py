"""Calls that are known to cost much on lines that made the ops of a tf.function."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from support.cpu_step import graph_steps

from tfadvisor.causes import ProgramSource
from tfadvisor.metrics import Metrics, Settings, measure
from tfadvisor.trace.noted_ops import NotedOp, NotedOps, OpLine

GRAPH = """\
import numpy as np
import tensorflow as tf
adjacency = np.eye(5000)
adjacency[source, target] = 1.0
def call(x):
    return tf.matmul(adjacency, x)
"""
CATALOGUE = """\
import tensorflow as tf
def loss(query, items, labels):
    scores = tf.matmul(query, items)
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels, scores)
"""
CROSS = "SparseSoftmaxCrossEntropyWithLogits"


def ops(
    folder: Path, program: str, noted: tuple[NotedOp, ...], *run: tuple[str, int]
) -> Metrics:
    """Four steps of 1,000 µs, in which a thread computes."""
    (folder / "train.py").write_text(program)
    builder = graph_steps(*run, called=990)
    summary = replace(builder.build(), op_lines=NotedOps(noted))
    return measure(summary, Settings(source=ProgramSource(folder)))


def test_gradients_of_a_product_belong_to_it(tmp_path: Path) -> None:
    """200 + 400 of the 900 µs that are computed."""
    noted = (NotedOp("conv/MatMul", "MatMul", OpLine("train.py", 6, "call")),)
    metrics = ops(
        tmp_path,
        GRAPH,
        noted,
        ("StatefulPartitionedCall/conv/MatMul:MatMul", 200),
        ("StatefulPartitionedCall/gradient_tape/conv/MatMul/MatMul_1:MatMul", 400),
        ("StatefulPartitionedCall/dense/MatMul:MatMul", 300),
    )

    compute = metrics.value("compute_fraction")
    assert compute is not None
    share = metrics.value("costly_call_fraction")
    assert share == pytest.approx(compute * 600 / 900)
    assert metrics.fact("costly_call") == "tf.matmul(adjacency, x)"
    assert "tf.sparse.from_dense(adjacency)" in (
        metrics.fact("costly_call_after") or ""
    )
    assert "np.eye(5000)" in (metrics.fact("costly_call_after") or "")


@pytest.mark.parametrize(("of", "words"), [("MatMul", True), ("Conv2D", False)])
def test_a_softmax_over_scores_of_products(
    tmp_path: Path, of: str, words: bool
) -> None:
    """Of convolutions, the classes are those of places in a picture."""
    noted = (NotedOp("Softmax", CROSS, OpLine("train.py", 4, "loss")),)
    metrics = ops(
        tmp_path, CATALOGUE, noted, (f"Softmax:{CROSS}", 300), (f"x/{of}:{of}", 500)
    )

    found = metrics.fact("costly_call")
    assert (found == "tf.nn.sparse_softmax_cross_entropy_with_logits") == words
