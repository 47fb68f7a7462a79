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
def step(x, w, low, mid, up):
    y = jnp.diag(w) @ x
    m = jnp.diag(mid) + jnp.diag(low, -1) + jnp.diag(up, 1)
    z = jnp.linalg.solve(m, y)
    return z
"""


def measured(folder: Path, *ops: bytes) -> Metrics:
    """Of steps of 100 µs that spend 50 on the op a."""
    (folder / "train.py").write_text(PROGRAM)
    program = hlo.module(hlo.computation(1, *ops))
    steps = gpu_steps(("a", 50, "a"), program=program)
    return steps.measure(Settings(source=ProgramSource(folder)))


def product(folder: Path, rows: int) -> Metrics:
    """On line 3, of a factor with 9 columns."""
    at = hlo.metadata("jit(step)/dot_general", "train.py", 3)
    return measured(
        folder,
        hlo.op(1, "parameter", f"f32[{rows},9]"),
        hlo.op(2, "parameter", "f32[9,5]", number=1),
        hlo.op(
            3,
            "dot",
            f"f32[{rows},5]",
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


def test_another_factor_is_the_diagonal_of_a_matrix(tmp_path: Path) -> None:
    """1 × 9 times 9 × 5."""
    assert product(tmp_path, 1).value("costly_call_fraction") is None


def test_a_system_of_three_diagonals_is_one_of_few(tmp_path: Path) -> None:
    at = hlo.metadata("jit(step)/jit(solve)/lu", "train.py", 5)
    found = measured(tmp_path, hlo.op(1, "iota", "f32[9,9]", name="a", metadata=at))

    assert found.fact("narrow_system") == "jnp.linalg.solve"
    assert "tridiagonal_solve" in (found.fact("costly_call_after") or "")
