"""Products with matrices that a function makes of zeros and a few values."""

from __future__ import annotations

import ast
import textwrap

import pytest

from tfadvisor.causes.called import FileNames
from tfadvisor.causes.mostly_zero import Factor, mostly_zero

HEAD = """
import jax.numpy as jnp
import numpy as np
import tensorflow as tf
edges = np.zeros((9, 9))
edges[sources, targets] = 1.0
def f(x, n, i, j, v):
"""
MADE = "a = np.zeros((n, n))\na[i, j] = 1.0\n"


def factor(body: str) -> Factor | None:
    """Of the product `left @ right` in a function."""
    tree = ast.parse(HEAD + textwrap.indent(body, "    "))
    names = FileNames(tree)
    products = (x for x in ast.walk(tree) if isinstance(x, ast.BinOp))
    (product,) = (x for x in products if isinstance(x.op, ast.MatMult))
    return mostly_zero(
        [product.left, product.right], (names.functions["f"], tree), names
    )


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (MADE + "y = a @ x", ("a", "np.zeros((n, n))", "x")),
        (MADE + "y = x @ a.T", ("a.T", "np.zeros((n, n))", "")),
        (
            MADE + "b = jnp.asarray(a.astype('float32'))\ny = b @ x",
            ("b", "np.zeros((n, n))", "x"),
        ),
        (
            "mask = jnp.zeros((n, n)).at[i, j].set(1.0)\ny = mask @ x",
            ("mask", "jnp.zeros((n, n)).at[i, j].set(1.0)", "x"),
        ),
        (
            "y = tf.scatter_nd(i, v, (n, n)) @ x",
            ("tf.scatter_nd(i, v, (n, n))", "tf.scatter_nd(i, v, (n, n))", "x"),
        ),
        ("y = edges @ x", ("edges", "np.zeros((9, 9))", "x")),  # of the file
        ("y = x @ v.toarray().T", ("v.toarray().T", "v.toarray()", "")),
    ],
)
def test_by_how_it_is_made(body: str, words: tuple[str, str, str]) -> None:
    assert factor(body) == words


@pytest.mark.parametrize(
    "body",
    [
        "a = np.zeros((n, n))\ny = a @ x",  # nothing is written
        "a = np.zeros((n, n))\na[:, 3] = v\ny = a @ x",  # whole columns
        "a = np.eye(n)\ny = a @ x",
        MADE + "a += 0.1\ny = a @ x",  # none of its entries is 0
        MADE + "b = a + 0.1\ny = b @ x",
        "y = v @ x",
        "v = np.eye(n)\nv[i, j] = 1.0\ny = v @ x",  # in some calls an argument
    ],
)
def test_others_are_not_meant(body: str) -> None:
    assert factor(body) is None
