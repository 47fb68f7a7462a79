"""Weights that go from one model to another through NumPy."""

from __future__ import annotations

import ast
import textwrap

import pytest

from tfadvisor.causes.source_files import UNKNOWN, ParsedFile
from tfadvisor.causes.weights_mixed import weights_mixed_on


def code_on(text: str) -> str:
    """For line 2."""
    text = textwrap.dedent(text)
    lines = tuple(text.split("\n"))
    parsed = ParsedFile(ast.parse(text), lines, UNKNOWN, "train.py")
    return weights_mixed_on(parsed, 2)


def test_two_models_that_are_mixed() -> None:
    code = code_on(
        "def track(slow, fast):\n"
        "    pairs = zip(slow.get_weights(), fast.get_weights())\n"
        "    slow.set_weights([0.9 * s + 0.1 * f for s, f in pairs])\n"
    )

    assert "def mix(slow, fast):" in code
    assert "zip(slow.weights, fast.weights)" in code


def test_a_copy_of_an_object_s_model() -> None:
    code = code_on(
        "def update_target(self):\n    self.old.set_weights(self.model.get_weights())\n"
    )

    assert "def copy():" in code
    assert "slow.assign(fast)" in code


@pytest.mark.parametrize(
    "body",
    [
        "best = model.get_weights()",
        "model.set_weights(best)",
        "model.set_weights([w + 0.1 for w in model.get_weights()])",
        "new = train(model.get_weights())\n    other.set_weights(new)",
        "a.set_weights(x.get_weights())\n    b.set_weights(y.get_weights())",
    ],
)
def test_other_functions(body: str) -> None:
    assert code_on(f"def f(model, other):\n    {body}\n") == ""
