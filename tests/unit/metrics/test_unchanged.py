"""What a step computes again of arguments that stay the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tfadvisor.causes import ProgramSource
from tfadvisor.metrics import unchanged as module
from tfadvisor.metrics.registry import MetricAbsent, Settings
from tfadvisor.program import Frame, SourceLocation
from tfadvisor.program.cost import Cost
from tfadvisor.timeline.program_ops import InProgram
from tfadvisor.timeline.summary.hot_ops import HotOp, HotOps

PROGRAM = """
def predict(points, labels, batch):
    return solve(points, labels) @ batch

for batch in batches:
    out = predict(points, labels, batch)
"""


def op(us: int, *made_of: str, effect: str = "dot", count: int = 10) -> HotOp:
    known = InProgram("fusion", effect, Cost(), None, made_of=frozenset(made_of))
    name = "_".join((effect, *made_of))
    return HotOp(name, "", "jit_predict", us * 10**6, count, known)


class Asked:
    """A question about a run."""

    run = None

    def __init__(self, source: ProgramSource | None) -> None:
        self.settings = Settings(source=source)


def asked(
    monkeypatch: pytest.MonkeyPatch, source: ProgramSource | None, *ops: HotOp
) -> Any:
    """A question about a run of these ops, which are all that computes."""
    every = HotOps(ops, sum(ran.total_ps for ran in ops), None, "")
    monkeypatch.setattr(module, "known_ops", lambda _: every)
    return Asked(source)


OPS = (
    op(50, "points"),
    op(30, "batch", "points"),
    op(15, "points", "labels"),
    op(4, "points", effect="copy"),
    op(2, "labels", count=1),
)
"""In µs. A copy computes nothing, and what came once is not made again."""


def test_ops_made_of_what_the_loop_does_not_change(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    question = asked(monkeypatch, ProgramSource(tmp_path), *OPS)

    assert [ran.total_ps for ran in module.same_results(question)] == [
        50 * 10**6,
        15 * 10**6,
    ]
    assert module.same_result_function(question) == "predict"
    assert module.same_result_arguments(question) == "points and labels"
    assert module.same_result_line(question) == "dot_points"
    assert module.same_result_why(question) == (
        "The loop at train.py:5 gives it the same in each round."
    )


def test_without_the_programs_files_nothing_is_known(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Nor with files in which no loop calls it, or one that gives it all the same, as
    where a call is measured.
    """
    for text in ("other(a", "predict(batches, labels, points)  # "):
        (tmp_path / "train.py").write_text(PROGRAM.replace("predict(points", text))
        for source in (None, ProgramSource(tmp_path)):
            with pytest.raises(MetricAbsent):
                module.same_results(asked(monkeypatch, source, *OPS))


def test_of_what_the_loop_changes_nothing_stays_the_same(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    changing = PROGRAM + "    points, labels = out, out\n"
    (tmp_path / "train.py").write_text(changing)
    question = asked(monkeypatch, ProgramSource(tmp_path), *OPS)

    for fact in (module.same_results, module.same_result_line):
        with pytest.raises(MetricAbsent):
            fact(question)


def test_an_argument_that_no_large_op_needs_may_change(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The batch is multiplied at the end alone, with a Hessian of the points."""
    (tmp_path / "train.py").write_text(PROGRAM)
    ops = op(50, "points"), op(15, "points", "labels")
    question = asked(monkeypatch, ProgramSource(tmp_path), *ops)

    assert module.same_result_arguments(question) == "points and labels"


def test_what_is_derived_along_many_directions_is_where_that_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """`jax.hessian(loss)` on line 3 of the program, whose loss computes on line 9."""
    (tmp_path / "train.py").write_text(PROGRAM)
    frames = Frame("train.py", 9, "loss"), Frame("train.py", 3, "predict")
    paths = "vmap(jvp(jvp()))", "jvp()", "vmap(jvp(vmap(transpose(jvp()))))"
    for path, line in zip(paths, (3, 9, 3), strict=True):
        place = SourceLocation(f"jit(predict)/{path}/dot", "train.py", 9, frames)
        large = op(50, "points")
        assert large.known is not None
        large = replace(large, known=replace(large.known, location=place))
        question = asked(monkeypatch, ProgramSource(tmp_path), large)

        told = f"dot_points (train.py:{line})"
        assert module.same_result_line(question) == told


def test_constants_need_no_source(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as what a function takes from around it, and tables."""
    constant = op(3), op(2, effect="copy"), op(1, effect="select")
    question = asked(monkeypatch, None, *OPS, *constant)

    assert [ran.total_ps for ran in module.same_results(question)] == [
        3 * 10**6,
        1 * 10**6,
    ]
    assert module.same_result_function(question) == "predict"
    assert module.same_result_arguments(question) == "constants"
    assert module.same_result_why(question) == (
        "By the HLO of the program nothing of that is an argument."
    )


def test_constants_count_with_the_arguments_that_stay_the_same(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    question = asked(monkeypatch, ProgramSource(tmp_path), *OPS, op(3))

    assert [ran.total_ps // 10**6 for ran in module.same_results(question)] == [
        50,
        15,
        3,
    ]
    assert module.same_result_arguments(question) == "points and labels"
