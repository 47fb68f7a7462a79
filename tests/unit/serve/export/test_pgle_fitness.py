"""What is said of traces that make a poor profile."""

from __future__ import annotations

from pathlib import Path

from support.trace_builder import TraceBuilder, trace

from tfadvisor.serve.export.pgle_events import SELECTION, facts, remarks
from tfadvisor.trace.decode import decode_file

GPU = "/device:GPU:0"


def said(builder: TraceBuilder, folder: Path) -> list[str]:
    traces = []
    for file in sorted(builder.write(folder).glob("*.xplane.pb")):
        traces.append(facts(decode_file(file, SELECTION)))
    return list(remarks(traces))


def steps(count: int, *ops: str) -> TraceBuilder:
    """Each step runs each op once, 10 µs long."""
    builder = trace()
    for step in range(count):
        for at, op in enumerate(ops):
            start = step * 100 + at * 10
            builder.on_line(
                GPU,
                "Stream #1(Compute)",
                op,
                start,
                start + 10,
                hlo_op=op,
                hlo_module="jit_step",
                program_id=7,
            )
    return builder


def test_a_good_trace_is_passed_over_in_silence(tmp_path: Path) -> None:
    assert said(steps(3, "dot.1", "all-reduce-start.1"), tmp_path) == []


def test_a_cpu_has_no_use_for_a_profile(tmp_path: Path) -> None:
    (only,) = said(trace().steps(3, period=100), tmp_path)

    assert "no plane of a GPU" in only


def test_graphs_hide_instructions(tmp_path: Path) -> None:
    builder = steps(3, "dot.1", "all-reduce-start.1").call("cuGraphLaunch", 0, 5)

    (only,) = said(builder, tmp_path)

    assert "--xla_gpu_enable_command_buffer=" in only
