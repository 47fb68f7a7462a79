"""Python that goes through elements within the steps, by samples and source."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.watched_steps import ARRAY, watched_steps

from tfadvisor.causes import ProgramSource
from tfadvisor.metrics import Metrics

PROGRAM = """\
import jax
import numpy as np
step = jax.jit(lambda state, batch: state)
def pairs(places):
    found = []
    for place in places:
        found.append(np.linalg.norm(place))
    return found, [abs(x) for x in places]
def main(state, x):
    for i in range(9):
        batch = pairs(x[i])
        state = step(state, batch)
        print(float(state))
"""
MAIN = "train.py:<module>:14 train.py:main"


def measured(folder: Path, busy_us: int, line: int) -> Metrics:
    """In 4 of 10 samples the thread is on a line of pairs, in 6 it waits for a value."""
    turn = [
        (f"{MAIN}:11 train.py:pairs:{line}", 3),
        (f"{MAIN}:12", 1),
        (f"{MAIN}:13 {ARRAY}:_value:637", 6),
    ]
    return watched_steps(folder, PROGRAM, turn, busy_us)


@pytest.mark.parametrize(
    ("line", "head"), [(7, "for place in places"), (8, "for x in places")]
)
def test_a_line_in_a_loop_of_its_function(line: int, head: str, tmp_path: Path) -> None:
    """The steps are known from the first wait on, behind 4 of the 400 samples: 117 of
    396 are in the loop.
    """
    found = measured(tmp_path, 4_000, line)

    assert found.value("element_loop_fraction") == pytest.approx(117 / 396)
    assert found.fact("element_loop") == head
    assert found.fact("element_loop_line") == f"pairs (train.py:{line})"


def test_it_is_no_more_than_the_devices_wait(tmp_path: Path) -> None:
    found = measured(tmp_path, 9_000, 7)

    assert found.value("element_loop_fraction") == pytest.approx(0.1)


def test_a_line_in_no_loop_but_that_of_the_steps_is_none(tmp_path: Path) -> None:
    """Line 12 lies in the loop that calls what is compiled."""
    found = measured(tmp_path, 4_000, 5)

    assert found.value("element_loop_fraction") is None


@pytest.mark.parametrize(
    "body",
    [
        "for place in places:\n        found.append(model(place))",
        "for place in places:\n        found.append(agent.train_on_batch(place))",
        "for place in places:\n        found.append(jax.numpy.sum(place))",
        "for place in places:\n        found.append(eager(place))",
        "while places:\n        found.append(places.pop())",
    ],
)
def test_a_loop_that_may_be_of_steps_or_waits_for_something_is_none(
    body: str, tmp_path: Path
) -> None:
    """Rounds of a while are not elements."""
    eager = "def eager(place):\n    return jax.numpy.sum(place)\n"
    (tmp_path / "train.py").write_text(
        f"import jax\n{eager}def pairs(places, found):\n    {body}\n"
    )

    assert ProgramSource(tmp_path).element_loop("train.py", 6) == ""


def test_a_loop_may_call_functions_that_stay_on_the_host(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "import numpy as np\n"
        "def norm(place):\n    return np.linalg.norm(place)\n"
        "def pairs(places):\n"
        "    for place in places:\n        print(norm(place), len(place))\n"
    )

    found = ProgramSource(tmp_path).element_loop("train.py", 6)

    assert found == "for place in places"
