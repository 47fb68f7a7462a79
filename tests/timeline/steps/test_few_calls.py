"""Steps of a capture too short, or a loop too uneven, for a rhythm."""

from __future__ import annotations

import pytest
from support.trace_builder import TraceBuilder, trace

from tfadvisor.timeline.model import Steps, StepSource


def lengths_us(steps: Steps) -> list[float]:
    return ((steps.ends - steps.starts) / 1e6).tolist()


def one_batch() -> TraceBuilder:
    """Keras' profile_batch=2 on a GPU: the call returns at 300, its last kernel ends at 900, the export of the graph at 5000."""
    builder = trace().call("train_function", 100, 300, tf_function_call="notTraced-nonXla")
    builder.kernel("GPU:0", "conv", 250, 600, launched=(150, 160)).kernel(
        "GPU:0", "adam", 600, 900, launched=(200, 210)
    )
    builder.call("EagerLocalExecute: LogicalAnd", 4000, 4100).kernel("GPU:0", "and", 4060, 4070, launched=(4020, 4030))
    return builder.call("EagerLocalExecute: WriteSummary", 4200, 4300).call(
        "EagerLocalExecute: FlushSummaryWriter", 4500, 5000
    )


def test_one_batch_ends_with_the_last_device_work_that_its_function_launched() -> None:
    steps = one_batch().timeline().steps

    assert steps.source is StepSource.MODULE
    assert lengths_us(steps) == [800]
    assert 0.5 <= steps.confidence < 0.9


def test_what_the_callback_does_afterwards_is_the_captures_own_work() -> None:
    """From the step's end at 900 µs to the end of the flush at 5000 µs: 4.1 ms."""
    report = one_batch().report()

    assert report.metrics["capture_work_ms"].value == pytest.approx(4.1)
    assert "capture-work" in {note.rule_id for note in report.capture}
    assert "files-written-every-step" not in {finding.rule_id for finding in report.findings}


def test_a_line_that_the_viewer_drew_is_the_last_thing_to_go_by() -> None:
    """It lasts from the first kernel to the callback's own: 250 to 4070 µs, and is no step."""
    drawn = one_batch().drawn_line("/device:GPU:0", "Steps", ("0", 250, 4070))

    assert lengths_us(drawn.timeline().steps) == [800]


def test_without_a_call_the_drawn_line_is_all_there_is() -> None:
    builder = trace().busy("GPU:0", (0, 100), (200, 700))
    builder.drawn_line("/device:GPU:0", "Steps", ("0", 0, 700))

    steps = builder.timeline().steps

    assert (steps.source, lengths_us(steps)) == (StepSource.MARKER, [700])


def test_on_a_cpu_the_step_is_the_call_and_writing_its_summary_is_none() -> None:
    builder = trace().call("train_function", 0, 500, tf_function_call="notTraced-nonXla")
    builder.thread("tf_Compute/1").call("dense/MatMul:MatMul", 20, 480)
    builder.thread("python").call("EagerLocalExecute: WriteSummary", 900, 950)

    steps = builder.timeline().steps

    assert (steps.source, lengths_us(steps)) == (StepSource.MODULE, [500])


def test_a_function_that_launches_less_than_half_of_the_work_is_no_step() -> None:
    """40 of 100 µs of kernels: it is one part among others."""
    builder = trace().call("metric_function", 0, 20, tf_function_call="notTraced-nonXla")
    builder.kernel("GPU:0", "a", 10, 50, launched=(5, 6)).kernel("GPU:0", "b", 100, 160, launched=(90, 91))

    assert builder.timeline().steps.source is StepSource.WHOLE_TRACE


@pytest.mark.parametrize(("calls", "confidence"), [(7, 0.45), (8, 0.6)])
def test_uneven_calls_that_launch_nearly_all_work_are_steps(calls: int, confidence: float) -> None:
    """A validation after each second step: periods of 100 and 900 µs alternate, which is no rhythm."""
    builder = trace()
    starts = [(index // 2) * 1000 + (index % 2) * 100 for index in range(calls)]
    for at in starts:
        builder.call("PjitFunction(train)", at, at + 30).kernel(
            "GPU:0", "k", at + 35, at + 90, launched=(at + 5, at + 9)
        )

    steps = builder.timeline().steps

    assert steps.source is StepSource.MODULE
    assert len(steps) == calls
    assert lengths_us(steps)[:3] == [100, 900, 100]
    assert steps.confidence == confidence


def test_an_op_among_others_is_no_step_however_often_it_is_called() -> None:
    """matmul launches 60% of the work, the rest of an eager program's ops 40%."""
    builder = trace()
    for index, gap in enumerate((0, 30, 500, 90, 700, 10, 300, 40, 900)):
        at = index * 1000 + gap
        builder.call("PjitFunction(matmul)", at, at + 10).kernel(
            "GPU:0", "m", at + 20, at + 80, launched=(at + 1, at + 2)
        )
        builder.call("PjitFunction(add)", at + 90, at + 99)
        builder.kernel("GPU:0", "a", at + 100, at + 140, launched=(at + 91, at + 92))

    assert builder.timeline().steps.source is not StepSource.MODULE
