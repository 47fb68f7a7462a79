"""Dense layers behind a flattened picture."""

from __future__ import annotations

import ast
import textwrap

import pytest

from tfadvisor.causes.flattened import layer_behind_flatten
from tfadvisor.causes.source_files import UNKNOWN, ParsedFile

HEAD = "import flax.linen as nn\nfrom keras import layers\nimport jax.numpy as jnp\n"


def layer(code: str) -> str:
    text = HEAD + textwrap.dedent(code)
    parsed = ParsedFile(ast.parse(text), tuple(text.split("\n")), UNKNOWN, "train.py")
    found = layer_behind_flatten([parsed])
    return "" if found is None else f"{found.call} {found.line} {found.function}"


@pytest.mark.parametrize(
    ("code", "found"),
    [
        (
            "model = Sequential([\n    layers.Conv2D(8, 3),\n    layers.Flatten(),\n"
            "    layers.Dropout(0.1),\n    layers.Dense(256),\n    layers.Dense(3)])",
            "layers.Dense(256) 8 ",
        ),
        (
            "def build(x):\n    x = layers.Conv2D(8, 3)(x)\n"
            "    return layers.Dense(9)(layers.Flatten()(x))",
            "layers.Dense(9) 6 build",
        ),
        (
            "class Net(nn.Module):\n    def __call__(self, x):\n"
            "        x = nn.relu(nn.Conv(8, (3, 3))(x))\n"
            "        x = x.reshape((x.shape[0], -1))\n"
            "        return nn.Dense(64)(x)",
            "nn.Dense(64) 8 __call__",
        ),
        (
            "m.add(layers.Conv2D(8, 3))\nm.add(layers.Flatten())\nm.add(layers.Dense(5))",
            "layers.Dense(5) 6 ",
        ),
    ],
)
def test_in_each_form(code: str, found: str) -> None:
    assert layer(code) == found


@pytest.mark.parametrize(
    "code",
    [
        "Sequential([layers.Flatten(), layers.Dense(256)])",
        "Sequential([layers.Conv2D(8, 3), layers.GlobalAveragePooling2D(), "
        "layers.Flatten(), layers.Dense(256)])",
        "Sequential([layers.Conv2D(8, 3), layers.Flatten()])",
        "def f(x):\n    x = nn.Conv(8, (3, 3))(x).mean((1, 2))\n"
        "    return nn.Dense(9)(x.reshape((x.shape[0], -1)))",
    ],
)
def test_without_places(code: str) -> None:
    assert layer(code) == ""
