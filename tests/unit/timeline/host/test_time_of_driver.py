"""Which thread drives the steps and what each instant of it is: every bound just below
and just above, times in µs.
"""

from __future__ import annotations

import pytest
from support.trace_builder import TraceBuilder, trace

from tfadvisor.timeline.host.host_costs import HostCost
from tfadvisor.timeline.host_timeline import HostTimeline

PS = 1_000_000
CLASSES = (
    "compute",
    "collective",
    "transfer",
    "compile",
    "input",
    "launch",
    "host",
    "idle",
)


def shares(timeline: HostTimeline) -> dict[str, float]:
    """Class -> µs over all steps of the first device."""
    total = timeline.breakdown[0].sum(axis=0).tolist()
    return {name: ps / PS for name, ps in zip(CLASSES, total, strict=True) if ps}


def behind_another() -> TraceBuilder:
    """The driving thread is the second of the trace."""
    builder = trace().thread("another")
    for at in range(5):
        builder.call("tick", at, at + 0.5)
    return builder.thread("python")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("load_batch", "input"),
        ("IteratorGetNext", "input"),
        ("Iterator::Root::Prefetch", "input"),
        ("backend_compile", "compile"),
        ("PjitFunction(f)", "launch"),
        ("EagerLocalExecute: MatMul", "launch"),
        ("ExecutorState::Process", "launch"),
        ("dense:MatMul", "launch"),
        ("node:NoOp", "launch"),
        ("BlockUntilReady", "idle"),
        ("KernelAndDeviceFunc::Run", "idle"),
        ("my annotation", "host"),
        ("ProfilerSession::Stop", "host"),
    ],
)
def test_what_the_driving_thread_does_in_an_event(name: str, expected: str) -> None:
    """30 of 100 µs; the rest is Python and the device's work from 80 on. A wait for
    nothing known is idle.
    """
    found = shares(
        behind_another()
        .step(0, 100)
        .call(name, 10, 40)
        .busy("GPU:0", (80, 100))
        .timeline()
    )

    assert found == (
        {"host": 80, "compute": 20}
        if expected == "host"
        else {"host": 50, expected: 30, "compute": 20}
    )


def called_function(
    *, run: str = "", function: str = "__inference_train_function_7"
) -> TraceBuilder:
    """TensorFlow's call of a function from 10 to 90 µs; a thread asks tf.data for the
    batch from 20 to 70, kernels follow.

    run: the event that newer versions write of the run itself.
    """
    builder = behind_another().step(0, 100)
    builder.call(f"EagerLocalExecute: {function}", 10, 90).call(
        "EagerKernelExecute", 12, 90
    )
    if run:
        builder.call(run, 14, 88)
    builder.thread("tf_data_iterator_get_next/1").call(
        "IteratorGetNextOp::DoCompute", 20, 70
    )
    return (
        builder.thread("tf_Compute/2")
        .call("IteratorGetNext/_3:_Send", 71, 75)
        .busy("GPU:0", (80, 90))
    )


@pytest.mark.parametrize("run", ["", "KernelAndDeviceFunc::Run"])
def test_a_function_that_waits_for_its_batch_waits_for_input(run: str) -> None:
    """TensorFlow 2.3 to 2.8 have no event of the run inside the call. Sending the batch
    on is dispatch.
    """
    found = shares(called_function(run=run).timeline())

    assert found["input"] == 50
    assert found["launch"] >= 4
    assert found["compute"] == 10


def test_a_call_in_which_the_runtime_shows_nothing_waits_as_long_as_another_thread_takes_a_batch() -> (
    None
):
    """The call from 10 to 90: 50 µs of it are another thread's wait for the batch, 20
    dispatch, 10 run under the kernel.
    """
    builder = (
        behind_another()
        .step(0, 100)
        .call("EagerLocalExecute: __inference_train_function_7", 10, 90)
    )
    builder.thread("tf_Compute/2").call("IteratorGetNext:IteratorGetNext", 20, 70).busy(
        "GPU:0", (80, 90)
    )

    assert shares(builder.timeline()) == {
        "input": 50,
        "launch": 20,
        "host": 20,
        "compute": 10,
    }


def test_an_op_of_its_own_is_dispatch_as_long_as_it_takes() -> None:
    assert "input" not in shares(called_function(function="MatMul").timeline())


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("GpuCompiler::Compile", {"compile": 30}),
        ("IteratorGetNextOp::DoCompute", {"input": 30}),
        ("PjitFunction(f)", {"launch": 30}),
        ("ExecutorState::Process", {"launch": 30}),
        ("dense:MatMul", {"launch": 30}),
        ("node:NoOp", {"launch": 30}),
        ("EagerLocalExecute: MatMul", {"launch": 30}),
        ("load_batch", {"idle": 30}),
        ("BlockUntilReady", {"idle": 30}),
    ],
)
def test_a_wait_is_what_another_thread_does_meanwhile(
    name: str, expected: dict[str, float]
) -> None:
    builder = (
        trace().step(0, 100).call("BlockUntilReady", 10, 40).busy("GPU:0", (80, 100))
    )
    builder.thread("worker").call(name, 10, 40)

    assert shares(builder.timeline()) == {"host": 50, "compute": 20, **expected}


def test_of_what_two_threads_do_compilation_comes_first_and_dispatch_last() -> None:
    builder = (
        trace().step(0, 100).call("BlockUntilReady", 0, 80).busy("GPU:0", (80, 100))
    )
    builder.thread("a").call("GpuCompiler::Compile", 0, 30)
    builder.thread("b").call("IteratorGetNextOp::DoCompute", 20, 50)
    builder.thread("c").call("PjitFunction(f)", 10, 60)

    assert shares(builder.timeline()) == {
        "compile": 30,
        "input": 20,
        "launch": 10,
        "idle": 20,
        "compute": 20,
    }


def test_work_of_the_input_pipeline_is_no_reason_to_wait() -> None:
    builder = (
        trace().step(0, 100).call("BlockUntilReady", 0, 80).busy("GPU:0", (80, 100))
    )
    builder.thread("tf_data_private_threadpool/1").call("dense:MatMul", 0, 80)

    assert shares(builder.timeline()) == {"idle": 80, "compute": 20}


@pytest.mark.parametrize(
    ("compiles", "expected"),
    [(12, {"compile": 60}), (11, {"compile": 11, "launch": 49})],
)
def test_a_dispatch_that_compiles_for_a_fifth_of_its_time_is_compilation(
    compiles: float, expected: dict[str, float]
) -> None:
    """12 and 11 of 60 µs."""
    builder = (
        trace()
        .step(0, 100)
        .call("PjitFunction(step)", 0, 60)
        .call("backend_compile", 10, 10 + compiles)
    )

    assert shares(builder.busy("GPU:0", (60, 100)).timeline()) == {
        "compute": 40,
        **expected,
    }


def test_a_dispatch_compiles_for_a_part_of_its_own_time_whenever_it_is() -> None:
    """12 of 60 µs, 20 µs after the trace began."""
    builder = (
        trace()
        .step(0, 100)
        .call("PjitFunction(step)", 20, 80)
        .call("backend_compile", 30, 42)
    )

    assert shares(builder.busy("GPU:0", (80, 100)).timeline()) == {
        "host": 20,
        "compile": 60,
        "compute": 20,
    }


def test_a_call_before_each_dispatch_loads_whatever_it_is_called() -> None:
    """Four steps on the second thread: rides() takes 30 of 100 µs before the dispatch
    of 5, the kernel behind it 10.
    """
    builder = behind_another().call("$train.py:3 train", 10, 420)
    for at in (20, 120, 220, 320):
        builder.step(at, at + 100).call("$a.py:7 rides", at + 10, at + 40).call(
            "PjitFunction(step)", at + 50, at + 55
        )
        builder.busy("GPU:0", (at + 60, at + 70))

    assert shares(builder.timeline()) == {
        "input": 120,
        "launch": 20,
        "compute": 40,
        "host": 220,
    }


def test_a_dispatch_inside_what_compiles_or_loads_belongs_to_it() -> None:
    builder = (
        trace().step(0, 100).call("load_batch", 0, 30).call("PjitFunction(a)", 10, 30)
    )
    builder.call("backend_compile", 30, 60).call("PjitFunction(b)", 30, 60).call(
        "PjitFunction(c)", 60, 70
    )

    found = shares(builder.busy("GPU:0", (80, 100)).timeline())

    assert found == {
        "input": 30,
        "compile": 30,
        "launch": 10,
        "host": 10,
        "compute": 20,
    }


def test_a_wait_is_marked_at_both_ends() -> None:
    """The buffer is awaited from 10 on and there at 61; only the wait's two ends are
    events.
    """
    builder = (
        behind_another()
        .step(0, 100)
        .call("CommonPjRtBuffer::Await", 10, 11, _p=5)
        .busy("GPU:0", (80, 100))
    )
    builder.call("CommonPjRtBuffer::Await done", 60, 61, _c=5)

    assert shares(builder.timeline()) == {"host": 29, "idle": 51, "compute": 20}


@pytest.mark.parametrize(
    "name", ["CommonPjRtBuffer::Await", "KernelAndDeviceFunc::Run"]
)
def test_a_wait_may_be_the_first_event_of_its_thread(name: str) -> None:
    """It begins at 5, the step at 10; until 40 nothing else is known."""
    builder = behind_another()
    if name.startswith("Kernel"):
        builder.call(name, 5, 40)
    else:
        builder.call(name, 5, 6, _p=5).call(f"{name} done", 39, 40, _c=5)

    found = shares(builder.step(10, 110).busy("GPU:0", (80, 110)).timeline())

    assert found == {"idle": 30, "host": 40, "compute": 30}


def test_marks_of_other_events_and_other_threads_are_no_waits() -> None:
    builder = (
        trace()
        .step(0, 100)
        .call("sent", 10, 11, _p=5)
        .busy("GPU:0", (80, 100))
        .call("received", 60, 61, _c=5)
    )
    builder.call("CommonPjRtBuffer::Await", 30, 31, _p=6)
    builder.thread("other").call("CommonPjRtBuffer::Await done", 60, 61, _c=6)

    assert shares(builder.timeline()) == {"host": 79, "idle": 1, "compute": 20}


def dispatching(threads: dict[str, list[tuple[float, float]]]) -> str:
    """The thread that drives, where each makes these calls and nothing repeats."""
    builder = trace().busy("GPU:0", (0, 100))
    for name, spans in threads.items():
        builder.thread(name)
        for index, (start, end) in enumerate(spans):
            builder.call(f"PjitFunction({name}{index})", start, end)
    steps = builder.timeline().steps
    return list(threads)[steps.thread] if steps.thread >= 0 else ""


def test_the_thread_that_dispatches_longest_drives() -> None:
    assert (
        dispatching({"a": [(0, 10)], "b": [(0, 20)], "c": [(0, 4), (5, 9), (10, 14)]})
        == "b"
    )
    assert dispatching({"a": [(0, 10)], "b": [(0, 10)]}) == "a"
    assert (
        dispatching({"a": [(0, 10)], "tf_data_private_threadpool/1": [(0, 90)]}) == "a"
    )
    assert dispatching({"tf_data_private_threadpool/1": [(0, 90)]}) == ""
    assert dispatching({"a": [(50, 60)], "b": [(10, 12), (14, 20)]}) == "a"


def ops(
    count: int,
    pause: float,
    length: float = 10,
    name: str = "EagerLocalExecute: MatMul",
    at: float = 0,
) -> TraceBuilder:
    """One step of 20 ms with dispatches one after the other, a pause between
    each two.
    """
    builder = trace().step(0, 20_000).busy("GPU:0", (19_000, 20_000))
    for index in range(count):
        start = at + index * (length + pause)
        builder.call(name, start, start + length)
    return builder


@pytest.mark.parametrize(("pause", "launch"), [(1000, 80 + 7 * 1000), (1001, 80)])
def test_pauses_of_a_millisecond_between_the_ops_of_an_eager_step_are_dispatch(
    pause: float, launch: float
) -> None:
    """Eight ops of 10 µs."""
    assert shares(ops(8, pause).timeline())["launch"] == launch


@pytest.mark.parametrize(("count", "launch"), [(8, 80 + 7 * 50), (7, 70)])
def test_a_step_of_eight_dispatches_is_run_eagerly(count: int, launch: float) -> None:
    assert shares(ops(count, 50).timeline())["launch"] == launch


@pytest.mark.parametrize(("pause", "launch"), [(200, 480 + 8 * 200), (201, 480)])
def test_beside_a_function_pauses_of_a_fifth_of_a_millisecond_are_dispatch(
    pause: float, launch: float
) -> None:
    """Eight ops of 10 µs and a function of 400 that begins a pause after the last."""
    builder = ops(8, pause)
    start = 8 * (10 + pause)

    assert (
        shares(
            builder.call(
                "EagerLocalExecute: __inference_f_1", start, start + 400
            ).timeline()
        )["launch"]
        == launch
    )


@pytest.mark.parametrize(("function", "launch"), [(80, 160), (79, 159 + 8 * 500)])
def test_a_function_with_half_of_the_dispatch_makes_the_step_a_compiled_one(
    function: float, launch: float
) -> None:
    """Eight ops of 10 µs with pauses of 500: dispatch only where no function holds half
    of it.
    """
    builder = ops(8, 500)
    builder.call("EagerLocalExecute: __inference_f_1", 4080, 4080 + function)

    assert shares(builder.timeline())["launch"] == launch


def test_the_pause_between_two_steps_is_the_loops() -> None:
    """Two steps of eight ops of 5 µs with pauses of 5: 40 and seven pauses each; from
    75 to 100 nothing is dispatched.
    """
    builder = trace().busy("GPU:0", (190, 200))
    for at in (0, 100):
        builder.step(at, at + 100)
        for index in range(8):
            builder.call("PjitFunction(f)", at + index * 10, at + index * 10 + 5)

    assert shares(builder.timeline()) == {"launch": 150, "host": 40, "compute": 10}


def test_dispatches_before_the_first_step_are_of_none() -> None:
    """Eight before it and four in it do not make twelve."""
    builder = trace()
    for index in range(8):
        builder.call("PjitFunction(f)", index * 10, index * 10 + 5)
    builder.step(100, 200).busy("GPU:0", (190, 200))
    for index in range(4):
        builder.call("PjitFunction(f)", 100 + index * 10, 105 + index * 10)

    assert shares(builder.timeline()) == {"launch": 20, "host": 70, "compute": 10}


def test_each_step_is_eager_or_not_by_itself() -> None:
    """Eight dispatches in the first, two in the second, pauses of 5 between all."""
    builder = trace().steps(2, period=100).busy("GPU:0", (190, 200))
    for at, count in ((0, 8), (100, 2)):
        for index in range(count):
            builder.call("PjitFunction(f)", at + index * 10, at + index * 10 + 5)

    assert shares(builder.timeline()) == {
        "launch": 75 + 10,
        "host": 25 + 80,
        "compute": 10,
    }


def test_known_events_in_a_pause_keep_their_own_class() -> None:
    """Between the first two of eight ops the batch is loaded for 20 of 50 µs."""
    found = shares(ops(8, 50).call("load_batch", 20, 40).timeline())

    assert (found["launch"], found["input"]) == (80 + 7 * 50 - 20, 20)


def test_tensorflows_eager_ops_are_told_from_other_dispatches() -> None:
    """Eight of its ops with pauses of 50 are 80 + 350 µs of eager dispatch; eight
    jitted functions are none.
    """
    eager = ops(8, 50).timeline().costs[HostCost.EAGER]
    jitted = ops(8, 50, name="PjitFunction(f)").timeline().costs[HostCost.EAGER]

    assert (eager.length(), jitted.length()) == (430 * PS, 0)


def test_between_an_op_and_a_function_is_no_eager_dispatch() -> None:
    """Of nine dispatches the last is a function: seven pauses of 50 lie between two
    ops, the eighth does not.
    """
    builder = ops(8, 50)
    builder.call("EagerLocalExecute: __inference_f_1", 480, 490)

    assert builder.timeline().costs[HostCost.EAGER].length() == 430 * PS


def test_replicas_that_run_op_by_op_on_other_threads_are_dispatch_of_the_step() -> None:
    """The driving thread's Python waits; another thread dispatches eight ops of 10 µs,
    50 apart, a third a function.
    """
    builder = (
        trace()
        .step(0, 1000)
        .call("PjitFunction(f)", 0, 5)
        .busy("GPU:0", (900, 1000))
        .thread("replica")
    )
    for index in range(8):
        builder.call("EagerLocalExecute: MatMul", 100 + index * 60, 110 + index * 60)
    builder.thread("function").call("EagerLocalExecute: __inference_g_1", 600, 700)

    assert shares(builder.timeline()) == {
        "launch": 5 + 430,
        "host": 465,
        "compute": 100,
    }


def test_a_trace_that_nobody_drives_has_no_host_time() -> None:
    """Steps saved by the device alone; what threads do is what it may wait for."""
    builder = (
        trace()
        .thread("worker")
        .call("GpuCompiler::Compile", 10, 30)
        .call("dense:MatMul", 60, 70)
    )
    for index in range(2):
        at = index * 100
        builder.on_line("/device:TPU:0", "Steps", str(index), at, at + 100)
        builder.on_line("/device:TPU:0", "XLA Ops", "fusion.1", at + 80, at + 100)

    assert shares(builder.timeline()) == {
        "compile": 20,
        "launch": 10,
        "compute": 40,
        "idle": 130,
    }


def test_traced_functions_compile_and_others_dispatch() -> None:
    builder = (
        behind_another()
        .step(0, 100)
        .busy("GPU:0", (80, 100))
        .call("f", 0, 30, tf_function_call="traced-xla")
    )
    builder.call("f", 30, 50, tf_function_call="notTraced-xla").thread("other").call(
        "g", 50, 80, tf_function_call="traced"
    )

    assert shares(builder.timeline()) == {
        "compile": 30,
        "launch": 20,
        "host": 30,
        "compute": 20,
    }


def test_python_of_the_pipeline_holds_back_python_of_the_loop_but_no_wait_and_no_compilation() -> (
    None
):
    """An op of the pipeline runs Python from 0 to 80; the driver compiles, waits,
    dispatches and computes, 20 each.
    """
    builder = (
        trace()
        .step(0, 100)
        .call("backend_compile", 0, 20)
        .call("BlockUntilReady", 20, 40)
    )
    builder.call("PjitFunction(f)", 40, 60).busy("GPU:0", (80, 100))
    builder.thread("tf_data_private_threadpool/1").call("map:PyFunc", 0, 80).call(
        "map:Cast", 85, 95
    )

    assert shares(builder.timeline()) == {
        "compile": 20,
        "idle": 20,
        "input": 40,
        "compute": 20,
    }


def test_ops_of_the_pipeline_that_need_no_python_hold_nobody_back() -> None:
    builder = (
        trace().step(0, 100).call("PjitFunction(f)", 0, 40).busy("GPU:0", (80, 100))
    )
    builder.thread("tf_data_private_threadpool/1").call("map:Cast", 0, 80)

    assert shares(builder.timeline()) == {"launch": 40, "host": 40, "compute": 20}


def test_callbacks_on_pipeline_threads_are_not_the_steps_own() -> None:
    builder = (
        trace().step(0, 100).call("PjitFunction(f)", 0, 40).busy("GPU:0", (80, 100))
    )
    builder.thread("tf_Compute/1").call("f:EagerPyFunc", 10, 30)

    assert shares(builder.timeline()) == {"launch": 20, "host": 60, "compute": 20}


def test_single_ops_without_pauses_between_them_are_no_eager_step() -> None:
    assert ops(3, 50).timeline().costs[HostCost.EAGER].length() == 0


def test_a_long_function_before_the_first_step_compiles_no_step() -> None:
    """A function of 1 ms before the step; in it eight ops of 10 µs, 500 apart."""
    builder = trace().call("EagerLocalExecute: __inference_warm_up_1", 0, 1000)
    builder.step(1000, 21_000).busy("GPU:0", (20_000, 21_000))
    for index in range(8):
        builder.call(
            "EagerLocalExecute: MatMul", 1000 + index * 510, 1010 + index * 510
        )

    assert shares(builder.timeline())["launch"] == 80 + 7 * 500


def test_a_wait_that_another_thread_begins_is_not_the_drivers() -> None:
    builder = (
        trace()
        .step(0, 100)
        .busy("GPU:0", (80, 100))
        .call("CommonPjRtBuffer::Await done", 60, 61, _c=7)
    )
    builder.thread("other").call("CommonPjRtBuffer::Await", 30, 31, _p=7)

    assert shares(builder.timeline()) == {"host": 79, "idle": 1, "compute": 20}


def test_ops_that_the_pipeline_dispatches_are_none_of_the_step() -> None:
    builder = (
        trace().step(0, 1000).call("PjitFunction(f)", 0, 5).busy("GPU:0", (900, 1000))
    )
    builder.thread("tf_data_private_threadpool/1")
    for index in range(8):
        builder.call("EagerLocalExecute: MatMul", 100 + index * 60, 110 + index * 60)

    assert shares(builder.timeline()) == {"launch": 5, "host": 895, "compute": 100}


def test_runs_of_kernels_on_other_threads_are_no_waits_of_the_driver() -> None:
    """The last event of the thread before, and the first of the thread behind; the
    driver's own last event loads a batch.
    """
    builder = (
        trace()
        .thread("before")
        .call("KernelAndDeviceFunc::Run", 0, 90)
        .thread("python")
    )
    builder.step(0, 100).call("load_batch", 10, 40).busy("GPU:0", (80, 100))
    builder.thread("behind").call("KernelAndDeviceFunc::Run", 5, 90)

    assert shares(builder.timeline()) == {"input": 30, "host": 50, "compute": 20}


@pytest.mark.parametrize(
    ("end", "expected"), [(40, {"launch": 30}), (41, {"launch": 10, "idle": 20})]
)
def test_a_kernel_that_ends_with_its_op_is_the_ops(
    end: float, expected: dict[str, float]
) -> None:
    """An op from 10 to 40 runs its kernel from 20 on; a run that outlasts it is a wait,
    as long as the op.
    """
    builder = (
        trace()
        .step(0, 100)
        .call("EagerLocalExecute: MatMul", 10, 40)
        .call("KernelAndDeviceOp::Run", 20, end)
    )
    found = shares(builder.busy("GPU:0", (80, 100)).timeline())

    assert found == {"host": 80 - sum(expected.values()), "compute": 20, **expected}


def test_a_kernel_that_runs_before_any_op_is_a_wait() -> None:
    """From 10 to 20; the only op comes at 30."""
    builder = (
        trace()
        .step(0, 100)
        .call("KernelAndDeviceFunc::Run", 10, 20)
        .call("EagerLocalExecute: MatMul", 30, 40)
    )

    assert shares(builder.busy("GPU:0", (80, 100)).timeline()) == {
        "idle": 10,
        "launch": 10,
        "host": 60,
        "compute": 20,
    }


def test_a_long_pause_between_two_ops_is_no_eager_dispatch() -> None:
    """Eight ops of 10 µs 50 apart; one more 5 ms later."""
    builder = ops(8, 50).call("EagerLocalExecute: MatMul", 5430, 5440)

    assert builder.timeline().costs[HostCost.EAGER].length() == 440 * PS


def test_python_that_an_op_calls_in_a_pause_is_work_of_the_host() -> None:
    """Eight ops with pauses of 50 µs; in the first another thread runs Python
    for 20.
    """
    builder = ops(8, 50).thread("tf_Compute/1").call("f:EagerPyFunc", 20, 40)

    assert shares(builder.timeline())["launch"] == 430 - 20


def test_a_traced_function_may_be_the_first_event_of_its_thread() -> None:
    """It begins at 0, the step at 10."""
    builder = (
        trace()
        .call("f", 0, 40, tf_function_call="traced-xla")
        .step(10, 110)
        .busy("GPU:0", (80, 110))
    )

    assert shares(builder.timeline()) == {"compile": 30, "host": 40, "compute": 30}


def test_a_wait_for_another_thread_inside_a_loading_call_is_loading() -> None:
    """Loading from 10 to 40, in which Python waits from 20 to 30; and a wait from 50 to
    60 that nothing explains.
    """
    builder = (
        behind_another()
        .step(0, 100)
        .call("load_batch", 10, 40)
        .call("$threading.py:9 wait", 20, 30)
    )
    builder.call("$threading.py:9 wait", 50, 60).busy("GPU:0", (80, 100))

    assert shares(builder.timeline()) == {"input": 30, "host": 50, "compute": 20}


@pytest.mark.parametrize(
    "builder", [trace(), behind_another()], ids=["first", "second"]
)
def test_a_wait_inside_a_dispatch_is_not_explained_by_that_dispatch(
    builder: TraceBuilder,
) -> None:
    """The driving thread is the first, or the second, of the trace."""
    builder.step(0, 100).call("PjitFunction(f)", 10, 40).call(
        "BlockUntilReady", 20, 30
    ).busy("GPU:0", (80, 100))

    assert shares(builder.timeline()) == {
        "launch": 20,
        "idle": 10,
        "host": 50,
        "compute": 20,
    }


def test_a_frame_that_was_cut_may_be_shorter_than_the_call_that_begins_with_it() -> (
    None
):
    """Loading begins with the recording and crosses a frame that begins at 10, so it
    ended there; compiling goes on.
    """
    builder = (
        trace()
        .step(0, 10_000)
        .call("$dataloader.py:1 __next__", 0, 2000)
        .call("backend_compile", 0, 1500)
    )
    builder.call("$b.py:2 run", 10, 5000).busy("GPU:0", (9000, 10_000))

    assert shares(builder.timeline()) == {
        "input": 10,
        "compile": 1490,
        "host": 7500,
        "compute": 1000,
    }


def test_waits_of_which_only_one_end_is_marked_are_none() -> None:
    """Two buffers are awaited, and neither is said to be there."""
    builder = trace().step(0, 100).busy("GPU:0", (80, 100))
    builder.call("CommonPjRtBuffer::Await", 10, 11, _p=5).call(
        "CommonPjRtBuffer::Await", 30, 31, _p=6
    )

    assert shares(builder.timeline()) == {"host": 78, "idle": 2, "compute": 20}


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("train_step", {"host": 20, "input": 50}),
        ("predict", {"host": 20, "input": 50}),
        ("generate", {"host": 20, "idle": 50}),
    ],
)
def test_a_server_waits_for_requests_where_a_loop_waits_for_its_batch(
    program: str, expected: dict[str, float]
) -> None:
    """10 to 60 µs in a queue's `get`. Whether `predict` answers requests or runs over a
    data set, its name does not tell.
    """
    builder = (
        behind_another()
        .step(0, 100)
        .call("$threading.py:323 wait", 10, 60)
        .call(f"PjitFunction({program})", 60, 70)
    )

    found = shares(builder.busy("GPU:0", (80, 100)).timeline())

    assert found == {"launch": 10, "compute": 20, **expected}


def with_loader(takes: str, makes: str, marked: bool, begins: int = 0) -> TraceBuilder:
    """Five steps of 100 µs: the loop asks for a batch for 10 µs, dispatches for 10, and
    is in no event for 80; the device works from 20 to 60. Another thread is in a call
    all the time. begins: that one, µs.
    """
    builder = trace().thread("python")
    for at in range(0, 500, 100):
        if marked:
            builder.step(at, at + 100)
        builder.call("$data.py:9 __iter__", at, at + 10)
        builder.call(takes, at + 2, at + 4)
        builder.call("PjitFunction(step)", at + 10, at + 20)
        builder.kernel("GPU:0", "dot", at + 20, at + 60, launched=(at + 15, at + 16))
    builder.call("PjitFunction(step)", 500, 510)
    builder.thread("worker").call("$data.py:30 augment", begins, 510)
    return builder.call(makes, begins, 500)


@pytest.mark.parametrize("marked", [True, False])
@pytest.mark.parametrize(
    ("takes", "makes", "locked_out"),
    [
        ("$_base.py:428 result", "$builtins round", True),
        ("$queue.py:154 get", "$builtins round", True),
        ("$builtins len", "$builtins round", False),
        ("$_base.py:428 result", "$queue.py:154 get", False),
        ("$_base.py:428 result", "$time sleep", False),
    ],
    ids=["a future", "a queue", "nothing taken", "which waits", "which sleeps"],
)
def test_where_the_loaders_python_runs_the_silent_loop_waits_for_it(
    takes: str, makes: str, locked_out: bool, marked: bool
) -> None:
    """From 60 to 100 of each of five steps, with a marker around it or without."""
    timeline = with_loader(takes, makes, marked).timeline()

    found = timeline.costs[HostCost.BEHIND_LOADER]

    assert found.length() / PS == (200 if locked_out else 0)


@pytest.mark.parametrize(
    ("begins", "calls", "locked_out"),
    [(-500, "", 0), (-499, "", 200), (-500, "$data.py:40 item", 200)],
    ids=["NumPy on a batch", "a shorter call", "a map over items"],
)
def test_what_takes_long_without_python_lets_the_loop_run(
    begins: int, calls: str, locked_out: int
) -> None:
    """1 ms, up to the end of the steps, in which it calls Python or none."""
    takes = "$_base.py:428 result"
    builder = with_loader(takes, "$<unknown> sort", marked=True, begins=begins)
    if calls:
        builder.call(calls, 1, 499)

    found = builder.timeline().costs[HostCost.BEHIND_LOADER]

    assert found.length() / PS == locked_out
