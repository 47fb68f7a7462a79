"""What is true of ten laptops and PCs that strangers recorded, one batch of Keras each:
`truth.md` beside each trace says it.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

import pytest
from support.shared_traces import FOLDER, needs_shared_traces

import tfadvisor
from tfadvisor.report.forms.terminal import as_text
from tfadvisor.report.model import Report

pytestmark = needs_shared_traces


class Truth(NamedTuple):
    """must: said somewhere, as regular expressions. never: nowhere. step: ms of the
    call of train_function, None where nothing can be told of it. devices: kinds.
    """

    must: tuple[str, ...]
    never: tuple[str, ...]
    step: tuple[float, float] | None
    devices: tuple[str, ...] = ("cpu",)


CALLBACK = ("FlushSummaryWriter", "WriteSummary")
TOO_FEW = r"so few steps cannot show whether"
MAC = Truth((TOO_FEW,), (*CALLBACK, "JPEG", r"map\(", "slow"), (1.95, 2.65))
UNRECORDED = Truth(
    (
        "The GPU's work was not recorded",
        r"extras\\CUPTI\\lib64",
        "Linux",
        r"1 without events \(compute capability",
    ),
    (*CALLBACK, "modprobe", "administrators", "LAUNCH-BOUND", "COMPUTE-BOUND"),
    None,
    (),
)
UNUSED = (
    "computed on the CPU although the machine has a GPU",
    r"tf\.config\.list_physical_devices",
)
TRUTHS = {
    "mac-cpu-mlp-1": MAC,
    "mac-cpu-mlp-2": MAC,
    "mac-cpu-mlp-3": MAC,
    "mac-cpu-mlp-4": MAC,
    "win-cpu-mlp-stall-1327ms": Truth((TOO_FEW,), CALLBACK, (1320, 1335)),
    "win-cpu-mlp-stall-917ms": Truth(
        (TOO_FEW, "ResourceApplyGradientDescent"),
        (*CALLBACK, "COMPUTE-BOUND"),
        (910, 925),
    ),
    "win-gpu-unrecorded-mlp": UNRECORDED,
    "win-gpu-unrecorded-cudnn-lstm": UNRECORDED,
    "win-gpu-unused-gtx1050": Truth(UNUSED, (*CALLBACK, "CUPTI", "cupti"), (37, 39)),
    "win-gpu-unused-lstm": Truth(
        (*UNUSED, "one by one", 'activation="tanh"'),
        (*CALLBACK, "CUPTI", "cupti", "bucket_by_sequence_length"),
        (85, 95),
    ),
}


@cache
def report_of(name: str) -> Report:
    return tfadvisor.analyze(FOLDER / "keras-callback-pc" / name).report


@cache
def words_of(name: str) -> str:
    return " ".join(as_text(report_of(name), details=False).split())


@pytest.mark.parametrize("name", TRUTHS)
def test_what_must_be_said_of_a_laptop_is_said(name: str) -> None:
    said = words_of(name)

    assert [one for one in TRUTHS[name].must if not re.search(one, said)] == []


@pytest.mark.parametrize("name", TRUTHS)
def test_what_must_never_be_said_of_a_laptop_is_not(name: str) -> None:
    said = words_of(name)

    assert [one for one in TRUTHS[name].never if re.search(one, said)] == []


@pytest.mark.parametrize("name", TRUTHS)
def test_a_laptops_step_is_the_call_of_its_training_function(name: str) -> None:
    report, truth = report_of(name), TRUTHS[name]

    assert tuple(one.kind for one in report.run.devices) == truth.devices
    if truth.step is None:
        assert report.verdict.bottleneck == "unknown"
        return
    assert report.steps.time_ms is not None
    assert report.steps.count == 1
    assert truth.step[0] <= report.steps.time_ms.median <= truth.step[1]
