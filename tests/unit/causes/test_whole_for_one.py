"""Loops that run a model on all that they extend, and use one position of it."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from tfadvisor.causes.source_files import ParsedFile
from tfadvisor.causes.whole_for_one import WholeForOne, whole_for_one


def found(source: str) -> WholeForOne | None:
    text = dedent(source)
    parsed = ParsedFile(
        ast.parse(text), tuple(text.splitlines()), "same", file="train.py"
    )
    return whole_for_one([parsed])


def test_a_result_at_the_position_that_a_round_adds() -> None:
    known = found(
        """
        import tensorflow as tf
        def generate(self, tokens, start):
            for index in tf.range(start, LENGTH):
                logits = self(tokens)[:, index - 1]
                chosen = tf.random.categorical(logits, 1)
                tokens += chosen * tf.one_hot(index, LENGTH)
            return tokens
        """
    )

    assert known == WholeForOne(
        "train.py", 5, "self(tokens)[:, index - 1]", "tokens", (4, 7)
    )


@pytest.mark.parametrize(
    "body",
    [
        "logits = model(params, tokens)\n"
        "tokens = jnp.concatenate([tokens, pick(logits[:, -1])], 1)",
        "sites = sites.at[:, i].set(draw(network.apply(w, sites)[:, i]))",
        "out = self.decoder(tokens, training=False)\n"
        "word = argmax(out[:, -1, :])\n"
        "tokens = tf.concat([tokens, word[:, None]], -1)",
        "sites[:, i] = draw(log_p(sites)[:, i])",
    ],
    ids=["the last of all", "a part that is set", "the last of Keras", "in place"],
)
def test_forms_of_it(body: str) -> None:
    assert found(loop(body)) is not None


@pytest.mark.parametrize(
    "body",
    [
        "loss = train_step(batches[i])\nlosses.append(loss)",
        "x = x + block(x)",
        "x = block(x)[-1]",
        "logits = model(tokens)\nloss += f(logits)\n"
        "tokens = tf.concat([tokens, pick(logits[:, -1])], 1)",
        "out = model(prompt)[:, i]\ntotal = total + out",
        "state, out = cell(state, tokens[:, i])\ntokens = tf.concat([tokens, out], 1)",
        "last = jnp.cumsum(tokens)[:, -1]\ntokens = tokens + last",
        "y = f(x)[:, 0]\nx = x + y",
        "y = f(x)[:, i:]\nx = x + y",
    ],
    ids=[
        "steps of training",
        "a layer",
        "one of several results",
        "all positions have a loss",
        "what no round extends",
        "one position a round",
        "an op of arrays",
        "always the same position",
        "several positions",
    ],
)
def test_what_is_no_such_loop(body: str) -> None:
    assert found(loop(body)) is None


def loop(body: str) -> str:
    lines = "\n".join(f"        {line}" for line in body.splitlines())
    return f"import jax.numpy as jnp\ndef run(x):\n    for i in range(n):\n{lines}\n"
