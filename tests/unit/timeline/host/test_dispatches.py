"""Which calls dispatch, and jitted functions that Python runs itself, as under
jax_disable_jit. Times in µs.
"""

from __future__ import annotations

import pytest
from support.trace_builder import TraceBuilder, trace

from tfadvisor.timeline.host.dispatches import (
    calls_of_module,
    calls_that_execute,
    dispatches,
    driving_thread,
    outermost,
    without_evaluations,
)
from tfadvisor.timeline.host.threads import Threads, host_threads
from tfadvisor.timeline.names.classes import HostClass

PS = 1_000_000


def threads_of(builder: TraceBuilder) -> Threads:
    return host_threads(builder.decode())


def interpreted(
    calls: int,
    executions: int,
    name: str = "PjitFunction(step)",
    at: float = 0,
    builder: TraceBuilder | None = None,
) -> TraceBuilder:
    """A call in which so many jitted functions and so many executions of programs
    begin.
    """
    builder = (builder or trace()).call(name, at, at + 1000)
    for index in range(calls):
        builder.call("PjitFunction(add)", at + 10 + index * 50, at + 40 + index * 50)
    for index in range(executions):
        builder.call(
            "PjRtCpuExecutable::Execute", at + 20 + index * 50, at + 30 + index * 50
        )
    return builder


@pytest.mark.parametrize(
    ("calls", "executions", "found"),
    [(8, 8, True), (7, 8, False), (8, 7, False), (9, 9, True)],
)
def test_python_runs_a_jitted_function_in_which_eight_others_execute(
    calls: int, executions: int, found: bool
) -> None:
    threads = threads_of(interpreted(calls, executions))

    assert len(dispatches(threads, threads.threads[0])) == (calls if found else 1)


def test_a_thread_without_dispatches_runs_no_function() -> None:
    threads = threads_of(trace().call("work", 0, 10))

    assert dispatches(threads, threads.threads[0]).tolist() == []
    assert driving_thread(threads) == -1


def test_dispatches_say_what_they_start() -> None:
    """A session that runs names no program, Python's work is no dispatch."""
    builder = (
        trace()
        .call("SessionRun", 0, 10)
        .call("work", 10, 20)
        .call("PjitFunction(f)", 20, 30)
    )
    builder.call("EagerLocalExecute: MatMul", 30, 40).call("IteratorGetNext", 40, 50)
    threads = threads_of(builder)

    assert (threads.start[dispatches(threads, threads.threads[0])] / PS).tolist() == [
        20,
        30,
        40,
    ]


def test_calls_of_a_module_are_the_outermost_of_each_thread_in_order_of_time() -> None:
    """The second thread calls in between; calls inside a call, and of other functions,
    do not count.
    """
    builder = (
        trace()
        .call("PjitFunction(f)", 0, 30)
        .call("PjitFunction(f)", 10, 20)
        .call("PjitFunction(g)", 40, 50)
    )
    builder.call("PjitFunction(f)", 60, 70).thread("other").call(
        "PjitFunction(f)", 35, 65
    )
    threads = threads_of(builder)

    assert (threads.start[calls_of_module(threads, "jit_f")] / PS).tolist() == [
        0,
        35,
        60,
    ]
    assert calls_of_module(threads, "jit_h").tolist() == []


def test_what_begins_as_an_earlier_call_ends_lies_outside() -> None:
    """From 0 to 30, 29 to 40, 30 to 40 and 35 to 50: the second begins within the
    first, the last within the third.
    """
    builder = trace()
    for start, end in ((0, 30), (29, 30), (30, 40), (35, 50)):
        builder.call("f", start, end)
    threads = threads_of(builder)

    assert (
        threads.start[outermost(threads, threads.named(lambda name: name == "f"))] / PS
    ).tolist() == [0, 30]


def test_calls_of_a_module_on_one_thread() -> None:
    threads = threads_of(
        trace().call("PjitFunction(f)", 0, 30).call("PjitFunction(f)", 40, 50)
    )

    assert (threads.start[calls_of_module(threads, "jit_f")] / PS).tolist() == [0, 40]


def test_a_program_is_given_by_the_jitted_call_around_it_or_by_the_client_alone() -> (
    None
):
    """On the first thread by the calls at 0 and 200, and by the client itself at 110;
    on the second by the call at 50.
    """
    helper = "PjRtCpuExecutable::ExecuteHelper"
    builder = (
        trace()
        .call("PjitFunction(f)", 0, 100)
        .call(helper, 10, 20)
        .call(helper, 110, 120)
    )
    builder.call("PjitFunction(g)", 200, 300).call(helper, 210, 220)
    builder.thread("other").call("PjitFunction(f)", 50, 80).call(helper, 60, 70)
    builder.thread("third").call("PjitFunction(f)", 150, 180).call(helper, 160, 170)
    threads = threads_of(builder)

    assert (threads.start[calls_that_execute(threads)] / PS).tolist() == [
        0,
        50,
        110,
        150,
        200,
    ]


def test_no_client_gives_no_program() -> None:
    assert (
        calls_that_execute(threads_of(trace().call("PjitFunction(f)", 0, 100))).tolist()
        == []
    )


def test_a_thread_of_the_input_pipeline_drives_no_steps() -> None:
    builder = (
        trace()
        .call("EagerLocalExecute: MatMul", 0, 5)
        .thread("tf_data_private_threadpool/1")
    )

    assert (
        driving_thread(threads_of(builder.call("EagerLocalExecute: Decode", 0, 50)))
        == 0
    )


def test_each_thread_has_tracing_of_its_own() -> None:
    """On the first eight programs run within it, on the second none, on the third eight
    again.
    """
    builder = trace()
    for name, runs in (("a", 8), ("b", 0), ("c", 8)):
        builder.thread(name).call("trace_to_jaxpr_nounits", 0, 900)
        for at in range(10, 10 + 50 * runs, 50):
            builder.call("PjitFunction(mul)", at, at + 20).call(
                "PjRtCpuExecutable::ExecuteHelper", at + 1, at + 19
            )
    threads = without_evaluations(threads_of(builder))

    tracing = threads.named(lambda name: name.startswith("trace_to_jaxpr"))
    assert threads.kind[tracing].tolist() == [
        HostClass.FRAME,
        HostClass.COMPILE,
        HostClass.FRAME,
    ]


def test_tracing_that_runs_programs_may_be_the_first_event_of_its_thread() -> None:
    builder = (
        trace()
        .call("tick", 0, 1)
        .thread("python")
        .call("trace_to_jaxpr_nounits", 0, 900)
    )
    for at in range(10, 410, 50):
        builder.call("PjitFunction(mul)", at, at + 20).call(
            "PjRtCpuExecutable::ExecuteHelper", at + 1, at + 19
        )
    threads = without_evaluations(threads_of(builder))

    (tracing,) = threads.named(lambda name: name.startswith("trace_to_jaxpr")).tolist()
    assert threads.kind[tracing] == HostClass.FRAME
