"""Calls that make all prefixes, of which a function takes the last alone."""

from __future__ import annotations

import ast
import textwrap

import pytest

from tfadvisor.causes.called import FileNames
from tfadvisor.causes.last_of_all import last_of_all

HEAD = """
import jax
import jax.numpy as jnp
import tensorflow as tf
from jax import lax
"""
SCAN = "associative_scan()[-1]"


def found(code: str) -> str:
    """Of the first call in the function `f` that a scan or sum is."""
    tree = ast.parse(HEAD + textwrap.dedent(code))
    names = FileNames(tree)
    function = names.functions["f"]
    calls = (node for node in ast.walk(function) if isinstance(node, ast.Call))
    told = [last_of_all(call, function, names) for call in calls]
    return next(filter(None, told), "")


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ("return lax.associative_scan(op, x)[-1]", SCAN),
        ("y = jax.lax.associative_scan(op, x)\n    return y[-1]", SCAN),
        (
            "a, b = lax.associative_scan(op, x, axis=axis)\n"
            "    return jnp.take(a, -1, axis=axis), jnp.take(b, -1, axis=axis)",
            SCAN,
        ),
        (
            "y = lax.associative_scan(op, x)\n"
            "    return jax.tree.map(lambda leaf: leaf[-1], y)",
            SCAN,
        ),
        ("y = lax.associative_scan(op, x, axis=1)\n    return y[:, -1]", SCAN),
        ("return jnp.cumsum(x, axis=-1)[..., -1]", "cumsum()[-1]"),
        ("return jnp.cumsum(x)[-1]", "cumsum()[-1]"),
        ("return tf.math.cumprod(x)[-1]", "cumprod()[-1]"),
        ("y = jnp.cumsum(x, 0)\n    return lax.index_in_dim(y, -1)", "cumsum()[-1]"),
    ],
)
def test_only_the_last_prefix_is_taken(body: str, name: str) -> None:
    assert found(f"def f(op, x, axis):\n    {body}\n") == name


@pytest.mark.parametrize(
    "body",
    [
        "return jnp.cumsum(x)",
        "y = jnp.cumsum(x)\n    return y / y[-1]",
        "y = jnp.cumsum(x)\n    g(y)\n    return y[-1]",
        "a, b = lax.associative_scan(op, x)\n    return a[-1], b",
        # the last row of all prefixes along another axis
        "y = lax.associative_scan(op, x, axis=1)\n    return y[-1]",
        "return jnp.cumsum(x, axis=0)[..., -1]",
        # turned, so the last place holds one element
        "return lax.associative_scan(op, x, reverse=True)[-1]",
        "return tf.cumsum(x, exclusive=True)[-1]",
        # what the name held before, or holds in some case
        "y = x\n    y = jnp.cumsum(y)\n    return y[-1]",
        "self.y = jnp.cumsum(x)\n    return self.y[-1]",
        "y = jnp.cumsum(x)\n    return y[-2]",
        "y = jnp.sort(x)\n    return y[-1]",
    ],
)
def test_nothing_is_said_of_prefixes_that_are_used(body: str) -> None:
    assert found(f"def f(op, x, self):\n    {body}\n") == ""
