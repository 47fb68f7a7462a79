"""Runs of one session that a round makes with the same feeds."""

from __future__ import annotations

from pathlib import Path

import pytest

from tfadvisor.causes import ProgramSource

PROGRAM = """\
import subprocess
import tensorflow.compat.v1 as tf


def train(sess, other, step, loss, acc, x, y, batches):
    for a, b in batches:
        sess.run([step], feed_dict={x: a, y: b})
        FIRST
        SECOND
"""
AGAIN = "cost = sess.run(loss, feed_dict={x: a, y: b})"
LAST = "kept.append(sess.run(acc, {x: a, y: b}))"


def on_line_7(folder: Path, first: str, second: str = "pass") -> str:
    text = PROGRAM.replace("FIRST", first).replace("SECOND", second)
    (folder / "train.py").write_text(text)
    found = ProgramSource(folder).session_runs("train.py", 7)
    return "" if found is None else found.together


def test_all_are_fetched_in_one(tmp_path: Path) -> None:
    assert on_line_7(tmp_path, AGAIN, LAST) == (
        "_, cost, acc_value = sess.run(\n"
        "    [[step], loss, acc],\n"
        "    feed_dict={x: a, y: b})"
    )


def test_their_lines_are_known(tmp_path: Path) -> None:
    on_line_7(tmp_path, AGAIN, LAST)
    found = ProgramSource(tmp_path).session_runs("train.py", 9)

    assert found is not None
    assert found.lines == ((7, 7), (8, 8), (9, 9))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("pass", "pass"),
        ("sess.run(loss, feed_dict={x: b, y: b})", "pass"),
        ("sess.run(loss)", "pass"),
        ("other.run(loss, feed_dict={x: a, y: b})", "pass"),
        ("a = next(batches)", AGAIN),
        ("if a % 100: " + AGAIN, "pass"),
        ("for _ in a: " + AGAIN, "pass"),
        ("subprocess.run(loss, {x: a, y: b})", "pass"),
    ],
    ids=[
        "one run",
        "other feeds",
        "no feeds",
        "another session",
        "another value by then",
        "in some rounds",
        "in a loop inside",
        "no session",
    ],
)
def test_what_one_run_does_not_replace(first: str, second: str, tmp_path: Path) -> None:
    assert not on_line_7(tmp_path, first, second)


def test_what_a_call_feeds_is_another_batch_each_time(tmp_path: Path) -> None:
    text = PROGRAM.replace("{x: a, y: b}", "feeds()").replace(
        "FIRST", "sess.run(loss, feed_dict=feeds())"
    )
    (tmp_path / "train.py").write_text(text.replace("SECOND", "pass"))

    assert ProgramSource(tmp_path).session_runs("train.py", 7) is None
