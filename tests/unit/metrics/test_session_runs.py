"""Runs of a session that a round makes with the same feeds, by samples and source."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.stacks import sampled
from support.trace_builder import trace

from tfadvisor.causes import ProgramSource, account_of
from tfadvisor.metrics.registry import Metrics, Settings

PROGRAM = """\
import tensorflow.compat.v1 as tf
def train(sess, step, loss, acc, x, batches):
    for a in batches:
        sess.run(step, feed_dict={x: a})
        cost = sess.run(loss, feed_dict={x: a})
        print(sess.run(acc, feed_dict={x: a}))
"""
SESSION = "/venv/lib/python3.11/site-packages/tensorflow/python/client/session.py"
MAIN = "train.py:<module>:7 train.py:train"


def measured(folder: Path, program: str = PROGRAM) -> Metrics:
    """Of ten samples six are in the first run, one in the second, three in the third."""
    (folder / "train.py").write_text(program)
    runs = zip((4, 5, 6), (6, 1, 3), strict=True)
    turn = [(f"{MAIN}:{line} {SESSION}:run:977", many) for line, many in runs]
    account = account_of(sampled(60 * turn), 100.0)
    settings = Settings(source=ProgramSource(folder), account=account)
    steps = trace().step(0, 1000).call("EagerLocalExecute: MatMul", 1, 9)
    return steps.measure(settings)


def test_all_but_the_longest_are_too_many(tmp_path: Path) -> None:
    found = measured(tmp_path)

    assert found.value("repeated_runs_share") == pytest.approx(0.4, abs=0.01)
    assert found.value("repeated_runs") == 3
    assert found.fact("repeated_runs_place") == "train (train.py:6)"
    assert found.fact("repeated_runs_shown") == (
        "sess.run(step, feed_dict={x: a})\ncost = sess.run(loss, feed_dict={x: a})"
    )
    assert found.fact("repeated_runs_together") == (
        "_, cost, acc_value = sess.run(\n    [step, loss, acc],\n    feed_dict={x: a})"
    )


def test_runs_of_other_feeds_are_no_such_runs(tmp_path: Path) -> None:
    found = measured(tmp_path, PROGRAM.replace("acc, feed_dict", "acc, options"))
    other = found.value("repeated_runs")

    assert other == 2
    program = PROGRAM.replace("feed_dict={x: a}", "feed_dict=next(batches)")
    assert measured(tmp_path, program).value("repeated_runs_share") is None
