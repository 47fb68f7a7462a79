"""Samples made by hand beside a report whose step is known."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from support.places import FIXTURES
from tfadvisor.act.record.witnesses import disagreement_of, epoch_ends, lowered

import tfadvisor
from tfadvisor.advice.findings import Location, Saving, Verdict
from tfadvisor.report.model import ActivityTime, ClassTime, Place, Report
from tfadvisor.trace.samples import Samples
from tfadvisor.vocabulary import Severity

EVERY_NS = 5_000_000
FILE = "/home/me/train.py"
STAGE = {"stage": "", "layer": "", "op": "", "kernel": ""}


def samples(turns: int = 1, **ticks: int) -> Samples:
    """So many ticks in each function, one after another and that again and again, all
    before the window.
    """
    functions = list(ticks)
    at = [
        number for number, name in enumerate(functions) for _ in range(ticks[name])
    ] * turns
    return Samples(
        version=1,
        every_ns=EVERY_NS,
        opened_ns=10**15,
        first_ns=10**12,
        places=[(FILE, 7, name, "", "train.py") for name in functions],
        after_us=[number * EVERY_NS // 1000 for number in range(len(at))],
        at=at,
    )


@pytest.fixture
def report() -> Report:
    """Of the step 30% is `log` on the host, 20% `shuffle` in the input, the rest is
    computed. Each has a finding of 10%.
    """

    def part(kind: str, fraction: float, function: str) -> ClassTime:
        places = (
            (Place(file="train.py", line=7, function=function, **STAGE),)
            if function
            else ()
        )
        return ClassTime(
            kind,
            fraction,
            fraction,
            (ActivityTime(function, fraction, fraction, places, ()),),
        )

    found = tfadvisor.analyze(FIXTURES / "jax-logging").report
    one = replace(found.findings[0], saving=Saving(0.05, 0.1, ""), takes=0.3)
    findings = tuple(
        replace(one, rule_id=name, locations=(Location("train.py", 7, name),))
        for name in ("log", "shuffle")
    )
    parts = (
        part("compute", 0.5, ""),
        part("host", 0.3, "log"),
        part("input", 0.2, "shuffle"),
    )
    return replace(found, attribution=parts, findings=findings, capture=())


def savings(report: Report) -> dict[str, float]:
    return {
        one.rule_id: one.saving.high
        for one in report.findings
        if one.saving is not None
    }


def test_witnesses_that_agree_change_nothing(report: Report) -> None:
    """Of 200 ticks 60 are in log: 30%."""
    told = samples(main=100, log=60, shuffle=40)

    assert disagreement_of(report, told) is None
    assert lowered(report, told) is report


def test_lines_outside_of_all_functions_are_one_place_for_both(report: Report) -> None:
    """The script itself takes 30% on the host, by the trace without a function; samples
    call it `<module>`, waits included.
    """
    host = report.attribution[1]
    (activity,) = host.parts
    script = replace(activity, places=(replace(activity.places[0], function=""),))
    told = replace(
        report,
        attribution=(
            report.attribution[0],
            replace(host, parts=(script,)),
            report.attribution[2],
        ),
    )

    assert disagreement_of(told, samples(**{"<module>": 160, "shuffle": 40})) is None
    assert disagreement_of(told, samples(**{"<module>": 4, "shuffle": 196})) is not None


def test_what_recording_makes_larger_is_claimed_less(report: Report) -> None:
    """log takes 30% of the trace and 10% of the samples: a third of what its finding
    claims is left.
    """
    found = lowered(report, samples(main=140, log=20, shuffle=40))

    assert savings(found) == {"log": pytest.approx(0.1 / 3), "shuffle": 0.1}
    assert found.findings[0].takes == pytest.approx(0.1)
    assert found.findings[0].severity.rank < report.findings[0].severity.rank
    assert found.findings[1] == report.findings[1]
    assert (
        "log (train.py) takes 30% of the recorded step, and 10% of the main thread's "
        "time" in found.capture[0].note
    )


def test_what_a_trace_hides_makes_all_else_claim_less(report: Report) -> None:
    """fit has 80% of the samples, and the trace leaves no more than the 50% that are
    computed: 20% of all else is left.
    """
    found = lowered(report, samples(fit=160, log=20, shuffle=20))

    assert savings(found) == pytest.approx({"log": 0.1 * 0.2, "shuffle": 0.1 * 0.2})
    assert (
        "fit (train.py) takes 0% of the recorded step, and 80% of the main thread's "
        "time" in found.capture[0].note
    )


def test_a_function_that_may_wait_for_devices_is_no_disagreement(
    report: Report,
) -> None:
    """train has 50% of the samples, and half of the step is computed meanwhile."""
    assert disagreement_of(report, samples(train=100, log=60, shuffle=40)) is None


def test_few_samples_say_nothing(report: Report) -> None:
    assert disagreement_of(report, samples(main=30)) is None


def test_a_thread_that_was_not_sampled_is_told(report: Report) -> None:
    why = replace(samples(main=100), why="the program uses SIGURG itself")

    assert (
        "was not sampled (the program uses SIGURG itself)"
        in lowered(report, why).capture[0].note
    )
    assert "was not sampled: lines come" in lowered(report, None).capture[0].note


def test_ends_of_epochs_have_a_finding_of_their_own_and_are_no_disagreement(
    report: Report,
) -> None:
    """Half of the ticks are in a callback at the ends of four epochs; in the other half
    shares are those of the trace. The first end may compile: whole epochs are the 300
    ticks behind it."""
    told = samples(4, main=25, log=15, shuffle=10, on_epoch_end=50)

    found = epoch_ends(report, told)

    assert disagreement_of(report, told) is None
    assert found is not None
    assert found.title == "50% of the time passes between turns of the training loop"
    assert "By 300 samples" in found.summary
    assert "on_epoch_end (train.py:7)" in found.summary
    assert (found.takes, found.saving, found.severity, found.proof) == (
        0.5,
        None,
        Severity.CRITICAL,
        "shown",
    )
    assert [(one.file, one.line, one.op) for one in found.locations] == [
        ("train.py", 7, "on_epoch_end")
    ]
    assert epoch_ends(report, samples(main=100, log=60, shuffle=40)) is None
    assert [one.rule_id for one in lowered(report, told).findings] == [
        "between-turns",
        "log",
        "shuffle",
    ]


def test_the_first_end_of_an_epoch_may_compile_and_one_alone_says_nothing(
    report: Report,
) -> None:
    """It takes 100 ticks, the second one 5 behind 45 in steps; a last epoch is cut."""
    told = samples(main=45, on_epoch_end=100)
    twice = replace(told, at=[*told.at, *[0] * 45, *[1] * 5, *[0] * 30])
    twice = replace(
        twice, after_us=[number * EVERY_NS // 1000 for number in range(len(twice.at))]
    )

    found = epoch_ends(report, twice)

    assert found is not None
    assert found.takes == 0.1
    assert epoch_ends(report, told) is None
    assert epoch_ends(report, replace(told, at=told.at[::-1])) is None


def test_what_steps_hold_is_no_end_of_an_epoch(report: Report) -> None:
    host = report.attribution[1]
    (activity,) = host.parts
    inside = replace(
        activity, places=(replace(activity.places[0], function="on_epoch_end"),)
    )
    told = replace(
        report,
        attribution=(
            report.attribution[0],
            replace(host, parts=(inside,)),
            report.attribution[2],
        ),
    )

    assert (
        epoch_ends(told, samples(4, main=25, log=15, shuffle=10, on_epoch_end=50))
        is None
    )


@pytest.mark.parametrize(
    ("lines", "inner", "of_step", "wanted"),
    [
        ([21, 22, -1, 40], "", 1.0, {("train.py", 7, "draw"), ("train.py", 40, "")}),
        ([21, 22, 0, 0], "", 1.0, None),
        ([21, 22, 21, 20], "", 1.0, None),
        ([21, 22, 22, 40], "_value", 1.0, None),
        ([21, 22, -1, 40], "", 4.0, None),
    ],
    ids=[
        "behind the inner loop",
        "not known",
        "in it",
        "it waits for the steps",
        "an epoch is the step",
    ],
)
def test_what_stands_behind_the_loop_of_the_steps_is_in_no_step(
    report: Report,
    lines: list[int],
    inner: str,
    of_step: float,
    wanted: set[tuple[str, int, str]] | None,
) -> None:
    """A script loops over epochs in line 19, and over batches in lines 20 to 22.
    Another function draws while it is not there.
    """
    assert report.steps.time_ms is not None
    made = samples(5, step=10, data=10, draw=10, **{"<module>": 10})
    made = replace(
        made,
        places=[
            (*place[:3], inner if row == 3 else "", place[4])
            for row, place in enumerate(made.places)
        ],
        lines=lines,
        loop=("/home/me/train.py", "<module>", 20, 22),
        round_ms=report.steps.time_ms.median / of_step,
    )

    found = epoch_ends(report, made)

    assert (
        found and {(one.file, one.line, one.op) for one in found.locations}
    ) == wanted
    assert found is None or (found.takes, found.title) == (
        0.5,
        "50% of the time passes between turns of the loop at train.py:20",
    )


def test_a_run_whose_time_passes_between_turns_is_not_healthy(report: Report) -> None:
    healthy = replace(
        report,
        findings=(),
        verdict=Verdict("compute", 0.9, True, "The step is healthy."),
    )

    found = lowered(healthy, samples(4, main=25, log=15, shuffle=10, on_epoch_end=50))

    assert not found.verdict.healthy
    assert found.verdict.summary == (
        "50% of the time passes between turns of the training loop. The step is "
        "healthy."
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
