"""A GPU's work that the host launched and the trace lacks."""

from __future__ import annotations

import pytest
from support.trace_builder import TraceBuilder, trace

from tfadvisor.report.wording import run_line
from tfadvisor.vocabulary import Severity

ALLOCATED = {
    "allocator_name": "GPU_0_bfc",
    "bytes_allocated": 1,
    "bytes_reserved": 0,
    "bytes_available": 9,
}


def a_step_on_the_host() -> TraceBuilder:
    """One call of the training function with ops in TensorFlow's executor, as a silent
    GPU leaves it.
    """
    builder = (
        trace()
        .call("train_function", 0, 400, tf_function_call="notTraced-nonXla")
        .thread("tf_Compute/1")
    )
    return builder.call("GatherV2:GatherV2", 20, 90).call(
        "IteratorGetNext:IteratorGetNext", 5, 15
    )


def test_a_gpu_whose_allocator_works_but_whose_plane_is_empty_was_not_recorded() -> (
    None
):
    report = (
        a_step_on_the_host()
        .thread("tf_Compute/2")
        .call("MemoryAllocation", 30, 30, **ALLOCATED)
        .report()
    )

    assert report.verdict.bottleneck == "unknown"
    assert report.verdict.summary.startswith("The GPU's work was not recorded")
    assert report.run.devices == ()
    assert report.breakdown["idle"] == 1
    assert report.metrics["device_busy_fraction"].value is None
    assert "no-device-events" in {note.rule_id for note in report.capture}


def test_a_thread_that_only_gpus_have_proves_one() -> None:
    report = (
        a_step_on_the_host()
        .thread("tf_GPU_Event_Manager/7")
        .call("poll", 10, 12)
        .report()
    )

    assert report.verdict.bottleneck == "unknown"


def test_memory_of_the_host_for_gpus_proves_nothing() -> None:
    """`gpu_host_bfc` is pinned memory, which a process without a GPU may take too: the
    cores are the device.
    """
    host_memory = {**ALLOCATED, "allocator_name": "gpu_host_bfc"}
    report = (
        a_step_on_the_host()
        .thread("tf_Compute/2")
        .call("MemoryAllocation", 30, 30, **host_memory)
        .report()
    )

    assert [device.kind for device in report.run.devices] == ["cpu"]


@pytest.mark.parametrize(("answered", "lost"), [(10, 0.0), (9, 0.1), (4, 0.6)])
def test_launches_without_an_event_on_a_device_are_lost(
    answered: int, lost: float
) -> None:
    builder = trace()
    for index in range(answered):
        builder.kernel(
            "GPU:0",
            "fusion",
            index * 100 + 10,
            index * 100 + 60,
            launched=(index * 100, index * 100 + 5),
        )
    for index in range(answered, 10):
        builder.call(
            "cuLaunchKernel", index * 100, index * 100 + 5, correlation_id=1000 + index
        )

    assert builder.measure().value("lost_launches_fraction") == pytest.approx(lost)


def test_fewer_than_eight_launches_say_nothing() -> None:
    builder = trace().kernel("GPU:0", "fusion", 10, 60, launched=(0, 5))
    for index in range(6):
        builder.call(
            "cuLaunchKernel", 100 + index, 101 + index, correlation_id=1000 + index
        )

    assert builder.report().metrics["lost_launches_fraction"].value is None


def test_runs_on_threads_of_more_devices_than_work_are_lost() -> None:
    """Four threads launch two runs each, for four devices; only two devices show any
    kernel: half of the runs is lost.
    """
    builder = trace()
    for device in range(4):
        builder.thread(f"py_xla_execute/{device}")
        for run in range(2):
            at = run * 100
            builder.call(
                "GpuExecutable::ExecuteThunks", at, at + 20, module_name="jit_step"
            )
            if device < 2:
                builder.kernel(
                    f"GPU:{device}",
                    "fusion",
                    at + 30,
                    at + 60,
                    launched=(at + 1, at + 5),
                )

    assert builder.measure().value("lost_runs_fraction") == pytest.approx(0.5)


def eight_devices_of_which_one_shows() -> TraceBuilder:
    """Eight threads launch a program for a device each, as older jaxlib names it, in
    ten steps that the loop waits for at their end. One device shows its kernel of 20 in
    each 100 µs; the others' are not recorded."""
    builder = trace()
    for step in range(10):
        builder.call("PjitFunction(step)", step * 100, step * 100 + 70)
        builder.call("$api.py:9 try_to_block", step * 100 + 70, step * 100 + 98)
    for device in range(8):
        builder.thread(f"py_xla_execute/{device}")
        for step in range(10):
            at = step * 100 + 5
            builder.call("jit_step:XLA GPU module", at, at + 40)
            if not device:
                builder.kernel(
                    "GPU:0", "fusion", at + 50, at + 70, launched=(at + 1, at + 5)
                )
    return builder


def test_runs_are_known_by_the_name_that_older_jaxlib_gives_them() -> None:
    """Eight devices were launched on, and one shows anything: 7 of 8 runs are lost, and
    idle time proves nothing.
    """
    report = eight_devices_of_which_one_shows().report()

    assert report.metrics["lost_runs_fraction"].value == pytest.approx(7 / 8)
    assert report.verdict.bottleneck == "unknown"
    assert report.verdict.summary.startswith(
        "88% of the work that the host launched left nothing in the trace"
    )
    assert "launched-work-missing" in {
        finding.rule_id for finding in (*report.findings, *report.capture)
    }


def test_the_first_line_counts_the_devices_that_show_nothing() -> None:
    builder = eight_devices_of_which_one_shows()
    assert run_line(builder.report()).endswith("1 GPU")

    for device in range(1, 8):
        builder.empty_device(f"GPU:{device}")
    assert run_line(builder.report()).endswith("1 GPU, 7 more without events")


def test_what_most_of_the_work_is_missing_for_is_no_grave_finding() -> None:
    report = eight_devices_of_which_one_shows().report()

    about_waiting = [
        finding
        for finding in report.findings
        if finding.category not in {"capture", "memory"}
    ]
    assert about_waiting
    assert {finding.severity for finding in about_waiting} <= {
        Severity.LOW,
        Severity.INFO,
    }
    assert all(
        "left nothing in the trace" in finding.caveat for finding in about_waiting
    )
    assert all(
        finding.saving is None
        for finding in about_waiting
        if {"launch", "host", "idle"} & set(finding.claims)
    )


def test_devices_that_only_copy_belong_to_the_run_and_to_no_share_of_its_step() -> None:
    """GPU:0 hands 8 of 100 µs of buffers to others, as AMD's tracer records it, and
    copies 4 µs within itself; GPU:1 computes.
    """
    builder = trace().steps(4, period=100).empty_device("GPU:2")
    for at in range(0, 400, 100):
        builder.busy("GPU:1", (at, at + 60))
        for number, (start, end) in enumerate(((at + 10, at + 18), (at + 20, at + 24))):
            builder.call(
                "hipMemcpyDtoDAsync",
                start - 2,
                start - 1,
                correlation_id=1 + at + number,
            )
            stats = {
                "correlation_id": 1 + at + number,
                "memcpy_details": "kind:Unknown size:640 dest:2 async:1",
            }
            builder.on_line(
                "/device:GPU:0",
                "Stream #8(MemcpyOther)",
                "CopyDeviceToDevice",
                start,
                end,
                **stats,
            )
        builder.call(
            "PjRtStreamExecutorBuffer::CopyToDeviceHelper::async_copy_to_device",
            at + 5,
            at + 12,
        )

    report = builder.report()

    assert run_line(report).endswith(
        "1 GPU, 1 more with copies alone, 1 more without events"
    )
    assert report.breakdown["compute"] == pytest.approx(0.6)
    assert {op.kind: round(op.ms_per_step * 1e3) for op in report.ops} == {
        "compute": 60,
        "p2p": 8,
        "d2d": 4,
    }


def test_a_silent_host_beside_one_that_was_recorded_leaves_the_verdict_to_that_one() -> (
    None
):
    """Of two hosts one recorded its GPU, busy for 90 of each 100 µs; the other shows
    only that its GPU was used.
    """
    builder = trace().host("seen").steps(5, period=100)
    builder.busy("GPU:0", *((index * 100, index * 100 + 90) for index in range(5)))
    builder.host("silent").call(
        "train_function", 0, 400, tf_function_call="notTraced-nonXla"
    )
    report = (
        builder.thread("tf_Compute/2")
        .call("MemoryAllocation", 30, 30, **ALLOCATED)
        .report()
    )

    assert report.verdict.bottleneck == "compute"
    assert report.breakdown["compute"] == pytest.approx(0.9)
    assert "no-device-events" in {note.rule_id for note in report.capture}


def test_candidates_that_the_compiler_tries_are_no_lost_runs() -> None:
    """Four threads of the autotuner run candidates while the loop's thread compiles;
    each run of the step is shown.
    """
    builder = trace()
    for run in range(10):
        at = run * 100
        builder.call(
            "GpuExecutable::ExecuteThunks", at, at + 20, module_name="jit_step"
        )
        builder.kernel("GPU:0", "fusion", at + 30, at + 60, launched=(at + 1, at + 5))
    builder.call("backend_compile_and_load", 1000, 2000)
    for tuner in range(4):
        builder.thread(f"autotuner/{tuner}")
        for run in range(10):
            builder.call(
                "GpuExecutable::ExecuteThunks",
                1000 + run * 50,
                1010 + run * 50,
                module_name="gemm_fusion",
            )

    assert builder.measure().value("lost_runs_fraction") == 0


@pytest.mark.parametrize(
    "thread", ["tf_GPU_Event_Manager/7", "tf_Device_Event_Manager"]
)
def test_threads_that_wait_for_a_gpu_prove_one_in_every_release(thread: str) -> None:
    report = a_step_on_the_host().thread(thread).call("poll", 10, 12).report()

    assert f"the thread {thread.partition('/')[0]} ran" in report.verdict.summary


def test_an_allocator_that_lost_its_first_letter_proves_a_gpu() -> None:
    """TensorFlow for Windows writes a zero byte in place of the G."""
    windows = {**ALLOCATED, "allocator_name": "\0PU_0_bfc"}
    report = (
        a_step_on_the_host()
        .thread("tf_Compute/2")
        .call("MemoryAllocation", 30, 30, **windows)
        .report()
    )

    assert "the allocator GPU_0_bfc gave out memory" in report.verdict.summary


def test_a_gpu_that_only_gets_data_while_the_host_waits_was_not_recorded() -> None:
    """Copies and no kernel; the host waits for 97 of each 100."""
    builder = trace()
    for at in (0, 100, 200):
        builder.step(at, at + 100).call("PjitFunction(train_step)", at, at + 2)
        builder.call("$array.py:1 block_until_ready", at + 3, at + 100)
    report = builder.copy("GPU:0", "H2D", 5, 9, size=64).report()

    assert report.verdict.summary.startswith(
        "The GPU's work was not recorded, although GPU:0 got data and the host waited "
        "for it for 97% of the time"
    )


def test_a_host_that_computes_itself_beside_a_copy_is_no_proof() -> None:
    """It waits for 30 of each 100."""
    builder = trace()
    for at in (0, 100, 200):
        builder.step(at, at + 100)
        builder.call("$array.py:1 block_until_ready", at + 70, at + 100)
    report = builder.copy("GPU:0", "H2D", 5, 9, size=64).report()

    assert "not recorded" not in report.verdict.summary


NOT_LOADED = "host: Failed to load libcupti (is it installed and accessible?)"


def a_silent_gpu(thread: str = "tf_Compute") -> TraceBuilder:
    """An allocator of a GPU at work, an empty plane, and what the profiler says."""
    return (
        trace()
        .call("train_function", 0, 400, tf_function_call="notTraced-nonXla")
        .plane_stat("/device:GPU:0", compute_cap_major=7, compute_cap_minor=5)
        .thread(thread)
        .call("MemoryAllocation", 30, 30, **ALLOCATED)
    )


@pytest.mark.parametrize(
    ("thread", "message", "says"),
    [
        ("tf_Compute", NOT_LOADED, "extras\\CUPTI\\lib64 of CUDA on PATH"),
        ("tf_Compute/7", NOT_LOADED, "on LD_LIBRARY_PATH"),
        ("tf_Compute/7", "Insufficient privilege to run libcupti", "administrators"),
        ("tf_Compute/7", "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED", "Another"),
    ],
)
def test_the_profilers_message_says_how_to_record_the_gpu_on_this_system(
    thread: str, message: str, says: str
) -> None:
    summary = a_silent_gpu(thread).error(message).report().verdict.summary

    assert summary.startswith("The GPU's work was not recorded")
    assert says in summary


def test_a_gpu_beside_cores_that_compute_is_not_used() -> None:
    """An empty plane and CUPTI's error, but products on the cores and no sign of work on
    the GPU: TensorFlow does not see it, and CUPTI would show nothing.
    """
    report = (
        trace()
        .plane_stat(
            "/device:GPU:0", compute_cap_major=6, compute_cap_minor=1, core_count=6
        )
        .error(NOT_LOADED)
        .call("train_function", 0, 1000, tf_function_call="notTraced-nonXla")
        .call("EagerLocalExecute: __inference_train_function_7", 50, 950)
        .thread("tf_Compute")
        .call("dense/MatMul:MatMul", 100, 900)
        .report()
    )

    assert report.verdict.summary.startswith(
        "This run computed on the CPU although the machine has a GPU (compute capability "
        "6.1, 6 multiprocessors): TensorFlow does not see it"
    )
    assert not {"no-device-events", "profiler-errors"} & {
        note.rule_id for note in report.capture
    }


def test_an_error_about_cupti_beside_a_silent_gpu_says_that_it_was_not_recorded() -> (
    None
):
    builder = trace().steps(5, period=100).empty_device("GPU:0")
    builder.plane_stat("/device:GPU:0", core_count=68)
    report = builder.error("Failed to load libcupti (is it installed?)").report()

    assert report.verdict.summary.startswith(
        "The GPU's work was not recorded, although the profiler found GPU:0"
    )
    assert "LD_LIBRARY_PATH" in report.verdict.summary
    assert run_line(report).endswith("1 without events (68 multiprocessors)")


def test_an_error_about_other_things_proves_no_work_of_a_gpu() -> None:
    builder = trace().steps(5, period=100).empty_device("GPU:0")
    report = builder.error("Failed to stop the server").report()

    assert "not recorded" not in report.verdict.summary
