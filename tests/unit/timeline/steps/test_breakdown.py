"""Where each instant goes, on timelines that can be worked out on paper."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.trace_builder import TraceBuilder, trace

from tfadvisor.timeline.host_timeline import HostTimeline
from tfadvisor.timeline.intervals import EMPTY
from tfadvisor.timeline.steps import class_masks
from tfadvisor.timeline.steps.class_masks import (
    break_down,
    classes_of_time,
    unknown_time,
)
from tfadvisor.timeline.timeline_parts import StepKind, Steps, StepSource
from tfadvisor.vocabulary import TimeClass

PS = 1_000_000


def shares(timeline: HostTimeline) -> dict[str, float]:
    """Class -> µs over all steps of the first device."""
    total = timeline.breakdown[0].sum(axis=0)
    return {one.name.lower(): int(total[one]) / PS for one in TimeClass if total[one]}


def test_idle_host_python_between_kernels_is_host() -> None:
    """Two 30 µs kernels in a 100 µs step leave 40 µs to the Python of the
    marked step.
    """
    timeline = trace().step(0, 100).busy("GPU:0", (0, 30), (70, 100)).timeline()

    assert shares(timeline) == {"compute": 60, "host": 40}


def test_compute_hides_everything_else() -> None:
    """Input, launch and copies that run beside a kernel cost nothing."""
    builder = (
        trace()
        .step(0, 100)
        .call("IteratorGetNext", 0, 50)
        .call("cuLaunchKernel", 50, 60)
    )
    timeline = builder.busy("GPU:0", (0, 100)).copy("GPU:0", "H2D", 10, 40).timeline()

    assert shares(timeline) == {"compute": 100}


def test_what_is_queued_for_long_waits_for_no_launch() -> None:
    """Three kernels are launched by 60 µs and begin at 5,000: dispatching for their
    50 µs of calls and for a millisecond after the last, then idle for 3,940 µs, though
    the host waits all the time.
    """
    builder = trace().step(0, 5100).call("cuStreamSynchronize", 60, 5100)
    builder.busy("GPU:0", (0, 10))
    for at in (10, 30, 45):
        begin = 5000 + at - 10
        span = (at, at + 15)
        builder.kernel("GPU:0", "k", begin, begin + 20, launched=span)
    found = shares(builder.timeline())

    assert found["idle"] == 5000 - 60 - 1000 + (5100 - 5055)
    assert found["launch"] == 1050


def test_a_collective_counts_only_where_it_is_exposed() -> None:
    timeline = (
        trace()
        .step(0, 100)
        .busy("GPU:0", (0, 60))
        .collective("GPU:0", 40, 100)
        .timeline()
    )

    assert shares(timeline) == {"compute": 60, "collective": 40}


def test_a_copy_yields_to_a_collective() -> None:
    builder = trace().step(0, 100).busy("GPU:0", (0, 20)).collective("GPU:0", 20, 60)
    timeline = builder.copy("GPU:0", "D2H", 50, 100).timeline()

    assert shares(timeline) == {"compute": 20, "collective": 40, "transfer": 40}


def test_the_innermost_known_event_decides() -> None:
    """Loading from 0 to 80 with a dispatch inside it is loading throughout; compiling
    inside it is compiling.
    """
    builder = (
        trace()
        .step(0, 100)
        .call("load_batch", 0, 80)
        .call("PjitFunction(augment)", 10, 20)
    )
    timeline = (
        builder.call("backend_compile", 40, 60).busy("GPU:0", (80, 100)).timeline()
    )

    assert shares(timeline) == {"compute": 20, "input": 60, "compile": 20}


def test_a_dispatch_that_mostly_compiles_is_compilation() -> None:
    builder = (
        trace()
        .step(0, 100)
        .call("PjitFunction(step)", 0, 60)
        .call("backend_compile", 10, 40)
    )
    timeline = builder.busy("GPU:0", (60, 100)).timeline()

    assert shares(timeline) == {"compute": 40, "compile": 60}


def test_a_dispatch_that_hardly_compiles_is_a_dispatch() -> None:
    builder = (
        trace()
        .step(0, 100)
        .call("PjitFunction(step)", 0, 60)
        .call("backend_compile", 10, 14)
    )
    timeline = builder.busy("GPU:0", (60, 100)).timeline()

    assert shares(timeline) == {"compute": 40, "launch": 56, "compile": 4}


def test_a_traced_function_call_is_compilation() -> None:
    builder = (
        trace().step(0, 100).call("train_step", 0, 60, tf_function_call="traced-nonXla")
    )
    timeline = builder.call("EagerExecute", 20, 50).busy("GPU:0", (60, 100)).timeline()

    assert shares(timeline) == {"compute": 40, "compile": 60}


def test_a_wait_belongs_to_what_it_waits_for() -> None:
    """The driver blocks from 10 to 100: another thread fetches the batch, then
    compiles, then nothing is known.
    """
    builder = (
        trace().step(0, 100).call("BlockUntilReady", 10, 100).busy("GPU:0", (80, 90))
    )
    builder.thread("worker").call("IteratorGetNextOp::DoCompute", 10, 40).call(
        "GpuCompiler::Compile", 40, 60
    )
    timeline = builder.timeline()

    assert shares(timeline) == {
        "host": 10,
        "input": 30,
        "compile": 20,
        "idle": 30,
        "compute": 10,
    }


def test_work_launched_but_not_started_is_launch() -> None:
    """Launched until 20, started at 50: the 30 µs between are the launch's, not the
    host's.
    """
    timeline = (
        trace().step(0, 100).kernel("GPU:0", "k", 50, 100, launched=(10, 20)).timeline()
    )

    assert shares(timeline) == {"host": 10, "launch": 40, "compute": 50}


def test_python_of_the_input_pipeline_locks_the_driver_out() -> None:
    """tf.data runs a Python function while the driver wants to dispatch: only one of
    them has Python's lock.
    """
    builder = (
        trace()
        .step(0, 100)
        .call("TFE_Py_ExecuteCancelable", 10, 70)
        .busy("GPU:0", (70, 100))
    )
    builder.thread("tf_data_private_threadpool/1").call(
        "EagerPyFunc:EagerPyFunc", 20, 65
    )
    timeline = builder.timeline()

    assert shares(timeline) == {"host": 10, "launch": 15, "input": 45, "compute": 30}


def test_eager_dispatches_own_the_short_pauses_between_them() -> None:
    """Ten ops with 50 µs of Python between them: what tf.function would remove. The
    long pause is the program's own.
    """
    builder = trace().step(0, 5000)
    for index in range(10):
        at = index * 100
        builder.call("EagerLocalExecute: MatMul", at, at + 50)
    timeline = builder.busy("GPU:0", (4900, 5000)).timeline()

    assert shares(timeline) == {"launch": 950, "host": 3950, "compute": 100}


def test_beside_a_compiled_function_only_shorter_pauses_are_dispatch() -> None:
    """A callback reads ten weights, with 300 µs of its own work after each pair: no
    eager step, the function is most of it.
    """
    builder = (
        trace().step(0, 5000).call("EagerLocalExecute: __inference_step_9", 0, 2000)
    )
    for index in range(5):
        at = 2000 + index * 400
        builder.call("EagerLocalExecute: ReadVariableOp", at, at + 40)
        builder.call("EagerLocalExecute: ReadVariableOp", at + 60, at + 100)
    timeline = builder.busy("GPU:0", (0, 2000)).timeline()

    assert shares(timeline) == {"compute": 2000, "launch": 500, "host": 2500}


def test_few_dispatches_do_not_make_an_eager_step() -> None:
    builder = trace().step(0, 1000)
    for index in range(3):
        builder.call("PjitFunction(step)", index * 100, index * 100 + 50)
    timeline = builder.busy("GPU:0", (900, 1000)).timeline()

    assert shares(timeline) == {"launch": 150, "host": 750, "compute": 100}


def test_each_device_has_a_breakdown_of_its_own() -> None:
    """XProf merges the GPUs of a host; here GPU 1 idles while GPU 0 computes."""
    timeline = (
        trace().step(0, 100).busy("GPU:0", (0, 80)).busy("GPU:1", (0, 20)).timeline()
    )

    assert timeline.breakdown[0, 0, TimeClass.COMPUTE] == 80 * PS
    assert timeline.breakdown[1, 0, TimeClass.COMPUTE] == 20 * PS


def test_a_period_ends_where_the_next_step_begins() -> None:
    """Steps of 60 in periods of 100: the gap of 40 belongs to the step before it."""
    timeline = (
        trace()
        .steps(3, period=100, span=60)
        .busy("GPU:0", (0, 50), (100, 150), (200, 250))
        .timeline()
    )

    assert timeline.breakdown[0, :2].sum(axis=1).tolist() == [100 * PS, 100 * PS]
    assert timeline.breakdown[0, 0, TimeClass.HOST] == 50 * PS


def test_cpu_thunks_are_devices_by_ordinal() -> None:
    builder = trace().step(0, 100)
    builder.thread("tf_XLAEigen/1").call(
        "dot.1", 0, 40, hlo_op="dot.1", device_ordinal=0, run_id=1
    )
    builder.thread("tf_XLAEigen/2").call(
        "dot.1", 0, 90, hlo_op="dot.1", device_ordinal=1, run_id=1
    )
    timeline = builder.timeline()

    assert [device.name for device in timeline.devices] == ["CPU:0", "CPU:1"]
    assert timeline.breakdown[:, 0, TimeClass.COMPUTE].tolist() == [40 * PS, 90 * PS]


def test_an_asynchronous_thunk_lasts_until_its_end_mark() -> None:
    builder = trace().step(0, 100).thread("tf_XLAEigen/1")
    builder.call("dot.1", 10, 12, hlo_op="dot.1", device_ordinal=0, _p=77)
    timeline = (
        builder.thread("tf_XLAEigen/2").call("end: dot.1", 60, 60.5, _c=77).timeline()
    )

    assert timeline.breakdown[0, 0, TimeClass.COMPUTE] == 50 * PS


def test_a_while_loop_on_the_cpu_is_its_body_not_its_span() -> None:
    builder = trace().step(0, 100).thread("tf_XLAEigen/1")
    builder.call("while.3", 0, 100, hlo_op="while.3", device_ordinal=0)
    timeline = builder.call(
        "add.1", 10, 30, hlo_op="add.1", device_ordinal=0
    ).timeline()

    assert timeline.breakdown[0, 0, TimeClass.COMPUTE] == 20 * PS


def test_ops_of_the_input_pipeline_are_no_device_work() -> None:
    """The same op type on a tf.data thread, and inside a captured function on the
    common pool, does not compute.
    """
    builder = trace().step(0, 100)
    builder.thread("tf_Compute/1").call("dense/MatMul:MatMul", 0, 30)
    builder.call("ExecutorState::Process", 40, 60, id=9).call("sort:TopKV2", 42, 58)
    builder.thread("tf_data_iterator_resource/2").call(
        "InstantiatedCapturedFunction::RunAsync", 38, 39, id=9
    )
    timeline = (
        builder.thread("tf_data_private_threadpool/3")
        .call("sort:TopKV2", 60, 90)
        .timeline()
    )

    assert timeline.breakdown[0, 0, TimeClass.COMPUTE] == 30 * PS


def test_an_eager_op_computes_inside_its_run_only() -> None:
    """On a CPU the kernel of an eager op runs in `KernelAndDeviceFunc::Run`; of a
    function that is a wait.
    """
    builder = trace().step(0, 100)
    builder.call("EagerLocalExecute: MatMul", 0, 40).call(
        "KernelAndDeviceFunc::Run", 10, 35
    )
    builder.call("EagerLocalExecute: __inference_f_12", 50, 90).call(
        "KernelAndDeviceFunc::Run", 60, 85
    )
    timeline = builder.timeline()

    assert timeline.breakdown[0, 0, TimeClass.COMPUTE] == 25 * PS


SPANS = st.lists(
    st.tuples(st.integers(0, 400), st.integers(0, 60)).map(
        lambda s: (s[0], s[0] + s[1])
    ),
    max_size=6,
)
NAMES = st.sampled_from(
    [
        "load_batch",
        "PjitFunction(f)",
        "backend_compile",
        "BlockUntilReady",
        "$x.py:1 f",
        "IteratorGetNext",
    ]
)


@settings(max_examples=200)
@given(
    SPANS,
    SPANS,
    SPANS,
    st.lists(st.tuples(NAMES, st.integers(0, 400), st.integers(1, 60)), max_size=8),
    st.integers(1, 4),
)
def test_classes_exclude_each_other_and_add_up(
    kernels, collectives, copies, calls, count
) -> None:
    builder: TraceBuilder = trace().steps(count, period=100)
    builder.busy("GPU:0", (0, 1), *kernels)
    for start, end in collectives:
        builder.collective("GPU:0", start, end)
    for start, end in copies:
        builder.copy("GPU:0", "H2D", start, end)
    for name, start, length in calls:
        builder.call(name, start, start + length)
    timeline = builder.timeline()
    (device,) = timeline.active_devices()
    periods = timeline.steps.ends - timeline.steps.starts

    assert (timeline.breakdown >= 0).all()
    assert (timeline.breakdown[0].sum(axis=1) == periods).all()
    busy = timeline.breakdown[0, :, :3].sum()
    assert busy <= periods.sum()
    assert (
        timeline.breakdown[0, :, TimeClass.COLLECTIVE].sum()
        <= device.collective.length()
    )


@pytest.mark.parametrize("device", ["GPU:0", "TPU:0"])
def test_a_trace_without_host_events_has_idle_time_only(device: str) -> None:
    line = "Stream #1(Compute)" if device.startswith("GPU") else "XLA Ops"
    builder = (
        trace()
        .on_line(f"/device:{device}", line, "fusion.1", 0, 10)
        .on_line(f"/device:{device}", line, "fusion.1", 90, 100)
    )

    assert shares(builder.timeline()) == {"compute": 20, "idle": 80}


def test_an_infeed_that_nothing_hides_is_a_wait_for_input() -> None:
    """A TPU step of 100 µs: infeed 0 to 40, of which a fusion covers 30 to 40; then it
    computes until 100.
    """
    builder = trace()
    for at in (0, 100, 200):
        builder.on_line("/device:TPU:0", "XLA Modules", "jit_step(1)", at, at + 100)
        builder.on_line(
            "/device:TPU:0",
            "XLA Ops",
            "%infeed.1 = (f32[8]{0}, token[]) infeed(token[] %t)",
            at,
            at + 40,
        )
        builder.on_line(
            "/device:TPU:0",
            "XLA Ops",
            "%fusion.1 = f32[8]{0} fusion(f32[8]{0} %x)",
            at + 30,
            at + 100,
        )

    metrics = builder.measure()

    assert metrics.value("input_bound_fraction") == pytest.approx(0.3)
    assert metrics.value("compute_fraction") == pytest.approx(0.7)
    assert metrics.value("device_busy_fraction") == pytest.approx(0.7)


def test_python_that_the_compiled_step_calls_is_host_work() -> None:
    """An op of TensorFlow's executor takes 40 of 100 µs on another thread while the
    driving one waits for the function.
    """
    builder = trace().step(0, 100).call("EagerLocalExecute: __inference_step_1", 0, 90)
    builder.call("EagerKernelExecute", 1, 89).call("KernelAndDeviceFunc::Run", 2, 88)
    builder.thread("tf_Compute/1").call("a:MatMul", 10, 30).call(
        "EagerPyFunc:EagerPyFunc", 30, 70
    )
    timeline = builder.call("b:MatMul", 70, 88).timeline()

    assert shares(timeline)["host"] == 40 + 10  # and what follows the call
    assert shares(timeline)["compute"] == 38


def test_a_callback_of_xlas_program_is_no_device_work() -> None:
    builder = (
        trace().step(0, 100).call("PjitFunction(step)", 0, 90).thread("tf_XLAEigen/1")
    )
    for name, start, end in (
        ("dot.1", 10, 30),
        ("pure_callback.1", 30, 70),
        ("dot.2", 70, 90),
    ):
        builder.call(name, start, end, hlo_op=name, device_ordinal=0)

    found = shares(builder.timeline())

    assert (found["compute"], found["host"]) == (40, 50)


def test_python_in_the_step_is_told_from_that_of_the_loop() -> None:
    builder = (
        trace().step(0, 100).call("PjitFunction(step)", 0, 90).thread("tf_XLAEigen/1")
    )
    for name, start, end in (
        ("dot.1", 10, 30),
        ("pure_callback.1", 30, 70),
        ("dot.2", 70, 90),
    ):
        builder.call(name, start, end, hlo_op=name, device_ordinal=0)

    metrics = builder.measure()

    assert metrics.value("python_in_step_fraction") == pytest.approx(0.4)
    assert metrics.value("loop_python_fraction") == pytest.approx(0.1)
    assert metrics.fact("python_in_step_op") == "pure_callback.1"


def test_what_a_called_python_holds_up_has_begun_already() -> None:
    """A call of 5 µs launches a run: dot.1 from 10 to 30, Python to 70, dot.2 to 90.
    Python has 40 of 100 µs. Before it the run waits for its launch, from 5 to 10.
    """
    builder = (
        trace().step(0, 100).call("PjitFunction(step)", 0, 5).thread("tf_XLAEigen/1")
    )
    for name, start, end in (
        ("dot.1", 10, 30),
        ("pure_callback.1", 30, 70),
        ("dot.2", 70, 90),
    ):
        builder.call(
            name,
            start,
            end,
            hlo_op=name,
            hlo_module="jit_step",
            run_id=1,
            device_ordinal=0,
        )

    metrics = builder.measure()

    assert metrics.value("python_in_step_fraction") == pytest.approx(0.4)
    assert metrics.value("kernel_launch_gap_fraction") == pytest.approx(0.1)


def test_a_step_without_callbacks_calls_no_python() -> None:
    metrics = trace().step(0, 100).busy("GPU:0", (0, 30)).measure()

    assert metrics.value("python_in_step_fraction") == 0
    assert metrics.fact("python_in_step_op") is None


def test_a_device_that_does_nothing_takes_part_where_nobody_does_anything() -> None:
    """Step 0: both work. Step 1: only GPU 1, by copying for 1 ps more than nothing.
    Step 2: neither.
    """
    builder = (
        trace().steps(3, period=100).busy("GPU:0", (0, 50)).busy("GPU:1", (10, 20))
    )
    timeline = builder.copy("GPU:1", "H2D", 110, 110.000001).timeline()

    assert timeline.takes_part.tolist() == [[True, False, True], [True, True, True]]


def test_communication_alone_is_taking_part() -> None:
    timeline = (
        trace()
        .steps(2, period=100)
        .busy("GPU:0", (0, 150))
        .collective("GPU:1", 10, 20)
        .timeline()
    )

    assert timeline.takes_part.tolist() == [[True, True], [True, False]]


def test_a_host_without_devices_has_its_own_classes() -> None:
    timeline = (
        trace()
        .step(0, 100)
        .call("load_batch", 0, 30)
        .call("PjitFunction(f)", 30, 50)
        .timeline()
    )

    assert timeline.breakdown.shape == (1, 1, 8)
    assert shares(timeline) == {"input": 30, "launch": 20, "host": 50}


def test_work_that_begins_before_its_launch_call_ends_has_not_been_waited_for() -> None:
    """The first kernel starts inside its launch, the second as it ends, the third 10 µs
    later.
    """
    builder = trace().step(0, 100).kernel("GPU:0", "k", 5, 10, launched=(0, 8))
    builder.kernel("GPU:0", "k", 20, 30, launched=(15, 20)).kernel(
        "GPU:0", "k", 50, 90, launched=(35, 40)
    )

    assert shares(builder.timeline()) == {
        "compute": 55,
        "launch": 5 + 5 + 15,
        "host": 20,
    }


def test_compilation_and_input_come_before_what_is_launched_and_not_started() -> None:
    """Launched at 10, started at 80: the driver compiles until 30, loads until 50 and
    runs Python until 80.
    """
    builder = trace().step(0, 100).kernel("GPU:0", "k", 80, 100, launched=(0, 10))
    builder.call("backend_compile", 10, 30).call("load_batch", 30, 50)

    assert shares(builder.timeline()) == {
        "compute": 20,
        "launch": 40,
        "compile": 20,
        "input": 20,
    }


def test_pieces_of_dispatch_shorter_than_100_us_are_short() -> None:
    """Dispatches of 99.9, 100 and 75 µs, of which the last reaches 25 µs into the
    second step.
    """
    builder = trace().step(0, 1000).step(1000, 2000).busy("GPU:0", (1900, 2000))
    for at, length in ((0, 99.9), (200, 100), (950, 75)):
        builder.call("PjitFunction(f)", at, at + length)
    timeline = builder.timeline()

    assert shares(timeline)["launch"] == pytest.approx(274.9)
    assert timeline.short_launch_ps.tolist() == [[149_900_000, 25_000_000]]


def test_the_instants_are_those_of_the_first_device() -> None:
    """GPU 0 computes 80 of 100 µs, GPU 1 20."""
    made = trace().step(0, 100).busy("GPU:0", (0, 80)).busy("GPU:1", (0, 20)).timeline()
    found = break_down(made.devices, dict.fromkeys(TimeClass, EMPTY), made.steps)

    assert found.classes[0][TimeClass.COMPUTE].length() == 80 * PS


def test_where_the_devices_work_was_not_recorded_all_time_is_idle() -> None:
    """One row for two steps of 30 and 70 ps."""
    bounds = np.array([0, 30], np.int64), np.array([30, 100], np.int64)
    steps = Steps(
        *bounds,
        bounds[1],
        ("a", "b"),
        (StepKind.STEADY,) * 2,
        StepSource.MARKER,
        1.0,
        0,
        "",
    )

    found = unknown_time(steps)

    assert found.shape == (1, 2, len(TimeClass))
    assert found[0, :, TimeClass.IDLE].tolist() == [30, 70]
    assert found.sum() == 100


def test_a_large_class_is_worked_out_anew_each_time_and_a_small_one_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Python before and after a dispatch of 20 µs; nothing compiles."""
    monkeypatch.setattr(class_masks, "_FEW", 1)
    builder = (
        trace().step(0, 100).busy("GPU:0", (80, 100)).call("PjitFunction(f)", 40, 60)
    )
    made = builder.timeline()
    found = classes_of_time(made.devices[0], made.classes)

    assert found[TimeClass.HOST] is not found[TimeClass.HOST]
    assert found[TimeClass.HOST].length() == found[TimeClass.HOST].length()
    assert found[TimeClass.COMPILE] is found[TimeClass.COMPILE]
    assert found[TimeClass.COMPUTE] is made.devices[0].compute


def test_idle_is_no_class_with_instants_of_its_own() -> None:
    made = trace().step(0, 100).busy("GPU:0", (0, 80)).timeline()
    found = classes_of_time(made.devices[0], made.classes)

    assert list(found) == [kind for kind in TimeClass if kind is not TimeClass.IDLE]
    assert len(found) == len(TimeClass) - 1
    with pytest.raises(KeyError):
        found[TimeClass.IDLE]


# Copies between host and device have a part on the host, into or out of pinned memory.


def dispatch_that_waits_for_a_copy(device: str) -> TraceBuilder:
    """The driving thread dispatches for 380 µs, because another one copies the
    program's input into pinned memory for 300.
    """
    builder = trace().step(0, 400).call("PjitFunction(step)", 0, 380)
    builder.thread("pjrt_async_work_runner").call("H2D Dispatch", 20, 320)
    return builder.copy(device, "H2D", 320, 360).busy(device, (370, 400))


def test_a_dispatch_that_waits_for_the_hosts_part_of_a_copy_is_copying() -> None:
    assert shares(dispatch_that_waits_for_a_copy("GPU:0").timeline()) == {
        "transfer": 340,
        "launch": 30,
        "compute": 30,
    }


def test_a_short_one_on_another_thread_leaves_the_dispatch_what_it_is() -> None:
    builder = trace().step(0, 400).call("PjitFunction(step)", 0, 380)
    builder.thread("pjrt_async_work_runner").call("H2D Dispatch", 20, 119)

    assert shares(builder.busy("GPU:0", (380, 400)).timeline()) == {
        "launch": 380,
        "compute": 20,
    }


def test_a_thread_that_copies_itself_copies() -> None:
    """Ten of the 100 µs of a dispatch."""
    builder = (
        trace()
        .step(0, 100)
        .call("PjitFunction(step)", 0, 100)
        .call("CommonPjRtClient::LinearizeIntoImpl", 20, 30)
    )

    assert shares(builder.busy("GPU:0", (90, 100)).timeline()) == {
        "launch": 80,
        "transfer": 10,
        "compute": 10,
    }


def test_copies_of_the_host_hide_behind_computation() -> None:
    builder = dispatch_that_waits_for_a_copy("GPU:0").busy("GPU:0", (0, 310), stream=2)

    assert shares(builder.timeline()) == {"compute": 340, "transfer": 50, "launch": 10}


def test_reading_a_large_array_is_copying_from_its_first_moment() -> None:
    """Of 500 µs the read waits 60 for the kernel; another thread copies out of pinned
    memory for 150.
    """
    builder = (
        trace()
        .step(0, 500)
        .busy("GPU:0", (0, 60))
        .call("np.asarray(jax.Array)", 10, 490)
    )
    builder.copy("GPU:0", "D2H", 300, 320).thread("python3").call(
        "D2H Copy From Staging Buffer", 330, 480
    )

    assert shares(builder.timeline()) == {"compute": 60, "transfer": 430, "host": 10}


def test_reading_a_small_one_is_not() -> None:
    builder = (
        trace()
        .step(0, 500)
        .busy("GPU:0", (0, 60))
        .call("np.asarray(jax.Array)", 10, 490)
    )
    builder.copy("GPU:0", "D2H", 300, 320).thread("python3").call(
        "D2H Copy From Staging Buffer", 330, 340
    )

    assert shares(builder.timeline()) == {
        "compute": 60,
        "transfer": 30,
        "idle": 400,
        "host": 10,
    }
