"""Where the step goes: class, activity, place. Steps of 100 µs whose parts are worked
out by hand.
"""

from __future__ import annotations

import pytest
from support.gpu_step import gpu_steps
from support.trace_builder import TraceBuilder, trace

from tfadvisor.report.model import Report


def told(report: Report) -> dict[str, dict[str, float]]:
    """Class -> activity -> percent of the step."""
    return {
        kind.kind: {one.activity: round(100 * one.fraction, 3) for one in kind.parts}
        for kind in report.attribution
    }


def inside(report: Report, kind: str, activity: str) -> dict[str, float]:
    """The parts of one activity -> percent of the step."""
    (one,) = [
        one
        for of in report.attribution
        if of.kind == kind
        for one in of.parts
        if one.activity == activity
    ]
    return {part.activity: round(100 * part.fraction, 3) for part in one.parts}


def python_steps(
    *calls: tuple[str, float, float], device: tuple[float, float] = (0, 20)
) -> TraceBuilder:
    """Four steps of 100 µs of `train`, which makes the calls (frame, from, to) in each;
    the device works 0..20.
    """
    builder = trace().call("$train.py:10 train", -50, 450)
    for at in range(0, 400, 100):
        builder.step(at, at + 100)
        builder.kernel(
            "GPU:0", "some_kernel", at + device[0], at + device[1], launched=(at, at)
        )
        for name, lo, hi in calls:
            builder.call(name, at + lo, at + hi)
    return builder


def test_kernels_without_an_op_go_by_their_own_name() -> None:
    """30 and 60 of 100 µs; 10 µs nothing is known of."""
    report = gpu_steps(("transpose_kernel", 30), ("sgemm_kernel", 60)).report()

    assert told(report)["compute"] == {"sgemm_kernel": 60, "transpose_kernel": 30}
    assert report.breakdown["compute"] == pytest.approx(0.9)


def test_kernels_of_an_op_go_by_its_type_and_lie_in_its_layer() -> None:
    """Two kernels of dense/MatMul, 30 + 40 µs, and one of dense/Relu, 10 µs."""
    builder = trace()
    for at in range(0, 400, 100):
        builder.step(at, at + 100)
        for name, lo, hi, path in (
            ("split_kernel", 0, 30, "model/dense/MatMul:MatMul"),
            ("sgemm_kernel", 30, 70, "model/dense/MatMul:MatMul"),
            ("relu_kernel", 70, 80, "model/dense/Relu:Relu"),
        ):
            builder.on_line(
                "/device:GPU:0",
                "Stream #1(Compute)",
                name,
                at + lo,
                at + hi,
                tf_op=path,
            )
    report = builder.report()

    assert told(report)["compute"] == {"MatMul": 70, "Relu": 10}
    assert inside(report, "compute", "MatMul") == {"model/dense/MatMul": 70}
    (matmul, _) = report.attribution[0].parts
    assert [(one.layer, one.kernel) for one in matmul.places] == [
        ("model/dense", "sgemm_kernel"),
        ("model/dense", "split_kernel"),
    ]


def test_a_collective_goes_by_its_kind() -> None:
    """Compute 0..50, all-reduce 40..90: 40 of 100 µs of it are exposed."""
    builder = trace()
    for at in range(0, 400, 100):
        builder.step(at, at + 100).busy("GPU:0", (at, at + 50)).collective(
            "GPU:0", at + 40, at + 90
        )
    report = builder.report()

    assert told(report)["collective"] == {"all-reduce": 40}
    assert told(report)["compute"] == {"some_kernel": 50}


def test_a_copy_goes_by_its_direction() -> None:
    builder = trace()
    for at in range(0, 400, 100):
        builder.step(at, at + 100).busy("GPU:0", (at, at + 60)).copy(
            "GPU:0", "H2D", at + 50, at + 90
        )

    assert told(builder.report())["transfer"] == {"host to device": 30}


def test_python_goes_by_the_users_function_and_by_what_it_calls() -> None:
    """The device works 0..20. save 30..80 calls dump 40..70; 20..30 and 80..100 are
    train's own.
    """
    report = python_steps(
        ("$train.py:42 save", 30, 80), ("$pickle.py:12 dump", 40, 70)
    ).report()

    assert told(report)["host"] == {"save (train.py:42)": 50, "train (train.py:10)": 30}
    assert inside(report, "host", "save (train.py:42)") == {
        "dump (pickle.py:12)": 30,
        "its own lines": 20,
    }
    save = next(
        one for of in report.attribution if of.kind == "host" for one in of.parts
    )
    assert [(one.file, one.line, one.function) for one in save.places] == [
        ("train.py", 42, "save")
    ]


def test_without_frames_the_events_around_the_time_are_told() -> None:
    """The device works 5..25 of 100 µs. Between two launches, 5..100, no event is
    recorded: 75 of it without device work.
    """
    builder = trace()
    for at in range(0, 400, 100):
        builder.step(at, at + 100).kernel(
            "GPU:0", "some_kernel", at + 5, at + 25, launched=(at, at + 5)
        )
    report = builder.report()

    assert told(report)["host"] == {"not recorded: no Python frames": 75}
    around = inside(report, "host", "not recorded: no Python frames")
    assert around["after cuLaunchKernel, before cuLaunchKernel"] == pytest.approx(
        75 * 3 / 4
    )  # the last step ends the trace


def test_waiting_for_a_batch_goes_to_the_stages_that_work_meanwhile() -> None:
    """The loop asks 20..100 for a batch. A thread of tf.data decodes 30..60 and then
    waits in its parallel map until 70: 30 µs are the map's, and the other 50 stay with
    the wait.
    """
    builder = trace().steps(4, period=100)
    for at in range(0, 400, 100):
        builder.thread("python").call(
            "IteratorGetNext:IteratorGetNext", at + 20, at + 100
        )
        builder.busy("GPU:0", (at, at + 20))
        builder.thread("tf_data_map").call(
            "Iterator::Root::Prefetch::ParallelMapV2", at + 30, at + 70
        )
        builder.call("decode/DecodeJpeg:DecodeJpeg", at + 30, at + 60)
    report = builder.report()

    assert report.breakdown["input"] == pytest.approx(0.8)
    found = told(report)["input"]
    assert found == {
        "tf.data ParallelMap": 30,
        "waits in IteratorGetNext:IteratorGetNext": 50,
    }
    stage = next(
        one
        for one in report.attribution[0].parts
        if one.activity == "tf.data ParallelMap"
    )
    assert {place.stage for place in stage.places} == {"Prefetch::ParallelMap"}
    assert inside(report, "input", "tf.data ParallelMap") == {
        "decode/DecodeJpeg:DecodeJpeg": 30
    }


def test_dispatch_goes_by_the_function_that_is_called() -> None:
    """The device works 60..80 of 100 µs; PjitFunction(step) 0..60 dispatches it."""
    builder = trace()
    for at in range(0, 400, 100):
        builder.step(at, at + 100).call("PjitFunction(step)", at, at + 60)
        builder.kernel(
            "GPU:0", "some_kernel", at + 60, at + 80, launched=(at + 50, at + 55)
        )
    report = builder.report()

    assert told(report)["launch"]["dispatches step"] == 60


def test_two_devices_are_averaged() -> None:
    """A computes 80 of 100 µs, B 40 µs with another kernel: 40% and 20% of the step of
    both.
    """
    builder = trace()
    for at in range(0, 400, 100):
        builder.step(at, at + 100)
        builder.busy("GPU:0", (at, at + 80), name="kernel_a").busy(
            "GPU:1", (at, at + 40), name="kernel_b"
        )
    report = builder.report()

    assert told(report)["compute"] == {"kernel_a": 40, "kernel_b": 20}


def test_two_hosts_are_averaged() -> None:
    """One host computes 80 of 100 µs, the other 40 µs."""
    builder = trace()
    for host, busy in (("a", 80), ("b", 40)):
        builder.host(host)
        for at in range(0, 400, 100):
            builder.step(at, at + 100).busy(
                "GPU:0", (at, at + busy), name=f"kernel_{host}"
            )
    report = builder.report()

    assert told(report)["compute"] == {"kernel_a": 40, "kernel_b": 20}


def test_the_parts_that_are_too_small_are_the_last_one() -> None:
    """Twelve kernels of 8 to 2 µs: ten are told, what the two smallest take is
    `other`.
    """
    lengths = [8.0, 8, 7, 7, 7, 6, 6, 6, 5, 5, 3, 2]
    report = gpu_steps(
        *((f"kernel_{chr(97 + at)}_x", length) for at, length in enumerate(lengths))
    ).report()

    parts = report.attribution[0].parts
    assert len(parts) == 11
    assert (parts[-1].activity, parts[-1].fraction) == ("other", pytest.approx(0.05))


def test_milliseconds_are_of_the_median_step() -> None:
    report = gpu_steps(("some_kernel", 60)).report()

    assert next((one.kind, one.ms) for one in report.attribution) == (
        "compute",
        pytest.approx(0.06),
    )


def test_a_trace_without_steps_says_why() -> None:
    report = trace().call("something", 0, 0).report()

    assert report.attribution == ()
    assert report.attribution_absent


def test_a_class_of_one_picosecond_has_a_part_too() -> None:
    """Four kernels fill 40 ms but for 1 ps, in which nothing is known to happen: the
    report is made all the same.
    """
    builder = trace()
    for at in range(0, 40_000, 10_000):
        builder.on_line(
            "/device:GPU:0",
            "Stream #1(Compute)",
            "kernel",
            at,
            at + 10_000 - 0.000_001 * (at == 0),
        )

    (_, idle) = builder.report().attribution

    assert (idle.kind, [one.activity for one in idle.parts]) == ("idle", ["other"])
