"""Calls of whose result every k-th place alone is taken."""

from __future__ import annotations

import ast
import textwrap

import pytest

from tfadvisor.causes.costly_calls import CallsOfFile
from tfadvisor.causes.source_files import UNKNOWN, ParsedFile

HEAD = """
import flax.linen as nn
import jax
import jax.numpy as jnp
import tensorflow as tf
from keras import layers
class Net:
    def __init__(self):
        self.conv = layers.Conv2D(8, 3)
        self.dense = layers.Dense(8)
    def call(self, x, w, hop, k):
"""


def found(body: str) -> tuple[str, str, tuple[int, ...]]:
    """(name in the table, own code, lines from the method's first) of its line 1."""
    text = HEAD + textwrap.indent(textwrap.dedent(body), " " * 8)
    lines = tuple(text.split("\n"))
    first = HEAD.count("\n") + 1
    parsed = ParsedFile(ast.parse(text), lines, UNKNOWN, "train.py")
    made = CallsOfFile(parsed).made_on(first, "launch")
    if made is None or not made.known.calls[0].endswith("[::k]"):
        return "", "", ()
    places = tuple(line - first for line in made.lines)
    return made.known.calls[0], made.own.partition("  ")[0], places


@pytest.mark.parametrize(
    ("body", "kind", "own", "lines"),
    [
        (
            "s = tf.signal.stft(x, 512, hop)\nm = tf.abs(s)[:, ::k]\nreturn m",
            "stft()[::k]",
            "tf.signal.stft(x, 512, hop * k)",
            (0, 1),
        ),
        (
            "return tf.abs(tf.signal.stft(x, 512, frame_step=16))[:, ::16]",
            "stft()[::k]",
            "tf.signal.stft(x, 512, frame_step=16 * 16)",
            (0,),
        ),
        (
            "_, _, s = jax.scipy.signal.stft(x, nperseg=512, noverlap=496)\n"
            "p = jnp.abs(s) ** 2\nreturn p[..., ::8]",
            "stft()[::k]",
            "",
            (0, 2),
        ),
        ("y = self.conv(x)\nreturn y[:, ::2, ::2]", "conv()[::k]", "", (0, 1)),
        (
            "return tf.nn.relu(layers.Conv2D(8, 3)(x))[:, ::2, ::2]",
            "conv()[::k]",
            "",
            (0,),
        ),
        (
            "y = jax.lax.conv_general_dilated(x, w, (1, 1), 'VALID')\n"
            "y = y[:, :, ::2, ::2] + 1\nreturn y",
            "",
            "",
            (),
        ),
        (
            "y = jax.lax.conv_general_dilated(x, w, (1, 1), 'VALID')\n"
            "return y[:, :, ::2, ::2] + 1",
            "conv()[::k]",
            "",
            (0, 1),
        ),
        ("return jnp.abs(jnp.fft.rfft(x))[:, ::4, :]", "fft()[::k]", "", (0,)),
    ],
)
def test_what_is_taken(body: str, kind: str, own: str, lines: tuple[int, ...]) -> None:
    assert found(body) == (kind, own, lines)


@pytest.mark.parametrize(
    "body",
    [
        "s = tf.signal.stft(x, 512, hop)\nreturn s[:, ::2], tf.reduce_sum(s)",
        "return tf.signal.stft(x, 512, hop)[:, ::-1]",
        "return tf.signal.stft(x, 512, hop)[:, 8:]",
        "return tf.signal.stft(x, 512, hop)[:, ::1]",
        "return tf.reduce_mean(tf.signal.stft(x, 512, hop))",
        "return jnp.abs(jnp.fft.rfft(x))[..., ::4]",  # each needs all that it is of
        "return self.dense(x)[:, ::2]",
        "y = self.conv(x)\nreturn y",
    ],
)
def test_else_all_of_it_is_used(body: str) -> None:
    assert found(body) == ("", "", ())
