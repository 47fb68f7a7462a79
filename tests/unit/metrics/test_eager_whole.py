"""What can be compiled whole where ops run one by one."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.stacks import sampled
from support.trace_builder import trace

from tfadvisor.causes import ProgramSource, account_of
from tfadvisor.metrics.registry import Metrics, Settings

JAX = "/venv/lib/python3.11/site-packages/jax/_src/numpy/ufuncs.py:multiply:99"
MAIN = "train.py:<module>:20 train.py:main"
METHOD = """\
import jax.numpy as jnp
class Model:
    def __call__(self, seen):
        return jnp.sin(seen)


def main(model, inputs):
    for step in range(9):
        logits = model(**inputs)
        log(logits)
"""
SCORE = """\
import jax.numpy as jnp
def score(params, x):
    for param in params:
        param.check(x)
    return jnp.sin(x).item()


def main(params, rows):
    for row in rows:
        keep([score(params, x) for x in row])
"""


def measured(folder: Path, program: str, turn: list[tuple[str, int]]) -> Metrics:
    (folder / "train.py").write_text(program)
    account = account_of(sampled(60 * turn), 40.0)
    settings = Settings(source=ProgramSource(folder), account=account)
    return trace().step(0, 1000).call("$main.py:5 train", 1, 999).measure(settings)


def called(folder: Path, program: str = METHOD) -> Metrics:
    """Three of four samples are in ops of line 4, which line 9 calls."""
    turn = [(f"{MAIN}:9 train.py:__call__:4 {JAX}", 3), (f"{MAIN}:10", 1)]
    return measured(folder, program, turn)


def scored(folder: Path, program: str = SCORE) -> Metrics:
    """Of score a loop takes one of four samples, its last line three."""
    within = f"{MAIN}:10 train.py:score"
    turn = [(f"{within}:4 {JAX}", 1), (f"{within}:5 {JAX}", 3)]
    return measured(folder, program, turn)


def test_the_call_of_an_object_is_compiled_once(tmp_path: Path) -> None:
    metrics = called(tmp_path)

    assert metrics.fact("eager_function") is None
    assert metrics.fact("eager_whole") == "`model(**inputs)`"
    assert metrics.fact("eager_whole_before") == (
        "for ...:\n    logits = model(**inputs)      # op by op"
    )
    assert metrics.fact("eager_whole_once") == (
        "compiled_model = compiled(model)\n# in the loop\n"
        "logits = compiled_model(**inputs)"
    )


@pytest.mark.parametrize(
    ("of", "by"),
    [
        ("        return jnp.sin(seen)", "        return print(jnp.sin(seen))"),
        ("model(**inputs)", "model(model(**inputs))"),
        ("model(**inputs)", "models[step](**inputs)"),
        ("model(**inputs)", "factory()(**inputs)"),
    ],
    ids=["works on the host", "two calls", "one of many", "made anew"],
)
def test_a_call_that_may_be_another_is_left(of: str, by: str, tmp_path: Path) -> None:
    assert called(tmp_path, METHOD.replace(of, by)).fact("eager_whole") is None


def test_a_function_whose_calls_are_the_steps_computes_apart(tmp_path: Path) -> None:
    """It reads a value at its end, which stays outside."""
    metrics = scored(tmp_path)

    assert metrics.fact("eager_whole") == "score"
    assert "def score_of(params, x):" in (metrics.fact("eager_whole_once") or "")
    assert "op by op, and" in (metrics.fact("eager_whole_before") or "")


def test_a_function_that_goes_round_the_steps_is_none_of_them(tmp_path: Path) -> None:
    """An epoch: what takes its time is in its own loop."""
    program = SCORE.replace("    return jnp", "        last = jnp")

    assert scored(tmp_path, program).fact("eager_whole") is None


def test_a_function_that_no_loop_calls_is_none(tmp_path: Path) -> None:
    program = SCORE.replace(
        "    for row in rows:\n        keep", "    if rows:\n        keep"
    )

    assert scored(tmp_path, program).fact("eager_whole") is None
