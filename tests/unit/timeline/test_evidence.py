"""What explains a breakdown: Python frames, compiled functions, host ops, memory, and
the capture itself.
"""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from support.counters import grew
from support.trace_builder import TraceBuilder, trace

from tfadvisor.timeline.host.host_costs import HostCost
from tfadvisor.timeline.names.classes import lost_events
from tfadvisor.timeline.names.drivers import blocks_on_memory

PS = 1_000_000


def test_the_loops_own_calls_are_named_with_their_place() -> None:
    """train() encloses the steps; it calls load_batch and log; sum below log does not
    count twice. That the program calls a function so shows no loading.
    """
    builder = trace().call("$train.py:3 train", 0, 400)
    for at in (0, 100, 200, 300):
        builder.step(at, at + 100).call("$train.py:10 load_batch", at + 5, at + 35)
        builder.call("$train.py:20 log", at + 60, at + 80).call(
            "$builtins sum", at + 61, at + 79
        )

    frames = (
        builder.busy("GPU:0", *((t + 90, t + 100) for t in (0, 100, 200, 300)))
        .timeline()
        .evidence.frames
    )

    assert [(one.place(), one.calls) for one in frames] == [
        ("load_batch (train.py:10)", 4),
        ("log (train.py:20)", 4),
    ]
    assert (frames[0].input_ps, frames[0].host_ps) == (0, 120 * PS)
    assert (frames[1].input_ps, frames[1].host_ps) == (0, 80 * PS)
    assert frames[1].inner == "builtins sum"


def test_a_loop_that_calls_nothing_of_its_own_has_no_frames_to_name() -> None:
    builder = (
        trace()
        .call("$train.py:3 train", 0, 200)
        .step(0, 100)
        .step(100, 200)
        .busy("GPU:0", (0, 200))
    )

    assert builder.timeline().evidence.frames == ()


def test_without_the_python_tracer_there_are_no_frames() -> None:
    assert trace().step(0, 100).busy("GPU:0", (0, 10)).timeline().evidence.frames == ()


def test_each_compilation_in_a_counted_step_is_named() -> None:
    builder = (
        trace()
        .steps(4, period=100)
        .busy("GPU:0", *((t + 90, t + 100) for t in (0, 100, 200, 300)))
    )
    for at in (5, 105, 205, 305):
        builder.call("PjitFunction(train_step)", at, at + 60).call(
            "backend_compile", at + 5, at + 55
        )

    (compiled,) = builder.timeline().evidence.compiles

    assert (compiled.function, compiled.times, compiled.compile_ps) == (
        "train_step",
        4,
        240 * PS,
    )


def test_a_tf_function_that_is_traced_is_named() -> None:
    builder = trace().steps(2, period=100).busy("GPU:0", (90, 100), (190, 200))
    for at in (5, 105):
        builder.call("train_step", at, at + 60, tf_function_call="traced-nonXla")

    (compiled,) = builder.timeline().evidence.compiles

    assert (compiled.function, compiled.times) == ("train_step", 2)


def test_host_ops_are_those_that_launch_nothing() -> None:
    """MatMul launches a kernel while it runs, Unique does not; the pipeline's own Cast
    belongs on the host.
    """
    builder = (
        trace()
        .step(0, 100)
        .thread("tf_gpu_private_0/1")
        .call("dense/MatMul:MatMul", 0, 20)
    )
    builder.kernel("GPU:0", "sgemm", 30, 60, launched=(5, 10)).call(
        "unique:Unique", 25, 40
    )
    builder.thread("tf_data_private_threadpool/2").call("cast:Cast", 0, 90)

    found = builder.timeline().evidence.host_ops

    assert found.total_ps == 15 * PS
    assert found.by_type == (("Unique", 15 * PS),)


def test_device_memory_is_the_device_allocators() -> None:
    builder = trace().step(0, 100).busy("GPU:0", (0, 1))
    sizes = {"bytes_reserved": 0, "bytes_allocated": 60, "bytes_available": 40}
    builder.call(
        "MemoryAllocation",
        5,
        5,
        allocator_name="GPU_0_bfc",
        peak_bytes_in_use=75,
        **sizes,
    )
    builder.call(
        "MemoryAllocation",
        6,
        6,
        allocator_name="gpu_host_bfc",
        peak_bytes_in_use=99,
        **sizes,
    )

    (memory,) = builder.timeline().evidence.memory

    assert (memory.peak_bytes, memory.capacity_bytes) == (75, 100)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Detected GPU events dropped on host: 1,234 driver events dropped "
            "because total driver events reaches max.",
            1234,
        ),
        ("Profiler has dropped 17 events.", 17),
        ("Something else happened at 12:30.", 0),
    ],
)
def test_dropped_events_are_read_from_the_warning(text: str, expected: int) -> None:
    assert lost_events(text) == expected


def test_the_framework_is_told_by_its_events() -> None:
    assert (
        trace().call("TFE_Py_Execute", 0, 1).timeline().capture.framework
        == "tensorflow"
    )
    assert trace().call("PjitFunction(f)", 0, 1).timeline().capture.framework == "jax"
    assert trace().call("anything", 0, 1).timeline().capture.framework == "unknown"
    versioned = (
        trace()
        .call("anything", 0, 1)
        .plane_stat("/host:metadata", jax_version="0.10.2")
        .timeline()
        .capture
    )
    assert (versioned.framework, versioned.framework_version) == ("jax", "0.10.2")


def test_the_version_is_the_installed_one_where_the_trace_names_none() -> None:
    """What `tfadvisor run` records of JAX has no version in the trace, and the
    machine's beside it.
    """
    builder = trace().steps(2, period=10).call("PjitFunction(f)", 0, 1)
    beside = (grew({"versions": {"python": "3.12.1", "jax": "0.10.2"}}),)

    assert builder.build().framework_version == ""
    assert replace(builder.build(), counters=beside).framework_version == "0.10.2"
    told = builder.plane_stat("/host:metadata", jax_version="0.4.30").build()
    assert replace(told, counters=beside).framework_version == "0.4.30"


@pytest.mark.parametrize(
    ("name", "blocks"),
    [
        ("cudaMalloc", True),
        ("cuMemFree_v2", True),
        ("hipFree", True),
        ("cudaMallocAsync", False),
        ("cuMemcpyHtoD", False),
    ],
)
def test_calls_that_wait_for_the_device_to_take_memory(name: str, blocks: bool) -> None:
    assert blocks_on_memory(name) is blocks


def test_calls_that_hold_a_step_up_are_counted_in_counted_steps_only() -> None:
    """Two steps with a wait and a synchronisation each; what comes after the last step
    does not count.
    """
    builder = trace()
    for at in (0, 100):
        builder.step(at, at + 100).busy("GPU:0", (at, at + 90)).call(
            "BlockUntilReady", at + 10, at + 90
        )
        builder.call("cuStreamSynchronize", at + 20, at + 30).call(
            "cudaFree", at + 92, at + 95
        )
    timeline = builder.call("cuStreamSynchronize", 300, 310).timeline()

    calls = timeline.evidence.calls
    assert (calls.waits, calls.memory_calls) == (2, 2)
    assert timeline.costs[HostCost.ALLOCATING].starts.tolist() == [92 * PS, 192 * PS]


def test_names_of_loss_scaling_in_frames_are_none() -> None:
    builder = (
        trace()
        .step(0, 100)
        .busy("GPU:0", (0, 90))
        .call("$loss_scale.py:3 update", 10, 20)
    )

    assert (
        builder.call("a/LossScale/cond:If", 30, 40)
        .timeline()
        .evidence.calls.loss_scaling
        == 1
    )


def looping(
    *calls: tuple[str, float, float], marked: bool = True, inside: str = ""
) -> TraceBuilder:
    """Four turns of 100 µs of a loop that calls these, (name, begin, end) in the turn,
    and dispatches at 50 of each.

    inside: what the first call itself calls, half its length.
    """
    builder = trace().call("$train.py:3 train", 0, 400)
    for at in (0, 100, 200, 300):
        if marked:
            builder.step(at, at + 100)
        builder.call("PjitFunction(step)", at + 50, at + 55)
        for name, begin, end in calls:
            builder.call(name, at + begin, at + end)
        if inside:
            begin, end = calls[0][1:]
            builder.call(inside, at + begin + 1, at + (begin + end) / 2)
        builder.busy("GPU:0", (at + 60, at + 70))
    return builder


def loading_and_host(builder: TraceBuilder) -> tuple[float, float]:
    metrics = builder.measure()
    return metrics.value("input_bound_fraction") or 0.0, metrics.value(
        "host_fraction"
    ) or 0.0


def test_work_before_each_dispatch_makes_the_next_batch_whatever_it_is_called() -> None:
    """30 of 100 µs in rides() before the dispatch; the other 55 without device work
    stay the loop's own Python.
    """
    loading, host = loading_and_host(looping(("$train.py:9 rides", 10, 40)))

    assert loading == pytest.approx(0.30)
    assert host == pytest.approx(0.55)


def test_work_after_the_dispatch_is_none_of_the_next_batch() -> None:
    assert loading_and_host(looping(("$train.py:9 rides", 75, 95)))[0] == 0


def test_work_that_reads_the_devices_values_depends_on_the_step_before() -> None:
    assert (
        loading_and_host(
            looping(("$train.py:9 report", 10, 40), inside="$array.py:298 __float__")
        )[0]
        == 0
    )


def test_work_that_dispatches_is_not_the_hosts_alone() -> None:
    assert (
        loading_and_host(
            looping(("$train.py:9 warm", 10, 40), inside="PjitFunction(mean)")
        )[0]
        == 0
    )


def test_the_next_of_an_iterator_is_a_batch_wherever_the_loop_asks_for_it() -> None:
    assert loading_and_host(looping(("$builtins next", 75, 95)))[0] == pytest.approx(
        0.2
    )


def test_work_that_is_not_in_every_step_makes_no_batch() -> None:
    builder = looping().call("$train.py:9 validate", 10, 40)

    assert loading_and_host(builder)[0] == 0


def test_without_markers_the_order_of_call_and_dispatch_tells() -> None:
    loading = looping(("$train.py:9 ask", 10, 45), marked=False).measure()
    reporting = looping(("$train.py:9 ask", 71, 95), marked=False).measure()

    assert (loading.value("input_bound_fraction") or 0.0) > 0.2
    assert not reporting.value("input_bound_fraction")


def test_what_sets_the_loop_up_is_no_dispatch_of_a_step() -> None:
    """Sums are zeroed by a dispatch before the first batch is made."""
    builder = looping(("$train.py:9 lines", 10, 40)).call(
        "PjitFunction(zeros)", -20, -15
    )

    assert loading_and_host(builder)[0] == pytest.approx(0.30)


def test_a_generator_is_asked_once_more_than_it_has_batches() -> None:
    builder = looping(("$train.py:9 lines", 10, 40)).call("$train.py:9 lines", 380, 381)
    callback = looping(("$train.py:9 lines", 10, 40)).call(
        "$train.py:9 lines", 365, 395
    )

    assert loading_and_host(builder)[0] == pytest.approx(0.30, abs=0.01)
    assert loading_and_host(callback)[0] == 0


def test_a_loop_that_waits_for_a_thread_before_each_dispatch_waits_for_input() -> None:
    """30 of 100 µs in queue.get(), the half of which is a wait for the thread that
    fills the queue.
    """
    metrics = looping(
        ("$queue.py:154 get", 10, 40), inside="$threading.py:288 wait"
    ).measure()
    own = looping(("$train.py:9 rides", 10, 40), inside="$train.py:20 cut").measure()

    assert metrics.value("input_bound_fraction") == pytest.approx(0.30)
    assert metrics.value("loader_wait_share") == pytest.approx(1.0)
    assert own.value("loader_wait_share") == 0


def test_half_of_a_loading_call_is_a_wait_for_a_process() -> None:
    metrics = looping(
        ("$train.py:9 rides", 10, 40), inside="$connection.py:250 recv"
    ).measure()

    assert metrics.value("loader_wait_share") == pytest.approx(14 / 30)


def test_a_thread_that_is_joined_after_the_dispatch_loads_nothing() -> None:
    assert loading_and_host(looping(("$threading.py:1080 join", 75, 95)))[0] == 0


def test_arrays_of_the_host_that_a_call_converts() -> None:
    """40 of 100 µs of each call hand a NumPy array over; on another thread the same is
    no time of the step.
    """
    builder = trace()
    for at in (0, 100, 200, 300):
        builder.step(at, at + 100).call("PjitFunction(step)", at + 5, at + 55).call(
            "DevicePut", at + 10, at + 50
        )
        builder.busy("GPU:0", (at + 60, at + 95))

    assert builder.measure().value("array_handing_fraction") == pytest.approx(0.4)
    assert looping().measure().value("array_handing_fraction") == 0
