"""Numbers of Python that a loop gives to a compiled function."""

from __future__ import annotations

from pathlib import Path

import pytest

from tfadvisor.causes import ProgramSource

PROGRAM = """\
import math
import numpy as np
import tensorflow as tf
STEPS = 100
@tf.function
def update(x, rate, count=1):
    return x * rate
def main(x, temperatures, batches):
    rate = 1.0
    schedule = np.geomspace(4.0, 1.2, 9).tolist()
    for step, (t, s) in enumerate(zip(temperatures, schedule)):
        x = update(x, {})
        rate *= 0.9
"""


def given(folder: Path, written: str, program: str = PROGRAM) -> str:
    (folder / "train.py").write_text(program.format(written), encoding="utf-8")
    found = ProgramSource(folder).number_given("update")
    return "" if found is None else found.after


@pytest.mark.parametrize(
    "written",
    [
        "s",
        "step",
        "rate",
        "0.1 / (step + 1)",
        "float(t)",
        "t.item()",
        "math.cos(step)",
        "max(0.1, 1 - step / STEPS)",
    ],
)
def test_a_number_of_python_that_the_loop_changes(written: str, tmp_path: Path) -> None:
    assert given(tmp_path, written) == f"update(x, tf.constant({written}))"


@pytest.mark.parametrize(
    "written", ["t", "0.1", "STEPS", "tf.constant(s)", "x", "step % 2"]
)
def test_what_is_no_number_or_stays_is_none(written: str, tmp_path: Path) -> None:
    assert given(tmp_path, written) == ""


@pytest.mark.parametrize(
    "body",
    [
        "    for _ in range(rate):\n        x = x + 1\n    return x",
        "    return x if rate > 1 else -x",
        "    return x[:rate]",
        "    return tf.reshape(x, (rate, -1))",
    ],
)
def test_what_decides_how_a_function_is_traced_is_none(
    body: str, tmp_path: Path
) -> None:
    program = PROGRAM.replace("    return x * rate", body)

    assert given(tmp_path, "step", program) == ""


def test_with_a_signature_numbers_are_tensors_already(tmp_path: Path) -> None:
    program = PROGRAM.replace("@tf.function", "@tf.function(input_signature=[spec])")

    assert given(tmp_path, "s", program) == ""


def test_where_and_by_which_loop(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(PROGRAM.format("s"), encoding="utf-8")
    found = ProgramSource(tmp_path).number_given("update")

    assert found is not None
    assert found.written == "s"
    assert found.place == "main (train.py:12)"
    assert found.head == "for (step, (t, s)) in enumerate(zip(temperatures, schedule))"
    assert found.before == "update(x, s)"


@pytest.mark.parametrize(
    ("written", "is_given"), [("head", False), ("rate", True), ("step", True)]
)
def test_numbers_that_come_again_in_each_round_are_none(
    written: str, is_given: bool, tmp_path: Path
) -> None:
    """Of four heads four functions are traced, and no more."""
    program = PROGRAM.replace(
        "        x = update(x, {})\n        rate *= 0.9\n",
        "        for head in range(4):\n            x = update(x, {})\n"
        "        rate *= 0.9\n",
    )

    assert bool(given(tmp_path, written, program)) is is_given
