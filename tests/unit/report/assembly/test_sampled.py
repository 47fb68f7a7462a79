"""Samples made by hand beside a step of which it is known where it goes."""

from __future__ import annotations

import gzip
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace
from support.golden_reports import report_of
from support.places import FIXTURES

import tfadvisor
from tfadvisor.advice.evidence import BetweenTurns, Correction
from tfadvisor.report.assembly.sampled import (
    Disagreement,
    FromSamples,
    disagreement_of,
    not_sampled,
    sampled,
    ticks_of,
    traced_of,
)
from tfadvisor.report.model import ActivityTime, ClassTime, Place
from tfadvisor.trace.samples import Samples
from tfadvisor.units import percent

EVERY_NS = 5_000_000
FILE = "/home/me/train.py"
STAGE = {"stage": "", "layer": "", "op": "", "kernel": ""}


def samples(turns: int = 1, **ticks: int) -> Samples:
    """So many ticks in each function, one after another and that again and again, all
    before the window.
    """
    at = [
        number for number, many in enumerate(ticks.values()) for _ in range(many)
    ] * turns
    told = Samples(
        version=2,
        every_ns=EVERY_NS,
        began_ns=10**12,
        recorded_ns=[(10**15, 1 << 62)],
        frames=[(FILE, name, 7) for name in ticks],
        stacks=[[number] for number in range(len(ticks))],
        threads=[("MainThread", True, "7 python")],
    )
    return with_ticks(told, at)


def with_ticks(told: Samples, at: list[int]) -> Samples:
    """at: the stack at each tick."""
    every_us = EVERY_NS // 1000
    entries = [(number * every_us, 0, stack, 1) for number, stack in enumerate(at)]
    return replace(told, samples=entries)


def stacks_at(told: Samples) -> list[int]:
    return [stack for _, _, stack, _ in told.samples]


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
STEP_MS = 20.0


def disagreement(
    attribution: tuple[ClassTime, ...], made: Samples
) -> Disagreement | None:
    traced = traced_of(attribution)
    return disagreement_of(traced, ticks_of(made, traced.shares))


def between(
    attribution: tuple[ClassTime, ...], made: Samples, step_ms: float = STEP_MS
) -> BetweenTurns | None:
    return sampled(attribution, step_ms, made).between_turns


def test_witnesses_that_agree_change_nothing() -> None:
    """Of 200 ticks 60 are in log: 30%."""
    told = samples(main=100, log=60, shuffle=40)

    assert disagreement(STEP, told) is None
    assert sampled(STEP, STEP_MS, told) == FromSamples()


def test_lines_outside_of_all_functions_are_one_place_for_both() -> None:
    """The script itself takes 30% on the host, by the trace without a function; samples
    call it `<module>`, waits included.
    """
    script = (COMPUTED, part("host", 0.3, ""), SHUFFLED)

    assert disagreement(script, samples(**{"<module>": 160, "shuffle": 40})) is None
    assert disagreement(script, samples(**{"<module>": 4, "shuffle": 196})) is not None


def test_what_recording_makes_larger_is_claimed_less() -> None:
    """log takes 30% of the trace and 10% of the samples: a third of what a finding about
    it takes is left, and nothing else changes.
    """
    found = sampled(STEP, STEP_MS, samples(main=140, log=20, shuffle=40))

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
    found = sampled(STEP, STEP_MS, samples(fit=160, log=20, shuffle=20))

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
    assert disagreement(STEP, samples(train=100, log=60, shuffle=40)) is None


def test_few_samples_say_nothing() -> None:
    assert disagreement(STEP, samples(main=30)) is None


def test_a_thread_that_was_not_sampled_is_told() -> None:
    why = replace(samples(main=100), why="the program uses SIGURG itself")
    found = sampled(STEP, STEP_MS, why)

    assert found == FromSamples(notes=(not_sampled("the program uses SIGURG itself"),))
    assert (
        "was not sampled (the program uses SIGURG itself): lines come"
        in found.notes[0].note
    )
    assert "was not sampled: lines come" in not_sampled().note


def test_a_trace_without_samples_beside_it_stays_as_it_is() -> None:
    assert sampled(STEP, STEP_MS, None) == FromSamples()


def test_ends_of_epochs_pass_between_turns_and_are_no_disagreement() -> None:
    """Half of the ticks are in a callback at the ends of four epochs; in the other half
    shares are those of the trace. The first end may compile: whole epochs are the 300
    ticks behind it."""
    told = samples(4, main=25, log=15, shuffle=10, on_epoch_end=50)

    found = between(STEP, told)

    assert disagreement(STEP, told) is None
    assert found is not None
    assert (found.share, found.loop, found.proof) == (0.5, "the training loop", "shown")
    assert "By 300 samples" in found.how
    assert "on_epoch_end (train.py:7)" in found.how
    assert found.seen == "150 of 300 samples"
    assert [(one.file, one.line, one.op) for one in found.places] == [
        ("train.py", 7, "on_epoch_end")
    ]
    assert between(STEP, samples(main=100, log=60, shuffle=40)) is None


def test_the_first_end_of_an_epoch_may_compile_and_one_alone_says_nothing() -> None:
    """It takes 100 ticks, the second one 5 behind 45 in steps; a last epoch is cut."""
    told = samples(main=45, on_epoch_end=100)
    at = stacks_at(told)
    twice = with_ticks(told, [*at, *[0] * 45, *[1] * 5, *[0] * 30])

    found = between(STEP, twice)

    assert found is not None
    assert found.share == 0.1
    assert between(STEP, told) is None
    assert between(STEP, with_ticks(told, at[::-1])) is None


def test_what_steps_hold_is_no_end_of_an_epoch() -> None:
    inside = (COMPUTED, part("host", 0.3, "on_epoch_end"), SHUFFLED)
    told = samples(4, main=25, log=15, shuffle=10, on_epoch_end=50)

    assert between(inside, told) is None


@pytest.mark.parametrize(
    ("lines", "inner", "of_step", "wanted"),
    [
        ([21, 22, -1, 40], "", 1.0, {("train.py", 7, "draw"), ("train.py", 40, "fit")}),
        ([21, 22, 21, 20], "", 1.0, None),
        ([21, 22, 22, 40], "_value", 1.0, None),
        ([21, 22, -1, 40], "", 4.0, None),
    ],
    ids=[
        "behind the inner loop",
        "in it",
        "it waits for the steps",
        "an epoch is the step",
    ],
)
def test_what_stands_behind_the_loop_of_the_steps_is_in_no_step(
    lines: list[int],
    inner: str,
    of_step: float,
    wanted: set[tuple[str, int, str]] | None,
) -> None:
    """fit() loops over epochs in line 19, and over batches in lines 20 to 22. Another function draws while it is not there."""
    made = samples(5, step=10, data=10, draw=10, **{"<module>": 10})
    frames = [*made.frames]
    stacks = []
    for number, line in enumerate(lines):
        outer = [len(frames)] if line >= 0 else []
        frames += [(FILE, "fit", line)] if line >= 0 else []
        stacks.append([*outer, number])
    if inner:
        stacks[3].append(len(frames))
        frames.append(("/lib/python3.11/x.py", inner, 1))
    made = replace(
        made,
        frames=frames,
        stacks=stacks,
        loop=("/home/me/train.py", "fit", 20, 22),
        round_ms=STEP_MS / of_step,
    )

    found = between(STEP, made)

    assert (found and {(one.file, one.line, one.op) for one in found.places}) == wanted
    assert found is None or (found.share, found.loop) == (
        0.5,
        "the loop at train.py:20",
    )


def test_ticks_while_a_profiler_was_at_work_are_left_out() -> None:
    """200 ticks of 5 ms, 1 s in all, of which it is at work from 0.3 to 0.5 s, with 0.1
    s around: 0.2 to 0.6 s are left out.
    """
    first = 10**12
    told = replace(
        samples(main=40, recorded=80, after=80),
        recorded_ns=[(first + 3 * 10**8, first + 5 * 10**8)],
    )

    left = [told.places[row][2] for row in told.unrecorded().tolist()]

    assert (left.count("main"), left.count("recorded"), left.count("after")) == (
        40,
        0,
        79,
    )


def test_a_report_beside_samples_takes_and_saves_less(tmp_path: Path) -> None:
    """`log_metrics` takes 89% of the recorded step, and 30% of the samples while nothing
    is recorded.
    """
    trace = FIXTURES / "jax-logging" / "trace.xplane.pb.gz"
    alone = report_of(FIXTURES / "jax-logging").findings[0]
    share = traced_of(report_of(FIXTURES / "jax-logging").attribution)
    logs = share.shares["program.py", "log_metrics"]
    seen = samples(main=70, train=70, log_metrics=60)
    there = [("/home/me/program.py", *frame[1:]) for frame in seen.frames]
    (tmp_path / "h.xplane.pb").write_bytes(gzip.decompress(trace.read_bytes()))
    (tmp_path / "h.samples.json").write_bytes(
        msgspec.json.encode(replace(seen, frames=there))
    )

    report = tfadvisor.analyze(tmp_path).report
    found = report.findings[0]

    assert found.rule_id == alone.rule_id == "host-work-in-loop"
    assert alone.takes is not None
    assert found.takes == pytest.approx(alone.takes * 0.3 / logs)
    assert found.severity.rank < alone.severity.rank
    assert found.saves < alone.saves / 2
    assert f"up to {percent(found.saves)}." in report.verdict.summary
    assert "log_metrics (program.py) takes 89%" in report.capture[0].note
