"""What the source shows of lines on which Python runs ops one by one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tfadvisor.causes import EagerOps, ProgramSource
from tfadvisor.causes.account import RunPlace, RunShare

HEAD = """\
import jax
import jax.numpy as jnp
import numpy as np
import tensorflow as tf
from flax import nnx

"""
FIRST = len(HEAD.splitlines()) + 1


def ops(
    folder: Path,
    program: str,
    at: dict[int, float],
    *within: tuple[int, str],
    framework: str = "jax",
) -> EagerOps | None:
    """at: share of the time of each line of the program, which begins with line 1, in
    the innermost of the calls. within: line and function of each.
    """
    (folder / "train.py").write_text(HEAD + program)
    calls = [RunPlace("train.py", FIRST - 1 + line, name) for line, name in within]
    shares = []
    for line, fraction in at.items():
        place = RunPlace("train.py", FIRST - 1 + line, calls[-1].function)
        shares.append(RunShare("", "other", fraction, 1.0, 9, (place,)))
    return ProgramSource(folder).eager_ops(shares, calls, framework)


WEIGHTED = """\
def explain(outputs, grads):
    for output, grad in zip(outputs, grads):
        weights = tf.reduce_mean(grad, axis=(0, 1))
        cam = np.ones(output.shape[0:2])
        for i, w in enumerate(weights):
            cam += w * output[:, :, i]
"""


def test_a_weighted_sum_element_by_element_is_one_product(tmp_path: Path) -> None:
    """The loop's head and its line take 40% each, more than half together."""
    found = ops(
        tmp_path, WEIGHTED, {5: 0.4, 6: 0.4}, (5, "explain"), framework="tensorflow"
    )

    assert found is not None
    assert (found.kind, found.what) == ("sum", "weights")
    assert found.after == "cam += tf.tensordot(output, weights, 1)"


@pytest.mark.parametrize(
    ("loop", "after"),
    [
        ("for i, w in enumerate(x):\n        c += w * y[i]", "jnp.tensordot(x, y, 1)"),
        ("for i in range(9):\n        c += x[i]", "jnp.sum(x, axis=0)"),
        ("for one in x:\n        c += one", "jnp.sum(x, axis=0)"),
        ("for i in range(9):\n        c += x[..., i]", "jnp.sum(x, axis=-1)"),
        ("for a, b in zip(x, y):\n        c += a * b", ""),
        ("for i in range(9):\n        c += f(x[i])", ""),
    ],
)
def test_a_sum_is_written_as_one_op_where_that_is_the_same(
    tmp_path: Path, loop: str, after: str
) -> None:
    program = f"def total(x, y, c):\n    {loop}\n"
    line = 2 if "zip" in loop or "one" in loop else 3
    found = ops(tmp_path, program, {line: 0.9}, (line, "total"))

    assert found is not None
    assert found.kind == "sum"
    assert found.after == (f"c += {after}" if after else "")


def test_a_helper_that_takes_the_index_of_its_callers_loop(tmp_path: Path) -> None:
    program = """\
def row_of(info, index):
    return {name: values[index] for name, values in info.items()}
def collect(step, rows):
    for index, kept in enumerate(rows):
        kept.append(row_of(step, index))
"""
    found = ops(tmp_path, program, {2: 0.9}, (5, "collect"), (2, "row_of"))

    assert found is not None
    assert (found.kind, found.what) == ("elements", "step")
    assert found.after.splitlines()[0].startswith("step = jax.device_get(step)")


PARTIALS = """\
def linearize(self, inputs):
    values = WHOLE
    for i, of in enumerate(self.outputs):
        for j, wrt in enumerate(self.inputs):
            part = MADE
            self.partials[of, wrt][:] = part[self.rows[of, wrt]]
"""


@pytest.mark.parametrize(
    ("made", "what", "first"),
    [
        ("values[i][j]", "values", "values = jax.device_get(values)"),
        ("values[i, j]", "values", "values = jax.device_get(values)"),
        ("self.solve(values, i, j)", "part", "for (j, wrt) in enumerate(self.inputs):"),
    ],
)
def test_what_is_read_piece_by_piece_and_not_what_is_written_to(
    made: str, what: str, first: str, tmp_path: Path
) -> None:
    program = PARTIALS.replace("WHOLE", "self.jacobian(inputs)").replace("MADE", made)

    found = ops(tmp_path, program, {6: 0.9}, (6, "linearize"))

    assert found is not None
    assert (found.kind, found.what) == ("elements", what)
    assert found.after.startswith(first)
    assert ("part = np.asarray(part)" in found.after) == (what == "part")
    assert "before it is indexed" in found.why


@pytest.mark.parametrize(
    "program",
    [
        "def f(x):\n    found = np.zeros(9)\n    y = [*x]\n    for i in range(9):\n"
        "        found[i][:] = y\n",
        "def f(x):\n    rows = np.asarray(x)\n    for i in range(9):\n"
        "        keep(rows[i])\n",
        "def f(x):\n    rows = [*x]\n    for i, row in enumerate(rows):\n"
        "        keep(rows[i])\n",
        "def f(x):\n    for i in range(9):\n        pass\n    keep(x[0])\n",
        "@jax.jit\ndef g(x):\n    return x\ndef f(x):\n    for i in range(9):\n"
        "        g(x[i])\n",
    ],
    ids=[
        "what is written to",
        "NumPy",
        "a list",
        "no loop",
        "a compiled function takes it",
    ],
)
def test_what_is_not_taken_apart(tmp_path: Path, program: str) -> None:
    line = len(program.splitlines())

    found = ops(tmp_path, program, {line: 0.9}, (line, "f"))

    assert found is None or found.kind not in ("elements", "sum")


def test_less_than_half_of_the_time_is_not_taken_apart(tmp_path: Path) -> None:
    found = ops(tmp_path, WEIGHTED, {5: 0.2, 6: 0.29}, (5, "explain"))

    assert found is None


def test_numpy_that_goes_through_the_device_and_back(tmp_path: Path) -> None:
    program = """\
def lengths(mask):
    ids = np.cumsum(mask)
    return np.asarray(jax.ops.segment_sum(np.ones_like(ids), ids))
"""
    found = ops(tmp_path, program, {3: 0.9}, (9, "mask"), (3, "lengths"))

    assert found is not None
    assert (found.kind, found.what) == ("host", "jax.ops.segment_sum")
    assert found.after == "np.bincount(ids)"


@pytest.mark.parametrize(
    "line",
    [
        "np.asarray(jnp.cumsum(ids))",
        "jnp.cumsum(np.ones(9))",
        "np.asarray(step(np.ones(9)))",
        "float(jnp.mean(jnp.ones(9)))",
    ],
    ids=["given", "stays there", "the program's", "of the device"],
)
def test_what_does_not_go_there_and_back(tmp_path: Path, line: str) -> None:
    program = f"def lengths(ids):\n    return {line}\n"
    found = ops(tmp_path, program, {2: 0.9}, (9, "mask"), (2, "lengths"))

    assert found is None or found.kind != "host"


ENCODED = """\
def encode(text, n):
    rows = self.numbers(text)
    rows = np.pad(rows, n)
    return CALL
def batch(texts):
    return np.array([encode(text, 3) for text in texts])
@jax.jit
def step(x):
    return x
def main(texts):
    for text in texts:
        step(encode(text, 3))
"""


@pytest.mark.parametrize(
    ("call", "after"),
    [
        ("jax.nn.one_hot(rows, self.n)", "np.eye(self.n, dtype=np.float32)[rows]"),
        ("tf.one_hot(rows, depth=n)", "np.eye(n, dtype=np.float32)[rows]"),
        ("jnp.cumsum(rows, 0)", "np.cumsum(rows, 0)"),
    ],
)
def test_data_that_an_op_makes_for_one_element_after_the_other(
    call: str, after: str, tmp_path: Path
) -> None:
    program = ENCODED.replace("CALL", call)
    calls = (12, "main"), (6, "batch"), (4, "encode")

    found = ops(tmp_path, program, {4: 0.9}, *calls)

    assert found is not None
    assert (found.kind, found.what) == ("each", call.partition("(")[0])
    assert after in found.after
    assert found.after.startswith("rows = np.stack(rows_of_all)")


@pytest.mark.parametrize(
    ("call", "calls"),
    [
        ("jax.nn.one_hot(text, n)", [(6, "batch")]),
        ("jnp.take(table, rows)", [(6, "batch")]),
        ("jnp.where(rows, table, 0)", [(6, "batch")]),
        ("jnp.asarray(rows)", [(6, "batch")]),
        ("jax.nn.one_hot(rows, n)", []),
    ],
    ids=["unknown", "of a table", "with a table", "a copy", "the loop of the steps"],
)
def test_what_numpy_does_not_do_for_all(
    call: str, calls: list[tuple[int, str]], tmp_path: Path
) -> None:
    program = ENCODED.replace("CALL", call)

    found = ops(tmp_path, program, {4: 0.9}, (12, "main"), *calls, (4, "encode"))

    assert found is None or found.kind != "each"


def test_the_outermost_function_that_can_be_compiled_is(tmp_path: Path) -> None:
    """`draw` reads a number on the host."""
    program = """\
def net(params, x):
    return jnp.tanh(params @ x)
def act(params, x):
    return net(params, x) + 1
def draw(params, x):
    return float(act(params, x))
"""
    calls = [(9, "main"), (6, "draw"), (4, "act"), (2, "net")]
    found = ops(tmp_path, program, {2: 0.9}, *calls)

    assert found is not None
    assert (found.kind, found.what) == ("function", "act")
    assert found.after.startswith("@nnx.jit\ndef act(params, x):")
    assert "tf.function" not in found.after


def test_a_model_that_is_called_as_it_stands_gets_a_function(tmp_path: Path) -> None:
    program = """\
class Model(nnx.Module):
    def __call__(self, x):
        return self.linear(x)
    def write(self, x):
        while True:
            x = self(x)
"""
    found = ops(tmp_path, program, {3: 0.9}, (6, "write"), (3, "__call__"))

    assert found is not None
    assert found.kind == "function"
    assert found.before == "x = self(x)  # op by op"
    assert found.after.startswith("@nnx.jit\ndef forward(model, inputs):")


def test_lines_of_a_function_that_reads_become_one(tmp_path: Path) -> None:
    program = """\
class Writer:
    def line(self, tokens):
        while True:
            scores = tf.squeeze(self.model(tokens), 0)
            tokens = scores.numpy()
"""
    calls = [(9, "main"), (4, "line")]
    found = ops(tmp_path, program, {4: 0.9}, *calls, framework="tensorflow")

    assert found is not None
    assert found.kind == "lines"
    assert found.after == (
        "@tf.function\ndef one_round(self, tokens):        # once, not in the loop\n"
        "    scores = tf.squeeze(self.model(tokens), 0)\n    ...\n    return scores"
    )


def test_the_function_that_holds_the_loop_is_not_compiled(tmp_path: Path) -> None:
    program = "def main(x):\n    for _ in range(9):\n        x = jnp.tanh(x)\n"

    assert ops(tmp_path, program, {3: 1.0}, (3, "main")) is None
