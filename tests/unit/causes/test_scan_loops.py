"""Loops of JAX's ops of which each round needs the last one."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from tfadvisor.causes.scan_loops import ScanLoop, scan_loop
from tfadvisor.causes.source_files import ParsedFile


def found(code: str) -> ScanLoop | None:
    """On the line that ends with `# here`."""
    text = "import jax\nimport jax.numpy as jnp\nimport numpy as np\n" + dedent(code)
    lines = tuple(text.splitlines())
    line = next(n for n, held in enumerate(lines, 1) if held.endswith("# here"))
    return scan_loop(ParsedFile(ast.parse(text), lines, "same", "train.py"), line)


def test_discounted_sums_from_the_end() -> None:
    known = found(
        """
        def returns(rewards, last):
            out, total = [], last
            for t in reversed(range(len(rewards))):
                total = rewards[t] + 0.9 * total  # here
                out.append(total)
            return jnp.stack(out[::-1])
        """
    )

    assert known is not None
    assert (known.first, known.last, known.function) == (7, 9, "returns")
    assert known.carried == ("total",)
    assert known.once.splitlines() == [
        "def one_round(carry, t):",
        "    (total,) = carry",
        "    total = rewards[t] + 0.9 * total",
        "    return (total,), total",
        "# in place of the loop, in a function that jax.jit compiles",
        "(total,), out = jax.lax.scan(",
        "    one_round, (total,), jnp.arange(len(rewards)), reverse=True",
        ")",
        "# out is one array, in the order of t",
    ]


def test_what_is_added_to_is_carried() -> None:
    known = found(
        "for i in range(9):\n  x = jnp.tanh(x @ w)\n  total += x.T  # here\nprint(total)"
    )

    assert known is not None
    assert known.carried == ("x", "total")


@pytest.mark.parametrize(
    "code",
    [
        "for i in range(9):\n  y = jnp.tanh(x[i])  # here\n  out.append(y)",
        "for i in range(9):\n  x = np.tanh(x)  # here",
        "for i in range(9):\n  x = step(x)  # here",
        "for i in range(9):\n  if x > 0: x = x - 1  # here",
        "for i in range(9):\n  x[i] = x[i - 1]  # here",
        "for row in rows:\n  x = jnp.tanh(x)  # here",
        "for i in range(9):\n  x = jnp.tanh(x)  # here\n  y = x + 1\nprint(y)",
    ],
    ids=[
        "no round needs another",
        "NumPy",
        "a function of the program",
        "a branch on values",
        "an array is written",
        "no numbers are counted",
        "what is read behind it has no begin",
    ],
)
def test_other_loops_are_none(code: str) -> None:
    assert found(code) is None
