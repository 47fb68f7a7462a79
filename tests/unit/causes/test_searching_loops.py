"""Functions that a compiled program calls back, and that take numbers one by one."""

from __future__ import annotations

import ast

import pytest

from tfadvisor.causes.searching_loops import (
    ADDS_UP,
    ELEMENTS,
    LOOKS_UP,
    SearchingLoop,
    called_back,
)
from tfadvisor.causes.source_files import UNKNOWN, ParsedFile

HEAD = """
import bisect
import jax
import numpy as np
import tensorflow as tf
from functools import partial
"""


def found(body: str, call: str = "", framework: str = "jax") -> SearchingLoop | None:
    """Of a function pick(sums, u, n), which a step calls back on the last line."""
    call = call or "jax.pure_callback(pick, shape, sums, u)"
    lines = [f"    {line}" for line in body.split("\n")]
    text = "\n".join([f"{HEAD}def pick(sums, u, n, out):", *lines, f"y = {call}"])
    parsed = ParsedFile(ast.parse(text), tuple(text.split("\n")), UNKNOWN, "train.py")
    return called_back(parsed, len(parsed.lines), framework)


WHILE = """\
j = 0
for i in range(n):
    while {test}:
        j += 1
    out[i] = j"""
BREAK = """\
for i in range(n):
    for j in range(n):
        if {test}:
            out[i] = j
            break"""


@pytest.mark.parametrize(
    ("body", "whole"),
    [
        (
            WHILE.format(test="sums[j] < u[i]"),
            "wanted = u\nout = jnp.searchsorted(sums, wanted)",
        ),
        (
            WHILE.format(test="j < n - 1 and sums[j] <= (i + u) / n"),
            "wanted = (jnp.arange(n) + u) / n\n"
            'out = jnp.minimum(jnp.searchsorted(sums, wanted, side="right"), n - 1)',
        ),
        (
            WHILE.format(test="u[i] > sums[j]"),
            "wanted = u\nout = jnp.searchsorted(sums, wanted)",
        ),
        (
            BREAK.format(test="sums[j] >= u[i]"),
            "wanted = u\nout = jnp.searchsorted(sums, wanted)",
        ),
        (
            BREAK.format(test="u[i] < sums[j]"),
            'wanted = u\nout = jnp.searchsorted(sums, wanted, side="right")',
        ),
    ],
)
def test_rounds_that_look_a_number_up_are_one_search(body: str, whole: str) -> None:
    loop = found(body)

    assert loop is not None
    assert loop.kind == LOOKS_UP
    assert loop.whole == whole


@pytest.mark.parametrize(
    "body",
    [
        "for i, x in enumerate(u):\n    out[i] = bisect.bisect_left(sums, x)",
        "for i in range(n):\n    out[i] = np.searchsorted(sums, u[i])",
        "j = 0\nfor i, x in enumerate(u):\n    while sums[j] < x:\n        j += 1\n"
        "    out[i] = j",
    ],
)
def test_a_search_for_one_number_each_is_one_of_all(body: str) -> None:
    loop = found(body)

    assert loop is not None
    assert loop.whole == "wanted = u\nout = jnp.searchsorted(sums, wanted)"


def test_a_number_of_the_round_may_have_a_name() -> None:
    body = (
        "j = 0\nfor i in range(n):\n    x = u[i] * 2\n"
        "    while sums[j] < x:\n        j += 1\n    out[i] = j"
    )
    loop = found(body)

    assert loop is not None
    assert loop.whole.startswith("wanted = u * 2\n")
    assert loop.head == "for i in range(n)"


def test_rounds_that_add_up_are_a_cumulative_sum() -> None:
    body = "total = 0\nfor i in range(n):\n    total += u[i]\n    out[i] = total"
    loop = found(body)
    of_tensorflow = found(
        body, "tf.numpy_function(pick, [sums, u], tf.float32)", "tensorflow"
    )

    assert loop is not None
    assert (loop.kind, loop.whole) == (ADDS_UP, "out = jnp.cumsum(u)")
    assert of_tensorflow is not None
    assert of_tensorflow.whole == "out = tf.cumsum(u)"


@pytest.mark.parametrize(
    "body",
    [
        # the number comes of the round before
        WHILE.format(test="sums[j] < out[i - 1]").replace(
            "out[i] = j", "out[i] = j\n    u = out[i]"
        ),
        "for i in range(n):\n    out[i] = max(u[i], 0)",
        "for i in range(n):\n    while j < n:\n        j += sums[j]\n    out[i] = j",
    ],
)
def test_of_other_loops_no_operation_is_known(body: str) -> None:
    loop = found(body)

    assert loop is not None
    assert loop.kind == ELEMENTS or not loop.whole
    assert loop.whole in ("",) or "out[i - 1]" not in loop.whole


def test_without_a_loop_over_elements_there_is_nothing() -> None:
    assert found("return np.searchsorted(sums, u)") is None
    assert found("for _ in range(3):\n    u = u / 2\nreturn u") is None
    assert found(WHILE.format(test="sums[j] < u[i]"), "pick(sums, u)") is None


def test_it_may_be_handed_over_in_part() -> None:
    call = "jax.pure_callback(partial(pick, n=9), shape, sums, u)"

    assert found(WHILE.format(test="sums[j] < u[i]"), call) is not None
