"""Which functions of a program can be compiled as they stand."""

from __future__ import annotations

from pathlib import Path

import pytest

from tfadvisor.causes import HostWork, ProgramSource
from tfadvisor.causes.compilable import NONE

HEAD = """\
import time
import random
import jax
import jax.numpy as np
import numpy as onp
import tensorflow as tf
from jax import lax
from data import draw, scale

COUNT = []


def helper(x):
    return np.tanh(x)


def noisy(x):
    return x + onp.random.normal()


"""
DATA = """\
import numpy


def draw(size):
    return numpy.random.uniform(size=size)


def scale(x):
    return x * 2
"""


def work(folder: Path, body: str) -> HostWork:
    """Of `def step(params, x)` with these lines."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    (folder / "train.py").write_text(f"{HEAD}def step(params, x):\n{lines}")
    (folder / "data.py").write_text(DATA)
    line = len(HEAD.splitlines()) + 2
    return ProgramSource(folder).host_work("train.py", line)


@pytest.mark.parametrize(
    "body",
    [
        "return np.where(x > 0, x, 0).sum()",
        "h = helper(x)\nreturn scale(h).reshape(len(x), -1)",
        "def body(c, k):\n    return c, helper(c)\nreturn lax.scan(body, x, x)",
        "out = []\nfor i in range(3):\n    out.append(x[i])\nreturn np.stack(out)",
        "return params.apply(x) / onp.sqrt(64)",
        "if params is None:\n    return x\nreturn x * 2",
        "y = x\ndef loss(p):\n    return params(p)\nreturn jax.grad(loss)(y)",
        "with tf.GradientTape() as tape:\n    y = x\nreturn tape.gradient(y, x)",
        "kept = {}\nkept['a'] = x\nreturn kept",
        "return x.at[0].set(jax.random.normal(params))",
    ],
)
def test_what_is_all_on_arrays_can_be_compiled(tmp_path: Path, body: str) -> None:
    assert work(tmp_path, body) == NONE


@pytest.mark.parametrize(
    ("body", "what", "on_arrays"),
    [
        ("return x + onp.random.normal()", "onp.random.normal", True),
        ("return noisy(x)", "onp.random.normal", True),
        ("return draw(3) + x", "numpy.random.uniform", True),
        ("return random.choice(x)", "random.choice", True),
        ("print(x)\nyield x", "yield", True),
        ("return int(x)", "int", False),
        ("time.sleep(1)\nreturn x", "time.sleep", False),
        ("print(x)\nreturn x", "print", False),
        ("return params.env.step(x)", "params.env.step", False),
        ("params.count = 1\nreturn x", "params.count", False),
        ("params['count'] = 1\nreturn x", "params", False),
        ("params.n, y = 1, x\nreturn y", "params.n", False),
        ("COUNT.append(x)\nreturn x", "COUNT.append", False),
        ("def inner(y):\n    print(y)\nreturn jax.vmap(inner)(x)", "print", False),
        ("return params(x)", "params", False),
        ("y = jax.vmap(helper)(x)\nprint(y)\nreturn y", "print", False),
        ("if x.sum() > 0:\n    return x\nreturn -x", "if", False),
        ("return jax.device_get(x)", "jax.device_get", False),
        ("v = tf.Variable(x)\nreturn v", "tf.Variable", False),
        ("return onp.stack(x)", "onp.stack", False),
        ("global COUNT\nreturn x", "global", False),
        ("return unknown(x)", "unknown", False),
    ],
)
def test_what_is_done_on_the_host_would_be_done_once(
    tmp_path: Path, body: str, what: str, on_arrays: bool
) -> None:
    """What a compiler meets while it traces it does not do in each call."""
    assert work(tmp_path, body) == HostWork(what, on_arrays)


def test_a_step_that_draws_on_the_host_makes_no_batch(tmp_path: Path) -> None:
    """With a gradient in it, it is no loader that NumPy could be."""
    body = "y = onp.random.normal()\nreturn jax.grad(helper)(x + y)"

    assert work(tmp_path, body) == HostWork("onp.random.normal")


def test_functions_that_call_each_other_are_read_once(tmp_path: Path) -> None:
    assert work(tmp_path, "return step(params, x)") == NONE


def test_a_line_outside_of_all_functions_is_in_none(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("x = 1\n")

    found = ProgramSource(tmp_path).host_work("train.py", 1)

    assert found.what == "train.py:1 lies in no function"
