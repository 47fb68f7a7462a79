"""Products with matrices of one diagonal."""

from __future__ import annotations

import ast
import textwrap

import pytest

from tfadvisor.causes.diagonals import Product, product_with_diagonal
from tfadvisor.causes.source_files import UNKNOWN, ParsedFile

HEAD = """
import jax.numpy as jnp
import numpy as np
import tensorflow as tf
"""


def product(body: str) -> Product | None:
    """The only one with a diagonal matrix; None for none."""
    text = f"{HEAD}def f(x, y, w, v, a, b):\n{textwrap.indent(body, '    ')}\n"
    parsed = ParsedFile(ast.parse(text), tuple(text.split("\n")), UNKNOWN, "train.py")
    function = parsed.names.functions["f"]
    known = function, parsed.names
    nodes = [x for x in ast.walk(function) if isinstance(x, ast.BinOp | ast.Call)]
    found = [each for each in (product_with_diagonal(x, *known) for x in nodes) if each]
    return found[0] if len(found) == 1 else None


@pytest.mark.parametrize(
    ("body", "own"),
    [
        ("return x.T @ jnp.diag(w) @ x", "x.T * w"),
        ("return x.T @ (np.diag(1 / w) @ y)", "(1 / w)[:, None] * y"),
        ("return (x + y) @ jnp.diag(w)", "(x + y) * w"),
        ("scale = jnp.diag(w)\nreturn scale @ x", "w[:, None] * x"),
        ("return jnp.dot(jnp.matmul(x.T, jnp.diag(w)), x)", "x.T * w"),
        ("return x.T.dot(np.diag(w)).dot(x)", "x.T * w"),
    ],
)
def test_the_other_factor_is_scaled_instead(body: str, own: str) -> None:
    found = product(body)

    assert found is not None
    assert found.own == own
    assert found.name == "diag(x) @ y"  # where shapes tell that w is a vector


@pytest.mark.parametrize(
    ("body", "own"),
    [
        ("return tf.matmul(tf.linalg.diag(w), y)", "w[..., None] * y"),
        ("return x @ tf.linalg.diag(w)", "x * w[..., None, :]"),
    ],
)
def test_of_tensorflow_it_makes_matrices_alone(body: str, own: str) -> None:
    found = product(body)

    assert found is not None
    assert found.own == own
    assert found.name == "tf.linalg.diag(x) @ y"


@pytest.mark.parametrize(
    "body",
    [
        "return x @ y",
        "return jnp.diag(x @ y)",  # takes a diagonal
        "return jnp.diag(a @ b) @ y",  # so does this, a vector
        "return jnp.diag(jnp.linalg.inv(a)) @ y",
        "return jnp.diag(w, 1) @ y",
        "return tf.linalg.diag_part(a) @ y",
        "d = jnp.diag(w)\nd = d + a\nreturn x.T @ d @ x",
        "return jnp.diag(w) * x",
        "return tf.matmul(x, tf.linalg.diag(w), transpose_a=True)",
    ],
)
def test_of_other_products_nothing_is_said(body: str) -> None:
    assert product(body) is None
