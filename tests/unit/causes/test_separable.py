"""Arrays over a grid that are a product of one array for each axis."""

from __future__ import annotations

import ast
import textwrap

import pytest

from tfadvisor.causes.definitions import Definitions
from tfadvisor.causes.separable import (
    Separable,
    separable_convolution,
    separable_exponential,
)
from tfadvisor.causes.source_files import UNKNOWN, ParsedFile

HEAD = """
import jax
import jax.numpy as jnp
import numpy as np
import scipy.ndimage
import tensorflow as tf
"""


def calls_of(code: str) -> tuple[ParsedFile, list[ast.Call]]:
    """Of the function f."""
    text = HEAD + textwrap.dedent(code)
    parsed = ParsedFile(ast.parse(text), tuple(text.split("\n")), UNKNOWN, "train.py")
    nodes = ast.walk(parsed.names.functions["f"])
    return parsed, [node for node in nodes if isinstance(node, ast.Call)]


def convolution(code: str) -> Separable | None:
    parsed, calls = calls_of(code)
    function = parsed.names.functions["f"]
    known = parsed.names, Definitions(parsed)
    found = (separable_convolution(call, function, *known) for call in calls)
    return next(filter(None, found), None)


def lines_of_exponential(code: str) -> list[int]:
    """Of the function f, from its own line on, those with a product of one exponential
    for each axis, or what reads it.
    """
    parsed, calls = calls_of(code)
    function = parsed.names.functions["f"]
    known = parsed.names, Definitions(parsed)
    for call in calls:
        found = separable_exponential(call, function, *known)
        if found is not None:
            nodes = (found.node, *found.uses)
            return sorted({node.lineno - function.lineno for node in nodes})
    return []


KERNELS = [
    "jnp.outer(g, g)",
    "g[:, None] * g[None, :]",
    "jnp.einsum('i,j->ij', g, g) / 9",
    "g[:, None] @ g[None]",
]


@pytest.mark.parametrize("kernel", KERNELS)
def test_an_outer_product_is_convolved_by_rows_and_columns(kernel: str) -> None:
    found = convolution(
        f"""
        def f(x, g):
            k = {kernel}
            return jax.scipy.signal.convolve2d(x, k, mode="same")
        """
    )

    assert found is not None
    assert found.own.split("\n") == [
        "column = k.sum(1, keepdims=True)",
        "row = k.sum(0, keepdims=True) / k.sum()",
        "passed = jax.scipy.signal.convolve2d(x, column, mode='same')",
        "jax.scipy.signal.convolve2d(passed, row, mode='same')",
    ]


GAUSSIAN = """
def kernel_of(sigma):
    ax = {0}arange(-9, 10)
    xx, yy = {0}meshgrid(ax, ax)
    k = {0}exp({1})
    return k / {0}{2}sum(k)
"""


@pytest.mark.parametrize(
    "exponent", ["-(xx**2 + yy**2) / (2 * sigma**2)", "-0.5 * (xx / sigma)**2 - yy**2"]
)
def test_a_gaussian_is_one_whatever_function_makes_it(exponent: str) -> None:
    made = GAUSSIAN.format("jnp.", exponent, "")
    found = convolution(
        f"{made}"
        "def f(x):\n"
        "    k = kernel_of(2.0)[None, None]\n"
        "    return jax.lax.conv(x, k, (1, 1), 'SAME')\n"
    )

    assert found is not None
    assert "k.sum(3, keepdims=True)" in found.own


def test_the_layout_of_the_kernel_tells_its_axes_and_strides_keep_it_whole() -> None:
    made = GAUSSIAN.format("tf.", "-(xx**2 + yy**2)", "reduce_")
    code = (
        f"{made}"
        "def f(x):\n"
        "    k = tf.reshape(kernel_of(2.0), [19, 19, 1, 1])\n"
        "    return tf.nn.conv2d(x, k, {0}, 'SAME')\n"
    )

    by_ones = convolution(code.format("1"))
    by_twos = convolution(code.format("[1, 2, 2, 1]"))

    assert by_ones is not None
    assert "tf.reduce_sum(k, 1, keepdims=True)" in by_ones.own
    assert by_twos is not None
    assert by_twos.own == ""


def test_a_kernel_of_several_channels_has_no_second_pass_of_its_own() -> None:
    code = """
    def f(x, g):
        k = jnp.tile(jnp.outer(g, g)[None, None], (3, 3, 1, 1))
        return jax.lax.conv(x, k, (1, 1), "SAME")
    """

    found = convolution(code)

    assert found is not None
    assert found.own == ""


@pytest.mark.parametrize(
    "exponent",
    ["-(xx * yy)", "-jnp.sqrt(xx**2 + yy**2)", "-(xx + yy)**2", "-xx**2", "-r"],
)
def test_other_exponentials_are_no_product(exponent: str) -> None:
    made = GAUSSIAN.format("jnp.", exponent, "")
    code = (
        f"{made}def f(x):\n    return jax.scipy.signal.convolve2d(x, kernel_of(2.0))\n"
    )

    assert convolution(code) is None


@pytest.mark.parametrize(
    "kernel",
    [
        "k",
        "jnp.outer(g, g) - jnp.outer(h, h)",
        "jnp.outer(g, g) * k",
        "g[:, None] + g[None]",
        "params['kernel']",
        "jnp.outer(g, g) * jnp.tri(9)",
        "jnp.outer(g, g) * x.mask",
        "-jnp.tri(9) * jnp.outer(g, g)",
    ],
)
def test_of_other_kernels_nothing_is_said(kernel: str) -> None:
    code = f"""
    def f(x, g, h, k, params):
        return jax.scipy.signal.convolve2d(x, {kernel})
    """

    assert convolution(code) is None


def test_a_function_that_is_called_with_several_kernels_is_not_known() -> None:
    code = """
    def f(x, k):
        return jax.scipy.signal.convolve2d(x, k)
    def g(x, a, m):
        return f(f(x, jnp.outer(a, a)), m)
    """

    assert convolution(code) is None


# Exponentials of sums over axes.

GRID = """
def grid_of(n):
    axes = [jnp.arange(n)] * 3
    return jnp.stack(jnp.meshgrid(*axes, indexing="ij"), axis=-1)
"""


def test_the_distance_of_all_points_is_a_sum_over_the_axes() -> None:
    """On the third line of f, and read on the fourth."""
    code = (
        f"{GRID}"
        "def f(c, w, a):\n"
        "    grid = grid_of(32)\n"
        "    d2 = jnp.sum((grid - c) ** 2, axis=-1)\n"
        "    bell = jnp.exp(-w * d2[..., None])\n"
        "    return (a * bell).sum(-1)\n"
    )

    assert lines_of_exponential(code) == [3, 4]


def test_the_grid_may_be_an_argument_of_the_only_call() -> None:
    code = (
        f"{GRID}"
        "def f(points, c):\n"
        "    return jnp.exp(-((points - c) ** 2).sum(-1))\n"
        "def g(cs):\n"
        "    points = grid_of(9)\n"
        "    return jax.lax.fori_loop(0, 9, lambda i, t: t + f(points, cs[i]), 0)\n"
    )

    assert lines_of_exponential(code) == [1]


@pytest.mark.parametrize(
    "body",
    [
        "return jnp.exp(-((points - c) ** 2).sum(-1))",  # any points
        "return jnp.exp(-jnp.sqrt(((grid_of(9) - c) ** 2).sum(-1)))",
        "return jnp.exp(-(((grid_of(9) - c) @ c) ** 2).sum(-1))",  # turned axes
        "return jnp.exp(-(points[:, None] - points[None]) ** 2)",
        "return jnp.exp(-((grid_of(9) - c) ** 2).sum())",
        "return jnp.exp(points - points.max(-1))",
        # a product of matrices
        "return jnp.exp(c[:, None] + c[None] - 2 * points @ points.T)",
    ],
)
def test_other_exponents_are_no_sum_over_a_grid(body: str) -> None:
    assert lines_of_exponential(f"{GRID}def f(points, c):\n    {body}\n") == []
