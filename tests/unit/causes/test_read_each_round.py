"""Results that a loop reads in each round, though the next round needs none of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tfadvisor.causes import ProgramSource, ReadEachRound

PROGRAM = """\
import jax
import numpy as np
step = jax.jit(lambda state, batch: (state, 0))


def main(state, batches, env, losses, log):
    for i, batch in enumerate(batches):
        state, loss = step(state, batch)
        STATEMENT
        REST
    return losses
"""


def on_line_9(folder: Path, statement: str, rest: str = "pass") -> ReadEachRound | None:
    text = PROGRAM.replace("STATEMENT", statement).replace("REST", rest)
    (folder / "train.py").write_text(text)
    return ProgramSource(folder).read_each_round("train.py", 9)


def test_what_is_only_kept_can_be_kept_as_it_is(tmp_path: Path) -> None:
    found = on_line_9(tmp_path, "losses.append(jax.device_get(loss))")

    assert found == ReadEachRound(
        "jax.device_get(loss)",
        "losses.append(jax.device_get(loss))",
        "losses.append(loss)",
        "losses",
    )


@pytest.mark.parametrize(
    ("statement", "read"),
    [
        ("log(i, float(loss))", "float(loss)"),
        ("value = loss.item()", "loss.item()"),
        ("print(loss)", "print(loss)"),
        ("total = np.asarray(loss).mean()", "np.asarray(loss)"),
        ("state = jax.block_until_ready(state)", ""),
        ("jax.block_until_ready(state)", "jax.block_until_ready(state)"),
    ],
)
def test_other_ways_to_read(statement: str, read: str, tmp_path: Path) -> None:
    """What waits for the state and hands it on may belong to the next round."""
    found = on_line_9(tmp_path, statement)

    assert (found.read if found else "") == read


def test_a_step_that_is_made_where_it_is_called(tmp_path: Path) -> None:
    """As `jax.jit(body)(state)`, of which no name is known."""
    program = PROGRAM.replace("step(state, batch)", "jax.jit(main)(state)")
    program = program.replace("STATEMENT", "losses.append(float(loss))")
    (tmp_path / "train.py").write_text(program.replace("REST", "pass"))

    found = ProgramSource(tmp_path).read_each_round("train.py", 9)

    assert found is not None
    assert found.kept == "losses.append(loss)"


@pytest.mark.parametrize(
    ("statement", "rest"),
    [
        ("batch = env.step(np.asarray(loss))", "state, _ = step(state, batch)"),
        ("value = float(loss)", "state = (state, value)"),
        ("losses.append(float(loss))", "state = (state, losses[-1])"),
    ],
)
def test_what_the_next_step_is_given_is_needed(
    statement: str, rest: str, tmp_path: Path
) -> None:
    assert on_line_9(tmp_path, statement, rest) is None


@pytest.mark.parametrize(
    ("statement", "rest"),
    [
        ("value = float(loss)", "if value < 0.1: break"),
        ("losses.append(float(loss))", "if losses[-1] > losses[0]: break"),
        ("log(float(loss))", "if loss < 0.1: break"),
        ("log(float(loss))", "log(1 if loss < 0.1 else 0)"),
    ],
)
def test_what_the_loop_asks_for_is_needed(
    statement: str, rest: str, tmp_path: Path
) -> None:
    assert on_line_9(tmp_path, statement, rest) is None


def test_a_question_once_in_n_rounds_needs_no_read_in_each(tmp_path: Path) -> None:
    rest = "if i % 100 == 0 and losses[-1] < 0.1: break"

    assert on_line_9(tmp_path, "losses.append(float(loss))", rest) is not None


def test_a_loop_that_waits_on_another_line_for_what_it_needs(tmp_path: Path) -> None:
    """The action of an environment: without this line the loop waits all the same."""
    rest = "state = env.step(np.asarray(state))"

    assert on_line_9(tmp_path, "losses.append(float(loss))", rest) is None


def test_a_line_of_one_round_in_n(tmp_path: Path) -> None:
    assert on_line_9(tmp_path, "if i % 10 == 0: log(float(loss))") is None


def test_a_line_around_a_loop_of_steps(tmp_path: Path) -> None:
    """It comes once an epoch."""
    program = PROGRAM.replace(
        "state, loss = step(state, batch)",
        "for x in batch: state, loss = step(state, x)",
    )
    program = program.replace("STATEMENT", "log(float(loss))")
    (tmp_path / "train.py").write_text(program.replace("REST", "pass"))

    assert ProgramSource(tmp_path).read_each_round("train.py", 9) is None


def test_a_line_of_no_loop_or_of_a_batch(tmp_path: Path) -> None:
    """What is read of the batch waits for nothing."""
    assert on_line_9(tmp_path, "log(float(batch))") is None
    assert ProgramSource(tmp_path).read_each_round("train.py", 11) is None
    assert ProgramSource(tmp_path).read_each_round("other.py", 9) is None
