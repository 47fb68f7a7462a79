"""What TensorFlow's eager runtime runs is named by its op, which only the call around
the run knows.
"""

from __future__ import annotations

from support.trace_builder import TraceBuilder, trace

from tfadvisor.timeline.names.classes import DeviceClass


def step_op_by_op(*ops: str) -> TraceBuilder:
    """Each is called for 15 µs, 5 of which it runs."""
    builder = trace().step(0, 100)
    for number, op in enumerate(ops):
        at = number * 20
        builder.call(f"EagerLocalExecute: {op}", at, at + 15).call(
            "KernelAndDeviceFunc::Run", at + 5, at + 10
        )
    return builder


def test_a_run_has_the_name_of_its_op() -> None:
    (device,) = step_op_by_op("MatMul", "Mul", "MatMul").timeline().devices

    assert [device.ops.names[name] for name in device.ops.name] == [
        "MatMul:MatMul",
        "Mul:Mul",
        "MatMul:MatMul",
    ]
    assert device.ops.start.tolist() == [5_000_000, 25_000_000, 45_000_000]


def test_an_eager_all_reduce_is_a_collective() -> None:
    (device,) = step_op_by_op("MatMul", "CollectiveReduceV2").timeline().devices

    assert [DeviceClass(kind) for kind in device.ops.kind] == [
        DeviceClass.COMPUTE,
        DeviceClass.COLLECTIVE,
    ]
