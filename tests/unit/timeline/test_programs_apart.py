"""Two programs of one trace have an op of the same name: what is known of the one is
not said of the other.

Each step of 100 µs multiplies squares of 1024 for 60 µs in the first program, squares
of 64 for 30 µs in the second.
"""

from __future__ import annotations

import pytest
from support import hlo_builder as hlo
from support.pages import page_of
from support.trace_builder import TraceBuilder, _set, _stat_id, trace

TRAIN, EVAL = ("jit_train", 0.0, 60.0, 7), ("jit_eval", 60.0, 90.0, 8)
OP = "%fusion.1 = f32[8]{0} fusion(f32[8] %p), kind=kOutput, calls=%fused"


def product(name: str, side: int, file: str, program_id: int) -> bytes:
    shape = f"f32[{side},{side}]"
    dot = hlo.op(
        2,
        "dot",
        shape,
        1,
        1,
        name="fusion.1",
        extra=hlo.dot_numbers([1], [0]),
        metadata=hlo.metadata("a/b", file, 3),
    )
    return hlo.module(
        hlo.computation(1, hlo.op(1, "parameter", shape), dot),
        name=name,
        one=program_id,
    )


def with_programs(builder: TraceBuilder, second: int = 8) -> TraceBuilder:
    builder.program("jit_train", product("jit_train", 1024, "train.py", 7), 7)
    return builder.program(
        "jit_eval", product("jit_eval", 64, "eval.py", second), second
    )


def on_gpu(second: int = 8, **stats: int) -> TraceBuilder:
    builder = with_programs(trace(), second)
    for step in range(4):
        builder.step(step * 100, step * 100 + 100)
        for module, start, end, _ in (TRAIN, EVAL):
            at = (step * 100 + start, step * 100 + end)
            builder.on_line(
                "/device:GPU:0",
                "Stream #1(Compute)",
                "gemm",
                *at,
                hlo_op="fusion.1",
                hlo_module=module,
                **stats,
            )
    return builder


def on_tpu() -> TraceBuilder:
    builder = trace()
    for step in range(4):
        builder.step(step * 100, step * 100 + 100)
        for module, start, end, number in (TRAIN, EVAL):
            at = (step * 100 + start, step * 100 + end)
            builder.on_line("/device:TPU:0", "XLA Modules", f"{module}({number})", *at)
            builder.on_line("/device:TPU:0", "XLA Ops", OP, *at)
    return builder


@pytest.mark.parametrize(
    "builder",
    [
        pytest.param(
            on_gpu(), id="GPU whose events state their module and no program id"
        ),
        pytest.param(
            on_gpu(second=7, program_id=7), id="GPU whose programs share an id"
        ),
        pytest.param(with_programs(on_tpu()), id="TPU whose ops state neither"),
    ],
)
def test_each_program_has_its_own_flops_and_lines(builder: TraceBuilder) -> None:
    """Twice the cube of a side each."""
    ops = builder.report().ops

    assert [(one.module, one.ms_per_step, one.flops, one.file) for one in ops] == [
        ("jit_train", pytest.approx(0.06), 2 * 1024**3, "train.py"),
        ("jit_eval", pytest.approx(0.03), 2 * 64**3, "eval.py"),
    ]


def test_a_tpus_line_of_programs_tells_ops_of_one_name_apart() -> None:
    """Without any HLO; an op that begins in no program has none."""
    ops = on_tpu().on_line("/device:TPU:0", "XLA Ops", OP, 395, 399).report().ops

    assert [(one.module, one.count_per_step) for one in ops] == [
        ("jit_train", 1),
        ("jit_eval", 1),
        (None, 0.25),
    ]


def test_what_the_profiler_states_of_an_op_is_about_its_program() -> None:
    """A v5e's plane has an entry for each program's op; their texts are the same, and
    only the second moves 8 GB.
    """
    builder, plane = on_tpu(), "/device:TPU:0"
    target = builder._plane_of(plane)
    first = next(
        one for one in target.event_metadata.values() if one.name == OP.encode()
    )
    second = target.event_metadata[99]
    second.CopyFrom(first)
    second.id = 99
    for entry, program_id, moved in ((first, 7, 1_000), (second, 8, 8_000)):
        for stat, value in (
            ("program_id", program_id),
            ("flops", 5),
            ("bytes_accessed", moved),
        ):
            _set(entry.stats.add(metadata_id=_stat_id(target, stat)), target, value)
    (line,) = (one for one in target.lines if one.name == b"XLA Ops")
    for event in line.events[1::2]:
        event.metadata_id = 99

    assert [(one.module, one.bytes) for one in builder.report().ops] == [
        ("jit_train", 1_000),
        ("jit_eval", 8_000),
    ]


def test_one_function_compiled_for_two_shapes_is_two_programs() -> None:
    """jit_f(7) multiplies squares of 1024, jit_f(8) of 64, by the same kernel; the
    step's parts tell them apart too.
    """
    builder = trace().program("jit_f", product("jit_f", 1024, "f.py", 7), 7)
    builder.program("jit_f", product("jit_f", 64, "f.py", 8), 8)
    for step in range(4):
        builder.step(step * 100, step * 100 + 100)
        for _, start, end, number in (TRAIN, EVAL):
            at, about = (
                (step * 100 + start, step * 100 + end),
                {"hlo_op": "fusion.1", "hlo_module": "jit_f"},
            )
            builder.on_line(
                "/device:GPU:0",
                "Stream #1(Compute)",
                "gemm",
                *at,
                program_id=number,
                **about,
            )

    page = page_of(builder)

    assert [(one.module, one.ms_per_step, one.flops) for one in page.ops] == [
        ("jit_f(7)", pytest.approx(0.06), 2 * 1024**3),
        ("jit_f(8)", pytest.approx(0.03), 2 * 64**3),
    ]
    assert [one.flops for one in page.parts] == [2 * 1024**3, 2 * 64**3]
    assert [one.module for one in page.excerpts] == ["jit_f(7)", "jit_f(8)"]
