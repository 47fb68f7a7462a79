"""A step in parts: compute in three, and what a finding takes of each."""

from __future__ import annotations

import pytest

import tfadvisor.metrics  # noqa: F401
from tfadvisor.advice.savings import PARTS, parts_of, taken, unrecorded
from tfadvisor.metrics.registry import Measured, Metrics, registered_metrics


def metrics(**values: float) -> Metrics:
    return Metrics(
        {
            name: Measured(
                values.get(name),
                one.unit,
                "" if name in values else "absent",
                one.about,
            )
            for name, one in registered_metrics().items()
        },
        {},
    )


STEP = {"compute_fraction": 0.5, "host_fraction": 0.3, "input_bound_fraction": 0.2}


def test_compute_is_what_calm_ops_need_their_starts_and_what_others_add() -> None:
    """Of 50%: a fifth are starts, a tenth is stretch, 70% of it remains."""
    parts = parts_of(metrics(**STEP, calm_op_share=0.9, op_start_share=0.2))

    assert parts is not None
    assert {name: share for name, share in parts.items() if share} == {
        "kernels": pytest.approx(0.35),
        "starts": pytest.approx(0.1),
        "stretch": pytest.approx(0.05),
        "host": 0.3,
        "input": 0.2,
    }
    assert set(parts) == set(PARTS)


def test_starts_and_stretch_together_are_no_more_than_compute() -> None:
    """Ops of one name that differ look stretched: 60% starts leave 40 for the 80 that
    are missing.
    """
    parts = parts_of(metrics(**STEP, calm_op_share=0.2, op_start_share=0.6))

    assert parts is not None
    assert (parts["kernels"], parts["starts"], parts["stretch"]) == pytest.approx(
        (0.0, 0.3, 0.2)
    )


def test_where_ops_tell_nothing_all_compute_is_needed() -> None:
    parts = parts_of(metrics(**STEP))

    assert parts is not None
    assert parts["kernels"] == 0.5
    assert sum(parts.values()) == pytest.approx(1)


def test_without_classes_of_time_there_are_no_parts() -> None:
    assert parts_of(metrics(calm_op_share=0.9)) is None


def test_a_finding_takes_its_classes_in_their_order_and_the_parts_of_compute_alike() -> (
    None
):
    """60%: all 10 of launch, then 50 of the 80 that are compute, five eighths of each
    of its parts.
    """
    parts = {
        "kernels": 0.4,
        "starts": 0.24,
        "stretch": 0.16,
        "launch": 0.1,
        "host": 0.1,
    }

    assert taken(parts, 0.6, ("launch", "compute")) == pytest.approx(
        {"launch": 0.1, "kernels": 0.25, "starts": 0.15, "stretch": 0.1}
    )


def test_a_finding_takes_no_more_than_its_classes_hold() -> None:
    parts = {"kernels": 0.7, "starts": 0.0, "stretch": 0.0, "host": 0.3, "launch": 0.0}

    assert taken(parts, 0.9, ("host", "launch")) == {"host": pytest.approx(0.3)}


def test_recording_is_taken_off_the_threads_time() -> None:
    """A fifth of the step: half of the 40% that the thread works. What remains is 80%,
    of which kernels are 60.
    """
    parts = {**dict.fromkeys(PARTS, 0.0), "kernels": 0.6, "host": 0.3, "launch": 0.1}

    step = unrecorded(parts, 0.2)

    assert {name: share for name, share in step.items() if share} == pytest.approx(
        {"kernels": 0.75, "host": 0.1875, "launch": 0.0625}
    )


def test_recording_that_hardly_costs_anything_stays() -> None:
    parts = {**dict.fromkeys(PARTS, 0.0), "kernels": 0.6, "host": 0.4}

    assert unrecorded(parts, 0.099) == parts


def test_recording_never_takes_all_of_a_threads_time() -> None:
    """0.3 of 20% remain: 6 of 86."""
    parts = {**dict.fromkeys(PARTS, 0.0), "kernels": 0.8, "host": 0.2}

    assert unrecorded(parts, 0.9)["host"] == pytest.approx(0.06 / 0.86)


def test_without_time_of_the_thread_there_is_nothing_to_take_off() -> None:
    parts = {**dict.fromkeys(PARTS, 0.0), "kernels": 1.0}

    assert unrecorded(parts, 0.5) == parts
