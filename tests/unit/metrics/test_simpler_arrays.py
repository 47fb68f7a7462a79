"""Calls whose arrays are simpler than they know, in compiled programs."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import hlo_builder as hlo
from support.gpu_step import gpu_steps

from tfadvisor.causes import ProgramSource
from tfadvisor.metrics import Metrics, Settings

PROGRAM = """\
import jax.numpy as jnp
def step(x, w):
    y = jnp.diag(w) @ x
    return y
"""


def measured(folder: Path, *ops: bytes) -> Metrics:
    """Of steps of 100 µs that spend 50 on the op a."""
    (folder / "train.py").write_text(PROGRAM)
    program = hlo.module(hlo.computation(1, *ops))
    steps = gpu_steps(("a", 50, "a"), program=program)
    return steps.measure(Settings(source=ProgramSource(folder)))


def product(folder: Path, rows: int, columns: int = 5) -> Metrics:
    """On line 3, of a factor with 9 columns."""
    at = hlo.metadata("jit(step)/dot_general", "train.py", 3)
    return measured(
        folder,
        hlo.op(1, "parameter", f"f32[{rows},9]"),
        hlo.op(2, "parameter", f"f32[9,{columns}]", number=1),
        hlo.op(
            3,
            "dot",
            f"f32[{rows},{columns}]",
            1,
            2,
            name="a",
            metadata=at,
            extra=hlo.dot_numbers([1], [0]),
        ),
    )


def test_a_factor_as_high_as_wide_may_be_a_diagonal_matrix(tmp_path: Path) -> None:
    """9 × 9 times 9 × 5."""
    found = product(tmp_path, 9)

    assert found.value("costly_call_fraction") == pytest.approx(0.5)
    assert found.fact("costly_call") == "jnp.diag(w) @ x"
    assert "w[:, None] * x" in (found.fact("costly_call_after") or "")


@pytest.mark.parametrize("columns", [5, 9])
def test_another_factor_is_the_diagonal_of_a_matrix(
    tmp_path: Path, columns: int
) -> None:
    """1 × 9 times 9 × 5, or 9 × 9."""
    assert product(tmp_path, 1, columns).value("costly_call_fraction") is None
