"""A loss that one program computes for its gradient, and another once more."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from tfadvisor.causes import ProgramSource
from tfadvisor.metrics import repeated as module
from tfadvisor.metrics.registry import MetricAbsent
from tfadvisor.program.cost import Cost
from tfadvisor.program.module import Frame
from tfadvisor.program.operations import SourceLocation
from tfadvisor.timeline.attribution import Spent
from tfadvisor.timeline.program_ops import InProgram
from tfadvisor.timeline.summary.hot_ops import HotOp, HotOps
from tfadvisor.vocabulary import TimeClass

LOSS, GRADIENT = "jit(loss)/dot_general", "jit(update)/transpose(jvp(loss))/dot_general"


class Asked:
    """A question about a run of one host, of whose table each row is one op; the ops'
    counts are those of the steps in which their programs run.
    """

    def __init__(self, found: HotOps) -> None:
        ops = found.ops
        table = SimpleNamespace(module_of=lambda: lambda row: ops[row].module)
        device = SimpleNamespace(ops=table, steps_with=lambda row: ops[row].count)
        program = SimpleNamespace(hot_ops=found)
        host = SimpleNamespace(program=program, program_device=device)
        self.run = SimpleNamespace(hosts=[host])


def op(
    module: str,
    line: int,
    us: int,
    *,
    name: str = LOSS,
    file: str = "train.py",
    count: int = 10,
    frames: tuple[Frame, ...] = (),
) -> HotOp:
    place = SourceLocation(name, file, line, frames)
    known = InProgram("fusion", "dot", Cost(), place)
    return HotOp(
        op=f"{module}.{line}",
        kernel="",
        module=module,
        total_ps=us * 10**6,
        count=count,
        known=known,
    )


def repeated(
    monkeypatch: pytest.MonkeyPatch, *ops: HotOp
) -> tuple[str, str, int] | None:
    """(what repeats, what differentiates, the first one's µs) of ops that are all that
    computes; None where none does.
    """
    found = found_in(monkeypatch, *ops)
    if found is None:
        return None
    return found.name, found.of, sum(ran.total_ps for ran in found.ops) // 10**6


def found_in(monkeypatch: pytest.MonkeyPatch, *ops: HotOp) -> module.Repeated | None:
    rows = tuple(replace(ran, rows=(row,)) for row, ran in enumerate(ops))
    every = HotOps(rows, sum(ran.total_ps for ran in ops), None, "")
    monkeypatch.setattr(module, "known_ops", lambda _: every)
    try:
        return module.repeated(Asked(every))  # type: ignore[arg-type]
    except MetricAbsent:
        return None


UPDATE = op("jit_update", 7, 60), op("jit_update", 7, 30, name=GRADIENT)


def test_a_loss_for_the_log_beside_its_gradient(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = repeated(monkeypatch, *UPDATE, op("jit_loss", 7, 10))

    assert said == ("loss", "update", 10)


@pytest.mark.parametrize(
    "other",
    [op("jit_loss", 8, 10), op("jit_loss", 7, 10, count=4)],
    ids=["other lines", "an evaluation every few steps"],
)
def test_what_is_no_loss_computed_twice(
    monkeypatch: pytest.MonkeyPatch, other: HotOp
) -> None:
    assert repeated(monkeypatch, *UPDATE, other) is None


@pytest.mark.parametrize(
    "file", ["", "/venv/lib/python3.11/site-packages/flax/linen/linear.py"]
)
def test_lines_that_are_not_the_programs_say_nothing(
    monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    both = [op("jit_update", 7, 60, name=name, file=file) for name in (LOSS, GRADIENT)]

    assert repeated(monkeypatch, *both, op("jit_loss", 7, 30, file=file)) is None


def test_two_steps_that_differentiate_are_told_by_the_smaller(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    other = op("jit_critic", 7, 20), op("jit_critic", 7, 10, name=GRADIENT)

    assert repeated(monkeypatch, *UPDATE, *other) == ("critic", "update", 30)


def test_nine_tenths_of_the_time_in_lines_of_the_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    beside = op("jit_loss", 7, 90), op("jit_loss", 9, 10)
    below = op("jit_loss", 7, 89), op("jit_loss", 9, 11)

    assert repeated(monkeypatch, *UPDATE, *beside) == ("loss", "update", 100)
    assert repeated(monkeypatch, *UPDATE, *below) is None


def part(kind: TimeClass, activity: str, detail: str, function: str, ps: int) -> Spent:
    return Spent(kind, activity, detail, "train.py", 30, function, ps=ps)


@pytest.mark.parametrize(
    ("caller", "share"),
    [("log", 0.07 + 0.1 + 0.03), ("step", 0.07)],
    ids=["in a function of its own", "where the other one is called too"],
)
def test_the_dispatch_of_what_repeats_and_the_wait_for_it_belong_to_it(
    monkeypatch: pytest.MonkeyPatch, caller: str, share: float
) -> None:
    """Both programs are called loss: its dispatch takes 10% in log and 20% in step, the
    waits 3% and 6%; 4% is other Python of log.
    """
    frames = Frame("/w/train.py", 30, f"main.<locals>.{caller}")
    other = Frame("/w/train.py", 20, "step")
    again = module.Repeated("loss", "loss", (), "train.py:7", frames, other, ())
    idle, launch, host = TimeClass.IDLE, TimeClass.LAUNCH, TimeClass.HOST
    spent = [
        part(launch, "dispatches loss", "log (train.py:30)", "log", 10),
        part(launch, "dispatches loss", "step (train.py:20)", "step", 20),
        part(idle, "log (train.py:30)", "waits in _value (array.py:629)", "log", 3),
        part(idle, "step (train.py:20)", "waits in _value (array.py:629)", "step", 6),
        part(host, "log (train.py:30)", "builtins print", "log", 4),
    ]
    evidence = SimpleNamespace(spent=spent)
    hosts = [SimpleNamespace(evidence=evidence)]
    monkeypatch.setattr(module, "known_ops", lambda _: None)
    monkeypatch.setattr(module, "repeated", lambda _: again)
    monkeypatch.setattr(module, "of_step_time", lambda *_: 0.07)
    monkeypatch.setattr(module, "counted_hosts", lambda _: hosts)
    monkeypatch.setattr(
        module, "share_of_spent", lambda _, parts: sum(of.ps for of in parts) / 100
    )

    found = module.repeated_pass_fraction(SimpleNamespace(run=None))

    assert found == pytest.approx(share)


def test_the_places_are_where_the_calls_of_the_two_part(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Both run line 7 of the model through its line 9; one is called on line 30 for
    the metrics, the other on line 20 for the loss. A library's calls do not count.
    """
    model = Frame("/w/model.py", 7, "Dense"), Frame("/w/model.py", 9, "Model")
    library = Frame("/v/site-packages/jax/api.py", 5, "grad")
    of_update = (*model, library, Frame("/w/train.py", 20, "loss_fn"))
    of_loss = (*model, Frame("/w/train.py", 30, "loss"))

    found = found_in(
        monkeypatch,
        op("jit_update", 7, 60, name=GRADIENT, frames=of_update),
        op("jit_loss", 7, 10, frames=of_loss),
    )

    assert found is not None
    assert (found.at, found.of_at) == (of_loss[-1], of_update[-1])
    assert (found.line, found.files) == ("train.py:7", ("model.py", "train.py"))


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        ("state = loss(state, batches[i])", True),
        ("log(loss(state, batches[i]))", True),
        ("state = loss(state, held_out[i])", False),
        ("state = loss(state)", False),
        ("state = loss(state, next(rows))", False),
        ("batches = shuffled\nstate = loss(state, batches[i])", False),
        ("mix(batches)\nstate = loss(state, batches[i])", False),
        ("for i in held_out: state = loss(state, batches[i])", False),
    ],
)
def test_both_get_the_same_batch_where_the_source_shows_it(
    tmp_path: Path, second: str, expected: bool
) -> None:
    """After `state = update(state, batches[i], next(rows))`."""
    lines = ["state = update(state, batches[i], next(rows))", *second.split("\n")]
    body = "".join(f"    {line}\n" for line in lines)
    (tmp_path / "train.py").write_text(f"for i in range(9):\n{body}")

    source = ProgramSource(tmp_path)

    assert source.same_arguments("train.py", "update", "loss") is expected
    assert not source.same_arguments("train.py", "update", "other")
