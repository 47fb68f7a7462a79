"""Arms that take turns within one process, on programs whose clock is invented."""

from __future__ import annotations

import sys

import pytest
from support.tried_programs import Place

pytestmark = [pytest.mark.subprocess, pytest.mark.slow]

PYTHON = sys.executable
COUNTED = """
    from functools import partial
    from invented import work
    import jax

    def load(number):
        work(8)
        return number


    def train_step(state, batch):
        work(8)
        return state + 1, jax.ArrayImpl(4)


    def log_metrics(value):
        work(4)


    state = 0
    step = partial(train_step)
    for number in range(200_000):
        batch = load(number)
        state, loss = step(state, batch)
        log_metrics(loss)
"""
ENDS_ON_THE_SAME_BATCH = """
    from invented import work
    import jax


    def batches():
        for number in range(200_000):
            work(10)
            yield number


    def train_step(state, batch):
        work(8)
        if batch == state:
            raise ValueError("a donated batch")
        return batch, jax.ArrayImpl(4)


    def log_metrics(value):
        work(2)


    state = -1
    for batch in batches():
        state, loss = train_step(state, batch)
        log_metrics(loss)
"""
QUEUED = """
    import time
    import invented
    import jax

    device = [0.0]


    def sleep(seconds):
        invented.now[0] += seconds


    def prepare(number):
        invented.work(3)
        return number


    def train_step(state, batch):
        invented.work(2)
        device[0] = max(device[0], invented.now[0]) + 0.030
        return state + 1, jax.ArrayImpl(4)


    def result(loss):
        invented.now[0] = max(device[0], invented.now[0])


    time.sleep = sleep
    state = loss = 0
    for number in range(200_000):
        batch = prepare(number)
        result(loss)
        state, loss = train_step(state, batch)
"""


def ablated(place: Place, *more: object) -> tuple[dict, dict[str, dict]]:
    """The result, and its arms by name."""
    result = place.tried("--ablate", *more, "--", PYTHON, "train.py")
    return result, {arm["name"]: arm for arm in result["arms"]}


def cost(arm: dict) -> float:
    return 1 - arm["ratio"]["estimate"]


def test_arms_take_turns_in_one_process(place: Place) -> None:
    """Of 20 ms a step 8 are input, and 4 log."""
    place.write("train.py", COUNTED)

    result, arms = ablated(place)

    assert cost(arms["input"]) == pytest.approx(0.4)
    assert cost(arms["callbacks"]) == pytest.approx(0.2)
    assert cost(arms["work behind the step"]) == pytest.approx(0.2)
    assert result["steps"]["in_turns"]
    assert result["base_step_ms"] == pytest.approx([20.0] * len(result["base_step_ms"]))
    assert all(arms[name]["in_turns"] for name in ("input", "callbacks"))


def test_an_arm_that_ends_the_program_is_left_out_and_the_others_go_on(
    place: Place,
) -> None:
    """The program refuses to train on one batch twice in a row."""
    place.write("train.py", ENDS_ON_THE_SAME_BATCH)

    _, arms = ablated(place)

    assert arms["input"]["outcome"] == "broken"
    assert "exit code 1" in arms["input"]["why"]
    assert cost(arms["callbacks"]) == pytest.approx(0.1)


def test_a_delay_shows_what_is_on_the_critical_path(place: Place) -> None:
    """The device takes 30 ms and the next batch is prepared meanwhile: what the host
    does then is hidden; a later launch makes each round as much longer.
    """
    place.write("train.py", QUEUED)

    result, _ = ablated(place)

    lines = QUEUED.splitlines()
    factors = {}
    for delayed in result["delays"]:
        line = int(delayed["place"].split(":")[1])
        factors[lines[line].strip()] = delayed["factor"]
    assert factors["batch = prepare(number)"] == pytest.approx(0.0, abs=1e-6)
    assert factors["state, loss = train_step(state, batch)"] == pytest.approx(1.0)
