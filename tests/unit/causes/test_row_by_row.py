"""Loops that call what is compiled for one row after another."""

from __future__ import annotations

from pathlib import Path

import pytest

from tfadvisor.causes import ProgramSource, RowByRow

PROGRAM = """\
import jax
predict = jax.jit(lambda params, row: row)


def evaluate(params, xs, ys, log, buffer):
    found = []
    HEAD:
        STATEMENT
    return found
"""


def read(folder: Path, head: str, statement: str) -> RowByRow | None:
    text = PROGRAM.replace("HEAD", head).replace("STATEMENT", statement)
    (folder / "train.py").write_text(text)
    found = ProgramSource(folder).row_by_row("predict")
    return None if found is None else found[1]


@pytest.mark.parametrize(
    ("head", "statement", "axes", "arguments"),
    [
        (
            "for x, y in zip(xs, ys)",
            "found.append(int(predict(params, x)) == y)",
            "(None, 0)",
            "params, xs",
        ),
        (
            "for i in range(len(xs))",
            "found.append(predict(params, xs[i]))",
            "(None, 0)",
            "params, xs",
        ),
        (
            "for i, x in enumerate(tqdm(xs))",
            "log[i] = float(predict(params, x))",
            "(None, 0)",
            "params, xs",
        ),
        ("for x in xs", "found.append(predict(x))", "(0,)", "xs"),
    ],
)
def test_a_call_for_one_row_each_is_known(
    tmp_path: Path, head: str, statement: str, axes: str, arguments: str
) -> None:
    found = read(tmp_path, head, statement)

    assert found is not None
    assert (found.line, found.called) == (8, "predict")
    assert (found.axes, found.arguments) == (axes, arguments)


@pytest.mark.parametrize(
    ("head", "statement"),
    [
        ("for x in xs", "params = predict(params, x)"),
        ("for x in xs", "buffer = predict(buffer, x)"),
        ("for x in xs", "found = predict(found, x)"),
        ("for x in xs", "xs.append(predict(params, x))"),
        ("for x in load(xs)", "found.append(predict(params, x))"),
        ("while len(found) < 9", "found.append(predict(params, xs))"),
        ("for i in range(9)", "found.append(predict(params, xs))"),
        ("for i in range(9)", "found.append(predict(params, xs[:i]))"),
        ("for x in xs", "x = x * 2; found.append(predict(params, x + 1))"),
        ("for x in xs", "found.append(predict(params, row=x))"),
        ("for x in xs", "found.append(predict(params, *x))"),
        ("for i in range(0, len(xs), 8)", "found.append(predict(params, xs[i]))"),
        ("for i in range(3, len(xs))", "found.append(predict(params, xs[i]))"),
        ("for i, x in enumerate(xs, 1)", "found.append(predict(params, ys[i]))"),
    ],
    ids=str,
)
def test_calls_that_need_each_other_or_whose_rows_are_not_known_are_none(
    tmp_path: Path, head: str, statement: str
) -> None:
    assert read(tmp_path, head, statement) is None


def test_a_function_that_another_loop_trains_by_is_not_blamed(tmp_path: Path) -> None:
    """The steps may be the other loop's calls, each of which needs the one before."""
    text = PROGRAM.replace("HEAD", "for x in xs")
    text = text.replace("STATEMENT", "found.append(predict(params, x))")
    text += "for x in data:\n    params = predict(params, x)\n"
    (tmp_path / "train.py").write_text(text)

    assert ProgramSource(tmp_path).row_by_row("predict") is None
