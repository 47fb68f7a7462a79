"""Ops of a loop that follow a compiled function and can be compiled with it."""

from __future__ import annotations

import ast

import pytest

from tfadvisor.causes.compiled_names import HostCalls, compiled_names
from tfadvisor.causes.one_step import OneStep, one_step
from tfadvisor.causes.source_files import ParsedFile

HEAD = """\
import jax, optax
import numpy as np
tx = optax.adam(1e-3)
@jax.jit
def gradient(params, x, y):
    return jax.value_and_grad(loss)(params, x, y)
def main(params, state, data):
    for i in range(9):
        rows = pick(i)
"""
UPDATE = """\
loss, grads = gradient(params, data[rows], labels)
updates, state = tx.update(grads, state)  # here
params = optax.apply_updates(params, updates)
print(float(loss))
"""


def found(body: str) -> OneStep | None:
    """On the line that ends with `# here`."""
    text = HEAD + "".join(f"        {line}\n" for line in body.splitlines())
    lines = tuple(text.splitlines())
    line = next(n for n, held in enumerate(lines, 1) if held.endswith("# here"))
    tree = ast.parse(text)
    parsed = ParsedFile(tree, lines, "same", "train.py")
    return one_step(parsed, line, HostCalls(parsed, compiled_names([tree])))


def test_an_update_behind_a_gradient() -> None:
    """The state goes in and comes out; of the rest what the loop reads."""
    known = found(UPDATE)

    assert known is not None
    assert (known.compiled, known.first, known.last) == ("gradient", 11, 12)
    assert known.once.splitlines() == [
        "@jax.jit",
        "def one_step(params, x, labels, state):",
        "    loss, grads = gradient(params, x, labels)",
        "    updates, state = tx.update(grads, state)",
        "    params = optax.apply_updates(params, updates)",
        "    return params, state, loss",
        "# in the loop",
        "params, state, loss = one_step(params, data[rows], labels, state)",
    ]


@pytest.mark.parametrize(
    "body",
    [
        UPDATE.replace("tx.update(grads, state)", "tx.update(grads, state, i)"),
        UPDATE.replace("updates, state", "grads = clip(grads)\nupdates, state", 1),
        UPDATE.replace("loss, grads = gradient", "loss, grads = other"),
        UPDATE.replace("updates, state = tx", "box.updates, state = tx"),
    ],
    ids=["the number of the round", "other work", "nothing compiled", "an attribute"],
)
def test_other_lines_are_none(body: str) -> None:
    assert found(body) is None
