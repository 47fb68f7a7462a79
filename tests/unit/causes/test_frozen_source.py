"""Layers that a program freezes."""

from __future__ import annotations

import ast
import textwrap

import pytest

from tfadvisor.causes.frozen import frozen_layers
from tfadvisor.causes.source_files import UNKNOWN, ParsedFile


def frozen(code: str) -> tuple[str, int, bool] | None:
    """(what, its line, whether over several epochs)."""
    text = textwrap.dedent(code).strip()
    parsed = ParsedFile(ast.parse(text), tuple(text.split("\n")), UNKNOWN, "train.py")
    found = frozen_layers([parsed])
    return None if found is None else (found.name, found.line, found.runs_epochs)


@pytest.mark.parametrize(
    ("fit", "again"),
    [
        ("model.fit(x, y, epochs=5)", True),
        ("model.fit(x, y)", False),
        ("N, PER = 320, 16\nmodel.fit(x, y, epochs=max(1, N // PER))", True),
        ("N, PER = 16, 16\nmodel.fit(x, y, epochs=max(1, N // PER))", False),
        ("for epoch in range(3): losses = [step(*b) for b in data]", True),
    ],
)
def test_a_layer_and_its_epochs(fit: str, again: bool) -> None:
    assert frozen(f"base.trainable = False\n{fit}") == ("base", 1, again)


def test_all_layers_of_a_model() -> None:
    found = frozen(
        """
        for layer in self.base.layers[:-2]:
            layer.trainable = False
        """
    )

    assert found == ("self.base", 2, False)


@pytest.mark.parametrize(
    "code",
    [
        "base.trainable = True",
        "base.trainable = is_fixed",
        "base.trainable = False\nbase.set_weights(model.get_weights())",
        "base.trainable = False\nflip = keras.layers.RandomFlip('horizontal')",
        "base.trainable = False\ndata.map(lambda x: tf.image.random_hue(x, 0.1))",
        "base.trainable = False\ndata.map(augmented)\nx = augmented(x)",
    ],
)
def test_layers_that_are_trained_or_see_other_examples(code: str) -> None:
    assert frozen(code) is None


def test_weights_that_begin_at_random_are_no_other_examples() -> None:
    code = "base.trainable = False\nbegin = keras.initializers.RandomNormal()"

    assert frozen(code) == ("base", 1, False)
