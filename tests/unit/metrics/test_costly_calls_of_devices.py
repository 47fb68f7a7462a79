"""Calls that are known to cost much, in compiled programs whose HLO tells the lines."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import hlo_builder as hlo
from support.gpu_step import gpu_steps

from tfadvisor.causes import ProgramSource
from tfadvisor.metrics import Metrics, Settings

L4 = {
    "gpu_device_name": "NVIDIA L4",
    "memory_bandwidth": 300_000_000_000,
    "compute_cap_major": 8,
    "compute_cap_minor": 9,
}
PROGRAM = """\
import jax
def model(parameters, places):
    phase = places @ parameters
    return phase * phase
jacobian = jax.jit(jax.jacrev(model))
def fit(parameters, places):
    for _ in range(9):
        parameters = step(parameters, jacobian(parameters, places))
"""
FRAMES = hlo.stack_frames(
    ("train.py", 8, "fit", 0), ("train.py", 3, "model", 1), ("train.py", 4, "model", 1)
)


def measured(folder: Path, outputs: int, inputs: int, **properties: object) -> Metrics:
    """Of steps of 100 µs that spend 50 on line 4 and 30 on line 3, called on line 8."""
    (folder / "train.py").write_text(PROGRAM)
    path = "jit(model)/vmap(transpose(jvp()))/mul"
    block = f"f32[{outputs},{inputs}]"
    program = hlo.module(
        hlo.computation(
            1,
            hlo.op(1, "parameter", f"f32[{inputs}]"),
            hlo.op(2, "iota", block, name="a", metadata=hlo.metadata(path, frame=3)),
            hlo.op(
                3, "negate", block, 2, name="b", metadata=hlo.metadata(path, frame=2)
            ),
        ),
        extra=FRAMES,
    )
    steps = gpu_steps(("a", 50, "a"), ("b", 30, "b"), program=program, **properties)
    return steps.measure(Settings(source=ProgramSource(folder)))


def test_a_call_has_the_time_of_all_lines_that_it_runs(tmp_path: Path) -> None:
    """50 and 30 of 100 µs; 1,056 passes where 30 would do."""
    found = measured(tmp_path, 1056, 30)

    assert found.value("costly_call_fraction") == pytest.approx(0.8)
    assert found.fact("costly_call") == "jax.jacrev(model)"
    assert found.fact("costly_call_line") == "train.py:8"
    assert found.fact("costly_call_does").endswith("here 1,056 outputs of 30 inputs")
    assert found.fact("costly_call_after") == "jax.jacfwd(model)"
    assert found.fact("costly_call_change").startswith("Take jax.jacfwd instead")


@pytest.mark.parametrize(("outputs", "inputs"), [(30, 30), (60, 30), (3, 30)])
def test_a_jacobian_without_many_more_outputs_is_well_taken(
    tmp_path: Path, outputs: int, inputs: int
) -> None:
    assert measured(tmp_path, outputs, inputs).value("costly_call_fraction") is None


def test_the_call_explains_what_it_runs(tmp_path: Path) -> None:
    """The longest op is far from all limits: 127 kB in 50 µs, of 300 GB/s."""
    found = measured(tmp_path, 1056, 30, **L4)

    assert found.fact("far_op_of_call") == "a"
