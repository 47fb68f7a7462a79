"""Which calls that are known to cost much the lines of a program make."""

from __future__ import annotations

import ast
import textwrap

import pytest

from tfadvisor.causes import costly_calls as costly
from tfadvisor.causes.costly_calls import CallsOfFile, MadeCall, Where, costly_calls
from tfadvisor.causes.source_files import UNKNOWN, ParsedFile

HEAD = """
import collections
import random
import gymnasium as gym
import h5py
import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import tensorflow as tf
from torch.utils.data import DataLoader
"""


def made_on(
    code: str, where: Where = "host", paths: str = "", *, around: bool = False
) -> MadeCall | None:
    """On the line that ends with `# here`."""
    text = HEAD + textwrap.dedent(code)
    lines = text.split("\n")
    line = next(n for n, held in enumerate(lines, 1) if held.endswith("# here"))
    parsed = ParsedFile(ast.parse(text), tuple(lines), UNKNOWN, "train.py")
    return CallsOfFile(parsed).made_on(line, where, paths, around=around)


@pytest.mark.parametrize(
    ("code", "words", "why"),
    [
        ("np.random.choice(n, k, replace=False)  # here", "np.random.choice", "orders"),
        ("np.random.choice(n, k, p=w)  # here", "np.random.choice", "sums up"),
        ("frame.iloc[rows]  # here", "iloc", "index"),
        ("for _, row in frame.iterrows(): pass  # here", "frame.iterrows", "object"),
        ("buffer.pop(0)  # here", "buffer.pop", "move"),
        ("np.einsum('ij,jk,kl', a, b, c)  # here", "np.einsum", "one loop"),
        ("d = x[:, None] - y[None]  # here", "x[:, None] - y[None]", "each pair"),
        ("d = x[:, None] - x  # here", "x[:, None] - x", "each pair"),
        (
            "jnp.where(m[:, None] > 1, 1 / x, 0.0)  # here",
            "jnp.where(m[",
            "of the mask",
        ),
        ("y = tf.linalg.diag(s) @ x  # here", "tf.linalg.diag", "diagonal is 0"),
        ("t = np.trace(a @ b)  # here", "np.trace(a @ b)", "diagonal alone"),
        (
            "memory = collections.deque()\nx = [memory[i] for i in rows]  # here",
            "memory[]",
            "walking through",
        ),
        (
            "frame = pd.read_csv(path)\nframe['a'] = 0\nx = frame['b']  # here",
            "frame[]",
            "builds frames",
        ),
        (
            "with h5py.File(path) as file:\n    x = file['x'][rows]  # here",
            "file[]",
            "opens a file",
        ),
        (
            "archive = np.load(path)\nx = archive['x'][rows]  # here",
            "archive['x']",
            "of an archive",
        ),
        (
            "class A:\n"
            "    def __init__(self): self.env = gym.make('a')\n"
            "    def act(self): return self.env.step(0)  # here",
            "self.env.step",
            "environment",
        ),
        (
            "loader = DataLoader(data)\nfor batch in loader:  # here\n    pass",
            "for loader",
            "on this thread",
        ),
    ],
)
def test_a_line_makes_a_call_that_is_known(code: str, words: str, why: str) -> None:
    found = made_on(code)

    assert found is not None
    assert found.words.startswith(words)
    assert why in found.known.why


@pytest.mark.parametrize(
    "code",
    [
        "np.random.choice(n, k)  # here",
        "np.einsum('ij,jk', a, b)  # here",
        "y = np.diag(s) @ x  # here",
        "np.einsum('ij,jk,kl', a, b, c, optimize=True)  # here",
        "np.mean(x)  # here",
        "buffer.pop()  # here",
        "jnp.where(m[:, None], x, y)  # here",
        "jnp.where(m, x, 0)  # here",
        "d = x - mean[:, None]  # here",
        "d = x[:, None] - y[:, None]  # here",
        "loader = DataLoader(data, num_workers=4)\nfor batch in loader: pass  # here",
        "memory = []\nmemory = collections.deque()\nx = memory[0]  # here",
        "jax.random.choice(key, n, (k,), replace=False)  # here",
        "memory = collections.deque()\nmemory += rows\nx = memory[0]  # here",
        "memory, n = collections.deque(), 0\nx = memory[0]  # here",
        "mine.mean(x)  # here",
        "np.pad(x, 1)\ny = 1  # here",
        "rows = np.load(path)\nx = rows[0]  # here",
        "rows = dict(np.load(path))\nx = rows['x']  # here",
    ],
)
def test_nothing_is_said_of_what_is_not_meant(code: str) -> None:
    assert made_on(code) is None


def test_of_a_call_over_several_lines_the_one_that_begins_on_a_line_is_meant() -> None:
    found = made_on("step(\n    np.concatenate(rows),  # here\n    np.pad(x, 1),\n)")

    assert found is not None
    assert found.words == "np.concatenate"


def test_devices_need_the_frameworks_paths_to_agree() -> None:
    code = "x = jax.random.gamma(key, a) / b  # here"

    assert made_on(code, "device", "jit(step)/jit(_gamma)/while") is not None
    assert made_on(code, "device", "jit(step)/div") is None
    assert made_on(code, "host") is None


def test_a_line_that_only_calls_what_takes_the_time_needs_one_meant_so() -> None:
    hessian = "h = jax.hessian(loss)(x)  # here"
    gamma = "x = jax.random.gamma(key, a)  # here"

    assert made_on(hessian, "device", around=True) is not None
    assert made_on(gamma, "device", "gamma", around=True) is None


def test_the_table_is_whole() -> None:
    """An example has two to six lines at most on each side, and none names a call
    twice in the same terms.
    """
    named: list[object] = []
    for known in costly_calls():
        for example in (known.before, known.after):
            assert 1 <= len(example.splitlines()) <= 6, known.calls
        assert known.guide.startswith("https://")
        assert known.why.startswith("Python") or known.why[0].islower()
        assert not known.why.endswith(".")
        assert known.change.endswith(".")
        conditions = (*known.keyword, *known.without, known.first, known.where)
        named += [(name, conditions) for name in known.calls]
    assert len(named) == len(set(named))


@pytest.mark.parametrize(
    "code",
    [
        "jac = jax.jit(jax.jacrev(f))\nj = jac(x)  # here",
        "back = jax.jacobian(f)\njac = jax.jit(back)\nj = jac(x)  # here",
        "class A:\n"
        "    def __init__(self): self.jac = jax.jit(jax.jacrev(f))\n"
        "    def act(self, x): return self.jac(x)  # here",
        "j = jax.jacrev(f)(x)  # here",
    ],
)
def test_a_jacobian_costs_where_the_function_is_called_that_takes_it(
    code: str,
) -> None:
    path = "jit(f)/vmap(transpose(jvp()))/mul"
    found = made_on(code, "device", path, around=True)

    assert found is not None
    assert "jacfwd" in found.known.change
    assert found.words.startswith(("jax.jacrev", "jax.jacobian"))
    assert made_on(code, "device", "jit(f)/transpose(jvp())/mul", around=True) is None


@pytest.mark.parametrize(
    "code",
    [
        "step = jax.jit(jax.grad(loss))\ng = step(x)  # here",
        "step = jax.jit(model)\nstep = jax.jit(jax.jacrev(f))\nj = step(x)  # here",
    ],
)
def test_a_gradient_or_an_unclear_name_is_no_jacobian(code: str) -> None:
    path = "jit(f)/vmap(transpose(jvp()))/mul"

    assert made_on(code, "device", path, around=True) is None


@pytest.mark.parametrize("name", ["binomial", "multinomial", "poisson"])
def test_counts_are_drawn_by_rejection(name: str) -> None:
    code = f"x = jax.random.{name}(key, n, p)[:-1]  # here"
    found = made_on(code, "device", "jit(f)/while/body/while")

    assert found is not None
    assert "normal approximation" in found.known.change


def test_one_hot_rows_that_an_op_makes_of_numpy_are_data() -> None:
    """No loss is known to take them; where they are made in the step one is asked."""
    code = "def f(text):\n    x = np.pad(text, 3)\n    jax.nn.one_hot(x, 9)  # here\n"

    assert made_on(code, "launch") is None
    assert made_on(code, "host") is not None
    assert made_on(code.replace("np.pad", "model"), "launch") is not None


def test_the_calls_of_a_function_are_judged_once_for_all_its_lines(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """300 loops of two lines hold 600 calls: each is looked at once, not once for each
    line that is asked about.
    """
    text = "".join(f"for a in range({n}):\n    b = f(a)\n" for n in range(300))
    asked = list[ast.Call]()
    plain = costly.every_kth

    def counted(call: ast.Call, *others: object) -> object:
        asked.append(call)
        return plain(call, *others)

    monkeypatch.setattr(costly, "every_kth", counted)
    file = CallsOfFile(ParsedFile(ast.parse(text), (), UNKNOWN, "train.py"))
    for line in range(1, 601):
        assert file.made_on(line, "host") is None

    assert len(asked) == 600
