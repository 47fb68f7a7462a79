"""Arrays that are of another length in each round of a loop."""

from __future__ import annotations

from pathlib import Path

import pytest

from tfadvisor.causes import Growing, ProgramSource

PROGRAM = """\
import jax
import jax.numpy as jnp


def sample_frame(params, tokens, actions):
    def body(carry, _):
        return carry + params @ tokens.sum(1) + actions.sum(1), None

    return jax.lax.scan(body, 0.0, None, length=6)[0]


def sample(params, tokens, actions):
    for index in range(2, 9):
        frame = sample_frame(params, tokens, actions[:, : index + 1])
        tokens = jnp.concatenate([tokens, frame[:, None]], axis=1)
    return tokens
"""


def on_line(line: int, program: str, folder: Path) -> Growing | None:
    (folder / "train.py").write_text(program)
    return ProgramSource(folder).growing_on("train.py", line)


@pytest.mark.parametrize("line", [9, 14], ids=["in what it calls", "in the loop"])
def test_what_a_loop_appends_to_has_another_length_in_each_round(
    tmp_path: Path, line: int
) -> None:
    found = on_line(line, PROGRAM, tmp_path)

    assert found is not None
    assert found.words == (
        "tokens and actions[:, :index + 1] have another length in each round of "
        "`for index in range(2, 9)` (train.py:15)"
    )
    assert (found.name, found.piece, found.axis) == ("tokens", "frame[:, None]", "1")


KEEPS = "tokens = jnp.concatenate([tokens, frame[:, None]], axis=1)"


def test_a_part_that_the_loop_makes_longer_is_named_alone(tmp_path: Path) -> None:
    found = on_line(9, PROGRAM.replace(KEEPS, "rows.append(frame)"), tmp_path)

    assert found is not None
    assert (found.name, found.parts) == ("", ("actions[:, :index + 1]",))


@pytest.mark.parametrize(
    ("joins", "axis"),
    [
        ("jnp.append(tokens, frame)", "0"),
        ("jnp.vstack((tokens, frame))", "0"),
        ("jnp.hstack([tokens, frame])", "-1"),
        ("jnp.concatenate([tokens, frame], 2)", "2"),
    ],
)
def test_arrays_are_joined_in_several_ways(
    tmp_path: Path, joins: str, axis: str
) -> None:
    found = on_line(9, PROGRAM.replace(KEEPS, f"tokens = {joins}"), tmp_path)

    assert found is not None
    assert (found.name, found.piece, found.axis) == ("tokens", "frame", axis)


@pytest.mark.parametrize(
    ("given", "joins"),
    [
        ("actions[:, index : index + 9]", "frames.append(frame)"),
        ("actions[:, :size]", "frames.append(frame)"),
        ("actions[:, : len(index)]", "frames.append(frame)"),
        ("actions", "frames = jnp.concatenate([frames, frame])"),
        ("actions", "tokens = jnp.concatenate([frame, other])"),
    ],
    ids=[
        "a window",
        "a size that stays",
        "of a length that nobody knows",
        "what the line does not read",
        "another array by its name",
    ],
)
def test_what_stays_as_long_does_not_grow(
    tmp_path: Path, given: str, joins: str
) -> None:
    program = PROGRAM.replace("actions[:, : index + 1]", given).replace(KEEPS, joins)

    assert on_line(9, program, tmp_path) is None
