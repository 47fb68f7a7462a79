"""What the tab's list compares: runs of one kind, as the gate would have it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from support.golden_reports import report_of
from support.places import FIXTURES

from tfadvisor.report.model import Report
from tfadvisor.serve.tensorboard.worker import _summary


@pytest.fixture(scope="module")
def report() -> Report:
    return report_of(FIXTURES / "jax-healthy")


def kind(report: Report) -> str:
    return str(_summary(report)["kind"])


def test_another_device_host_framework_or_program_is_another_kind(
    report: Report,
) -> None:
    device = replace(report.run.devices[0], kind="gpu", model="NVIDIA H100")
    others = [
        replace(report, run=replace(report.run, devices=(device,))),
        replace(report, run=replace(report.run, hosts=("a", "b"))),
        replace(report, run=replace(report.run, framework="tensorflow")),
        replace(
            report, ops=tuple(replace(one, module="jit_other") for one in report.ops)
        ),
    ]

    assert len({kind(report), *map(kind, others)}) == 5


def test_a_slower_step_is_of_the_same_kind(report: Report) -> None:
    ops = tuple(replace(one, ms_per_step=40 * one.ms_per_step) for one in report.ops)

    assert kind(replace(report, ops=ops)) == kind(report)
