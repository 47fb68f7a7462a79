"""Compute time by layer, op type and line on built traces, in steps of 100 µs."""

from __future__ import annotations

from operator import attrgetter
from pathlib import Path

import pytest
from msgspec.structs import replace
from support import hlo_builder as hlo
from support.cpu_step import cpu_steps
from support.gpu_step import gpu_steps
from support.shared_traces import FOLDER, needs_shared_traces
from support.trace_builder import TraceBuilder, trace

from tfadvisor.analysis import Options, conclude
from tfadvisor.metrics.layers import ComputedOps, compute_parts
from tfadvisor.timeline.run.run_summary import RunSummary
from tfadvisor.trace import messages
from tfadvisor.trace.noted_ops import NotedOp, NotedOps, OpLine
from tfadvisor.trace.runs import choose_run

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


def shares(found: ComputedOps, of: str) -> dict[str, float]:
    """Of the compute time, by layer, op_type or line."""
    return {
        name: round(ps / found.compute_ps, 6)
        for name, _, ps in found.by(attrgetter(of))
    }


def read_run(file: Path) -> RunSummary:
    return conclude(choose_run([file])[0], Options())[1]


@pytest.mark.parametrize("stat", ["tf_op", "level 0"])
def test_kernels_of_one_name_count_for_the_layers_they_work_for(stat: str) -> None:
    """40 µs and 10 µs of one kernel for two layers, 30 µs of another for the second."""
    built = on_gpu(
        ("sgemm", 40, "model/a/MatMul:MatMul"),
        ("sgemm", 10, "gradient_tape/model/b/MatMul:MatMul"),
        ("bias", 30, "model/b/BiasAdd:BiasAdd"),
        stat=stat,
    )
    found = compute_parts(built.build())

    assert shares(found, "layer") == {"model/a": 0.5, "model/b": 0.5}
    assert shares(found, "op_type") == {"MatMul": 0.625, "BiasAdd": 0.375}
    assert shares(found, "line") == {}
    assert [
        (one.op, one.kernel, round(one.ms_per_step, 6)) for one in built.report().ops
    ] == [
        ("model/a/MatMul", "sgemm", 0.04),
        ("model/b/BiasAdd", "bias", 0.03),
        ("gradient_tape/model/b/MatMul", "sgemm", 0.01),
    ]


def test_the_newer_stat_is_believed_first() -> None:
    builder = trace().steps(4, period=100)
    for at in range(0, 400, 100):
        builder.on_line(
            GPU,
            STREAM,
            "k",
            at,
            at + 50,
            **{"tf_op": "new/MatMul:MatMul", "level 0": "old/Mul:Mul"},
        )

    assert shares(compute_parts(builder.build()), "layer") == {"new": 1}


def test_kernels_without_a_path_are_the_rest() -> None:
    built = on_gpu(
        ("sgemm", 60, "model/a/MatMul:MatMul"),
        ("reduce_kernel", 20, "XlaModule:"),
        stat="tf_op",
    )

    assert shares(compute_parts(built.build()), "layer") == {"model/a": 0.75}


def test_an_op_of_a_graph_whose_path_names_none_is_called_by_its_kernel() -> None:
    """XLA gives each kernel of a CUDA graph that path; its HLO knows the line of the
    product.
    """
    builder = trace().steps(4, period=100).program("jit_s", program())
    for at in range(0, 400, 100):
        builder.on_line(
            GPU,
            STREAM,
            "slow",
            at,
            at + 50,
            tf_op="XlaModule:",
            hlo_module="jit_s",
            program_id=7,
        )

    assert [(one.name, one.line) for one in compute_parts(builder.build()).parts] == [
        ("slow", "a.py:5")
    ]


def test_gradients_count_in_the_layer_of_the_op_they_are_of() -> None:
    built = cpu_steps(
        ("model/conv/convolution:Conv2D", 20),
        (
            "gradient_tape/model/conv/convolution/Conv2DBackpropFilter:Conv2DBackpropFilter",
            60,
        ),
    )

    assert shares(compute_parts(built.build()), "layer") == {"model/conv": 1}


def program() -> bytes:
    """Two products of 2*8*8*8 = 1,024 operations and 3*8*8*4 = 768 bytes each, from
    lines 3 and 5.
    """
    numbers = hlo.dot_numbers([1], [0])
    return hlo.module(
        hlo.computation(
            1,
            hlo.op(1, "parameter", "f32[8,8]"),
            hlo.op(
                2,
                "dot",
                "f32[8,8]",
                1,
                1,
                name="fast",
                extra=numbers,
                metadata=hlo.metadata("jit(s)/dot", "a.py", 3),
            ),
            hlo.op(
                3,
                "dot",
                "f32[8,8]",
                2,
                2,
                name="slow",
                extra=numbers,
                metadata=hlo.metadata("jit(s)/dot", "a.py", 5),
            ),
        )
    )


def test_lines_and_speed_by_hlo() -> None:
    """The slow product takes four times the fast one's time for the same work."""
    built = gpu_steps(("k1", 10.0, "fast"), ("k2", 40.0, "slow"), program=program())
    found = compute_parts(built.build())

    assert shares(found, "line") == {"a.py:5": 0.8, "a.py:3": 0.2}
    assert {one.line: (one.flops or 0) / one.count for one in found.parts} == {
        "a.py:5": 1024,
        "a.py:3": 1024,
    }


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
                path = next(
                    (
                        stats[s.ref_value]
                        for s in event.stats
                        if stats[s.metadata_id] == b"level 0"
                    ),
                    b"",
                )
                if not kernel.startswith((b"Memcpy", b"Memset")) and b":" in path:
                    kind = path.rpartition(b":")[2].decode()
                    expected[kind] = expected.get(kind, 0) + event.duration_ps

    found = compute_parts(read_run(file)).by(attrgetter("op_type"))

    largest = sorted(expected, key=lambda one: -expected[one])[:10]
    assert {name: ps for name, _, ps in found[:10]} == {
        one: expected[one] for one in largest
    }


@needs_shared_traces
def test_the_filters_gradient_of_a_laptop() -> None:
    """Read from the file by hand: 36.0 of 80.7 ms."""
    found = compute_parts(
        read_run(
            FOLDER / "keras-one-batch" / "cpu-b-20221031-190907" / "host.xplane.pb"
        )
    )

    kind, _, ps = found.by(attrgetter("op_type"))[0]
    assert (kind, ps / 1e9) == ("Conv2DBackpropFilter", approx(36.04, abs=0.01))
    assert next(iter(shares(found, "layer"))) == "sequential_7/conv2d_7"


def test_cells_of_recurrent_layers_with_their_gradients() -> None:
    """40 in a GRU's cell, 30 in its gradient, 20 in a product of the layer outside of
    the cell, 10 in a layer whose name only resembles one.
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


def test_the_loop_of_a_recurrent_layer_without_a_scope_for_its_cell() -> None:
    """Keras 2: 60 in the loop of an LSTM, 30 in a product of the layer before it, 10 in
    a loop of the user's own.
    """
    metrics = cpu_steps(
        ("m/lstm/PartitionedCall/while/body/_1/while/MatMul:MatMul", 60),
        ("m/lstm/MatMul:MatMul", 30),
        ("m/mine/while/body/_1/while/Mul:Mul", 10),
    ).measure()

    assert metrics.value("recurrent_cell_share") == approx(0.6)


def test_an_lstm_on_a_gpu_runs_in_cudnn_by_its_op_alone() -> None:
    """Without the op CudnnRNNV3 its cell runs once for each time step."""
    cell = "m/lstm/while/body/_1/m/lstm/while/lstm_cell/MatMul:MatMul"
    one = trace().step(0, 100).call(cell, 0, 5)
    one.kernel("GPU:0", "volta_sgemm", 10, 60, launched=(1, 2), tf_op=cell)
    other = trace().step(0, 100).call("m/lstm/CudnnRNNV3:CudnnRNNV3", 0, 5)
    other.kernel("GPU:0", "RNN_kernel", 10, 60, launched=(1, 2))

    assert one.measure().fact("cudnn_recurrence") == "not used"
    assert other.measure().fact("cudnn_recurrence") == "used"


@pytest.mark.parametrize(
    ("loop", "said"),
    [("lstm/while/body/_1", "not used"), ("lstm/PartitionedCall/while/body/_1", None)],
)
def test_beside_an_unused_gpu_the_loop_of_a_layer_tells_whether_cudnn_could_run_it(
    loop: str, said: str | None
) -> None:
    """Ten turns of a cell and an update of its variable, on the cores."""
    builder = trace().steps(2, period=100).empty_device("GPU:0")
    builder.call("TFE_Py_ExecuteCancelable", 0, 99).thread("tf_Compute/1")
    for turn in range(10):
        name = f"sequential/{loop}/lstm_cell/MatMul:MatMul"
        builder.call(name, turn * 5, turn * 5 + 4)
    update = "SGD/SGD/update/ResourceApplyGradientDescent:ResourceApplyGradientDescent"
    metrics = builder.call(update, 60, 70).measure()

    assert metrics.fact("unused_device") is not None
    assert metrics.fact("cudnn_recurrence") == said


def test_lines_that_were_noted_beside_a_trace_are_those_of_its_ops() -> None:
    """60 µs of an op that line 5 made, 20 µs of one that is not noted."""
    built = on_gpu(
        ("sgemm", 60, "StatefulPartitionedCall/model/MatMul:MatMul"),
        ("bias", 20, "model/BiasAdd:BiasAdd"),
        stat="tf_op",
    )
    noted = NotedOps(
        (NotedOp("model/MatMul", "MatMul", OpLine("train.py", 5, "step")),)
    )
    found = compute_parts(replace(built.build(), op_lines=noted))

    assert shares(found, "line") == {"train.py:5": 0.75}
    assert found.parts[0].stack == ("step train.py:5",)
