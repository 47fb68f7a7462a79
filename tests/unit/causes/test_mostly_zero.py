"""Products with matrices that a program makes of zeros and a few values."""

from __future__ import annotations

import ast
import textwrap

import pytest

from tfadvisor.causes.mostly_zero import Factor, Zeros
from tfadvisor.causes.source_files import UNKNOWN, ParsedFile

HEAD = """
import jax
import jax.numpy as jnp
import networkx as nx
import numpy as np
import tensorflow as tf
"""
MADE = """
def edges_of(n, rows, columns):
    a = np.zeros((n, n))
    a[rows, columns] = 1.0
    scale = a.sum(1)
    return a * scale[:, None] / scale[None, :]
"""


def factor(code: str) -> Factor | None:
    """Of the first product."""
    text = HEAD + textwrap.dedent(MADE) + textwrap.dedent(code)
    tree = ast.parse(text)
    zeros = Zeros(ParsedFile(tree, tuple(text.split("\n")), UNKNOWN, "train.py"))
    nodes = (x for x in ast.walk(tree) if isinstance(x, ast.Call | ast.BinOp))
    return next(filter(None, map(zeros.factor_of, nodes)), None)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("a = edges_of(n, i, j)\ny = a @ x", ("a", "np.zeros((n, n))", "x")),
        (
            "a = jnp.asarray(edges_of(n, i, j), jnp.float32)\ny = jnp.matmul(a, x)",
            ("a", "np.zeros((n, n))", "x"),
        ),
        (
            "class Conv:\n"
            "    def __init__(self, units, matrix):\n"
            "        self.matrix = tf.cast(matrix, tf.float32)\n"
            "    def call(self, x):\n"
            "        return tf.matmul(self.matrix, x)\n"
            "def build(a):\n"
            "    return Conv(8, a), Conv(9, matrix=a)\n"
            "build(tf.constant(edges_of(n, i, j)))",
            ("self.matrix", "np.zeros((n, n))", "x"),
        ),
        (
            "def loss(params, a, x):\n"
            "    return (a @ (x @ params)).sum()\n"
            "mask = jnp.zeros((n, n)).at[i, j].set(1.0)\n"
            "jax.grad(loss)(params, mask, x)",
            ("a", "jnp.zeros((n, n)).at[i, j].set(1.0)", "x @ params"),
        ),
        (
            "class Net:\n"
            "    def __call__(self, adj, x):\n"
            "        return jnp.einsum('ij,jk->ik', adj, x)\n"
            "model = Net()\n"
            "model.apply(params, jnp.array(nx.to_numpy_array(graph)), x)",
            ("adj", "nx.to_numpy_array(graph)", ""),
        ),
        ("y = x @ sparse.toarray().T", ("sparse.toarray().T", "sparse.toarray()", "")),
    ],
)
def test_by_how_it_is_made(code: str, words: tuple[str, str, str]) -> None:
    assert factor(code) == words


@pytest.mark.parametrize(
    "code",
    [
        "a = np.zeros((n, n))\ny = a @ x",  # nothing is written
        "a = np.zeros((n, n))\na[:, 3] = v\ny = a @ x",  # whole columns
        "a = np.eye(n)\ny = a @ x",
        "w = rng.normal(size=(n, n))\ny = w @ x",
        "a = edges_of(n, i, j)\ny = a * x",
        "a = edges_of(n, i, j) + 0.1\ny = a @ x",  # none of its entries is 0
        "def f(a, x):\n    return a @ x\nf(edges_of(n, i, j), x)\nf(dense, x)",
        "def f(a, x):\n    return a @ x",
        "h = model(edges_of(n, i, j))\ny = h @ x",
    ],
)
def test_others_are_not_meant(code: str) -> None:
    assert factor(code) is None
