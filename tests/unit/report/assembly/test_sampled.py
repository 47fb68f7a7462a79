"""Samples made by hand beside a step of which it is known where it goes."""

from __future__ import annotations

import gzip
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace
from support import stacks
from support.golden_reports import report_of
from support.places import FIXTURES

import tfadvisor
from tfadvisor.advice.evidence import Correction
from tfadvisor.causes import ProgramSource
from tfadvisor.causes.account import (
    STEPS,
    BeforeSteps,
    RunAccount,
    RunPart,
    RunPlace,
    RunShare,
)
from tfadvisor.report.assembly.sampled import (
    Disagreement,
    FromSamples,
    disagreement_of,
    not_sampled,
    sampled,
    traced_of,
    with_lines,
)
from tfadvisor.report.model import ActivityTime, ClassTime, Place
from tfadvisor.timeline.attribution import CALLED_PYTHON
from tfadvisor.units import percent

STAGE = {"stage": "", "layer": "", "op": "", "kernel": ""}


def steps_in(**seen: int) -> RunAccount:
    """A run that is steps alone, with so many samples in each function of the
    program.
    """
    total = sum(seen.values())
    parts = tuple(
        RunShare(name, "other", count / total, count / 100, count, (here(name),))
        for name, count in seen.items()
    )
    steps = RunPart(STEPS, STEPS, 1.0, total / 100, total, (), None, parts)
    before = BeforeSteps(0.0, ())
    return RunAccount(total / 100, "first step", 1.0, (steps,), total, 0.0, before)


def here(function: str) -> RunPlace:
    return RunPlace("train.py", 7, function)


def part(kind: str, fraction: float, function: str | None) -> ClassTime:
    """A class that is all in one function; None where no line is known of it."""
    places: tuple[Place, ...] = ()
    if function is not None:
        places = (Place(file="train.py", line=7, function=function, **STAGE),)
    activity = ActivityTime(function or kind, fraction, fraction, places, ())
    return ClassTime(kind, fraction, fraction, (activity,))


COMPUTED = part("compute", 0.5, None)
SHUFFLED = part("input", 0.2, "shuffle")
STEP = (COMPUTED, part("host", 0.3, "log"), SHUFFLED)
"""Of the step 30% is `log` on the host, 20% `shuffle` in the input, the rest is
computed.
"""
NOT_SEEN = stacks.sampled([])
"""Samples whose account is given."""


def disagreement(
    attribution: tuple[ClassTime, ...], steps: RunAccount
) -> Disagreement | None:
    return disagreement_of(traced_of(attribution), steps)


def test_witnesses_that_agree_change_nothing() -> None:
    """Of 200 ticks 60 are in log: 30%."""
    account = steps_in(main=100, log=60, shuffle=40)

    assert disagreement(STEP, account) is None
    assert sampled(STEP, NOT_SEEN, account) == FromSamples()


def test_lines_outside_of_all_functions_are_one_place_for_both() -> None:
    """The script itself takes 30% on the host, by both without a function."""
    script = (COMPUTED, part("host", 0.3, ""), SHUFFLED)

    assert disagreement(script, steps_in(**{"": 160, "shuffle": 40})) is None
    assert disagreement(script, steps_in(**{"": 4, "shuffle": 196})) is not None


def test_python_that_the_step_calls_is_no_time_of_the_main_thread() -> None:
    """The callback takes 30% of the trace on a thread of its own. All samples are in
    main, which waits.
    """
    place = Place(file="train.py", line=7, function="draw", **STAGE)
    called = ActivityTime(CALLED_PYTHON, 0.3, 0.3, (place,), ())

    assert (
        disagreement(
            (COMPUTED, ClassTime("host", 0.3, 0.3, (called,))), steps_in(main=200)
        )
        is None
    )


def test_what_recording_makes_larger_is_claimed_less() -> None:
    """log takes 30% of the trace and 10% of the samples: a third of what a finding about
    it takes is left, and nothing else changes.
    """
    found = sampled(STEP, NOT_SEEN, steps_in(main=140, log=20, shuffle=40))

    assert found.corrections == (
        Correction("train.py", "log", pytest.approx(1 / 3), is_larger=True),
    )
    (note,) = found.notes
    assert (
        "log (train.py) takes 30% of the recorded step, and 10% of the main thread's "
        "time by 200 samples" in note.note
    )
    assert "recording makes it look larger. Findings claim less for it." in note.note


def test_what_a_trace_hides_makes_all_else_claim_less() -> None:
    """fit has 80% of the samples, and the trace leaves no more than the 50% that are
    computed: 20% of all else is left.
    """
    found = sampled(STEP, NOT_SEEN, steps_in(fit=160, log=20, shuffle=20))

    assert found.corrections == (
        Correction("train.py", "fit", pytest.approx(0.2), is_larger=False),
    )
    (note,) = found.notes
    assert (
        "fit (train.py) takes 0% of the recorded step, and 80% of the main thread's "
        "time" in note.note
    )
    assert "hides time in it, and makes all else look larger" in note.note


def test_a_function_that_may_wait_for_devices_is_no_disagreement() -> None:
    """train has 50% of the samples, and half of the step is computed meanwhile."""
    assert disagreement(STEP, steps_in(train=100, log=60, shuffle=40)) is None


def test_few_samples_say_nothing() -> None:
    assert disagreement(STEP, steps_in(main=30)) is None


def test_a_thread_that_was_not_sampled_is_told() -> None:
    why = replace(NOT_SEEN, why="the program uses SIGURG itself")
    found = sampled(STEP, why, None)

    assert found == FromSamples(notes=(not_sampled("the program uses SIGURG itself"),))
    assert (
        "was not sampled (the program uses SIGURG itself): lines come"
        in found.notes[0].note
    )
    assert "was not sampled: lines come" in not_sampled().note


def test_a_trace_without_samples_beside_it_stays_as_it_is() -> None:
    assert sampled(STEP, None, None) == FromSamples()


def test_a_report_beside_samples_takes_and_saves_less(tmp_path: Path) -> None:
    """`log_metrics` takes 89% of the recorded step, and 30% of the samples while nothing
    is recorded.
    """
    trace = FIXTURES / "jax-logging" / "trace.xplane.pb.gz"
    alone = report_of(FIXTURES / "jax-logging").findings[0]
    share = traced_of(report_of(FIXTURES / "jax-logging").attribution)
    logs = share.shares["program.py", "log_metrics"]
    main = "program.py:<module>:50"
    logging = f"{main} program.py:log_metrics:9"
    train = f"{main} program.py:train:5"
    turn = [(main, 2), (logging, 1), (train, 4), (logging, 1), (main, 1), (logging, 1)]
    seen = stacks.sampled(30 * turn, recorded=[(10**6, 10**6)])
    (tmp_path / "h.xplane.pb").write_bytes(gzip.decompress(trace.read_bytes()))
    (tmp_path / "h.samples.json").write_bytes(msgspec.json.encode(seen))

    report = tfadvisor.analyze(tmp_path).report
    found = report.findings[0]

    assert found.rule_id == alone.rule_id == "host-work-in-loop"
    assert alone.takes is not None
    assert found.takes == pytest.approx(alone.takes * (0.3 / logs))
    assert found.severity.rank < alone.severity.rank
    assert found.saves < alone.saves / 2
    assert f"up to {percent(found.saves)}." in report.verdict.summary
    assert "log_metrics (program.py) takes 89%" in report.capture[0].note


def test_statements_show_their_line_where_the_source_is_there(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("\n" * 6 + "loss = step(batch)\n")
    account = steps_in(main=10)
    (steps,) = account.parts
    here, lost = (RunPlace("train.py", line, "main") for line in (7, 8))
    within = RunShare("main", "other", 1.0, 0.1, 10, (here,))
    statements = (
        RunPart("main", "other", 1.0, 0.1, 10, (here,), parts=(within,)),
        RunPart("main", "other", 1.0, 0.1, 10, (lost,)),
    )
    account = replace(account, parts=(replace(steps, statements=statements),))

    shown = with_lines(account, ProgramSource(tmp_path)).parts[0]

    assert [share.places[0].text for share in shown.statements] == [
        "loss = step(batch)",
        "",
    ]
    assert shown.parts[0].places[0].text == "loss = step(batch)"
    assert shown.statements[0].parts[0].places[0].text == "loss = step(batch)"
    assert with_lines(account, None) is account


@pytest.mark.parametrize(
    ("program", "turns"),
    [
        ("def init():\n    return draw()\n\n\nstate = init()\n", 1),
        ("def init():\n    return draw()\n\n\nstate = init()\ntx.init(state)\n", 1),
        ("def init():\n    return draw()\n\n\nrun(init)\n", 4),
        ("def init():\n    return draw()\n\n\nfor _ in (1, 2):\n    init()\n", 4),
        ("def init():\n    return draw()\n\n\nstate, other = init(), init()\n", 4),
    ],
    ids=[
        "from one call",
        "beside a method",
        "handed on",
        "in a loop",
        "from two calls",
    ],
)
def test_what_compiles_on_a_line_that_runs_once_came_once(
    tmp_path: Path, program: str, turns: int
) -> None:
    """Samples saw it four times: each op of the line is compiled by itself."""
    (tmp_path / "train.py").write_text(program)
    place = RunPlace("train.py", 2, "init")
    part = RunPart("compiling", "compile", 0.5, 5.0, 500, (place,), 4)
    known = RunAccount(
        10.0, "first step", 0.5, (part,), 1_000, 0.0, BeforeSteps(0.0, ())
    )

    assert with_lines(known, ProgramSource(tmp_path)).parts[0].turns == turns


def test_stacks_that_are_cut_are_told() -> None:
    """75 calls of each of 40,000, of which one has 100."""
    deep = [[*range(100)], *([0] for _ in range(39_999))]
    samples = replace(NOT_SEEN, stacks=deep)
    *_, note = sampled(STEP, samples, steps_in(log=40)).notes

    assert note.note == (
        "Of 1 of 40,000 sampled stacks only the outer and inner 75 calls are looked "
        "at: all would take too much memory."
    )
