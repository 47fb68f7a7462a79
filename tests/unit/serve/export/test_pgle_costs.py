"""What instructions cost, on traces whose answer is worked out on paper; times in
microseconds.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from support.trace_builder import TraceBuilder, trace

from tfadvisor.serve.export.pgle import (
    Costs,
    Counting,
    InstructionCost,
    aggregate,
    costs,
    counting_of,
)
from tfadvisor.serve.export.pgle_events import SELECTION, named_events
from tfadvisor.trace import messages
from tfadvisor.trace.columns import HostTrace
from tfadvisor.trace.decode import decode_file

GPU = "/device:GPU:0"
STREAM = "Stream #1(Compute)"


def decoded(builder: TraceBuilder, folder: Path) -> HostTrace:
    (file,) = builder.write(folder).glob("*.xplane.pb")
    return decode_file(file, SELECTION)


def of(
    builder: TraceBuilder, folder: Path, counting: Counting = Counting.EVENT
) -> Costs:
    return costs(named_events(decoded(builder, folder)), counting)


def kernel(
    builder: TraceBuilder,
    start: float,
    end: float,
    op: str,
    /,
    plane: str = GPU,
    **stats: object,
) -> TraceBuilder:
    details = {"hlo_op": op, "hlo_module": "jit_step", "program_id": 7, **stats}
    return builder.on_line(plane, STREAM, f"kernel_of_{op}", start, end, **details)


def test_an_instruction_costs_the_mean_of_its_events_on_all_devices(
    tmp_path: Path,
) -> None:
    """dot: 10, 20 on one GPU, 30 on the other: 20. add: 4 once. The copy names no
    instruction.
    """
    builder = trace()
    kernel(builder, 0, 10, "dot.1")
    kernel(builder, 50, 70, "dot.1")
    kernel(builder, 10, 14, "add.2")
    kernel(builder, 0, 30, "dot.1", plane="/device:GPU:1")
    builder.copy("GPU:0", "H2D", 80, 90)

    assert of(builder, tmp_path) == {
        "add.2": InstructionCost(4.0, 1),
        "dot.1": InstructionCost(20.0, 3),
    }


def test_a_kernel_without_a_module_is_no_instruction_of_one(tmp_path: Path) -> None:
    builder = kernel(trace(), 0, 10, "dot.1")
    builder.on_line(GPU, STREAM, "other", 20, 90, hlo_op="dot.1")

    assert of(builder, tmp_path) == {"dot.1": InstructionCost(10.0, 1)}


def test_what_a_name_says_holds_for_its_events_unless_they_say_otherwise(
    tmp_path: Path,
) -> None:
    """The name says add.9 of jit_step; one event says dot.1 itself."""
    space = messages.XSpace.FromString(
        kernel(kernel(trace(), 0, 10, "dot.1"), 20, 24, "dot.1").bytes()
    )
    (plane,) = space.planes
    first, second = plane.lines[0].events
    plane.event_metadata[first.metadata_id].stats.extend(second.stats)
    (op,) = (
        one
        for one in plane.event_metadata[first.metadata_id].stats
        if plane.stat_metadata[one.metadata_id].name == b"hlo_op"
    )
    op.str_value = b"add.9"
    second.ClearField("stats")
    del first.stats[1:]
    file = tmp_path / "host.xplane.pb"
    file.write_bytes(space.SerializeToString())
    found = decode_file(file, SELECTION)

    assert costs(named_events(found), Counting.EVENT) == {
        "add.9": InstructionCost(4.0, 1),
        "dot.1": InstructionCost(10.0, 1),
    }


def test_the_line_of_asynchronous_ops_repeats_others(tmp_path: Path) -> None:
    builder = kernel(trace(), 0, 10, "dot.1")
    builder.on_line(
        GPU,
        "Async XLA Ops",
        "dot",
        0,
        90,
        hlo_op="dot.1",
        hlo_module="jit_step",
        program_id=7,
    )

    assert of(builder, tmp_path) == {"dot.1": InstructionCost(10.0, 1)}


def test_planes_of_others_count_only_where_there_is_no_gpu(tmp_path: Path) -> None:
    on_both = kernel(
        kernel(trace(), 0, 10, "dot.1"), 0, 90, "dot.1", plane="/device:TPU:0"
    )
    on_tpu = kernel(trace(), 0, 90, "dot.1", plane="/device:TPU:0")

    assert of(on_both, tmp_path / "both")["dot.1"].us == 10.0
    assert of(on_tpu, tmp_path / "tpu")["dot.1"].us == 90.0


def test_an_execution_of_two_kernels_costs_its_whole_span_from_0_12_on(
    tmp_path: Path,
) -> None:
    """Scope range 1: kernels at 0–10 and 12–20, span 20. Scope range 2: 100–140, span
    40. Events: (10 + 8 + 40) / 3.
    """
    builder = trace()
    kernel(builder, 0, 10, "dot.1", scope_range_id=1)
    kernel(builder, 12, 20, "dot.1", scope_range_id=1)
    kernel(builder, 100, 140, "dot.1", scope_range_id=2)

    assert of(builder, tmp_path, Counting.SPAN) == {"dot.1": InstructionCost(30.0, 2)}
    assert of(builder, tmp_path, Counting.EVENT) == {
        "dot.1": InstructionCost(pytest.approx(58 / 3), 3)
    }


def test_without_scope_ranges_events_of_one_start_are_one_execution(
    tmp_path: Path,
) -> None:
    """Two GPUs start at 0 and take 10 and 16; one starts again at 100 and takes 4: (16
    + 4) / 2.
    """
    builder = kernel(
        kernel(trace(), 0, 10, "dot.1"), 0, 16, "dot.1", plane="/device:GPU:1"
    )
    kernel(builder, 100, 104, "dot.1")

    assert of(builder, tmp_path, Counting.SPAN) == {"dot.1": InstructionCost(10.0, 2)}


@pytest.mark.parametrize(
    ("jaxlib", "counting"),
    [
        ("0.4.30", Counting.EVENT),
        ("0.11.2", Counting.EVENT),
        ("0.12.0", Counting.SPAN),
        (None, Counting.SPAN),
    ],
)
def test_the_version_decides_what_is_counted(
    jaxlib: str | None, counting: Counting
) -> None:
    assert counting_of(jaxlib) is counting


def test_the_90th_percentile_takes_one_of_the_costs_rounded_down() -> None:
    """1, 2, 5: of places 0 to 2 the one at 0.9 × 2, rounded down: the second."""
    profiles = [
        {"dot": InstructionCost(us, 3), "only": InstructionCost(9.0, 1)}
        if us == 2.0
        else {"dot": InstructionCost(us, 3)}
        for us in (5.0, 1.0, 2.0)
    ]

    assert aggregate(profiles) == {
        "dot": InstructionCost(2.0, 9),
        "only": InstructionCost(9.0, 1),
    }
