"""What frozen layers take of steps that train others."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.cpu_step import graph_steps

from tfadvisor.causes import ProgramSource
from tfadvisor.metrics import Metrics, Settings, measure

PROGRAM = """\
def build():
    base.trainable = False
model.fit(x, y, epochs=EPOCHS)
"""
BASE = (
    ("StatefulPartitionedCall/functional_1/base_1/conv/Conv2D:Conv2D", 40),
    ("StatefulPartitionedCall/functional_1/base_1/norm/Mul:Mul", 10),
)
HEAD = (
    ("StatefulPartitionedCall/functional_1/rescale/Mul:Mul", 20),
    ("StatefulPartitionedCall/functional_1/dense/MatMul:MatMul", 10),
    ("StatefulPartitionedCall/gradient_tape/functional_1/dense/MatMul:MatMul", 20),
)
GRADIENT = "gradient_tape/functional_1/base_1/conv/Conv2D/Conv2DBackpropFilter"


def ops(
    folder: Path, *run: tuple[str, int], program: str = PROGRAM, epochs: int = 3
) -> Metrics:
    """Four steps of 1,000 µs, in which a thread computes."""
    (folder / "train.py").write_text(program.replace("EPOCHS", str(epochs)))
    builder = graph_steps(*run)
    return measure(builder.build(), Settings(source=ProgramSource(folder)))


def test_the_layer_without_gradients(tmp_path: Path) -> None:
    """40 + 10 of 100 µs; what only scales its input is none."""
    metrics = ops(tmp_path, *BASE, *HEAD)

    compute = metrics.value("compute_fraction")
    assert compute is not None
    assert metrics.value("frozen_layers_fraction") == pytest.approx(0.5 * compute)
    assert metrics.fact("frozen_layers") == "functional_1/base_1"
    assert metrics.fact("frozen_layers_name") == "base"
    assert metrics.fact("frozen_layers_line") == "build (train.py:2)"
    assert "in several epochs, and" in (metrics.fact("frozen_layers_cure") or "")


def test_one_epoch_is_a_question(tmp_path: Path) -> None:
    cure = ops(tmp_path, *BASE, *HEAD, epochs=1).fact("frozen_layers_cure")

    assert cure is not None
    assert cure.startswith("Does it see the same examples again")


@pytest.mark.parametrize(
    ("run", "program"),
    [
        ((*BASE, *HEAD), "model.fit(x, y, epochs=3)"),
        ((*BASE, *HEAD[:2]), PROGRAM),
        (HEAD, PROGRAM),
        (
            (
                *BASE,
                *HEAD,
                (f"{GRADIENT}:Conv2DBackpropFilter", 9),
            ),
            PROGRAM,
        ),
    ],
    ids=["nothing is frozen", "no gradient", "no such layer", "it is trained"],
)
def test_else_nothing_is_known(
    tmp_path: Path, run: tuple[tuple[str, int], ...], program: str
) -> None:
    found = ops(tmp_path, *run, program=program)

    assert found.fact("frozen_layers") is None
