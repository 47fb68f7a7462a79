"""Python that goes through elements within the steps, by samples and source."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.stacks import sampled
from support.trace_builder import trace
from support.watched_steps import ARRAY, watched_steps

from tfadvisor.causes import ProgramSource, account_of
from tfadvisor.metrics import Metrics, Settings

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


@pytest.mark.parametrize(
    ("dispatches", "waits", "fraction"), [(15, 0, 0.25), (14, 1, 0.1)]
)
def test_python_of_a_thread_that_hardly_waits_counts_in_full(
    dispatches: int, waits: int, fraction: float, tmp_path: Path
) -> None:
    """A call of 7 ms, then the GPU works for 2 ms and for 1 ms Python alone runs. In 5
    of 20 samples the thread is in pairs: where none waits that is what a step takes,
    where one does no more than the 1 ms.
    """
    (tmp_path / "train.py").write_text(PROGRAM, encoding="utf-8")
    source = ProgramSource(tmp_path)
    turn = [
        (f"{MAIN}:11 train.py:pairs:7", 5),
        (f"{MAIN}:12", dispatches),
        *[(f"{MAIN}:13 {ARRAY}:_value:637", waits)] * bool(waits),
    ]
    account = account_of(sampled(20 * turn), 200.0, on_host=source.runs_on_host)
    built = trace().steps(5, 10_000)
    for at in range(0, 50_000, 10_000):
        built.call("PjitFunction(step)", at, at + 7_000)
        built.busy("GPU:0", (at + 7_000, at + 9_000))

    found = built.measure(Settings(source=source, account=account))

    assert found.value("element_loop_fraction") == pytest.approx(fraction, abs=0.01)


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


SCALARS = PROGRAM.replace(
    "found.append(np.linalg.norm(place))", "found.append(far(place, 0))"
).replace(
    "def main",
    "def far(a, b):\n    return max(a, b) - min(a, b)\ndef main",
)


def of_function(folder: Path, program: str) -> Metrics:
    """In 4 of 10 samples the thread is in a function that line 7 of pairs calls."""
    main = "train.py:<module>:16 train.py:main"
    turn = [
        (f"{main}:13 train.py:pairs:7 train.py:far:10", 3),
        (f"{main}:14", 1),
        (f"{main}:15 {ARRAY}:_value:637", 6),
    ]
    return watched_steps(folder, program, turn, 4_000)


def test_a_function_of_numbers_that_a_loop_calls(tmp_path: Path) -> None:
    """117 of 396 samples, as of a line in the loop."""
    found = of_function(tmp_path, SCALARS)

    assert found.value("element_loop_fraction") == pytest.approx(117 / 396)
    assert found.fact("element_loop") == "for place in places"
    assert found.fact("element_loop_line") == "far (train.py:10)"


@pytest.mark.parametrize(
    "body",
    [
        "return np.maximum(a, b) - max(a, b)",
        "return (a - b)[1:] + max(a, b)",
        "return a - b",
    ],
)
def test_a_function_that_may_be_of_arrays_is_none(body: str, tmp_path: Path) -> None:
    found = of_function(tmp_path, SCALARS.replace("return max(a, b) - min(a, b)", body))

    assert found.value("element_loop_fraction") is None


TREE = """\
import jax
class Tree:
    def __setitem__(self, i, value):
        i += self.size
        while i > 1:
            i //= 2
            self.values[i] = self.add(self.values[2 * i], self.values[2 * i + 1])
    def get(self, i):
        if i >= self.size: return i
        return self.get(2 * i)
    def all(self, i, value):
        BODY
class Memory:
    def update(self, rows):
        for i in rows:
            self.one(i)
    def one(self, i):
        self.tree[i] = float(i)
step = jax.jit(lambda state, batch: state)
def main(state, memory):
    for i in range(9):
        state = step(state, i)
        memory.update(state)
        print(float(state))
"""


def of_tree(folder: Path, body: str, stack: str) -> Metrics:
    """In 3 of 10 samples the thread is in what line 16 of update calls."""
    main = "train.py:<module>:30 train.py:main"
    turn = [
        (f"{main}:23 train.py:update:16 {stack}", 3),
        (f"{main}:22", 1),
        (f"{main}:24 {ARRAY}:_value:637", 6),
    ]
    return watched_steps(folder, TREE.replace("BODY", body), turn, 4_000)


@pytest.mark.parametrize(
    ("body", "stack", "callee"),
    [
        ("pass", "train.py:__setitem__:7", "__setitem__"),
        ("pass", "train.py:one:18 train.py:__setitem__:7", "__setitem__"),
        ("pass", "train.py:get:10 train.py:get:9", "get"),
        ("if value != 0: self.get(i)", "train.py:all:12", None),
        ("return self.get(i)", "train.py:all:12", None),
    ],
)
def test_what_a_loop_calls_for_each_element(
    body: str, stack: str, callee: str | None, tmp_path: Path
) -> None:
    """As a method, through an operator, or through another one of single numbers: 117
    of 396 samples, as of a line in the loop. Those that go on are named.
    """
    found = of_tree(tmp_path, body, stack)

    assert found.value("element_loop_fraction") == pytest.approx(117 / 396)
    assert found.fact("element_loop") == "for i in rows"
    assert found.fact("element_loop_callee") == callee
    assert found.fact("element_loop_caller") == "update (train.py:16)"


@pytest.mark.parametrize(
    "body",
    [
        "self.values[i] = value",
        "if i > 0: self.values[i] = self.change(self.values[i])",
        "if value != self.last: self.last = value",
        "if value > 0: self.change(i)",
        "if i > 0: jax.numpy.sum(value)",
    ],
)
def test_what_a_loop_calls_that_may_be_of_arrays_is_none(
    body: str, tmp_path: Path
) -> None:
    found = of_tree(tmp_path, body, "train.py:all:12")

    assert found.value("element_loop_fraction") is None


def test_rounds_within_a_loop_over_elements(tmp_path: Path) -> None:
    """A while that compares numbers belongs to the loop around it."""
    (tmp_path / "train.py").write_text(
        "def pairs(rows):\n    for i in rows:\n        while i > 1:\n            i //= 2\n"
    )

    assert ProgramSource(tmp_path).element_loop("train.py", 4) == "for i in rows"


def test_the_loop_of_the_steps_calls_one_number_a_step(tmp_path: Path) -> None:
    """What it calls is no element of many."""
    main = "train.py:<module>:30 train.py:main"
    turn = [
        (f"{main}:23 train.py:get:9", 3),
        (f"{main}:22", 1),
        (f"{main}:24 {ARRAY}:_value:637", 6),
    ]
    found = watched_steps(tmp_path, TREE.replace("BODY", "pass"), turn, 4_000)

    assert found.value("element_loop_fraction") is None


SCRIPT = "tensorflow/ops/script_ops.py:__call__:269"
ASKS = "tensorflow/data/ops/iterator_ops.py:__next__:826"
OVERLAP = """\
import math
import numpy as np
def overlap(a, b):
    out = np.zeros((len(a), len(b)))
    for k in range(len(b)):
        for n in range(len(a)):
            BODY
    return out
"""


def of_pipeline(folder: Path, body: str, line: int = 7) -> Metrics:
    """Of 100 samples of a pipeline's threads 80 are on a line, 20 elsewhere."""
    (folder / "data.py").write_text(OVERLAP.replace("BODY", body))
    source = ProgramSource(folder)
    beside = [
        (f"{SCRIPT} data.py:load:25 data.py:overlap:{line}", 80),
        (f"{SCRIPT} data.py:load:26", 20),
    ]
    main = "train.py:<module>:90 train.py:main"
    turn = [(f"{main}:42", 3), (f"{main}:41 {ASKS}", 2)]
    account = account_of(sampled(40 * turn, beside=beside), 50.0)
    settings = Settings(source=source, account=account)
    builder = trace().steps(4, period=10_000)
    for at in range(0, 40_000, 10_000):
        builder.call("EagerLocalExecute: IteratorGetNext", at, at + 5_000)
        builder.call("EagerLocalExecute: __inference_step_9", at + 5_000, at + 5_100)
        builder.busy("GPU:0", (at + 5_000, at + 10_000))
    return builder.measure(settings)


@pytest.mark.parametrize(
    "body",
    [
        "out[n, k] = min(a[n, 2], b[k, 2]) - max(a[n, 0], b[k, 0])",
        "out[n][k] = a[n] - b[k]",
        "out[n, k] = math.exp(a[n] - b[k])",
        "total = total + a[n] if a[n] > 0 else total",
        "total += int(a[n])",
    ],
)
def test_a_pipelines_loop_over_single_numbers(body: str, tmp_path: Path) -> None:
    """80 of 100 samples of its Python; the steps wait for half of their time."""
    found = of_pipeline(tmp_path, body)

    assert found.value("pipeline_loop_share") == pytest.approx(0.8)
    assert found.value("element_loop_fraction") == pytest.approx(0.4, abs=0.01)
    assert found.fact("element_loop") == "for n in range(len(a))"
    assert found.fact("element_loop_line") == "overlap (data.py:7)"


@pytest.mark.parametrize(
    "body",
    [
        "out.append(np.average(a[n] * b[k]))",
        "out[n, k] = float(np.sum(a[n]) / np.linalg.norm(b[k]))",
        "total += (a[n] == b[k]).mean()",
    ],
)
def test_loops_that_reduce_arrays_to_a_number_each(body: str, tmp_path: Path) -> None:
    """Rounds of two loops, of which one operation with an axis gives all numbers."""
    found = of_pipeline(tmp_path, body)

    assert found.value("pipeline_loop_share") == pytest.approx(0.8)
    heads = "for k in range(len(b)): for n in range(len(a))"
    assert found.fact("element_loop") == heads


@pytest.mark.parametrize(
    ("body", "index"),
    [
        ("out[n] = a[range(n, n + 32)]", "range(n, n + 32)"),
        ("out[n] = a[list(range(n, n + 32))]", "range(n, n + 32)"),
        ("rows = range(n, n + 32); out[n] = augment(a[rows])", "range(n, n + 32)"),
    ],
)
def test_rows_that_a_range_of_python_takes(
    body: str, index: str, tmp_path: Path
) -> None:
    """NumPy makes an array of indexes of it, number by number."""
    found = of_pipeline(tmp_path, body)

    assert found.value("pipeline_loop_share") == pytest.approx(0.8)
    assert f"by a range of Python, `{index}`" in (found.fact("element_change") or "")
    assert "a[n:n + 32] " in (found.fact("element_change_after") or "")


@pytest.mark.parametrize(
    "body",
    [
        "out[n] = a[n:n + 32]",
        "rows = np.arange(n, n + 32); out[n] = a[rows]",
        "for row in range(n, n + 32): out[n] = augment(a[row])",
        "rows = range(n); rows = near(n); out[n] = augment(a[rows])",
        "a[range(n)] = augment(b)",
    ],
)
def test_other_indexes_are_no_range(body: str, tmp_path: Path) -> None:
    found = of_pipeline(tmp_path, body)

    assert found.fact("element_change") is None
    assert found.value("pipeline_loop_share") == 0


@pytest.mark.parametrize(
    "body",
    [
        "out.append(np.mean(a[n], axis=0))",
        "out.append(a[n] - np.mean(a[n]))",
        "out.append(np.mean(np.load(paths[n])))",
        "out.append(np.mean(augment(a[n])))",
        "out.append(norm(a[n]))",
        "x = np.mean(a[n])",
        "out[n, k] = np.dot(a[n], b[k])",
        "out[n, k] = a[n] @ b[k]",
        "a[n] = (a[n] - 1) / 2",
        "a[n] = a[n, :32] if a[0, 0] > 1 else a[n]",
        "out[n, k] = augment(a[n])",
        "yield min(a[n], 3)",
    ],
)
def test_a_pipelines_loop_that_may_be_over_arrays_is_none(
    body: str, tmp_path: Path
) -> None:
    """Pictures of a batch, and batches that a generator gives."""
    found = of_pipeline(tmp_path, body)

    assert found.value("pipeline_loop_share") == 0
    assert found.value("element_loop_fraction") is None


def test_a_list_of_arrays_that_are_put_together_is_none(tmp_path: Path) -> None:
    """The line's time may be that of the call around it."""
    body = "out = np.stack([a[n][k] for n in rows for k in rows])"

    assert of_pipeline(tmp_path, body).value("pipeline_loop_share") == 0


def test_a_pipelines_line_in_no_loop(tmp_path: Path) -> None:
    assert of_pipeline(tmp_path, "pass", line=4).value("pipeline_loop_share") == 0


SEARCHES = """\
import jax
import numpy as np
step = jax.jit(lambda state, batch: state)
words = sorted(set(open("words.txt").read().split()))
def encode(text):
    return [words.index(word) for word in text.split()]
def main(state, texts):
    for i in range(9):
        batch = encode(texts[i])
        state = step(state, batch)
        print(float(state))
"""
DISTANCES = """\
import jax
import numpy as np
step = jax.jit(lambda state, batch: state)
def far(a, b):
    return np.sqrt(np.sum((a - b) ** 2))
def pick(places, target):
    return min(far(target, place) for place in places)
def main(state, places):
    for i in range(9):
        batch = pick(places, state)
        state = step(state, batch)
        print(float(state))
"""


def test_a_list_that_is_searched_has_a_dict_for_its_change(tmp_path: Path) -> None:
    at = "train.py:<module>:12 train.py:main"
    turn = [
        (f"{at}:9 train.py:encode:6", 3),
        (f"{at}:10", 1),
        (f"{at}:11 {ARRAY}:_value:637", 6),
    ]
    found = watched_steps(tmp_path, SEARCHES, turn, 4_000)

    assert found.fact("list_searched") == "words.index(word)"
    assert "Make a dict" in (found.fact("element_change") or "")
    after = found.fact("element_change_after") or ""
    assert "places_in_words = {word: i for i, word in enumerate(words)}" in after
    assert "return [places_in_words[word] for word in text.split()]" in after


def test_a_function_of_one_row_is_called_once_for_all(tmp_path: Path) -> None:
    """The lines of a function of whole arrays count where a loop gives it rows."""
    at = "train.py:<module>:13 train.py:main"
    turn = [
        (f"{at}:10 train.py:pick:7 train.py:far:5", 3),
        (f"{at}:11", 1),
        (f"{at}:12 {ARRAY}:_value:637", 6),
    ]
    found = watched_steps(tmp_path, DISTANCES, turn, 4_000)

    assert found.value("element_loop_fraction") == pytest.approx(117 / 396)
    assert found.fact("element_loop_line") == "far (train.py:5)"
    change = found.fact("element_change") or ""
    assert "for place in places (train.py:7) calls `far(target, place)`" in change
    after = found.fact("element_change_after") or ""
    assert "of_all = far(target, np.asarray(places))" in after
