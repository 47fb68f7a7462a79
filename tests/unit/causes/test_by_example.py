"""Loops that take the gradient of one example after the other."""

from __future__ import annotations

from pathlib import Path

import pytest

from tfadvisor.causes import EagerOps, ProgramSource
from tfadvisor.causes.account import RunPlace, RunShare

SUMMED = """\
def gradients(x, y):
    total = [tf.zeros_like(v) for v in model.trainable_variables]
    for i in range(len(x)):
        with tf.GradientTape() as tape:
            scores = model(x[i:i + 1], training=True)
            loss = loss_fn(y[i:i + 1], scores)
        grads = tape.gradient(loss, model.trainable_variables)
        total = [t + g for t, g in zip(total, grads)]
    return [t / len(x) for t in total]
"""
FORWARD, BACKWARD = 5, 7


def ops(folder: Path, program: str, framework: str = "tensorflow") -> EagerOps | None:
    """The lines of forward and backward pass take 40% of the ops' time each."""
    (folder / "train.py").write_text(f"import tensorflow as tf\n{program}")
    shares = [
        RunShare("", "other", 0.4, 1, 9, (RunPlace("train.py", line + 1, "gradients"),))
        for line in (FORWARD, BACKWARD)
    ]
    within = [RunPlace("train.py", FORWARD + 1, "gradients")]
    return ProgramSource(folder).eager_ops(shares, within, framework)


def test_gradients_of_examples_become_one_of_the_batch(tmp_path: Path) -> None:
    """The loop holds both lines, 80%."""
    found = ops(tmp_path, SUMMED)

    assert found is not None
    assert (found.kind, found.what) == ("examples", "x, y")
    assert found.after == (
        "with tf.GradientTape() as tape:\n"
        "    ...                        # of the whole of x, y\n"
        "    loss = tf.reduce_mean(losses)\n"
        "tape.gradient(loss, model.trainable_variables)"
    )


@pytest.mark.parametrize(
    ("head", "example"),
    [
        ("for i in range(len(x))", "tf.expand_dims(x[i], 0)"),
        ("for i in range(len(x))", "x[i][None]"),
        ("for a, b in zip(x, y)", "a[tf.newaxis]"),
        ("for i, (a, b) in enumerate(zip(x, y))", "a[None, :]"),
        ("for i in range(len(x))", "tf.constant([x[i]])"),
    ],
)
def test_a_batch_of_one_is_an_example_however_it_is_made(
    tmp_path: Path, head: str, example: str
) -> None:
    label = "y[i]" if " in range" in head else "b"
    program = SUMMED.replace("for i in range(len(x))", head)
    program = program.replace("x[i:i + 1]", example).replace("y[i:i + 1]", label)
    found = ops(tmp_path, program)

    assert found is not None and found.kind == "examples"
    assert found.what == "x, y"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("for i in range(len(x))", "for i in range(0, len(x), 8)"),
        ("x[i:i + 1]", "x[i:i + 8]"),
        ("i:i + 1]", "i]"),
        ("t + g for", "t + tf.clip_by_norm(g, 1.0) for"),
        ("t + g for", "t + tf.square(g) for"),
        ("t + g for", "t + g * g for"),
        (
            "total = [t + g for t, g in zip(total, grads)]",
            "optimizer.apply_gradients(zip(grads, model.trainable_variables))",
        ),
        ("total = [t + g for t, g in zip(total, grads)]", "total.append(grads)"),
    ],
)
def test_a_loop_that_needs_each_gradient_is_let_be(
    tmp_path: Path, old: str, new: str
) -> None:
    """Batches of several, clipping, squares, updates of the weights in each round, and
    a list that is handed on.
    """
    found = ops(tmp_path, SUMMED.replace(old, new))

    assert found is None or found.kind != "examples"
