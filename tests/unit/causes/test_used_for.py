"""What alone a function uses the result of a call for."""

from __future__ import annotations

import ast
import textwrap

import pytest

from tfadvisor.causes.called import FileNames
from tfadvisor.causes.used_for import used_for

HEAD = """
import jax
import jax.numpy as jnp
import tensorflow as tf
"""


def found(body: str) -> tuple[str, str]:
    """(name, in the program's own names) of the first call in a function."""
    tree = ast.parse(f"{HEAD}def f(x, t, ids, k):\n{textwrap.indent(body, '    ')}\n")
    names = FileNames(tree)
    function = names.functions["f"]
    calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
    uses = (used_for(call, function, names) for call in calls)
    use = next(filter(None, uses), None)
    return ("", "") if use is None else (use.name, use.own)


@pytest.mark.parametrize(
    ("body", "own"),
    [
        ("return jax.nn.one_hot(ids, 9) @ t", "t[ids]"),
        ("h = jax.nn.one_hot(ids, 9)\nreturn h @ t", "t[ids]"),
        ("return jnp.dot(jax.nn.one_hot(ids, 9), t)", "t[ids]"),
        ("return tf.matmul(tf.one_hot(ids, depth=9), t)", "tf.gather(t, ids)"),
        ("return jnp.argsort(-x, axis=1)[:, :k]", "jax.lax.top_k(x, k)[1]"),
        ("o = jnp.argsort(x)\nreturn o[..., -k:]", "jax.lax.top_k(x, k)[1]"),
        ("return jnp.argsort(x)[::-1][:k]", "jax.lax.top_k(x, k)[1]"),
        ("return jnp.argsort(x)[:, ::-1][:, :k]", "jax.lax.top_k(x, k)[1]"),
        ("return jnp.argsort(x)[:, 1:k]", "jax.lax.top_k(-x, k)[1][..., 1:]"),
        ("return jnp.sort(x)[:k]", "-jax.lax.top_k(-x, k)[0]"),
        ("return jnp.sort(x)[-k:]", "jax.lax.top_k(x, k)[0]"),
        (
            "return tf.argsort(x, direction='DESCENDING')[:, :k]",
            "tf.math.top_k(x, k)[1]",
        ),
    ],
)
def test_what_costs_less_is_in_the_programs_own_names(body: str, own: str) -> None:
    assert found(body)[1] == own


@pytest.mark.parametrize(
    "body",
    [
        "return -(jax.nn.one_hot(ids, 9) * x).sum()",
        "h = jax.nn.one_hot(ids, 9)\nreturn h @ t, h.sum(0)",
        "return jax.nn.one_hot(ids, 9, axis=0) @ t",
        "return jax.nn.one_hot(ids, 9).T @ x",
        "return t @ jax.nn.one_hot(ids, 9)",
        "o = jnp.argsort(x)\nreturn o[:k], x[o]",
        "return jnp.argsort(x)",
        "return jnp.argsort(x, axis=0)[:k]",
        "return jnp.argsort(x, axis=1)[:k]",
        "return jnp.argsort(x)[:-k]",
        "return jnp.argsort(x)[::2]",
        "return jnp.argsort(x)[k:]",
        "return jnp.sort(x)[0]",
    ],
)
def test_of_other_uses_nothing_is_said(body: str) -> None:
    assert found(body) == ("", "")
