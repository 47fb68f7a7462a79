"""A call of the training loop that is the step, and one beside it."""

from __future__ import annotations

from support.trace_builder import TraceBuilder, trace


def loop(*, dispatch: float) -> TraceBuilder:
    """Five steps of 1,000 µs: `train_step` until 400, `log` until 980. The step's
    dispatch, of 100 µs, begins `dispatch` µs after its start, and a GPU then works for
    100. Each log dispatches 10 µs of its own.
    """
    builder = trace().call("$train.py:60 main", 0, 5000)
    for index in range(5):
        at = index * 1000
        builder.step(at, at + 1000)
        builder.call("$train.py:10 train_step", at, at + 400).call(
            "$train.py:30 log", at + 401, at + 980
        )
        builder.call("PjitFunction(step)", at + dispatch, at + dispatch + 100)
        builder.call("PjitFunction(mean)", at + 500, at + 510).busy(
            "GPU:0", (at + dispatch, at + dispatch + 100)
        )
    return builder


def test_a_frame_beside_the_step_is_not_the_step_whatever_it_dispatches() -> None:
    metrics = loop(dispatch=100).measure()

    assert metrics.fact("host_frame") == "log (train.py:30)"
    assert metrics.fact("host_frame_runs_step") == "no"


def test_the_frame_that_dispatches_the_step_is_the_step() -> None:
    """The larger frame does it: 579 of 1,000 µs."""
    metrics = loop(dispatch=600).measure()

    assert metrics.fact("host_frame") == "log (train.py:30)"
    assert metrics.fact("host_frame_runs_step") == "yes"


def test_nobody_is_told_to_run_the_step_in_fewer_steps() -> None:
    (found,) = [
        one
        for one in loop(dispatch=600).report().findings
        if one.rule_id == "host-work-in-loop"
    ]

    assert not [fix.snippet for fix in found.fixes if "if step %" in fix.snippet]
    assert "is the step itself" in found.fixes[0].do


def test_without_frames_nothing_is_known_of_them() -> None:
    assert (
        trace()
        .step(0, 100)
        .busy("GPU:0", (0, 90))
        .measure()
        .fact("host_frame_runs_step")
        is None
    )
