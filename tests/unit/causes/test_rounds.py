"""Loops in which a round needs nothing but the one before."""

from __future__ import annotations

from pathlib import Path

import pytest

from tfadvisor.causes import ProgramSource, Rounds

PROGRAM = """\
import itertools
import jax
import jax.numpy as jnp
import numpy as np
from tqdm import tqdm

advance = jax.jit(kernel)


def propose(key, state):
    return state + jax.random.normal(key)


def load(i):
    return np.load(f"{{i}}.npy")


def chain(key, state, data, number):
    keys = jax.random.split(key, number)
    kept = []
{body}
    return state, kept
"""


def of(folder: Path, body: str) -> Rounds | None:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    (folder / "train.py").write_text(PROGRAM.format(body=lines))
    return ProgramSource(folder).driven_rounds("kernel")


def test_a_generator_that_drives_a_chain_does_nothing_but_its_rounds(
    tmp_path: Path,
) -> None:
    found = of(
        tmp_path,
        "while True:\n"
        "    key, sub = jax.random.split(key)\n"
        "    state = advance(sub, state)\n"
        "    yield state",
    )

    assert found is not None
    assert (found.function, found.line, found.collects) == ("chain", 21, True)
    assert found.lines.splitlines()[0] == "while True:"


@pytest.mark.parametrize(
    "body",
    [
        "for i in range(number):\n    state = advance(state, i)",
        "for i in tqdm(range(number)):\n    state = advance(state, data)",
        "for k in keys:\n    state = advance(state, k)\n    kept.append(float(state))",
        "for k in jax.random.split(key, 9):\n    state = advance(state, k)",
        "for i in range(number):\n    state = advance(state, keys[i])",
        "i = 0\nwhile i < number:\n    state = advance(state)\n    i += 1",
        "for i in itertools.count():\n    state = advance(state)\n    yield state",
        "for i in range(9):\n    x = propose(key, state)\n    state = advance(x)",
        "for i in range(9):\n    x = propose(key, propose(key, state))\n"
        "    state = advance(x)",
        "for i in range(9):\n    state = jnp.sin(advance(state))\n    data[i] = state",
        "for i in range(9):\n    kept.append(np.asarray(state))\n"
        "    state, loss = advance(state)",
    ],
)
def test_a_round_may_count_split_keys_and_collect(tmp_path: Path, body: str) -> None:
    assert of(tmp_path, body) is not None


@pytest.mark.parametrize(
    "body",
    [
        "for batch in data:\n    state = advance(state, batch)",
        "for i in range(9):\n    state = advance(state, data[i])",
        "for i in range(9):\n    state = advance(state, load(i))",
        "for i in range(9):\n    state = advance(state, next(data))",
        "for i in range(9):\n    state = advance(state, np.random.normal())",
        "for i in range(9):\n    state = advance(state)\n    print(state)",
        "for i in range(9):\n    state = advance(state)\n    x = float(state)",
        "for i in range(9):\n    state = advance(state)\n    if i % 5: save(state)",
        "for i in range(9):\n    state = advance(state)\n    self.state = state",
        "for i in range(9):\n    state = advance(state, kept)\n    kept.append(state)",
        "for i in range(9):\n    kept.append(advance(state, i))",
        "while state > 3:\n    state = advance(state)",
        "while not done:\n    state, done = advance(state)",
        "for i in range(9):\n    state = advance(state)\n    data.update(state)",
        "for i in range(9):\n    state = advance(state)\n"
        "for batch in data:\n    state = advance(state, batch)",
        "state = advance(state)",
    ],
    ids=[
        "batches",
        "parts of data",
        "a file",
        "an iterator",
        "NumPy draws",
        "shown",
        "read",
        "saved",
        "an attribute",
        "reads what it collects",
        "independent rounds",
        "asks",
        "asks for a flag",
        "changes an object",
        "another loop trains",
        "no loop",
    ],
)
def test_a_round_that_does_more_is_none(tmp_path: Path, body: str) -> None:
    assert of(tmp_path, body) is None


def test_a_function_of_the_program_may_make_the_round(tmp_path: Path) -> None:
    program = (
        "import jax\nstep = jax.jit(kernel)\n\n\n"
        "def one(key, state):\n    key, sub = jax.random.split(key)\n"
        "    return key, step(sub, state)\n\n\n"
        "for i in range(9):\n    key, state = one(key, state)\n"
    )
    (tmp_path / "train.py").write_text(program)
    assert ProgramSource(tmp_path).driven_rounds("kernel") is not None

    shown = program.replace("    key, sub", "    print(state)\n    key, sub")
    (tmp_path / "train.py").write_text(shown)
    assert ProgramSource(tmp_path).driven_rounds("kernel") is None
