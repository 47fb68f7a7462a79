"""Arrays that Python takes apart piece by piece."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.stacks import sampled
from support.trace_builder import TraceBuilder, trace

from tfadvisor.causes import ProgramSource, account_of
from tfadvisor.metrics.registry import Metrics, Settings

STEP = "PjitFunction(train_step)"
ROW = ["dynamic_slice", "squeeze", "convert_element_type"]


def steps_with(*ops: str, keys: int = 0) -> TraceBuilder:
    """Four steps of 5,000 µs on a GPU: the compiled step's kernel of 300 µs, so many
    splits of a key, of three kernels each, and a call of each op, with its kernel.
    """
    builder = trace()
    for at in range(0, 20_000, 5_000):
        builder.step(at, at + 5_000).call("$main.py:5 train", at + 1, at + 4_999)
        calls = [("train_step", 300, 3), *keys * [("_threefry_split", 3, 3)]]
        start = at + 2
        for name, us, kernels in [*calls, *((op, 3, 1) for op in ops)]:
            builder.call(f"PjitFunction({name})", start, start + 20)
            for number in range(kernels):
                of = {"hlo_op": f"op.{number}", "hlo_module": f"jit_{name}"}
                begin = start + 21 + number * us
                launched = (start + 2 + number, start + 3 + number)
                builder.kernel(
                    "GPU:0",
                    f"op_{number}",
                    begin,
                    begin + us,
                    launched=launched,
                    program_id=len(name),
                    **of,
                )
            start += 40 + kernels * us
    return builder


def share(*ops: str, keys: int = 0) -> float | None:
    return steps_with(*ops, keys=keys).measure().value("indexing_op_share")


def test_slices_with_their_squeezes_and_casts_take_parts() -> None:
    """8 rows of 3 ops, beside 6 additions: 24 of 30."""
    assert share(*8 * ROW, *6 * ["add"]) == pytest.approx(24 / 30)


@pytest.mark.parametrize(
    ("ops", "expected"),
    [
        (7 * ROW, 0.0),
        ([*7 * ROW, *20 * ["convert_element_type"]], 0.0),
        ([*8 * ["gather"], *40 * ["convert_element_type"]], 24 / 48),
        (20 * ["convert_element_type"], 0.0),
        (["gather"], 0.0),
    ],
    ids=["few", "few, and casts", "casts of their own", "casts", "a batch"],
)
def test_other_casts_and_few_parts_are_none(ops: list[str], expected: float) -> None:
    """Two shapings for each part at most; eight parts a step at least."""
    assert share(*ops) == pytest.approx(expected)


def test_parts_of_new_keys_are_none() -> None:
    """Each of 8 splits gives two keys."""
    assert share(*8 * ["unstack"], keys=8) == 0
    assert share(*16 * ["unstack"], keys=8) == 0
    assert share(*24 * ["unstack"], keys=8) == pytest.approx(8 / 24)


def rules_of(builder: TraceBuilder) -> set[str]:
    found = {finding.rule_id for finding in builder.report().findings}
    return found & {
        "arrays-taken-apart-in-python",
        "eager-execution",
        "ops-beside-compiled-step",
    }


def test_one_rule_speaks_of_these_ops() -> None:
    assert rules_of(steps_with(*36 * ROW)) == {"arrays-taken-apart-in-python"}
    assert rules_of(steps_with(*18 * ROW)) == {"arrays-taken-apart-in-python"}
    assert rules_of(steps_with(*18 * ["add"])) == {"ops-beside-compiled-step"}
    assert rules_of(steps_with(*110 * ["add"])) == {"eager-execution"}


PROGRAM = """\
import jax
import numpy as np

step = jax.jit(one_step)


def main(losses, sizes, rows, table):
    lengths = [len(row) for row in rows]
    for i, row in enumerate(rows):
        {line}
    return table[3]


main()
"""


def parts_of(line: str, folder: Path) -> Metrics:
    """Of ops which run under line 10, by samples."""
    (folder / "train.py").write_text(PROGRAM.format(line=line))
    jax = "/venv/lib/python3.11/site-packages/jax/_src/numpy/indexing.py:take:99"
    stack = f"train.py:<module>:14 train.py:main:10 {jax}"
    account = account_of(sampled(60 * [(stack, 3), ("train.py:main:9", 1)]), 40.0)
    settings = Settings(source=ProgramSource(folder), account=account)
    return steps_with(*18 * ROW).measure(settings)


@pytest.mark.parametrize(
    ("line", "part", "goes"),
    [
        (
            "parts.append(losses[i, : lengths[i]])",
            "losses[i, :lengths[i]] (train.py:10)",
            "unknown",
        ),
        ("row, table = step(table, losses[i])", "losses[i] (train.py:10)", "call"),
        ("part = losses[i]; t = step(part)", "losses[i] (train.py:10)", "call"),
        ("out[i] = float(losses[i])", "losses[i] (train.py:10)", "unknown"),
        ("[losses[k] for k in range(9)]", "losses[k] (train.py:10)", "unknown"),
    ],
)
def test_the_source_says_what_is_taken_apart(
    tmp_path: Path, line: str, part: str, goes: str
) -> None:
    metrics = parts_of(line, tmp_path)

    assert metrics.fact("indexed_part") == part
    assert metrics.fact("indexed_array") == "losses"
    assert metrics.fact("indexed_for") == goes


@pytest.mark.parametrize(
    "line",
    [
        "parts.append(lengths[i])",
        "parts.append(losses[0])",
        "losses[i] = 3",
        "total = step(losses)",
        "[table[k] for k in table.keys()]",
        "[table[k] + v for k, v in table.items()]",
        "[table[k] for k in ('x', 'y')]",
    ],
    ids=[
        "a list",
        "the same in each round",
        "written",
        "whole",
        "by the keys of a mapping",
        "by one of its items",
        "by a name",
    ],
)
def test_what_is_no_part_of_an_array_is_not_named(tmp_path: Path, line: str) -> None:
    assert parts_of(line, tmp_path).fact("indexed_part") is None
