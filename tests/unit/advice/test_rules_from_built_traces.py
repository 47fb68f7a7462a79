"""A built trace for each rule about hosts, input and collectives that no recording
shows, from bytes to finding.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support import hlo_builder as hlo
from support.counters import grew, measured
from support.trace_builder import TraceBuilder, trace

from tfadvisor.advice.judging.judge_rules import run_rules
from tfadvisor.advice.loading.catalogue import load_catalogue
from tfadvisor.advice.ranking import ranked
from tfadvisor.advice.savings import calibration
from tfadvisor.trace.counters import HostCounters, MachineGpu

SQUARE = "f32[64,64]"
PIPELINE = "Iterator::Root::Prefetch"


def crowded_launches() -> TraceBuilder:
    """Dispatch takes 400 of 1,000 µs, while two threads of tf.data work."""
    builder = trace()
    for at in range(0, 4000, 1000):
        builder.thread("python").step(at, at + 1000).call("FunctionRun", at, at + 990)
        builder.call("EagerLocalExecute: __inference_train_step_7", at, at + 990).busy(
            "GPU:0", (at + 400, at + 1000)
        )
        for number in range(2):
            builder.thread(f"tf_data_iterator_resource/{number}").call(
                f"{PIPELINE}::ParallelMapV2", at, at + 1
            )
            builder.call("rfft:RFFT", at + 1, at + 400)
    return builder


def loss_scaling() -> TraceBuilder:
    """The optimizer's ops of a loss scale run on the host, and the GPU waits 10 of 100
    µs for launches.
    """
    builder = trace()
    for at in range(0, 400, 100):
        builder.thread("python").step(at, at + 100).call("FunctionRun", at, at + 99)
        builder.call("EagerLocalExecute: __inference_train_step_7", at, at + 99)
        builder.thread("executor").call("LossScaleOptimizer/cond:If", at + 5, at + 10)
        builder.call("loss_scale_optimizer/IsFinite:IsFinite", at + 10, at + 12).busy(
            "GPU:0", (at + 10, at + 99)
        )
    return builder


def python_in_the_step() -> TraceBuilder:
    """A pure_callback takes 40 of 100 µs of the compiled step."""
    builder = trace()
    for at in range(0, 400, 100):
        builder.thread("python").step(at, at + 100).call(
            "PjitFunction(step)", at, at + 90
        ).thread("tf_XLAEigen/1")
        for name, start, end in (
            ("dot.1", 10, 30),
            ("pure_callback.1", 30, 70),
            ("dot.2", 70, 90),
        ):
            builder.call(name, at + start, at + end, hlo_op=name, device_ordinal=0)
    return builder


def a_profiler_error() -> TraceBuilder:
    return (
        trace()
        .steps(4, period=100)
        .busy("GPU:0", (0, 90))
        .error("CUPTI_ERROR_INSUFFICIENT_PRIVILEGES")
    )


def unanswered_launches() -> TraceBuilder:
    """The host launches five kernels a step, and the device shows one of them."""
    builder = trace()
    for at in range(0, 400, 100):
        builder.step(at, at + 100).kernel(
            "GPU:0", "gemm", at + 20, at + 90, launched=(at + 1, at + 2)
        )
        for number in range(4):
            builder.call(
                "cuLaunchKernel",
                at + 3 + number,
                at + 3.5 + number,
                device_id=0,
                correlation_id=1000 + at + number,
            )
    return builder


def slow_all_reduce() -> TraceBuilder:
    """Two GPUs of one host reduce 64 MiB in 30 ms of steps of 100: 2.2 GB/s."""
    size = "f32[16777216]"
    op = hlo.op(
        2, "all-reduce", size, 1, name="all-reduce.2", extra=hlo.replica_groups([0, 1])
    )
    program = hlo.module(hlo.computation(1, hlo.op(1, "parameter", size), op))
    builder = trace().program("jit_step", program)
    for at in range(0, 400_000, 100_000):
        builder.step(at, at + 100_000)
        for device in ("GPU:0", "GPU:1"):
            builder.busy(device, (at, at + 65_000)).collective(
                device,
                at + 66_000,
                at + 96_000,
                hlo_op="all-reduce.2",
                hlo_module="jit_step",
                program_id=7,
            )
            builder.plane_stat(
                f"/device:{device}",
                device_vendor="Nvidia",
                gpu_device_name="NVIDIA A100-SXM4-80GB",
            )
    return builder


def small_copies() -> TraceBuilder:
    """Twenty copies of 4 bytes between host and device a step, 1 µs each, while nothing
    computes.
    """
    builder = trace()
    for at in range(0, 400, 100):
        builder.step(at, at + 100).busy("GPU:0", (at + 40, at + 99))
        for number in range(20):
            start = at + 2 * number
            builder.copy("GPU:0", ("H2D", "D2H")[number % 2], start, start + 1, size=4)
    return builder


def late_kernels() -> TraceBuilder:
    """Each kernel starts 60 µs after its launch although its stream is free."""
    builder = trace()
    for at in range(0, 4000, 1000):
        builder.step(at, at + 1000).call("PjitFunction(step)", at, at + 900)
        for number in range(4):
            start = at + 240 * number
            builder.kernel(
                "GPU:0", "gemm", start + 65, start + 235, launched=(start, start + 5)
            )
    return builder


def a_slow_loader_thread() -> TraceBuilder:
    """The loop waits in queue.get() for 30 of 100 µs."""
    builder = trace().call("$train.py:3 train", 0, 400)
    for at in range(0, 400, 100):
        builder.step(at, at + 100).call("PjitFunction(step)", at + 50, at + 55).call(
            "$queue.py:154 get", at + 10, at + 40
        )
        builder.call("$threading.py:288 wait", at + 11, at + 39).busy(
            "GPU:0", (at + 60, at + 70)
        )
    return builder


def a_batch_made_in_the_loop() -> TraceBuilder:
    """Python of the marked step works 40 of 100 µs until it makes a tensor and calls
    the step.
    """
    builder = trace()
    for at in range(0, 1000, 100):
        builder.step(at, at + 98).call("tf.constant", at + 40, at + 45)
        builder.call(
            "EagerLocalExecute: __inference_train_step_7", at + 47, at + 97
        ).busy("GPU:0", (at + 47, at + 97))
    return builder


def a_slow_reader() -> TraceBuilder:
    """The step waits 400 of 1,000 µs for a pipeline whose reader works nearly all the
    time.
    """
    builder = trace()
    for at in range(0, 4000, 1000):
        builder.thread("python").step(at, at + 1000).call(
            "IteratorGetNext", at, at + 400
        )
        builder.busy("GPU:0", (at + 400, at + 1000)).thread(
            "tf_data_iterator_resource/1"
        )
        builder.call(PIPELINE, at, at + 995).call(
            f"{PIPELINE}::BatchV2", at, at + 990
        ).call(f"{PIPELINE}::BatchV2::TFRecord", at + 1, at + 980)
    return builder


BUILT: list[tuple[str, Callable[[], TraceBuilder]]] = [
    ("host-thread-contention", crowded_launches),
    ("loss-scaling-on-host", loss_scaling),
    ("python-in-step", python_in_the_step),
    ("profiler-errors", a_profiler_error),
    ("launched-work-missing", unanswered_launches),
    ("all-reduce-below-bandwidth", slow_all_reduce),
    ("many-small-copies", small_copies),
    ("late-kernel-starts", late_kernels),
    ("input-loader-behind", a_slow_loader_thread),
    ("input-made-in-loop", a_batch_made_in_the_loop),
    ("input-slow-source", a_slow_reader),
]


@pytest.mark.parametrize(("rule", "built"), BUILT, ids=[rule for rule, _ in BUILT])
def test_a_trace_with_the_fault_gives_the_finding(
    rule: str, built: Callable[[], TraceBuilder]
) -> None:
    report = built().report()

    assert report.broken == ()
    assert rule in {one.rule_id for one in report.findings} | {
        one.rule_id for one in report.capture
    }


CORES = {"cores": 4, "allowed_cores": 4}


@pytest.mark.parametrize(
    ("rule", "counters"),
    [
        (
            "gpu-held-down",
            grew(
                None,
                MachineGpu(
                    "A",
                    utilization=0.9,
                    clock_mhz=1200,
                    highest_clock_mhz=2000,
                    slowed_by=("heat",),
                ),
            ),
        ),
        ("memory-swapped", grew(swapped_bytes=4e12, major_faults=30_000)),
        ("quota-of-cores-used-up", grew(CORES, periods=100, throttled_periods=80)),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_counters_of_the_machine_give_the_finding(
    rule: str, counters: HostCounters
) -> None:
    metrics = measured(counters)
    found = ranked(run_rules(load_catalogue().rules, metrics), metrics, calibration())

    assert found.broken == ()
    assert rule in {one.rule_id for one in found.findings}
