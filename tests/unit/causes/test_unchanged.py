"""What loops of programs on paper give a compiled function unchanged."""

from __future__ import annotations

from pathlib import Path

import pytest

from tfadvisor.causes import ProgramSource

COMPILED = """
@jax.jit
def predict(fixed, labels, batch, noise=0.1):
    return fixed @ batch + labels + noise

"""
NAMES = frozenset({"fixed", "labels", "batch", "noise"})


def unchanged(tmp_path: Path, program: str) -> tuple[set[str], int] | None:
    """(arguments, line of the loop within the program's own text)."""
    (tmp_path / "train.py").write_text(COMPILED + program)
    found = ProgramSource(tmp_path).unchanged_arguments("predict", NAMES)
    if found is None:
        return None
    assert found.file == "train.py"
    return set(found.names), found.line - COMPILED.count("\n")


PLAIN = """fixed, labels = load()
for batch in batches:
    out = predict(fixed, labels, batch)
"""
CHANGING = """other = fixed
part = fixed[:8]
first, *second = fixed, 1

def fill(rows):
    rows[0] = 1
    return 2
"""
THROUGH_FUNCTIONS = """def scores(fixed, labels, batch):
    mean = predict(fixed, labels, batch=batch)
    return mean + 2

def run(steps):
    fixed, labels = load()
    for step in range(steps):
        batch = draw(step)
        print(scores(fixed, labels, batch))
"""
OF_AN_OBJECT = """class Model:
    def __init__(self, fixed, labels):
        self.fixed, self.labels = fixed, labels

    def run(self, batches):
        while batches:
            self.batch = batches.pop()
            out = predict(self.fixed, self.labels, self.batch, noise=self.noise())
"""
FROM_A_MODULE = """FIXED, LABELS = load()

def one(batch):
    return predict(FIXED, LABELS, batch)

for batch in batches:
    one(batch)
"""


@pytest.mark.parametrize(
    ("program", "names", "line"),
    [
        (PLAIN, {"fixed", "labels", "noise"}, 2),
        (THROUGH_FUNCTIONS, {"fixed", "labels", "noise"}, 7),
        (OF_AN_OBJECT, {"fixed", "labels"}, 6),
        (PLAIN.replace("batch)", "batch, noise=1.0)"), NAMES - {"batch"}, 2),
        (PLAIN.replace("(fixed,", "((fixed, 1),"), NAMES - {"batch"}, 2),
    ],
)
def test_what_no_line_of_the_loop_changes_is_unchanged(
    program: str, names: set[str], line: int, tmp_path: Path
) -> None:
    assert unchanged(tmp_path, program) == (names, line)


def test_a_module_s_own_name_is_unchanged_if_it_is_written_once(tmp_path: Path) -> None:
    again = FROM_A_MODULE + "FIXED = other()\n"

    assert unchanged(tmp_path, FROM_A_MODULE) == ({"fixed", "labels", "noise"}, 6)
    assert unchanged(tmp_path, again) == ({"labels", "noise"}, 6)


@pytest.mark.parametrize(
    "line",
    [
        "fixed = next_of(fixed)",
        "fixed += 1",
        "fixed[0] = batch",
        "del fixed",
        "rng.shuffle(fixed)",
        "fixed.sort()",
        "np.add(fixed, 1, out=fixed)",
        "other = [fixed for fixed in batches]",
        "for fixed in batches: pass",
        "with open_one() as fixed: pass",
        "if (fixed := batch): pass",
        "match batch:\n        case [fixed, *_]: pass",
        "match batch:\n        case {1: 2, **fixed}: pass",
        "first = fixed.pop()",
        "other += 1",
        "part *= 2",
        "first[0] = batch",
        "for row in fixed:\n        row += 1",
        "count = fill(fixed)",
    ],
)
def test_what_a_line_of_the_loop_may_change_is_not(line: str, tmp_path: Path) -> None:
    found = unchanged(tmp_path, f"{CHANGING}{PLAIN}    {line}\n")

    assert found is not None
    assert "fixed" not in found[0]
    assert "labels" in found[0]


def test_functions_that_nobody_calls_in_vain_are_no_reason(tmp_path: Path) -> None:
    """Methods that compute, and functions that read what they are given."""
    size = "def size(rows):\n    return 2\n"
    reading = "    means.append(fixed.mean() + size(fixed))\n"
    found = unchanged(tmp_path, f"{CHANGING}{size}{PLAIN}{reading}")

    assert found is not None
    assert "fixed" in found[0]


@pytest.mark.parametrize(
    "line",
    [
        "model.fixed = other()",
        "model.fixed.update(batch)",
        "model.fixed[0] = 1",
        "rng.shuffle(model.fixed)",
        "model.part.fixed[0] = 1",
        "first = model.fixed.pop()",
        "setattr(model, 'fixed', other())",
        "rows = model.fixed\nrows += 1",
        "rows = model.fixed\nrows[0] = 1",
        "class Other:\n    @property\n    def fixed(self):\n        return draw()",
    ],
)
def test_an_attribute_that_is_set_anywhere_is_not(line: str, tmp_path: Path) -> None:
    found = unchanged(tmp_path, f"{OF_AN_OBJECT}\n{line}\n")

    assert found == ({"labels"}, 6)


@pytest.mark.parametrize(
    "program",
    [
        "fixed, labels, batch = load()\nout = predict(fixed, labels, batch)\n",
        f"{PLAIN}out = predict(fixed, labels, batch)\n",
        f"{PLAIN}\ndef predict(other):\n    return other\n",
        "def scores(fixed, labels, batch):\n    return predict(fixed, labels, batch)\n",
        "out = [1 for batch in batches]\n",
    ],
)
def test_nothing_is_known_without_a_loop_around_each_call(
    program: str, tmp_path: Path
) -> None:
    assert unchanged(tmp_path, program) is None


@pytest.mark.parametrize(
    "program",
    [
        "for batch in batches:\n    out = predict(*given, batch)\n",
        "for batch in batches:\n    out = predict(**given)\n",
        "for batch in batches:\n    out = predict(load(), labels(), batch)\n",
        "for batch in batches:\n    out = [predict(x, y, z) for x, y, z in batch]\n",
        "def f():\n    global fixed\n\nfor b in batches:\n    predict(fixed, b, b)\n",
        "for b in batches:\n    f = lambda *, fixed: predict(fixed, next(b), next(b))\n",
        "for b in batches:\n    out = model.predict(other, b, b)\n",
    ],
)
def test_what_cannot_be_seen_is_not_unchanged(program: str, tmp_path: Path) -> None:
    found = unchanged(tmp_path, program)

    assert found is not None
    assert not found[0] & {"fixed", "labels", "batch"}


def test_what_a_function_changes_of_its_module_is_not_unchanged(tmp_path: Path) -> None:
    changing = FROM_A_MODULE.replace("    return", "    FIXED[0] = batch\n    return")

    assert unchanged(tmp_path, changing) == ({"labels", "noise"}, 7)


@pytest.mark.parametrize(
    "program",
    [
        "step = functools.partial(predict, 0)\nfor b in batches:\n    o = step(x, b)\n",
        PLAIN * 51,
    ],
)
def test_calls_that_are_not_all_seen_tell_nothing(program: str, tmp_path: Path) -> None:
    assert unchanged(tmp_path, program) is None


@pytest.mark.parametrize(
    "made", ["predict = jax.jit(model.predict)", "predict = jax.jit(Model.predict)"]
)
def test_a_method_by_another_name_hides_which_argument_is_which(
    made: str, tmp_path: Path
) -> None:
    (tmp_path / "train.py").write_text(
        "class Model:\n    def predict(self, fixed, batch):\n        return fixed\n"
        f"{made}\nfor batch in batches:\n    batch = predict(batch, table)\n"
    )

    found = ProgramSource(tmp_path).unchanged_arguments("predict", NAMES)

    assert found is not None
    assert not found.names


def test_a_method_of_a_class_is_given_no_class(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "class Model:\n    @classmethod\n    def predict(cls, fixed, batch):\n"
        "        return fixed\n"
        "for batch in batches:\n    batch = Model.predict(batch, table)\n"
    )

    found = ProgramSource(tmp_path).unchanged_arguments("predict", NAMES)

    assert found is not None
    assert found.names == {"batch"}


def test_a_deep_expression_is_no_error(tmp_path: Path) -> None:
    deep = "fixed" + "[0]" * 1500
    program = f"for batch in batches:\n    out = predict({deep}, 1, batch)\n"

    assert unchanged(tmp_path, program) is None
