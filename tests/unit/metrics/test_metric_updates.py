"""Metrics of the program's own that each step of a training updates."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from support.cpu_step import graph_steps

from tfadvisor.causes import ProgramSource
from tfadvisor.metrics import Metrics, Settings, measure
from tfadvisor.trace.noted_ops import NotedOp, NotedOps, OpLine

PROGRAM = """\
import keras
class TopK(keras.metrics.Metric):
    def update_state(self, y, scores):
        order = tf.math.top_k(scores)
    def result(self):
        return self.total
class Agent:
    def update_state(self, y, scores):
        return tf.sort(scores)
"""
SORTS = OpLine("train.py", 4, "update_state")
NOTED = (
    NotedOp("TopKV2", "TopKV2", SORTS),
    NotedOp("TopKV2_1", "TopKV2", SORTS),
    NotedOp("div", "RealDiv", OpLine("train.py", 6, "result")),
    NotedOp("gradient_tape/MatMul", "MatMul", OpLine("train.py", 9, "main")),
)
OPS = (
    ("TopKV2:TopKV2", 30),
    ("TopKV2_1:TopKV2", 10),
    ("div:RealDiv", 10),
    ("gradient_tape/MatMul:MatMul", 50),
)


def ops(
    folder: Path,
    program: str = PROGRAM,
    noted: tuple[NotedOp, ...] = NOTED,
    run: tuple[tuple[str, int], ...] = OPS,
) -> Metrics:
    """Four steps of 1,000 µs, in which a thread computes 100."""
    (folder / "train.py").write_text(program)
    builder = graph_steps(*run)
    summary = replace(builder.build(), op_lines=NotedOps(noted))
    return measure(summary, Settings(source=ProgramSource(folder)))


def test_ops_of_a_metric_in_a_step_that_trains(tmp_path: Path) -> None:
    """50 of 100 µs of compute; the line that takes most runs twice a step."""
    metrics = ops(tmp_path)

    compute = metrics.value("compute_fraction")
    assert compute is not None
    assert metrics.value("metric_update_fraction") == pytest.approx(0.5 * compute)
    assert metrics.value("metric_updates_per_step") == 2
    assert metrics.fact("metric_update_line") == "update_state (train.py:4)"
    assert metrics.fact("metric_update_class") == "TopK"
    assert metrics.fact("metric_update_ops") == "TopKV2, RealDiv"


def test_without_a_base_of_keras_a_metric_has_both_methods(tmp_path: Path) -> None:
    metrics = ops(tmp_path, PROGRAM.replace("keras.metrics.Metric", "object"))

    assert metrics.fact("metric_update_class") == "TopK"


def test_update_state_of_what_is_no_metric_counts_not(tmp_path: Path) -> None:
    noted = (NotedOp("TopKV2", "TopKV2", OpLine("train.py", 9, "update_state")),)

    assert ops(tmp_path, noted=noted).value("metric_update_fraction") is None


def test_an_evaluation_may_compute_metrics(tmp_path: Path) -> None:
    assert ops(tmp_path, run=OPS[:3]).value("metric_update_fraction") is None


OF_KERAS = """\
import keras
import numpy as np
def main():
    cutoffs = np.geomspace(1e-4, 1, 3000).tolist()
    model.compile("adam", "mse", metrics=[keras.metrics.AUC(GIVEN)])
"""
COMPARES = (
    ("StatefulPartitionedCall/Tile:Tile", 20),
    ("StatefulPartitionedCall/LogicalAnd:LogicalAnd", 10),
    ("StatefulPartitionedCall/Cast_4:Cast", 20),
    ("StatefulPartitionedCall/model/dense/Cast:Cast", 20),
    ("StatefulPartitionedCall/gradient_tape/MatMul:MatMul", 30),
)


def test_a_metric_of_keras_that_compares_with_its_thresholds(tmp_path: Path) -> None:
    """20 + 10 + 20 of 100 µs; a layer's own cast and gradients are none of it."""
    program = OF_KERAS.replace("GIVEN", "thresholds=cutoffs, curve='PR'")
    metrics = ops(tmp_path, program, (), COMPARES)

    compute = metrics.value("compute_fraction")
    assert compute is not None
    assert metrics.value("metric_update_fraction") == pytest.approx(0.5 * compute)
    assert metrics.fact("metric_update_class") == "keras.metrics.AUC"
    assert metrics.fact("metric_update_line") == "main (train.py:5)"
    assert metrics.fact("metric_thresholds") == "cutoffs"
    assert metrics.value("metric_updates_per_step") is None


@pytest.mark.parametrize("given", ["num_thresholds=200", "thresholds=0.5", ""])
def test_few_or_even_thresholds(tmp_path: Path, given: str) -> None:
    program = OF_KERAS.replace("GIVEN", given)

    assert ops(tmp_path, program, (), COMPARES).fact("metric_thresholds") is None


def test_thresholds_that_no_op_compares_with(tmp_path: Path) -> None:
    program = OF_KERAS.replace("GIVEN", "thresholds=cutoffs")

    assert ops(tmp_path, program, (), COMPARES[2:]).fact("metric_thresholds") is None


def test_ops_of_the_program_s_own_on_other_lines(tmp_path: Path) -> None:
    """Both kinds of ops are noted on a line each, so no line makes both."""
    program = OF_KERAS.replace("GIVEN", "thresholds=cutoffs")
    noted = (
        NotedOp("Tile", "Tile", OpLine("train.py", 4, "main")),
        NotedOp("LogicalAnd", "LogicalAnd", OpLine("train.py", 5, "main")),
    )

    assert ops(tmp_path, program, noted, COMPARES).fact("metric_thresholds") is None
