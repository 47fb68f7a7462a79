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
    ],
)
def test_what_a_line_of_the_loop_may_change_is_not(line: str, tmp_path: Path) -> None:
    found = unchanged(tmp_path, f"{PLAIN}    {line}\n")

    assert found is not None
    assert "fixed" not in found[0]
    assert "labels" in found[0]


@pytest.mark.parametrize(
    "line",
    [
        "model.fixed = other()",
        "model.fixed.update(batch)",
        "model.fixed[0] = 1",
        "rng.shuffle(model.fixed)",
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
    ],
)
def test_what_cannot_be_seen_is_not_unchanged(program: str, tmp_path: Path) -> None:
    found = unchanged(tmp_path, program)

    assert found is not None
    assert not found[0] & {"fixed", "labels", "batch"}
