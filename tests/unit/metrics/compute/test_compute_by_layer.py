"""Compute time by layer, op type and line on built traces, in steps of 100 µs."""

from __future__ import annotations

import pytest
from support import hlo_builder as hlo
from support.cpu_step import cpu_steps
from support.gpu_step import gpu_steps
from support.shared_traces import FOLDER, needs_shared_traces
from support.trace_builder import TraceBuilder, trace

import tfadvisor
from tfadvisor.report.model import TimePart
from tfadvisor.trace import messages

approx = pytest.approx
GPU, STREAM = "/device:GPU:0", "Stream #1(Compute)"


def on_gpu(*kernels: tuple[str, float, str], stat: str) -> TraceBuilder:
    """Four steps of kernels (name, length, path of the op), the path in this stat."""
    builder = trace().steps(4, period=100)
    for at in range(0, 400, 100):
        start = float(at)
        for name, length, path in kernels:
            builder.on_line(GPU, STREAM, name, start, start + length, **{stat: path})
            start += length
    return builder


def shares(parts: tuple[TimePart, ...]) -> dict[str | None, float]:
    return {one.name: round(one.share, 6) for one in parts}


@pytest.mark.parametrize("stat", ["tf_op", "level 0"])
def test_kernels_of_one_name_count_for_the_layers_they_work_for(stat: str) -> None:
    """40 µs and 10 µs of one kernel for two layers, 30 µs of another for the second."""
    report = on_gpu(
        ("sgemm", 40, "model/a/MatMul:MatMul"),
        ("sgemm", 10, "gradient_tape/model/b/MatMul:MatMul"),
        ("bias", 30, "model/b/BiasAdd:BiasAdd"),
        stat=stat,
    ).report()

    assert shares(report.time_by.layer) == {"model/a": 0.5, "model/b": 0.5}
    assert shares(report.time_by.op_type) == {"MatMul": 0.625, "BiasAdd": 0.375}
    assert report.time_by.line == ()
    assert [(one.kernel, round(one.ms_per_step, 6)) for one in report.ops] == [("sgemm", 0.05), ("bias", 0.03)]


def test_the_newer_stat_is_believed_first() -> None:
    builder = trace().steps(4, period=100)
    for at in range(0, 400, 100):
        builder.on_line(GPU, STREAM, "k", at, at + 50, **{"tf_op": "new/MatMul:MatMul", "level 0": "old/Mul:Mul"})

    assert shares(builder.report().time_by.layer) == {"new": 1}


def test_kernels_without_a_path_are_the_rest() -> None:
    report = on_gpu(("sgemm", 60, "model/a/MatMul:MatMul"), ("reduce_kernel", 20, "XlaModule:"), stat="tf_op").report()

    assert shares(report.time_by.layer) == {"model/a": 0.75, None: 0.25}
    assert report.time_by.layer[1].ms_per_step == approx(0.02)


def test_twenty_layers_and_the_rest() -> None:
    """25 layers of 4 µs: the five that are not named take a fifth."""
    report = cpu_steps(*((f"model/dense_{i}/MatMul:MatMul", 4) for i in range(25))).report()

    assert len(report.time_by.layer) == 21
    assert report.time_by.layer[-1].name is None
    assert report.time_by.layer[-1].share == approx(0.2)
    assert report.time_by.layer[-1].count_per_step == approx(5)


def test_gradients_count_in_the_layer_of_the_op_they_are_of() -> None:
    report = cpu_steps(
        ("model/conv/convolution:Conv2D", 20),
        ("gradient_tape/model/conv/convolution/Conv2DBackpropFilter:Conv2DBackpropFilter", 60),
    ).report()

    assert shares(report.time_by.layer) == {"model/conv": 1}


def program() -> bytes:
    """Two products of 2*8*8*8 = 1,024 operations and 3*8*8*4 = 768 bytes each, from lines 3 and 5."""
    numbers = hlo.dot_numbers([1], [0])
    return hlo.module(
        hlo.computation(
            1,
            hlo.op(1, "parameter", "f32[8,8]"),
            hlo.op(
                2, "dot", "f32[8,8]", 1, 1, name="fast", extra=numbers, metadata=hlo.metadata("jit(s)/dot", "a.py", 3)
            ),
            hlo.op(
                3, "dot", "f32[8,8]", 2, 2, name="slow", extra=numbers, metadata=hlo.metadata("jit(s)/dot", "a.py", 5)
            ),
        )
    )


def test_lines_and_speed_by_hlo() -> None:
    """The slow product takes four times the fast one's time for the same work."""
    built = gpu_steps(("k1", 10.0, "fast"), ("k2", 40.0, "slow"), program=program())
    report = built.report()

    assert shares(report.time_by.line) == {"a.py:5": 0.8, "a.py:3": 0.2}
    assert report.time_by.line[0].flops == 1024
    assert report.time_by.op_type[0].flops == 2048


@needs_shared_traces
@pytest.mark.parametrize("name", ["t4-a-20231107-184716", "t4-b-20221104-212610"])
def test_sums_by_op_type_equal_those_of_plain_protobuf(name: str) -> None:
    """All kernels of these traces run in their only step; level 0 names op and type."""
    (file,) = (FOLDER / "keras-one-batch" / name).glob("*.pb")
    space = messages.XSpace.FromString(file.read_bytes())
    expected: dict[str, int] = {}
    for plane in (plane for plane in space.planes if plane.name == b"/device:GPU:0"):
        stats = {key: one.name for key, one in plane.stat_metadata.items()}
        for line in (line for line in plane.lines if b"Compute" in line.name):
            for event in line.events:
                kernel = plane.event_metadata[event.metadata_id].name
                path = next((stats[s.ref_value] for s in event.stats if stats[s.metadata_id] == b"level 0"), b"")
                if not kernel.startswith((b"Memcpy", b"Memset")) and b":" in path:
                    kind = path.rpartition(b":")[2].decode()
                    expected[kind] = expected.get(kind, 0) + event.duration_ps

    found = tfadvisor.analyze(file).time_by.op_type

    largest = sorted(expected, key=lambda one: -expected[one])[:10]
    assert {one.name: one.ms_per_step for one in found[:10]} == approx({one: expected[one] / 1e9 for one in largest})


@needs_shared_traces
def test_the_filters_gradient_of_a_laptop() -> None:
    """Read from the file by hand: 36.0 of 80.7 ms."""
    report = tfadvisor.analyze(FOLDER / "keras-one-batch" / "cpu-b-20221031-190907" / "host.xplane.pb")

    assert report.time_by.op_type[0].name == "Conv2DBackpropFilter"
    assert report.time_by.op_type[0].ms_per_step == approx(36.04, abs=0.01)
    assert report.time_by.layer[0].name == "sequential_7/conv2d_7"


def test_cells_of_recurrent_layers_with_their_gradients() -> None:
    """40 in a GRU's cell, 30 in its gradient, 20 in a product of the layer outside of the cell, 10 in a layer whose name
    only resembles one.
    """
    metrics = cpu_steps(
        ("gru_1/while/body/_1/gru_1/while/gru_cell_1/Mul:Mul", 40),
        ("gradient_tape/gru_1/while_grad/gru_cell_1/mul_grad/Mul:Mul", 30),
        ("gru_1/MatMul:MatMul", 20),
        ("fuel_cell/MatMul:MatMul", 10),
    ).measure()

    assert metrics.value("recurrent_cell_share") == approx(0.7)


def test_cells_of_recurrent_layers() -> None:
    """Two layers' cells; what lies inside a cell is no other one."""
    metrics = cpu_steps(
        ("m/lstm/while/body/_1/m/lstm/while/lstm_cell/MatMul:MatMul", 20),
        ("m/gru/while/body/_9/m/gru/while/gru_cell/split/Split:Split", 10),
        ("m/gru/while/body/_9/m/gru/while/gru_cell/MatMul:MatMul", 10),
        ("m/dense/MatMul:MatMul", 10),
    ).measure()

    assert metrics.value("recurrent_cells") == 2
    assert metrics.value("recurrent_cell_share") == approx(0.8)
