"""Kernels whose names tell no op get it back by their place in the schedule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from msgspec.structs import replace
from support import hlo_builder as hlo
from support.places import FIXTURES
from support.trace_builder import trace

from tfadvisor.program.modules_of_trace import Modules, find_modules
from tfadvisor.timeline.devices.alignment import _schedule_of, with_aligned
from tfadvisor.timeline.host_build import SELECTION, build_host
from tfadvisor.timeline.names.classes import DeviceClass
from tfadvisor.timeline.names.kernels import is_of_library
from tfadvisor.timeline.timeline_parts import DeviceOps
from tfadvisor.trace.decode import decode_file

GEMM = "nvjet_sm90_tst_128x128_64x6_2x1_v_bz_NNT"
SPLIT = "void cublasLt::splitKreduce_kernel<32, 16, int, float>(float*)"
STATS = {"hlo_module": "jit_step", "program_id": 7}


def program() -> bytes:
    """jit_step: loop_add_fusion, two products of cuBLAS, loop_tanh_fusion, a third one;
    its schedule is another order than that of its instructions.
    """
    array = "bf16[64,64]{1,0}"
    body = hlo.computation(2, hlo.op(1, "parameter", array))
    call = {"target": "__cublas$lt$matmul"}
    entry = hlo.computation(
        1,
        hlo.op(1, "parameter", array),
        hlo.op(2, "fusion", array, 1, name="loop_tanh_fusion", calls=[2]),
        hlo.op(3, "custom-call", array, 1, name="custom-call.3", **call),
        hlo.op(4, "fusion", "f32[64]{0}", 1, name="loop_add_fusion", calls=[2]),
        hlo.op(5, "custom-call", array, 1, name="custom-call.5", **call),
        hlo.op(6, "custom-call", array, 1, name="custom-call.6", **call),
    )
    order = hlo.schedule(1, 1, 4, 3, 5, 2, 6)
    return hlo.module(body, entry, extra=order)


def ops_of(*kernels: str, of: bytes = b"") -> list[str]:
    """The op of each kernel of these names, "" where none is known. of: the program."""
    builder = trace().program("jit_step", of or program())
    for index, name in enumerate(kernels):
        at = 100 * index
        builder.kernel("GPU:0", name, at + 50, at + 90, launched=(at, at + 5), **STATS)
    ((device,), *_) = (one.devices for one in builder.timelines())
    ops = device.ops
    return [ops.names[row] if row >= 0 else "" for row in ops.op.tolist()]


def test_kernels_between_two_of_known_ops_are_the_launches_between_them() -> None:
    found = ops_of("loop_add_fusion", GEMM, GEMM, "loop_tanh_fusion", GEMM)

    assert found[1:3] == ["custom-call.3", "custom-call.5"]
    assert found[4] == "custom-call.6"


def test_what_sums_up_parts_belongs_to_the_product_before_it() -> None:
    found = ops_of("loop_add_fusion", GEMM, SPLIT, GEMM, "loop_tanh_fusion")

    assert found[1:4] == ["custom-call.3", "custom-call.3", "custom-call.5"]


def test_more_kernels_than_launches_are_not_guessed() -> None:
    found = ops_of("loop_add_fusion", GEMM, GEMM, GEMM, "loop_tanh_fusion")

    assert found[1:4] == ["", "", ""]


def test_a_kernel_of_another_type_than_its_launch_is_not_its() -> None:
    double = "sm90_xmma_gemm_f64f64_f64f64_f64_nn_n"

    found = ops_of("loop_add_fusion", double, double, "loop_tanh_fusion")

    assert found[1:3] == ["", ""]


def test_a_run_follows_the_one_before_it() -> None:
    run = ("loop_add_fusion", GEMM, GEMM, "loop_tanh_fusion", GEMM)

    assert ops_of(*run, *run)[4] == "custom-call.6"


def test_launches_that_compute_other_things_share_no_kernel() -> None:
    """Two fusions give a flag of a number: the first compares and launches nothing, as
    a loop's condition whose count is known; the second, alike in its shapes, ran.
    """
    array, flag, number = "bf16[64,64]{1,0}", "pred[]", "s32[]"
    compares = hlo.computation(2, hlo.op(21, "compare", flag))
    sums = hlo.computation(3, hlo.op(31, "reduce", flag))
    adds = hlo.computation(4, hlo.op(41, "add", array))
    call = {"target": "__cublas$lt$matmul"}
    entry = hlo.computation(
        1,
        hlo.op(1, "parameter", array),
        hlo.op(2, "parameter", number),
        hlo.op(3, "fusion", array, 1, name="loop_add_fusion", calls=[4]),
        hlo.op(4, "fusion", flag, 2, name="loop_compare_fusion", calls=[2]),
        hlo.op(5, "custom-call", array, 1, name="custom-call.5", **call),
        hlo.op(6, "fusion", flag, 2, name="input_reduce_fusion", calls=[3]),
    )
    whole = hlo.module(
        compares, sums, adds, entry, extra=hlo.schedule(1, 1, 2, 3, 4, 5, 6)
    )

    found = ops_of("loop_add_fusion", GEMM, "input_reduce_fusion", of=whole)

    assert found[1] == "custom-call.5"


# On an H200: names that kernels have are taken away from them.


def recorded() -> Iterator[tuple[DeviceOps, Modules]]:
    """The ops of the devices of each recording, with its programs."""
    for file in sorted((FIXTURES / "gpu").rglob("*.xplane.pb.gz")):
        decoded = decode_file(file, SELECTION)
        programs = find_modules(decoded)
        for device in build_host(decoded).active_devices():
            op = np.where(device.ops.op >= device.ops.aligned, -1, device.ops.op)
            yield replace(device.ops, op=op.astype(np.int32)), programs


@pytest.fixture(scope="module")
def known() -> list[tuple[DeviceOps, Modules, np.ndarray]]:
    """Besides, the op of each kernel that a name tells, "" of the others."""
    return [(*one, true_ops(*one)) for one in recorded()]


def true_ops(ops: DeviceOps, programs: Modules) -> np.ndarray:
    found = np.full(len(ops), "", object)
    compute = ops.kind == DeviceClass.COMPUTE
    for program in np.unique(ops.program[compute & (ops.program >= 0)]).tolist():
        mine = np.flatnonzero(compute & (ops.program == program))
        schedule = _schedule_of(ops, programs, mine, program)
        for event in mine.tolist() if schedule is not None else ():
            if ops.op[event] >= 0:
                at = schedule.of_op(ops.names[ops.op[event]])
            else:
                at = schedule.of_kernel.get(ops.names[ops.name[event]], -1)
            found[event] = schedule.names[at] if at >= 0 else ""
    return found


def counts(
    known: list[tuple[DeviceOps, Modules, np.ndarray]],
    taken: Callable[[DeviceOps, np.ndarray], np.ndarray],
    *,
    renamed: bool,
) -> Counter[str]:
    """right, wrong and unsaid of the kernels whose ops are taken. renamed: their names
    too.
    """
    found: Counter[str] = Counter()
    for ops, programs, true in known:
        lost = taken(ops, true) & (true != "")
        op = np.where(lost, -1, ops.op).astype(np.int32)
        name = np.where(lost & renamed, len(ops.names), ops.name).astype(np.int32)
        names = (*ops.names, "kernel")
        got = with_aligned(replace(ops, op=op, name=name, names=names), programs)
        said = np.array([*got.names, ""], object)[got.op[lost]]
        found["unsaid"] += int((said == "").sum())
        found["right"] += int((said == true[lost]).sum())
        found["wrong"] += int(((said != "") & (said != true[lost])).sum())
    return found


def of_libraries(ops: DeviceOps, true: np.ndarray) -> np.ndarray:
    of_library = np.array([is_of_library(one) for one in ops.names])
    return of_library[ops.name]


def one_in_ten(ops: DeviceOps, true: np.ndarray) -> np.ndarray:
    return np.random.default_rng(7).random(len(ops)) < 0.1


@pytest.mark.parametrize(
    ("taken", "renamed", "fewest"),
    [(of_libraries, False, 600), (one_in_ten, True, 6000)],
)
def test_of_names_taken_away_99_of_100_come_back_and_at_most_one_is_wrong(
    known: list[tuple[DeviceOps, Modules, np.ndarray]],
    taken: Callable[[DeviceOps, np.ndarray], np.ndarray],
    renamed: bool,
    fewest: int,
) -> None:
    found = counts(known, taken, renamed=renamed)

    assert found.total() >= fewest
    assert found["right"] >= 0.99 * found.total(), found
    assert found["wrong"] <= 0.01 * found.total(), found
