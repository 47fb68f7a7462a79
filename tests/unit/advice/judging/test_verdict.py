"""The one sentence: each bound from both sides, and whose fault lost time is."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace
from support.outcome import outcome_of

import tfadvisor.metrics  # noqa: F401
from tfadvisor.advice.findings import Finding, Saving, Verdict
from tfadvisor.advice.judging.cause import Kind, cause_of
from tfadvisor.advice.judging.verdict import Seen, verdict_of
from tfadvisor.advice.loading.catalogue import load_catalogue
from tfadvisor.metrics.registry import (
    Measured,
    Metrics,
    registered_facts,
    registered_metrics,
)
from tfadvisor.vocabulary import Severity

CLASSES = (
    "compute",
    "collective",
    "transfer",
    "compile",
    "input",
    "launch",
    "host",
    "idle",
)


def metrics(facts: dict[str, str], values: dict[str, float]) -> Metrics:
    return Metrics(
        {
            n: Measured(values.get(n), m.unit, "", m.about)
            for n, m in registered_metrics().items()
        },
        {n: (facts.get(n), "") for n in registered_facts()},
    )


def given(
    shares: dict[str, float],
    known: Metrics,
    findings: Sequence[Finding] = (),
    seen: Seen = Seen(),
    unseen: float = 0.0,
    outside: float = 0.0,
) -> Verdict:
    """The classes that are not named take no time."""
    breakdown = {name: shares.get(name, 0.0) for name in CLASSES}
    cause = cause_of(breakdown, known, unseen, outside)
    return verdict_of(cause, breakdown, known, findings, seen)


def made(known: dict[str, float | str]) -> Metrics:
    """Of twenty steps on a GPU where nothing else is said."""
    facts = {"device_kind": "gpu"} | {
        name: value for name, value in known.items() if isinstance(value, str)
    }
    values = {"steps_counted": 20.0} | {
        name: value for name, value in known.items() if not isinstance(value, str)
    }
    return metrics(facts, values)


def verdict(
    shares: dict[str, float],
    findings: tuple[Finding, ...] = (),
    /,
    **known: float | str,
) -> Verdict:
    return given(shares, made(known), findings)


def finding(share: float) -> Finding:
    """A finding that saves up to this share of step time: medium from 10%."""
    (rule,) = [
        one for one in load_catalogue().rules if one.id == "input-loader-in-step"
    ]
    facts = {"framework": "jax", "input_frame": "load (a.py:3)"}
    found = outcome_of(rule, metrics(facts, {"input_bound_fraction": share}))
    assert isinstance(found, Finding)
    return replace(found, saving=Saving(0.4 * share, share, ""))


@pytest.mark.parametrize(
    "loss", ["input", "host", "launch", "compile", "transfer", "collective"]
)
@pytest.mark.parametrize(("share", "named"), [(0.15, True), (0.149, False)])
def test_a_loss_is_named_from_15_percent(loss: str, share: float, named: bool) -> None:
    found = verdict({loss: share, "compute": 1 - share})

    assert (found.bottleneck, found.fraction) == (
        (loss, share) if named else ("compute", 1 - share)
    )


@pytest.mark.parametrize(
    ("loss", "words"),
    [
        ("input", "waiting for or preparing the next batch"),
        ("host", "Python work on the host"),
        ("launch", "dispatching ops and kernels"),
        ("compile", "tracing and compiling"),
        ("transfer", "copying data"),
        ("collective", "communication that no computation hides"),
    ],
)
def test_the_sentence_says_what_the_loss_is(loss: str, words: str) -> None:
    assert words in verdict({loss: 0.4, "compute": 0.6}).summary


def test_what_nobody_can_explain_is_named_where_it_is_more_than_any_loss_and_the_work() -> (
    None
):
    assert verdict({"input": 0.3, "idle": 0.3, "compute": 0.4}).bottleneck == "input"
    assert (
        verdict({"input": 0.3, "idle": 0.36, "compute": 0.34}).bottleneck == "unknown"
    )
    assert (
        verdict({"input": 0.1, "idle": 0.45, "compute": 0.45}).bottleneck == "compute"
    )
    assert verdict({"input": 0.1, "idle": 0.46, "compute": 0.44}).fraction == 0.46


def test_little_idle_time_beside_little_work_is_not_named() -> None:
    """15% idle, 10% compute and losses below 15% each: the devices compute, as far as
    can be said.
    """
    rest = {
        "input": 0.13,
        "host": 0.13,
        "launch": 0.13,
        "compile": 0.12,
        "transfer": 0.12,
        "collective": 0.12,
    }

    assert verdict({**rest, "idle": 0.15, "compute": 0.10}).bottleneck == "compute"
    assert verdict({**rest, "idle": 0.16, "compute": 0.09}).bottleneck == "unknown"


def test_little_work_is_compute_still_and_none_is_unknown() -> None:
    """Classes of 14% each are no loss worth naming; what is left is the work, if there
    is any.
    """
    rest = {
        "input": 0.14,
        "host": 0.14,
        "launch": 0.14,
        "compile": 0.14,
        "transfer": 0.14,
        "idle": 0.14,
    }

    assert (
        verdict({**rest, "collective": 0.12, "compute": 0.04}).bottleneck == "compute"
    )
    none = verdict({**rest, "collective": 0.14})
    assert (none.bottleneck, none.fraction, none.healthy) == ("unknown", 0.0, False)
    assert none.summary.startswith("No device computes")


def test_an_empty_trace_is_unknown_and_not_healthy() -> None:
    found = verdict({})

    assert (found.bottleneck, found.fraction, found.healthy) == ("unknown", 0.0, False)


@pytest.mark.parametrize(
    ("share", "bottleneck"), [(0.79, "unknown"), (0.81, "compile")]
)
def test_a_trace_that_compiles_nearly_all_the_time_says_so_though_no_device_works(
    share: float, bottleneck: str
) -> None:
    """Four fifths of it explain enough, without steps too."""
    found = verdict(
        {"compile": share, "compute": 0.001, "idle": 0.999 - share}, step_confidence=0.2
    )

    assert (found.bottleneck, found.healthy) == (bottleneck, False)
    assert ("81% of step time is tracing and compiling" in found.summary) is (
        bottleneck == "compile"
    )


@pytest.mark.parametrize(
    ("works", "said"), [(0.019, "too little to show"), (0.02, "does not show why")]
)
def test_devices_that_work_less_than_2_percent_of_a_trace_without_steps_ran_nothing_to_judge(
    works: float, said: str
) -> None:
    found = verdict({"transfer": works, "idle": 1 - works}, step_confidence=0.2)

    assert (found.bottleneck, found.fraction) == ("unknown", 1 - works)
    assert said in found.summary


def test_all_kinds_of_work_count_against_the_2_percent() -> None:
    shares = {"compute": 0.008, "collective": 0.008, "transfer": 0.008, "idle": 0.976}

    assert "does not show why" in verdict(shares, step_confidence=0.2).summary


def test_devices_that_never_work_and_steps_that_are_sure_are_judged_as_always() -> None:
    assert "does not show why" in verdict({"idle": 1.0}, step_confidence=0.2).summary
    assert (
        "does not show why"
        in verdict({"transfer": 0.01, "idle": 0.99}, step_confidence=0.9).summary
    )


@pytest.mark.parametrize(("confidence", "healthy"), [(0.5, True), (0.49, False)])
def test_no_run_is_healthy_where_steps_were_guessed(
    confidence: float, healthy: bool
) -> None:
    found = verdict({"input": 0.1, "compute": 0.9}, step_confidence=confidence)

    assert found.healthy is healthy
    assert ("Where steps begin is a guess" in found.summary) is not healthy


@pytest.mark.parametrize(("steps", "healthy"), [(5, True), (4, False), (1, False)])
def test_fewer_than_five_steps_do_not_tell_whether_a_run_is_healthy(
    steps: int, healthy: bool
) -> None:
    found = verdict({"compute": 1.0}, steps_counted=steps)

    assert (found.bottleneck, found.healthy) == ("compute", healthy)
    assert ("No finding is worth acting on" in found.summary) is healthy
    assert ("too few to tell" in found.summary) is not healthy
    assert (
        "`tfadvisor run -- python train.py` records more" in found.summary
    ) is not healthy


@pytest.mark.parametrize(("compute", "healthy"), [(0.8, True), (0.799, False)])
def test_a_healthy_run_computes_for_four_fifths_of_its_steps(
    compute: float, healthy: bool
) -> None:
    rest = (1 - compute) / 2
    found = verdict({"compute": compute, "input": rest, "host": rest})

    assert (found.bottleneck, found.healthy) == ("compute", healthy)


@pytest.mark.parametrize(("share", "healthy"), [(0.10, False), (0.099, True)])
def test_a_medium_finding_is_worth_acting_on(share: float, healthy: bool) -> None:
    found = verdict({"compute": 1.0}, (finding(share),))

    assert found.healthy is healthy
    assert ("No finding is worth acting on" in found.summary) is healthy
    assert ("One change could save up to 10%" in found.summary) is not healthy


def test_the_largest_finding_says_what_one_change_could_save() -> None:
    found = verdict({"compute": 1.0}, (finding(0.2), finding(0.3)))

    assert "One change could save up to 30%" in found.summary


@pytest.mark.parametrize(
    ("category", "share", "bottleneck"),
    [
        ("compute", 0.21, "compute"),
        ("compute", 0.19, "launch"),
        ("kernel", 0.5, "launch"),
        ("input", 0.5, "launch"),
    ],
)
def test_needless_computing_that_is_more_than_the_largest_loss_is_the_limit(
    category: str, share: float, bottleneck: str
) -> None:
    """20% launching, 70% computing. Slow kernels are no needless ones."""
    first = replace(finding(share), category=category, takes=share)

    found = verdict({"compute": 0.7, "launch": 0.2, "idle": 0.1}, (first,))

    assert found.bottleneck == bottleneck
    if bottleneck == "compute":
        assert found.fraction == 0.7
        assert "20% is dispatching ops and kernels" in found.summary


def test_where_no_range_is_borne_out_for_the_largest_finding_nothing_is_said_of_one_change() -> (
    None
):
    """What takes 40% could save more than the 20% that are printed of the other, unless
    it is less severe all the same.
    """
    unmeasured = replace(finding(0.4), saving=None)
    found = verdict({"compute": 0.6, "input": 0.4}, (unmeasured, finding(0.2)))
    smaller = replace(unmeasured, takes=0.1)
    minor = replace(unmeasured, severity=Severity.LOW)

    assert "One change could save" not in found.summary
    for other in (smaller, minor):
        assert (
            "One change could save up to 20%"
            in verdict({"compute": 1.0}, (other, finding(0.2))).summary
        )


@pytest.mark.parametrize(
    ("idle", "words"),
    [
        (0.32, "the devices compute for 68% of step time; they are idle for 32%."),
        (0.15, "the devices compute for 85% of step time; they are idle for 15%."),
        (0.149, "no other cost is large"),
    ],
)
def test_idle_time_beside_the_work_is_no_small_cost(idle: float, words: str) -> None:
    found = verdict({"compute": 1 - idle, "idle": idle})

    assert found.bottleneck == "compute"
    assert words in found.summary.replace("The", "the")


@pytest.mark.parametrize(
    ("shares", "known", "kind"),
    [
        ({}, {}, Kind.NOTHING_RECORDED),
        ({"idle": 1.0}, {"unrecorded_device": "ran"}, Kind.DEVICE_NOT_RECORDED),
        ({"compute": 1.0}, {"step_fragment": "reads"}, Kind.FRAGMENTS),
        (
            {"transfer": 0.01, "idle": 0.99},
            {"step_confidence": 0.2},
            Kind.TOO_LITTLE_WORK,
        ),
        (
            {"launch": 0.7, "compute": 0.3},
            {"lost_runs_fraction": 0.5},
            Kind.WORK_LOST,
        ),
        (
            {"launch": 0.6, "compute": 0.4},
            {"graphs_while_recording": "off"},
            Kind.GAPS_OF_RECORDING,
        ),
        ({"input": 0.4, "compute": 0.6}, {}, Kind.LOSS),
        ({"idle": 0.8, "compute": 0.2}, {}, Kind.IDLE),
        ({"compute": 1.0}, {}, Kind.COMPUTE),
        ({"collective": 0.14, "transfer": 0.14}, {}, Kind.NO_COMPUTE),
    ],
)
def test_a_cause_is_out_of_a_closed_list(
    shares: dict[str, float], known: dict[str, float | str], kind: Kind
) -> None:
    breakdown = {name: shares.get(name, 0.0) for name in CLASSES}
    cause = cause_of(breakdown, made(known))
    found = verdict_of(cause, breakdown, made(known), (), Seen())

    assert cause.kind is kind
    assert (found.bottleneck, found.fraction) == (cause.bottleneck, cause.fraction)
    assert found.summary
    assert "{" not in found.summary
    assert found.healthy is (kind is Kind.COMPUTE)


def test_a_cause_keeps_what_was_lost_beside_it() -> None:
    """Of 30% launch 25 were queued, and 5 are the way back from a wait: lost."""
    breakdown = dict.fromkeys(CLASSES, 0.0) | {"compute": 0.6, "launch": 0.3}
    known = made(
        {
            "queued_kernel_fraction": 0.9,
            "waits_per_step": 1.0,
            "wait_fraction": 0.1,
            "turnaround_fraction": 0.05,
        }
    )
    cause = cause_of(breakdown | {"idle": 0.1}, known)

    assert cause.kind is Kind.COMPUTE
    assert cause.queued == pytest.approx(0.25)
    assert cause.losses["launch"] == pytest.approx(0.05)
    assert (cause.idle, cause.largest_loss) == (0.1, "launch")


def test_host_work_is_no_loss_where_no_device_computes() -> None:
    """All three are above 15%; only compilation is what somebody waits for."""
    shares = {"host": 0.5, "launch": 0.3, "compile": 0.2}
    found = given(shares, metrics({}, {}))

    assert (found.bottleneck, found.fraction) == ("compile", 0.2)


def test_the_wait_for_a_straggler_is_imbalance_and_no_fault_of_the_collective() -> None:
    """Of 40% communication 25% is the wait for the late host, so 15% is left."""
    shares = {"collective": 0.4, "compute": 0.6}

    late = verdict(
        shares,
        late_host_fraction=0.3,
        collective_wait_fraction=0.25,
        late_host="worker-3",
    )
    assert (late.bottleneck, late.fraction) == ("imbalance", 0.3)
    assert "all hosts waiting for worker-3" in late.summary
    less = verdict(
        shares,
        late_host_fraction=0.12,
        collective_wait_fraction=0.25,
        late_host="worker-3",
    )
    assert (less.bottleneck, less.fraction) == ("collective", pytest.approx(0.15))
    more = verdict(
        shares,
        late_host_fraction=0.14,
        collective_wait_fraction=0.5,
        late_host="worker-3",
    )
    assert more.bottleneck == "compute"


def test_the_later_of_a_late_host_and_a_late_device_is_named() -> None:
    shares = {"collective": 0.1, "compute": 0.9}
    named = {"late_host": "worker-3", "late_device": "GPU:2"}

    for host, device, words in (
        (0.3, 0.2, "all hosts waiting for worker-3"),
        (0.2, 0.2, "all hosts waiting for worker-3"),
        (0.2, 0.3, "devices waiting for GPU:2"),
    ):
        found = verdict(
            shares, late_host_fraction=host, late_device_fraction=device, **named
        )
        assert (found.bottleneck, found.fraction) == ("imbalance", max(host, device))
        assert words in found.summary
    alone = verdict(shares, late_device_fraction=0.3, **named)
    assert (alone.bottleneck, alone.fraction) == ("imbalance", 0.3)
    assert "devices waiting for GPU:2" in alone.summary


def test_skew_counts_only_where_no_collective_tells_who_is_late() -> None:
    """Devices that meet in collectives and are never late wait for nobody, however
    unevenly they compute.
    """
    shares = {"collective": 0.2, "compute": 0.8}

    alone = verdict(shares, device_skew_fraction=0.3)
    assert (alone.bottleneck, alone.fraction) == ("imbalance", 0.3)
    assert (
        "devices waiting for the busiest one." in alone.summary
    )  # which no collective shows
    met = verdict(shares, device_skew_fraction=0.3, late_device_fraction=0.0)
    assert (met.bottleneck, met.fraction) == ("collective", 0.2)


def test_allocating_is_taken_from_the_dispatch_and_then_from_the_host_as_which_it_shows() -> (
    None
):
    """35% allocating: all of 20% launch, and 15 of the 40% host. Of 25% the host keeps
    35.
    """
    shares = {"launch": 0.2, "host": 0.4, "compute": 0.4}

    much = verdict(shares, memory_call_fraction=0.35)
    assert (much.bottleneck, much.fraction) == ("memory", 0.35)
    assert "allocating memory from the driver" in much.summary
    little = verdict(shares, memory_call_fraction=0.25)
    assert (little.bottleneck, little.fraction) == ("host", pytest.approx(0.35))


def test_what_the_dispatch_does_beside_allocating_stays_its_own() -> None:
    """Of 50% launch 20% is allocating; the host's own 25% are untouched."""
    found = verdict(
        {"launch": 0.5, "host": 0.25, "compute": 0.25}, memory_call_fraction=0.2
    )

    assert (found.bottleneck, found.fraction) == ("launch", 0.3)
    host = verdict(
        {"launch": 0.2, "host": 0.3, "compute": 0.5}, memory_call_fraction=0.2
    )
    assert (host.bottleneck, host.fraction) == ("host", 0.3)


def test_a_device_whose_work_was_not_recorded_is_unknown_with_the_proof() -> None:
    found = verdict({"idle": 1.0}, unrecorded_device="100 kernels were launched")

    assert (found.bottleneck, found.fraction, found.healthy) == ("unknown", 1.0, False)
    assert "although 100 kernels were launched" in found.summary


@pytest.mark.parametrize(("lost", "bottleneck"), [(0.5, "unknown"), (0.49, "launch")])
def test_time_without_work_is_unknown_where_most_launched_work_is_missing(
    lost: float, bottleneck: str
) -> None:
    shares = {"launch": 0.7, "compute": 0.3}

    assert verdict(shares, lost_runs_fraction=lost).bottleneck == bottleneck
    assert verdict(shares, lost_launches_fraction=lost).bottleneck == bottleneck


def test_missing_work_leaves_what_the_host_itself_waits_for() -> None:
    assert (
        verdict({"input": 0.7, "compute": 0.3}, lost_runs_fraction=0.9).bottleneck
        == "input"
    )


@pytest.mark.parametrize(
    ("confidence", "bottleneck"), [(0.2, "unknown"), (0.5, "host")]
)
def test_a_silent_thread_is_python_only_where_steps_are_known(
    confidence: float, bottleneck: str
) -> None:
    """Of 60% host 50% are silent: with steps that is the loop's Python, without any
    nobody knows.
    """
    shares = {"host": 0.6, "launch": 0.25, "compute": 0.15}
    known = metrics(
        {"device_kind": "gpu"}, {"steps_counted": 1.0, "step_confidence": confidence}
    )
    found = given(shares, known, unseen=0.5)

    assert found.bottleneck == bottleneck
    assert found.fraction == pytest.approx(0.5 if bottleneck == "unknown" else 0.6)


@pytest.mark.parametrize(
    ("idle", "words"),
    [
        (0.0, "idle for 60% of the time, which counts as host below, and the trace"),
        (0.1, "idle for 70% of the time, of which 60% counts as host below, and the"),
    ],
)
def test_a_silent_thread_counts_as_host_in_the_bar_and_the_sentence_says_so(
    idle: float, words: str
) -> None:
    """60% of the trace are silent: Python by the bar, and nobody knows what. So little
    that no number shows it is not said.
    """
    shares = {"host": 0.6, "idle": idle, "compute": 0.4 - idle}
    found = given(shares, made({"step_confidence": 0.2}), unseen=0.6)
    little = given(
        {"host": 0.001, "idle": 0.88, "compute": 0.119},
        made({"step_confidence": 0.2}),
        unseen=0.001,
    )

    assert words in found.summary
    assert found.fraction == pytest.approx(0.6 + idle)
    assert "idle for 88% of the time, and the trace" in little.summary


def test_beside_the_work_too_a_silent_thread_counts_as_host() -> None:
    shares = {"host": 0.3, "compute": 0.7}
    found = given(shares, made({"step_confidence": 0.2}), unseen=0.3)

    assert found.bottleneck == "compute"
    assert "; they are idle for 30%, which counts as host below." in found.summary


def test_a_device_that_was_not_recorded_beside_some_that_were_is_no_verdict() -> None:
    found = verdict(
        {"idle": 0.9, "compute": 0.1}, unrecorded_device="100 kernels were launched"
    )

    assert (found.bottleneck, found.fraction) == ("unknown", 0.9)
    assert "was not recorded" not in found.summary
    assert "was not recorded" not in verdict({"idle": 1.0}).summary


def test_where_no_wait_in_collectives_is_known_they_keep_their_time() -> None:
    """A late device of 10 %, and 20 % communication: nobody knows who waits in it."""
    found = verdict(
        {"collective": 0.2, "compute": 0.8},
        late_device_fraction=0.1,
        late_device="GPU:2",
    )

    assert (found.bottleneck, found.fraction) == ("collective", 0.2)


@pytest.mark.parametrize(("steps", "loss"), [(3, "input"), (2, "compute")])
def test_one_or_two_steps_name_no_loss_below_the_work(steps: float, loss: str) -> None:
    """40 % input beside 60 % work; from three steps on it is the bottleneck."""
    found = verdict({"input": 0.4, "compute": 0.6}, steps_counted=steps)

    assert found.bottleneck == loss


def test_all_kinds_of_work_count_against_a_loss_of_few_steps() -> None:
    """A loss of 40 % beside 20 + 10 + 10 % work is as much, one of 39 less."""
    work = {"compute": 0.2, "collective": 0.1, "transfer": 0.1}

    assert (
        verdict({**work, "input": 0.4, "host": 0.2}, steps_counted=1).bottleneck
        == "input"
    )
    assert (
        verdict({**work, "input": 0.375, "host": 0.225}, steps_counted=1).bottleneck
        == "compute"
    )


@pytest.mark.parametrize(
    ("loss", "steps", "beside"), [(0.15, 2, True), (0.149, 2, False), (0.4, 1, True)]
)
def test_few_steps_leave_open_whether_a_loss_beside_the_work_recurs(
    loss: float, steps: float, beside: bool
) -> None:
    found = verdict({"input": loss, "compute": 1 - loss}, steps_counted=steps)

    assert found.bottleneck == "compute"
    assert ("waiting for or preparing the next batch" in found.summary) is beside


def test_few_steps_that_the_host_holds_up_leave_open_whether_that_recurs() -> None:
    open_question = (
        "80% of step time is waiting for or preparing the next batch; so few"
    )
    few = verdict({"input": 0.8, "compute": 0.2}, steps_counted=1)
    explained = verdict(
        {"input": 0.8, "compute": 0.2}, (finding(0.8),), steps_counted=1
    )
    many = verdict({"input": 0.8, "compute": 0.2}, steps_counted=5)

    assert few.bottleneck == "input"
    assert few.summary.startswith(open_question)
    assert "so few" not in explained.summary + many.summary


def test_a_loss_of_few_steps_that_a_finding_explains_is_no_open_question() -> None:
    summary = verdict(
        {"input": 0.3, "compute": 0.7}, (finding(0.3),), steps_counted=1
    ).summary

    assert summary.startswith(
        "The devices compute for 70% of step time; 30% is waiting for or preparing "
        "the next batch."
    )


def test_a_finding_about_another_class_or_of_little_weight_explains_no_loss_of_few_steps() -> (
    None
):
    """One of medium severity is about input, the other about the loss itself,
    but low.
    """
    for loss, share in (("host", 0.3), ("input", 0.09)):
        summary = verdict(
            {loss: 0.3, "compute": 0.7}, (finding(share),), steps_counted=1
        ).summary

        assert "so few steps cannot show whether the 30%" in summary


@pytest.mark.parametrize(
    ("queued", "launch", "bottleneck"),
    [
        (0.499, 0.3, "launch"),
        (0.5, 0.3, "compute"),
        (0.9, 0.499, "compute"),
        (0.9, 0.5, "launch"),
    ],
)
def test_launch_gaps_are_no_limit_where_most_kernels_queue_and_the_device_works_longer(
    queued: float, launch: float, bottleneck: str
) -> None:
    found = verdict(
        {"launch": launch, "compute": 1 - launch}, queued_kernel_fraction=queued
    )

    assert (found.bottleneck, found.fraction) == (
        bottleneck,
        launch if bottleneck == "launch" else 1 - launch,
    )


def test_launch_time_beside_queued_kernels_is_told() -> None:
    said = verdict(
        {"launch": 0.3, "compute": 0.7}, queued_kernel_fraction=0.9
    ).summary.replace(" %", "%")

    assert "compute for 70%" in said
    assert "the 30% of dispatching ops and kernels is not the limit" in said


@pytest.mark.parametrize(
    ("waits", "waited", "bottleneck"),
    [(1.0, 0.05, "launch"), (0.99, 0.05, "compute"), (1.0, 0.049, "compute")],
)
def test_a_host_that_waits_in_every_step_is_not_ahead_at_its_end(
    waits: float, waited: float, bottleneck: str
) -> None:
    known = {
        "waits_per_step": waits,
        "wait_fraction": waited,
        "turnaround_fraction": 0.2,
    }
    found = verdict(
        {"launch": 0.3, "compute": 0.7}, queued_kernel_fraction=0.9, **known
    )

    assert found.bottleneck == bottleneck
    assert found.fraction == pytest.approx(0.2 if bottleneck == "launch" else 0.7)


def test_queued_kernels_beside_15_percent_of_launch_are_told_and_beside_less_are_not() -> (
    None
):
    told = verdict({"launch": 0.15, "compute": 0.85}, queued_kernel_fraction=0.9)
    untold = verdict({"launch": 0.149, "compute": 0.851}, queued_kernel_fraction=0.9)

    assert "the 15% of dispatching ops and kernels is not the limit" in told.summary
    assert "no other cost is large" in untold.summary


@pytest.mark.parametrize(
    ("severity", "claims", "is_limit"),
    [
        (Severity.MEDIUM, ("launch",), True),
        (Severity.MEDIUM, ("idle", "launch"), True),
        (Severity.MEDIUM, ("host",), False),
        (Severity.LOW, ("launch",), False),
    ],
)
def test_launch_time_that_a_finding_is_about_is_not_called_no_limit(
    severity: Severity, claims: tuple[str, ...], is_limit: bool
) -> None:
    """Kernels queue, and a finding says that the launches are worth a change."""
    about = replace(finding(0.1), severity=severity, claims=claims)
    found = verdict(
        {"launch": 0.3, "compute": 0.7}, (about,), queued_kernel_fraction=0.9
    )

    assert found.bottleneck == "compute"
    assert ("is not the limit" in found.summary) is not is_limit
    assert ("; 30% is dispatching ops and kernels." in found.summary) is is_limit


def test_a_way_back_that_is_longer_than_all_launches_leaves_them_as_they_are() -> None:
    """14% of launch is below what is named; 5% more, which nobody measured, would not
    be.
    """
    known = {"waits_per_step": 1.0, "wait_fraction": 0.1, "turnaround_fraction": 0.3}

    assert (
        verdict(
            {"launch": 0.14, "compute": 0.86}, queued_kernel_fraction=0.9, **known
        ).bottleneck
        == "compute"
    )
    found = verdict(
        {"launch": 0.25, "compute": 0.75}, queued_kernel_fraction=0.9, **known
    )
    assert (found.bottleneck, found.fraction) == ("launch", 0.25)


def test_where_the_way_back_is_not_known_the_queues_explain_all_launches() -> None:
    known = {"waits_per_step": 1.0, "wait_fraction": 0.1}
    found = verdict(
        {"launch": 0.3, "compute": 0.7}, queued_kernel_fraction=0.9, **known
    )

    assert found.bottleneck == "compute"
    assert "the 30% of dispatching ops and kernels is not the limit" in found.summary


def test_a_host_of_which_no_wait_is_known_is_ahead() -> None:
    for known in ({"waits_per_step": 1.0}, {"wait_fraction": 0.1}):
        found = verdict(
            {"launch": 0.3, "compute": 0.7},
            queued_kernel_fraction=0.9,
            turnaround_fraction=0.2,
            **known,
        )

        assert found.bottleneck == "compute"


def test_python_between_steps_is_named_whether_kernels_queue_or_not() -> None:
    assert (
        verdict({"host": 0.3, "compute": 0.7}, queued_kernel_fraction=1.0).bottleneck
        == "host"
    )


@pytest.mark.parametrize(
    "loss", ["input", "host", "launch", "compile", "transfer", "collective", "idle"]
)
@pytest.mark.parametrize(
    ("share", "steps", "confidence", "healthy"),
    [(0.15, 9, 0.5, False), (0.149, 9, 0.5, True), (0.7, 9, 1.0, False)],
)
def test_no_run_that_loses_15_percent_of_its_steps_is_healthy(
    loss: str, share: float, steps: int, confidence: float, healthy: bool
) -> None:
    found = verdict(
        {loss: share, "compute": 1 - share},
        steps_counted=steps,
        step_confidence=confidence,
    )

    assert found.healthy is healthy
    assert ("No finding is worth acting on" in found.summary) is healthy


def test_idle_time_is_told_by_the_call_that_covers_it() -> None:
    shares = {"idle": 0.8, "compute": 0.2}
    seen = Seen(idle_in="most of it during collect (gc.py:3).")

    assert (
        "most of it during collect (gc.py:3)."
        in given(shares, metrics({}, {}), seen=seen).summary
    )
    assert "the trace does not show why" in given(shares, metrics({}, {})).summary


def test_a_healthy_step_may_still_compute_more_than_it_needs() -> None:
    seen = Seen(largest="the line train.py:34 takes 20% of the step")
    known = metrics({}, {"steps_counted": 20.0})
    found = given({"compute": 1.0}, known, seen=seen)
    with_saving = given({"compute": 1.0}, known, (finding(0.1),), seen)

    assert found.healthy
    assert found.summary.endswith(
        "no trace shows; the line train.py:34 takes 20% of the step."
    )
    assert with_saving.summary.endswith("One change could save up to 10%.")


def test_a_loss_without_a_finding_promises_nothing() -> None:
    known = {"steps_counted": 9, "step_confidence": 1.0}
    found = verdict({"input": 0.4, "compute": 0.6}, **known)

    assert not found.healthy
    assert found.summary.endswith(
        "of step time is waiting for or preparing the next batch."
    )


def test_what_is_perhaps_computed_in_vain_is_named_though_nothing_proves_it() -> None:
    doubt = replace(
        finding(0.2),
        severity=Severity.LOW,
        category="compute",
        title="A loop masks turns",
        saving=None,
    )

    assert (
        "One thing to check: a loop masks turns (a.py:3)."
        in verdict({"compute": 1.0}, (doubt,)).summary
    )
    assert (
        "to check"
        not in verdict({"compute": 1.0}, (replace(doubt, category="host"),)).summary
    )
    promises = replace(doubt, saving=finding(0.05).saving)
    assert "to check" not in verdict({"compute": 1.0}, (promises,)).summary


@pytest.mark.parametrize(
    ("share", "kernels", "healthy"),
    [(0.5, 1000.0, False), (0.499, 1000.0, True), (0.9, 999.0, True)],
)
def test_thousands_of_tiny_kernels_are_no_proof_of_health(
    share: float, kernels: float, healthy: bool
) -> None:
    found = verdict(
        {"compute": 0.9, "launch": 0.1},
        tiny_kernel_fraction=share,
        kernels_per_step=kernels,
    )

    assert (found.bottleneck, found.healthy) == ("compute", healthy)
    assert ("could rounds of a loop run at once" in found.summary) is not healthy


def test_ops_of_a_cpu_may_be_short() -> None:
    assert verdict(
        {"compute": 0.9},
        device_kind="cpu",
        tiny_kernel_fraction=0.9,
        kernels_per_step=5000.0,
    ).healthy


@pytest.mark.parametrize("steps", [1, 2, 8])
@pytest.mark.parametrize("loss", ["collective", "transfer"])
def test_what_devices_do_needs_no_second_step_to_be_the_verdict(
    loss: str, steps: float
) -> None:
    """48% of the step in events of the devices, beside 52% compute."""
    found = verdict({loss: 0.48, "compute": 0.52}, steps_counted=steps)

    assert (found.bottleneck, found.fraction) == (loss, 0.48)


def test_what_devices_do_is_the_verdict_of_few_steps_beside_a_larger_loss_of_the_host() -> (
    None
):
    found = verdict({"launch": 0.3, "collective": 0.2, "compute": 0.5}, steps_counted=2)

    assert (found.bottleneck, found.fraction) == ("collective", 0.2)


@pytest.mark.parametrize(
    ("share", "batch", "words"),
    [
        (
            0.05,
            "unknown",
            "5.0% of the step is loss, whose lines step runs too: do both",
        ),
        (0.05, "the same batch", "whose lines step runs too on the same batch."),
        (0.049, "the same batch", ""),
    ],
)
def test_no_run_is_healthy_where_a_twentieth_of_it_is_computed_twice(
    share: float, batch: str, words: str
) -> None:
    found = verdict(
        {"compute": 1.0},
        repeated_pass_fraction=share,
        repeated_on=batch,
        repeating_program="loss",
        repeated_program="step",
    )

    assert found.healthy is not bool(words)
    assert words in found.summary


def test_no_run_is_healthy_where_a_twentieth_of_it_makes_rows_that_nothing_uses() -> (
    None
):
    rows = "one of 256 rows, picked by pos"

    found = verdict({"compute": 1.0}, picked_row_fraction=0.05, picked_rows=rows)

    assert not found.healthy
    assert f"makes a result of which {rows}, is used." in found.summary
    assert verdict({"compute": 1.0}, picked_row_fraction=0.049).healthy


def test_no_run_is_healthy_where_a_tenth_of_it_is_computed_for_a_number() -> None:
    number = "norm (train.py:111), a number that step returns"

    found = verdict(
        {"compute": 1.0}, number_only_fraction=0.1, number_only_results=number
    )

    assert not found.healthy
    assert f"10% of the step is computed only for {number}." in found.summary
    assert verdict({"compute": 1.0}, number_only_fraction=0.099).healthy


@pytest.mark.parametrize(
    ("few", "outside", "bottleneck"),
    [
        ("3 of 89 steps (56 ms in each)", 0.09, "compute"),
        ("3 of 89 steps (56 ms in each)", 0.08, "host"),
        ("", 0.5, "host"),
    ],
)
def test_what_few_steps_hold_of_the_run_by_chance_is_no_limit_of_the_steps(
    few: str, outside: float, bottleneck: str
) -> None:
    """18% of the recorded time; the run holds half as much outside of its steps."""
    known = made({"host_in_few_steps": few} if few else {})
    breakdown = {"compute": 0.71, "host": 0.18, "launch": 0.11}

    assert given(breakdown, known, outside=outside).bottleneck == bottleneck


@pytest.mark.parametrize(
    ("idle", "named"),
    [
        (0.19, "30% is dispatching ops and kernels, nearly all in 2 of 150 steps"),
        (0.31, "they are idle for 31%."),
    ],
)
def test_the_larger_of_what_few_steps_lose_and_of_idle_time_is_named(
    idle: float, named: str
) -> None:
    """Half of the run is no step, which may hold more or less of the 30% by chance."""
    few = "2 of 150 steps (132 ms in each)"
    known = made({"launch_in_few_steps": few, "kernel_launch_gap_fraction": 0.3})
    breakdown = {"compute": 0.7 - idle, "idle": idle, "launch": 0.3}

    assert named in given(breakdown, known, outside=0.5).summary


def test_what_recording_adds_to_the_threads_time_is_not_what_limits() -> None:
    """Recording takes 0.34 of 0.43, of which at least 0.3 are the program's own: Python
    has 0.081 of 0.699, less than is named.
    """
    shares = {"compute": 0.53, "host": 0.27, "launch": 0.16, "transfer": 0.04}

    found = verdict(shares, tracer_fraction=0.34)

    assert (found.bottleneck, found.fraction, found.healthy) == ("compute", 0.53, False)
    assert "recording takes about 34%" in found.summary
    assert verdict(shares, tracer_fraction=0.09).bottleneck == "host"
    assert verdict(shares, tracer_fraction=0.34, device_kind="cpu").bottleneck == "host"


def test_recording_is_no_part_of_what_the_devices_exchange() -> None:
    """The host does 5%, so no 12% of it are recording."""
    shares = {"compute": 0.45, "idle": 0.3, "collective": 0.2, "host": 0.05}

    found = verdict(shares, tracer_fraction=0.12)

    assert found.bottleneck == "compute"
    assert "they are idle for 30%" in found.summary


def test_a_loss_that_stays_one_without_recording_is_named() -> None:
    """0.7 x 0.3 of 0.356."""
    shares = {"input": 0.7, "launch": 0.2, "compute": 0.06, "host": 0.02, "idle": 0.02}

    found = verdict(shares, tracer_fraction=0.64)

    assert (found.bottleneck, found.fraction) == ("input", 0.7)
