"""Functions that give the same in each call, by programs on paper."""

from __future__ import annotations

from pathlib import Path

import pytest

from tfadvisor.causes import ProgramSource, SameAgain

HEAD = """import functools
import random
import time
import jax
import numpy as np
import tensorflow as tf
SIZE, SCALES = 8, (0.5, 1.0)
TABLE = {"a": 1}
STEP = 0
"""
LOOP = """
def main(state, batches):
    for batch in batches:
        grid = make()
        state = step(state, batch, grid)
main(0, load())
"""


def again(folder: Path, program: str, name: str, call: str) -> SameAgain | None:
    """call: a text of the line that calls it, the last one of these."""
    text = HEAD + program
    (folder / "train.py").write_text(text)
    lines = text.splitlines()
    line = max(at for at, words in enumerate(lines, 1) if call in words)
    inside = next(at for at, words in enumerate(lines, 1) if f"def {name}(" in words)
    where = ("train.py", inside + 1, name)
    return ProgramSource(folder).same_again(where, ("train.py", line))


def made(folder: Path, body: str, before: str = "") -> SameAgain | None:
    """Of a function without arguments that a loop calls."""
    program = f"{before}def make():\n    {body}\n{LOOP}"
    return again(folder, program, "make", "grid = make()")


@pytest.mark.parametrize(
    "body",
    [
        "return np.arange(SIZE)[:, None] * SCALES[0]",
        "rows = np.zeros((SIZE, SIZE))\n    for i in range(SIZE):\n"
        "        rows[i, :i] += 1\n    return rows.T",
        "found = []\n    for scale in SCALES:\n        found.append(scale)\n"
        "    return sorted(found)",
        "return helper(SIZE)",
        "return sorted(TABLE.items())",
        "return jax.numpy.tril(jax.numpy.ones((SIZE, SIZE)))",
        "return [[x * y for x in range(SIZE)] for y in range(SIZE)]",
    ],
)
def test_of_constants_and_what_it_makes(body: str, tmp_path: Path) -> None:
    helper = "def helper(n):\n    return np.eye(n)\n"
    found = made(tmp_path, body, helper)

    assert found is not None
    assert (found.call, found.kind, found.is_bare) == ("make()", "function", True)


@pytest.mark.parametrize(
    "body",
    [
        "return np.random.normal(size=SIZE)",
        "return random.random()",
        "return RNG.normal(size=SIZE)",
        "return np.arange(SIZE) * time.time()",
        "return np.load('table.npy')",
        "return open('table.txt').read()",
        "print(SIZE)\n    return SIZE",
        "np.arange(SIZE)",
        "for i in range(SIZE):\n        yield i",
        "global STEP\n    STEP += 1\n    return STEP",
        "TABLE['b'] = 2\n    return TABLE",
        "rows = TABLE\n    rows['b'] = 2\n    return rows",
        "rows = np.asarray(KEPT)\n    rows[0] = 2\n    return rows",
        "return sorted(words)",
        "return unknown(SIZE)",
        "return drawn(SIZE)",
        "return np.arange(COUNT)",
        "return sorted(FILLED)",
        "return np.asarray(WEIGHTS) * 2",
        "return np.add(1, 2, out=KEPT)",
        "with lock:\n        return SIZE",
        "return next(ROWS)",
    ],
)
def test_not_what_may_differ_or_does_more(body: str, tmp_path: Path) -> None:
    before = (
        "def drawn(n):\n    return np.random.rand(n)\n"
        "RNG = np.random.default_rng(0)\nKEPT = np.zeros(9)\nCOUNT = 0\nFILLED = {}\nROWS = iter([1])\n"
        "WEIGHTS = tf.Variable(1.0)\n"
        "def counts():\n    global COUNT\n    COUNT += 1\n"
        "def fills(x):\n    FILLED[x] = 1\n"
    )

    assert made(tmp_path, body, before) is None


@pytest.mark.parametrize(
    "by", ["functools.cache", "functools.lru_cache(None)", "jax.jit", "unknown"]
)
def test_not_what_is_kept_or_made_into_something_else(by: str, tmp_path: Path) -> None:
    program = f"@{by}\ndef make():\n    return np.arange(SIZE)\n{LOOP}"

    assert again(tmp_path, program, "make", "grid = make()") is None


def given(folder: Path, loop: str) -> bool:
    program = f"def make(n, *, of=1):\n    return np.arange(n) * of\n{loop}"
    return again(folder, program, "make", "make(") is not None


@pytest.mark.parametrize(
    "loop",
    [
        "for batch in load():\n    out = step(batch, make(SIZE))",
        "n = SIZE * 2\nfor batch in load():\n    out = step(batch, make(n, of=2))",
        "for batch in load():\n    log(SIZE)\n    out = step(batch, make(SIZE))",
        "def train(batches):\n    n = 9 * 2\n    for batch in batches:\n"
        "        out = step(batch, make(n))\ntrain(load())",
        "def one(batch, n):\n    return step(batch, make(n))\n"
        "for batch in load():\n    out = one(batch, SIZE)",
        "def one(batch):\n    n = 3\n    return step(batch, make(n))",
    ],
)
def test_arguments_that_stay(loop: str, tmp_path: Path) -> None:
    assert given(tmp_path, loop)


@pytest.mark.parametrize(
    "loop",
    [
        "for n in range(9):\n    out = step(make(n))",
        "for batch in load():\n    out = step(make(len(batch)))",
        "n = 1\nfor batch in load():\n    out = step(make(n))\n    n += 1",
        "def one(batch, n):\n    return step(batch, make(n))\n"
        "for batch in load():\n    out = one(batch, batch.n)",
        "def one(batch, n):\n    return step(batch, make(n))",
        "def train(n):\n    for batch in load():\n        out = step(make(n))\n"
        "for n in range(3):\n    train(n)",
        "def inner(n):\n    k = n * 2\n    for _ in range(9):\n        out = step(make(k))\n"
        "for n in range(3):\n    inner(n)",
        "n = tf.Variable(1)\nfor batch in load():\n    out = step(make(n))",
        "class Loop:\n    n = 1\n    def run(self):\n        self.n = 2\n"
        "        for batch in load():\n            out = step(make(self.n))\nLoop().run()",
    ],
)
def test_arguments_that_may_differ(loop: str, tmp_path: Path) -> None:
    assert not given(tmp_path, loop)


LOADER = """
class Loader:
    def __init__(self, graphs):
        self.graphs = graphs
    {by}
    def signature(self):
        return max(len(graph) for graph in self.graphs)
    def __iter__(self):
        for graph in self.graphs:
            yield graph
    {more}
def main():
    loader = Loader(load())
    for batch in loader:
        out = step(batch, loader.signature)
main()
"""


def of_loader(folder: Path, by: str = "@property", more: str = "") -> SameAgain | None:
    program = LOADER.format(by=by, more=more)
    (folder / "train.py").write_text(HEAD + program)
    return again(folder, program, "signature", "loader.signature")


def test_a_property_of_what_the_object_holds(tmp_path: Path) -> None:
    found = of_loader(tmp_path)

    assert found is not None
    assert (found.call, found.kind) == ("loader.signature", "property")


@pytest.mark.parametrize(
    ("by", "more"),
    [
        ("@functools.cached_property", ""),
        ("@property", "def add(self, x):\n        self.graphs.append(x)"),
        ("@property", "def set(self, x):\n        self.graphs = x"),
        ("@property", "def set(self, x):\n        setattr(self, x, 1)"),
    ],
)
def test_not_of_what_changes_or_is_kept(by: str, more: str, tmp_path: Path) -> None:
    assert of_loader(tmp_path, by, more) is None


def test_a_method_that_counts_is_none(tmp_path: Path) -> None:
    program = (
        "class Grid:\n    def __init__(self):\n        self.calls = 0\n"
        "    def make(self):\n        self.calls += 1\n        return np.zeros(SIZE)\n"
        "grid = Grid()\nfor batch in load():\n    out = step(batch, grid.make())\n"
    )

    assert again(tmp_path, program, "make", "grid.make()") is None


WEIGHTS = """{imports}
def make(model):
    return np.sum(np.square(model.first.kernel))
def train(model):
    for batch in load():
        size = make(model)
        loss = step(batch, size)
train({given})
"""


@pytest.mark.parametrize("imports", ["from flax import nnx", "import keras"])
def test_weights_change_behind_their_names(imports: str, tmp_path: Path) -> None:
    program = WEIGHTS.format(imports=imports, given="net()")

    assert again(tmp_path, program, "make", "make(model)") is None


def test_a_constant_of_a_module_that_another_one_sets(tmp_path: Path) -> None:
    program = "from settings import LEVELS\nimport settings\n{}\ndef make():\n"
    program += f"    return np.arange(LEVELS)\n{LOOP}"
    (tmp_path / "settings.py").write_text("LEVELS = 8\n")

    kept = again(tmp_path, program.format(""), "make", "grid = make()")
    is_set = program.format("settings.LEVELS = 9")

    assert kept is not None
    assert again(tmp_path, is_set, "make", "grid = make()") is None
