"""Products with matrices of one diagonal, and systems of a few."""

from __future__ import annotations

import ast
import textwrap

import pytest

from tfadvisor.causes.definitions import Definitions
from tfadvisor.causes.diagonals import banded_system, products_with_diagonals
from tfadvisor.causes.source_files import UNKNOWN, ParsedFile

HEAD = """
import jax
import jax.numpy as jnp
import numpy as np
import tensorflow as tf
import scipy.linalg
"""


def parsed_of(text: str) -> ParsedFile:
    return ParsedFile(ast.parse(text), tuple(text.split("\n")), UNKNOWN, "train.py")


def product(body: str) -> str | None:
    """Of the only product with a diagonal matrix, what costs less; None for none."""
    text = f"{HEAD}def f(x, y, w, v, a, b):\n{textwrap.indent(body, '    ')}\n"
    parsed = parsed_of(text)
    function = parsed.names.functions["f"]
    found = [*products_with_diagonals(function, parsed.names, Definitions(parsed))]
    return found[0].own if len(found) == 1 else None


def system(code: str) -> tuple[bool, str] | None:
    """Of the first call in a function f that solves one of a few diagonals: whether
    these are three, and what costs less.
    """
    parsed = parsed_of(HEAD + textwrap.dedent(code))
    function = parsed.names.functions["f"]
    for node in ast.walk(function):
        if isinstance(node, ast.Call):
            found = banded_system(node, function, parsed.names, Definitions(parsed))
            if found is not None:
                return found.is_tridiagonal, " ".join(found.own.split())
    return None


COLUMN = "   # without [:, None] where w scales a vector"


@pytest.mark.parametrize(
    ("body", "own"),
    [
        ("return x.T @ jnp.diag(w) @ x", "(x.T * w) @ x"),
        ("return x.T @ (np.diag(1 / w) @ y)", "(x.T * (1 / w)) @ y"),
        ("return x @ jnp.diag(w)", "x * w"),
        ("return jnp.diag(w) @ y", f"w[:, None] * y{COLUMN}"),
        (
            "return jnp.diag(w) @ a @ jnp.diag(w)",
            f"w[:, None] * a * w{COLUMN}",
        ),
        ("scale = jnp.diag(w)\nreturn x.T @ scale @ x", "(x.T * w) @ x"),
        ("return jnp.dot(jnp.matmul(x.T, jnp.diag(w)), x)", "(x.T * w) @ x"),
        ("return x.T.dot(np.diag(w)).dot(x)", "(x.T * w) @ x"),
        ("return np.linalg.multi_dot([x.T, np.diag(w), x])", "(x.T * w) @ x"),
        (
            "return jnp.einsum('ij,jk,kl->il', x.T, jnp.diag(w), x)",
            'jnp.einsum("ij,j,jl->il", x.T, w, x)',
        ),
        (
            "return tf.matmul(tf.linalg.diag(w), y)",
            f"w[..., None] * y{COLUMN}",
        ),
        (
            "return tf.matmul(x, tf.linalg.diag(w), transpose_a=True)",
            "tf.linalg.matrix_transpose(x) * w[..., None, :]",
        ),
    ],
)
def test_the_other_factor_is_scaled_instead(body: str, own: str) -> None:
    assert product(body) == own


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
    ],
)
def test_of_other_products_nothing_is_said(body: str) -> None:
    assert product(body) is None


SOLVED = (
    "jax.lax.linalg.tridiagonal_solve( jnp.pad(low, (1, 0)), mid, "
    "jnp.pad(up, (0, 1)), b, ) # of a vector b[:, None], and [:, 0] of the result"
)


@pytest.mark.parametrize(
    "code",
    [
        """
        def f(low, mid, up, b):
            a = jnp.diag(mid) + jnp.diag(low, -1) + jnp.diag(up, k=1)
            return jnp.linalg.solve(a, b)
        """,
        """
        def f(low, mid, up, b):
            return jax.scipy.linalg.solve(
                jnp.diag(mid) + jnp.diag(low, -1) + jnp.diag(up, 1), b)
        """,
    ],
)
def test_three_diagonals_are_solved_from_themselves(code: str) -> None:
    assert system(code) == (True, SOLVED)


def test_of_a_matrix_that_is_added_up_the_diagonals_are_taken() -> None:
    code = """
    def f(low, mid, up, b):
        a = jnp.diag(mid)
        a += jnp.diag(low, -1)
        a = a + jnp.diag(up, 1)
        return jnp.linalg.solve(a, b)
    """

    found = system(code)

    assert found is not None
    assert "jnp.pad(jnp.diagonal(a, -1), (1, 0))" in found[1]


def test_an_identity_and_a_function_of_the_file_may_make_it() -> None:
    """2 on the diagonal and -1 beside it, times an unknown factor."""
    code = """
    def laplacian(n):
        return 2 * jnp.eye(n) - jnp.eye(n, k=1) - jnp.eye(n, k=-1)
    def f(n, c, b):
        return jnp.linalg.solve(jnp.eye(n) + c * laplacian(n), b)
    """

    found = system(code)

    assert found is not None
    assert found[0]


def test_numpy_and_tensorflow_have_solvers_of_their_own() -> None:
    made = "a = {0}diag(m) + {0}diag(l, k=-1) + {0}diag(u, k=1)"
    of_numpy = system(
        f"def f(l, m, u, b):\n    {made.format('np.')}\n"
        "    return np.linalg.solve(a, b)\n"
    )
    of_tensorflow = system(
        f"def f(l, m, u, b):\n    {made.format('tf.linalg.')}\n"
        "    return tf.linalg.solve(a, b)\n"
    )

    assert of_numpy is not None
    assert "scipy.linalg.solve_banded((1, 1), np.stack([" in of_numpy[1]
    assert of_tensorflow is not None
    assert "(tf.pad(u, [[0, 1]]), m, tf.pad(l, [[1, 0]]))" in of_tensorflow[1]


def test_more_diagonals_are_a_band() -> None:
    code = """
    def f(m, u, b):
        return np.linalg.solve(np.diag(m) + np.diag(u, 2) + np.diag(u, -2), b)
    """

    assert system(code) == (False, "")


@pytest.mark.parametrize(
    "code",
    [
        "def f(a, b): return jnp.linalg.solve(a, b)",
        "def f(a, d, b): return jnp.linalg.solve(a + jnp.diag(d), b)",
        "def f(d, b): return jnp.linalg.solve(jnp.diag(d), b)",
        "def f(m, u, k, b): return jnp.linalg.solve(jnp.diag(m) + jnp.diag(u, k), b)",
        "def f(m, u, b): return jnp.linalg.solve(jnp.diag(m) + jnp.diag(u, 40), b)",
        "def f(m, u, b): return jnp.linalg.solve(jnp.diag(m) + jnp.diag(u, 1) + 1, b)",
        """
        def f(m, u, a, b):
            s = jnp.diag(m) + jnp.diag(u, 1)
            for _ in range(3):
                s = s @ s
            return jnp.linalg.solve(s, b)
        """,
    ],
)
def test_other_matrices_are_solved_as_they_are(code: str) -> None:
    assert system(code) is None
