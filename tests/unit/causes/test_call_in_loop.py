"""A call of a library in a loop that can be compiled as it stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from tfadvisor.causes import ProgramSource

PROGRAM = """\
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax


def run(loss, x, turns, solver_of=None):
    solver = optax.lbfgs(memory_size=8)
    state = solver.init(x)
    for turn in range(turns):
        grad = np.asarray(x)
        STATEMENT
        print(turn)
    return x
"""


def on_line_12(statement: str, folder: Path, program: str = PROGRAM) -> str | None:
    """What is shown of a statement on line 12, in the loop."""
    (folder / "train.py").write_text(program.replace("STATEMENT", statement))
    found = ProgramSource(folder).call_in_loop("train.py", 12)
    return None if found is None else found.once


def test_what_the_loop_writes_is_an_argument_of_the_compiled_call(
    tmp_path: Path,
) -> None:
    """`loss` stays the same, so the compiled function takes it from around it."""
    update = "x, state = solver.update(grad, state, x, value_fn=loss)"
    assert on_line_12(update, tmp_path) == (
        "def compiled_update(grad, state, x):\n"
        "    return solver.update(grad, state, x, value_fn=loss)\n"
        "# in the loop\n"
        "x, state = compiled_update(grad, state, x)"
    )


def test_a_body_within_the_call_binds_its_own_names(tmp_path: Path) -> None:
    scan = "x, _ = lax.scan(lambda x, g: (x + jnp.sin(g), g), x, grad)"
    assert on_line_12(scan, tmp_path) == (
        "def compiled_scan(x, grad):\n"
        "    return lax.scan(lambda x, g: (x + jnp.sin(g), g), x, grad)\n"
        "# in the loop\n"
        "x, _ = compiled_scan(x, grad)"
    )


@pytest.mark.parametrize(
    "statement",
    [
        "x = solver.update(np.clip(grad, 0, 1), state)",
        "x = solver_of(turn).update(grad, state)",
        "x = unknown(grad)",
        "x = solver.update(grad, batch.state)",
        "x = solver.update(grad, state) + 1",
        "x += 1",
    ],
    ids=[
        "NumPy inside",
        "made in each turn",
        "unknown",
        "of an object",
        "more than the call",
        "no call",
    ],
)
def test_what_may_do_more_is_not_compiled(tmp_path: Path, statement: str) -> None:
    assert on_line_12(statement, tmp_path) is None


def test_outside_of_a_loop_it_is_called_once(tmp_path: Path) -> None:
    program = PROGRAM.replace("for turn in range(turns)", "if turns")
    update = "x, state = solver.update(grad, state, x)"
    assert on_line_12(update, tmp_path) is not None
    assert on_line_12(update, tmp_path, program) is None
