"""JAX's tracing events that run programs op by op, and pauses between ops during which
another program had the core.
"""

from __future__ import annotations

import pytest
from support.trace_builder import TraceBuilder, trace

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


def shares(builder: TraceBuilder) -> dict[str, float]:
    """Class -> µs over all steps of the first device."""
    total = builder.timeline().breakdown[0].sum(axis=0).tolist()
    return {name: ps / PS for name, ps in zip(CLASSES, total, strict=True) if ps}


def behind_another() -> TraceBuilder:
    """The driving thread is the second of the trace; a device works at the very end of
    the step.
    """
    return (
        trace()
        .thread("another")
        .call("tick", 0, 0.5)
        .busy("GPU:0", (900, 1000))
        .thread("python")
    )


def forward(
    executions: int, name: str = "trace_to_jaxpr_nounits", end: float = 900
) -> TraceBuilder:
    """Tracing from 100 to its end with programs of 20 µs in it, one each 50 µs from 110
    on.
    """
    builder = behind_another().step(0, 1000).call(name, 100, end)
    for number in range(executions):
        at = 110 + 50 * number
        builder.call("PjitFunction(mul)", at, at + 20).call(
            "PjRtCpuExecutable::ExecuteHelper", at + 1, at + 19
        )
    return builder


@pytest.mark.parametrize(
    "name", ["trace_to_jaxpr_nounits", "$partial_eval.py:620 trace_to_jaxpr_nounits"]
)
def test_tracing_that_runs_eight_programs_is_dispatch(name: str) -> None:
    """Eight calls of 20 µs and the seven pauses of 30 µs between them; the rest of the
    step is Python.
    """
    assert shares(forward(8, name)) == {
        "compute": 100,
        "launch": 8 * 20 + 7 * 30,
        "host": 900 - 370,
    }


def test_tracing_that_runs_seven_programs_compiles() -> None:
    assert shares(forward(7))["compile"] == 800


@pytest.mark.parametrize("inside", ["backend_compile", "trace_to_jaxpr_nounits"])
@pytest.mark.parametrize(("length", "compiles"), [(160, 800), (159, 159)])
def test_tracing_of_which_a_fifth_compiles_is_compiling_whatever_it_runs(
    length: float, compiles: float, inside: str
) -> None:
    """160 of 800 µs. Tracing in which no program runs compiles."""
    assert shares(forward(8).call(inside, 600, 600 + length))["compile"] == compiles


def test_tracing_inside_such_tracing_is_dispatch_too_where_it_runs_programs() -> None:
    """The inner one, from 205 to 335, holds three of the eight programs."""
    assert "compile" not in shares(forward(8).call("trace_to_jaxpr_nounits", 205, 335))


def test_of_two_tracing_events_only_the_one_that_runs_programs_is_dispatch() -> None:
    """The other, from 710 to 750, comes later and runs none."""
    found = shares(forward(8, end=700).call("trace_to_jaxpr_nounits", 710, 750))

    assert found["compile"] == 40


def test_a_long_inner_one_that_runs_a_single_program_does_not_make_the_outer_one_compile() -> (
    None
):
    """From 105 to 135 only, and from 430 to 890, 460 of 800 µs, in which the last
    program runs, at 460.
    """
    builder = (
        forward(7)
        .call("trace_to_jaxpr_nounits", 430, 890)
        .call("PjitFunction(mul)", 460, 480)
    )

    assert "compile" not in shares(
        builder.call("PjRtCpuExecutable::ExecuteHelper", 461, 479)
    )


def eager_loop(pauses: list[float], place: int = 5) -> TraceBuilder:
    """Steps of ten ops of 10 µs, 5 µs apart; the pause before op `place` is told for
    each step. Each step ends 5 µs later.
    """
    builder = (
        trace()
        .thread("another")
        .call("tick", 0, 0.5)
        .busy("GPU:0", (0, 1))
        .thread("python")
    )
    at = 2.0
    for pause in pauses:
        begin = at
        for number in range(10):
            at += pause if number == place else 5
            builder.call(f"EagerLocalExecute: Op{number}", at, at + 10)
            at += 10
        builder.step(begin, at + 5)
        at += 5
    return builder


def launch_of(pauses: list[float], place: int = 5) -> float:
    """Dispatch of all steps, less the ops' own 100 µs and the eight usual pauses of 5
    µs a step: what the told ones add.
    """
    return shares(eager_loop(pauses, place)).get("launch", 0) - len(pauses) * (
        100 + 8 * 5
    )


def test_a_pause_that_is_long_once_was_not_the_loops() -> None:
    """20 ms in one of five steps."""
    assert launch_of([5, 5, 20_000, 5, 5]) == 4 * 5 + 20_000


def test_a_pause_that_is_long_in_most_steps_is_the_loops() -> None:
    """Above 1 ms in three of five."""
    assert launch_of([5, 2_000, 2_000, 2_000, 5]) == 2 * 5


@pytest.mark.parametrize(("pause", "dispatch"), [(50_000, 50_000), (50_001, 0)])
def test_a_pause_beyond_50_ms_is_work(pause: float, dispatch: float) -> None:
    assert launch_of([5, 5, pause, 5, 5]) == 4 * 5 + dispatch


def test_four_steps_tell_how_long_a_pause_usually_is() -> None:
    assert launch_of([5, 20_000, 5, 5]) == 3 * 5 + 20_000


def test_a_pause_that_usually_lasts_just_1_ms_is_dispatch_and_a_longer_one_work() -> (
    None
):
    assert launch_of([1_000, 20_000, 1_000, 1_000, 5]) == 3 * 1_000 + 20_000 + 5
    assert launch_of([1_001, 20_000, 1_001, 1_001, 5]) == 5


def test_three_steps_do_not_tell_how_long_a_pause_usually_is() -> None:
    assert launch_of([5, 20_000, 5]) == 2 * 5


@pytest.mark.parametrize("place", [1, 5, 9])
def test_each_pause_is_known_by_its_place_among_those_of_its_step(place: int) -> None:
    """The first pause of a step, the fifth and the last: four steps tell what is usual,
    three do not, and most decide.
    """
    assert launch_of([5, 20_000, 5, 5], place) == 3 * 5 + 20_000
    assert launch_of([5, 20_000, 5], place) == 2 * 5
    assert launch_of([5, 2_000, 2_000, 2_000, 5], place) == 2 * 5


def test_pauses_are_told_apart_by_the_calls_on_both_sides() -> None:
    """Four steps of eight ops have a pause between B and A, one of 20 ms; two of them
    one between A and C before it.
    """
    builder = trace().thread("another").busy("GPU:0", (0, 1))
    for place, name in enumerate("ABC"):
        builder.call(f"EagerLocalExecute: {name}", place / 10, place / 10 + 0.05)
    builder.thread("python")
    at = 2.0
    for index, names in enumerate(("ACBAAAAA", "ACBAAAAA", "AABAAAAA", "AABAAAAA")):
        begin = at
        for number, name in enumerate(names):
            at += 20_000 if (index, number) == (0, 3) else 5
            builder.call(f"EagerLocalExecute: {name}", at, at + 10)
            at += 10
        builder.step(begin, at + 5)
        at += 5

    assert shares(builder)["launch"] == 4 * (8 * 10 + 6 * 5) + 3 * 5 + 20_000


def test_an_op_that_takes_most_of_its_step_is_no_compiled_function() -> None:
    """Then pauses of up to 1 ms are dispatch; beside a function 200 µs are the
    limit.
    """
    for name, dispatch in (
        ("EagerLocalExecute: Conv2D", 500),
        ("EagerLocalExecute: __inference_step_1", 0),
    ):
        builder = (
            trace()
            .thread("another")
            .call("tick", 0, 0.5)
            .busy("GPU:0", (0, 1))
            .thread("python")
        )
        builder.step(2, 5000).call(name, 10, 2010)
        for number in range(8):
            builder.call(
                "EagerLocalExecute: Mul", 2510 + 10 * number, 2520 + 10 * number
            )
        assert shares(builder)["launch"] == 2000 + 80 + dispatch
