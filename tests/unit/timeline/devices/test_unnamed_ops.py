"""A CPU's programs whose ops the trace does not name: when they run, and whose they
are. Times in µs.
"""

from __future__ import annotations

from support.trace_builder import TraceBuilder, trace

from tfadvisor.timeline.timeline_parts import DeviceOps
from tfadvisor.vocabulary import TimeClass

PS = 1_000_000
START, STOP = "ThreadpoolListener::StartRegion", "ThreadpoolListener::StopRegion"
RUN, END = "ThunkExecutor::Execute", "ThunkExecutor::Execute (wait for completion)"


def ops_of(builder: TraceBuilder) -> DeviceOps:
    (device,) = builder.timeline().devices
    return device.ops


def pieces(ops: DeviceOps) -> list[tuple[str, float, float]]:
    """(name, start, end) of what runs."""
    rows = zip(ops.name.tolist(), ops.start.tolist(), ops.end.tolist(), strict=True)
    return [(ops.names[name], start / PS, end / PS) for name, start, end in rows]


def compute_of(builder: TraceBuilder) -> float:
    """µs over all steps."""
    return int(builder.timeline().breakdown[0, :, TimeClass.COMPUTE].sum()) / PS


def called(at: float, end: float, function: str = "step") -> TraceBuilder:
    """A step of 1,000 µs in which the program is handed over at 12 to 14."""
    builder = trace().step(0, 1000).call(f"PjitFunction({function})", at, end)
    return builder.call("PjRtCpuExecutable::ExecuteHelper", 12, 14)


def on_client(builder: TraceBuilder, begin: float, end: float) -> TraceBuilder:
    builder.thread("tf_XLAPjRtCpuClient/1").call(START, begin, begin)
    return (
        builder.call(RUN, begin + 5, begin + 8)
        .call(END, begin + 9, end)
        .call(STOP, end + 1, end + 1)
    )


def test_a_run_on_the_clients_thread_lasts_from_its_region_to_its_completion() -> None:
    """JAX 0.6: handed over at 12, taken up at 30, done at 400."""
    builder = on_client(called(10, 15), 30, 400)

    assert pieces(ops_of(builder)) == [("jit_step", 30, 400)]
    assert compute_of(builder) == 370


def test_a_run_on_the_calling_thread_lasts_as_long_as_the_call() -> None:
    """JAX 0.4.30 has no thunks: the inner helper is the run, not the pair around it."""
    builder = (
        trace()
        .step(0, 1000)
        .call("PjitFunction(step)", 10, 600)
        .call("PjitFunction(step)", 11, 599)
    )
    builder.call("TfrtCpuExecutable::Execute", 20, 590).call(
        "TfrtCpuExecutable::Execute", 21, 589
    )

    assert pieces(
        ops_of(builder.call("TfrtCpuExecutable::ExecuteHelper", 22, 588))
    ) == [("jit_step", 22, 588)]


def test_a_run_inside_the_call_begins_with_the_call_and_not_with_an_earlier_one() -> (
    None
):
    """The second helper encloses its wait; the first one had ended."""
    builder = (
        trace()
        .step(0, 1000)
        .call("PjitFunction(f)", 0, 15)
        .call("PjRtCpuExecutable::ExecuteHelper", 5, 10)
    )
    builder.call(END, 8, 10)
    builder.call("PjitFunction(g)", 20, 60).call(
        "PjRtCpuExecutable::ExecuteHelper", 25, 55
    ).call(END, 50, 52)

    assert pieces(ops_of(builder)) == [("jit_f", 5, 10), ("jit_g", 25, 52)]


def test_a_wait_after_a_closed_region_is_all_that_is_known_of_its_run() -> None:
    builder = on_client(called(10, 15), 30, 100).call(END, 200, 210)

    assert [(start, end) for _, start, end in pieces(ops_of(builder))] == [
        (30, 100),
        (200, 210),
    ]


def test_the_first_runs_were_called_before_the_trace_began() -> None:
    """Two runs and one call: the call's run is the later one."""
    builder = on_client(on_client(called(10, 15), 0, 9), 60, 100)

    assert [name for name, _, _ in pieces(ops_of(builder))] == [
        "an XLA program",
        "jit_step",
    ]


def test_runs_that_would_begin_before_their_call_keep_no_name() -> None:
    builder = on_client(called(10, 15), 2, 20)

    assert [name for name, _, _ in pieces(ops_of(builder))] == ["an XLA program"]


def test_the_launch_of_a_run_is_its_call() -> None:
    ops = ops_of(on_client(called(10, 15), 30, 400))

    assert (ops.launch_start.tolist(), ops.launch_end.tolist()) == (
        [10 * PS],
        [15 * PS],
    )


def started_and_gone(builder: TraceBuilder) -> TraceBuilder:
    """JAX 0.4.38: `dot.1` runs for 3 µs on the client's thread and goes on elsewhere,
    its program is done at 400.
    """
    on_client(builder, 30, 400)
    return builder.call(
        "dot.1", 35, 38, hlo_op="dot.1", hlo_module="jit_step", device_ordinal=0
    )


def test_where_ops_have_names_but_no_ends_the_rest_of_the_run_is_the_programs() -> None:
    """The wait from 39 to 400, less `add.2` from 100 to 150 on another thread."""
    builder = started_and_gone(called(10, 15)).thread("tf_XLAEigen/1")
    builder.call(
        "add.2", 100, 150, hlo_op="add.2", hlo_module="jit_step", device_ordinal=0
    )

    assert pieces(ops_of(builder)) == [
        ("dot.1", 35, 38),
        ("jit_step", 39, 100),
        ("add.2", 100, 150),
        ("jit_step", 150, 400),
    ]


def test_python_that_a_program_calls_is_none_of_its_compute() -> None:
    builder = started_and_gone(called(10, 15)).thread("tf_XLAEigen/1")
    builder.call(
        "pure_callback.1",
        100,
        150,
        hlo_op="pure_callback.1",
        hlo_module="jit_step",
        device_ordinal=0,
    )

    assert compute_of(builder) == 3 + (100 - 39) + (400 - 150)


def test_where_the_ends_are_marked_nothing_is_added() -> None:
    builder = (
        started_and_gone(called(10, 15))
        .thread("tf_XLAEigen/1")
        .call("end: dot.9", 300, 301)
    )

    assert pieces(ops_of(builder)) == [("dot.1", 35, 38)]


def test_a_trace_without_programs_on_a_cpu_gets_no_device() -> None:
    assert (
        trace().step(0, 1000).call("PjitFunction(step)", 10, 15).timeline().devices
        == ()
    )
