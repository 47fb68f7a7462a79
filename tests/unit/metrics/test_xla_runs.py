"""Loops that the host runs turn by turn, and CUDA graphs that it brings up to date."""

from __future__ import annotations

import pytest
from support.hlo_builder import alias, computation, field, metadata, module, op
from support.trace_builder import TraceBuilder, trace

PROGRAM = {"hlo_module": "jit_step", "program_id": 7}


def looping(turns: int, reads: bool = True) -> TraceBuilder:
    """Four steps of 1,000 µs, each a loop of so many turns of 50 µs, in which a kernel
    runs for 10 µs, and another loop of one turn inside of each.
    """
    builder = trace().steps(4, period=1000)
    for step in range(4):
        at = step * 1000
        builder.call("PjitFunction(step)", at, at + 900)
        builder.call("while.3", at + 10, at + 10 + 50 * turns)
        for turn in range(turns):
            start = at + 10 + 50 * turn
            builder.call(f"[iter={turn}]", start, start + 50)
            builder.call("while.9", start + 1, start + 30)
            builder.call("[iter=0]", start + 2, start + 29)
            if reads:
                builder.call("MemcpyD2H", start + 31, start + 33)
            builder.kernel(
                "GPU:0",
                "add",
                start + 40,
                start + 50,
                launched=(start + 34, start + 36),
                hlo_op="add",
                **PROGRAM,
            )
        builder.call("MemcpyD2H", at + 920, at + 922)
    return builder


def test_turns_are_counted_with_those_of_loops_inside() -> None:
    """Ten turns of 50 µs, each with one of an inner loop: 20 a step, and 500 µs, of
    which the device works for 100. The copy behind the loop is no condition.
    """
    metrics = looping(10).measure()

    assert metrics.value("host_loop_turns_per_step") == 20
    assert metrics.value("host_loop_turn_us") == 25
    assert metrics.value("host_loop_reads_per_step") == 10
    assert metrics.value("host_loop_fraction") == pytest.approx(0.4)
    assert metrics.fact("host_loop") == "while.3"


def test_a_loop_without_reads_is_one_of_a_known_number_of_turns() -> None:
    found = {one.rule_id for one in looping(10, reads=False).report().findings}

    assert looping(10, reads=False).measure().value("host_loop_reads_per_step") == 0
    assert "loop-run-by-host" not in found


def test_a_loop_with_a_condition_is_a_finding_at_its_line() -> None:
    place = metadata("jit(step)/while", "main.py", 81)
    loop = op(2, "while", "f32[8]", 1, name="while.3", metadata=place)
    data = module(computation(1, op(1, "parameter", "f32[8]"), loop))

    report = looping(10).program("jit_step", data).report()
    (finding,) = (one for one in report.findings if one.rule_id == "loop-run-by-host")

    assert [(one.file, one.line) for one in finding.locations] == [("main.py", 81)]


def test_a_trace_without_loops_says_so() -> None:
    reason = trace().steps(4, period=100).busy("GPU:0", (0, 50)).measure()

    assert reason["host_loop_fraction"].reason == (
        "no loop of a compiled program is run turn by turn"
    )


def updating(instructions: int, extra: bytes = b"") -> TraceBuilder:
    """Four steps of 1,000 µs that update a graph for 800 µs and then run it for 70. The
    program holds so many products of one line, and returns its argument changed.
    """
    builder = trace().steps(4, period=1000)
    for step in range(4):
        at = step * 1000
        builder.call("PjitFunction(step)", at, at + 950)
        builder.call("command_buffer::update", at + 100, at + 900)
        builder.kernel(
            "GPU:0",
            "dot",
            at + 920,
            at + 990,
            launched=(at + 905, at + 915),
            hlo_op="dot.2",
            **PROGRAM,
        )
    place = metadata("jit(step)/jvp(MLP)/Dense_0/dot_general", "model.py", 11)
    products = [
        op(
            2 + number,
            "fusion",
            "f32[8,8]",
            1,
            name=f"dot.{2 + number}",
            metadata=place,
        )
        for number in range(instructions)
    ]
    parameter = op(1, "parameter", "f32[8,8]")
    data = module(computation(1, parameter, *products), extra=extra)
    return builder.program("jit_step", data)


def test_updates_are_counted_and_timed_without_what_recording_adds() -> None:
    """Recorded as 0.8 of 1 ms, of which three quarters are the recording's."""
    metrics = updating(3).measure()

    assert metrics.value("graph_updates_per_step") == 1
    assert metrics.value("graph_update_ms") == pytest.approx(0.2)
    assert metrics.value("graph_update_fraction") == pytest.approx(0.2)
    assert metrics.value("operation_copies") == 3
    assert metrics.value("kept_arguments") == 1
    assert metrics.fact("copied_operation") == "Dense_0/dot_general (model.py:11)"


def test_a_donated_argument_is_not_kept() -> None:
    donated = field(8, alias([], 0))

    assert updating(3, donated).measure().value("kept_arguments") == 0
