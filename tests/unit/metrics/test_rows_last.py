"""Copies of all rows of which some are then taken, by samples and source."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.stacks import sampled
from support.trace_builder import trace

from tfadvisor.causes import ProgramSource, account_of
from tfadvisor.metrics import Metrics, Settings

TABLE = """\
class Table:
    def rows(self, index):
        return Table(self.names, self.values[index])
    def total(self, index):
        return self.values.sum()
    def columns(self, names):
        return COLUMNS
def load(table, index, names):
    TAKEN
    return batch
"""
TAKES = "batch = table.columns(names).rows(index)"
COPIES = "Table(names, self.values[:, [self.at(n) for n in names]])"
SCRIPT = "tensorflow/ops/script_ops.py:__call__:269"
ASKS = "tensorflow/data/ops/iterator_ops.py:__next__:826"


def of_pipeline(folder: Path, columns: str = COPIES, taken: str = TAKES) -> Metrics:
    """Of 100 samples of a pipeline's threads 80 are in columns, which load calls; the
    steps wait for half of their time.
    """
    text = TABLE.replace("COLUMNS", columns).replace("TAKEN", taken)
    (folder / "data.py").write_text(text)
    source = ProgramSource(folder)
    beside = 10 * [
        (f"{SCRIPT} data.py:load:9 data.py:columns:7", 8),
        (f"{SCRIPT} data.py:load:10", 2),
    ]
    main = "train.py:<module>:90 train.py:main"
    turn = [(f"{main}:42", 3), (f"{main}:41 {ASKS}", 2)]
    account = account_of(sampled(40 * turn, beside=beside), 50.0)
    builder = trace().steps(4, period=10_000)
    for at in range(0, 40_000, 10_000):
        builder.call("EagerLocalExecute: IteratorGetNext", at, at + 5_000)
        builder.call("EagerLocalExecute: __inference_step_9", at + 5_000, at + 5_100)
        builder.busy("GPU:0", (at + 5_000, at + 10_000))
    return builder.measure(Settings(source=source, account=account))


def test_rows_that_a_method_takes_of_copied_columns(tmp_path: Path) -> None:
    found = of_pipeline(tmp_path)

    assert found.value("rows_last_fraction") == pytest.approx(0.4, abs=0.01)
    assert found.value("rows_last_pipeline_share") == pytest.approx(0.8)
    assert found.fact("rows_last_line") == "columns (data.py:7)"
    assert found.fact("rows_last_place") == "load (data.py:9)"
    assert found.fact("rows_last_rows") == "table.columns(names).rows(index)"
    assert found.fact("rows_last_columns") == (
        "self.values[:, [self.at(n) for n in names]]"
    )


@pytest.mark.parametrize(
    ("columns", "taken"),
    [
        ("self.values[:, [1, 2]]", "batch = table.columns(names)[index]"),
        ("self.values[:, [1, 2]]", "all = table.columns(names); batch = all[index]"),
        ("self.values[:, [1, 2]]", "batch = table.columns(names)[index : index + 8]"),
        ("self.values[:, [1, 2]][names]", "batch = table.columns(names)"),
    ],
)
def test_rows_taken_by_an_index(columns: str, taken: str, tmp_path: Path) -> None:
    found = of_pipeline(tmp_path, columns, taken)

    assert found.value("rows_last_fraction") == pytest.approx(0.4, abs=0.01)


@pytest.mark.parametrize(
    ("columns", "taken"),
    [
        (COPIES, "batch = table.columns(names)"),
        (COPIES, "batch = table.columns(names).total(index)"),
        (COPIES, "batch = table.columns(names)[:-1]"),
        (COPIES, "all = table.columns(names); batch = all.mean(), all[index]"),
        (COPIES, "all = kept = table.columns(names); batch = all[index]"),
        ("self.values[:, 1:3]", TAKES),
        ("self.values[:, names]", TAKES),
        ("self.values[names, [1, 2]]", TAKES),
    ],
    ids=[
        "all are used",
        "all are summed up",
        "a fixed part",
        "all are used too",
        "kept by another name",
        "a view",
        "perhaps one column",
        "some rows at once",
    ],
)
def test_what_may_need_all_rows_or_copies_none(
    columns: str, taken: str, tmp_path: Path
) -> None:
    assert of_pipeline(tmp_path, columns, taken).value("rows_last_fraction") is None
