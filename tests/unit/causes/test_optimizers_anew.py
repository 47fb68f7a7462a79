"""Optimizers that an outer loop makes anew for a compiled function."""

from __future__ import annotations

from pathlib import Path

import pytest

from tfadvisor.causes import ProgramSource

PROGRAM = """\
import optax
from flax import nnx
from flax.training.train_state import TrainState
@nnx.jit
def train_step(model, state, batch):
    return state
def train(batches, params, rngs):
    outer = optax.adam(1e-3)
    for epoch in range(9):
        inner = optax.adam(1e-3)
        kept = epoch
        {}
        for batch in batches:
            loss = train_step(model, state, batch)
"""
LINE = 14


def once(folder: Path, made: str) -> str:
    (folder / "train.py").write_text(PROGRAM.format(made), encoding="utf-8")
    found = ProgramSource(folder).compiled_again("train.py", LINE, "train_step")
    return "" if found is None else found.once


@pytest.mark.parametrize(
    "made",
    [
        "state = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)",
        "state = TrainState.create(apply_fn=f, params=params, tx=optax.adam(1e-3))",
    ],
)
def test_an_optimizer_in_what_a_compiled_function_is_given(
    made: str, tmp_path: Path
) -> None:
    lines = once(tmp_path, made).splitlines()

    assert lines[:3] == [
        "# once, before the loop",
        "tx = optax.adam(0.001)",
        "for epoch in range(9):",
    ]
    assert "tx" in lines[3]
    assert "optax" not in lines[3]


def test_an_optimizer_by_a_variable_of_the_loop(tmp_path: Path) -> None:
    made = "state = nnx.Optimizer(model, inner)"

    assert "tx = optax.adam(0.001)" in once(tmp_path, made)


def test_the_words_say_where_and_why(tmp_path: Path) -> None:
    made = "state = nnx.Optimizer(model, optax.adam(1e-3))"
    (tmp_path / "train.py").write_text(PROGRAM.format(made), encoding="utf-8")
    found = ProgramSource(tmp_path).compiled_again("train.py", LINE, "train_step")

    assert found is not None
    assert found.words == (
        "`optax.adam` (train.py:12) makes a new optimizer in each round of `for epoch "
        "in range(9)`, which `state` holds, and train_step is compiled for each: "
        "Optax's functions are static, and known by identity"
    )


@pytest.mark.parametrize(
    "made",
    [
        "state = nnx.Optimizer(model, outer)",
        "state = state.replace(step=0)",
        "state = load(optax.adam(1e-3))",
        "state = outer.init(params)",
        "if epoch == 0: state = nnx.Optimizer(model, optax.adam(1e-3))",
    ],
)
def test_what_is_kept_or_unknown_is_none(made: str, tmp_path: Path) -> None:
    assert once(tmp_path, made) == ""


@pytest.mark.parametrize(
    "made",
    [
        "state = nnx.Optimizer(state)",
        "state = nnx.Optimizer(other); other = nnx.Optimizer(state)",
    ],
)
def test_what_is_made_of_itself_holds_no_new_optimizer(
    made: str, tmp_path: Path
) -> None:
    assert once(tmp_path, made) == ""
