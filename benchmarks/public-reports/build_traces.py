"""Builds the traces of reports.yaml that no CPU can record: names as the profiler
writes them, proportions as the threads give them.

python benchmarks/public-reports/build_traces.py OUT
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "tests"))

from support.trace_builder import TraceBuilder, trace

US, MS = 1.0, 1000.0


def scan_on_gpu() -> TraceBuilder:
    """Three steps: 4,000 turns of one kernel of 1.5 µs, a launch each 8.2 µs."""
    made = trace()
    at, turns, pitch = 0.0, 4000, 8.2
    for _ in range(3):
        end = at + turns * pitch + 60
        made.step(at, end + 40)
        made.call("PjitFunction(qm_jax)", at + 10, end)
        for turn in range(turns):
            start = at + 40 + turn * pitch
            made.kernel(
                "GPU:0",
                "loop_dynamic_update_slice_fusion",
                start + 5.5,
                start + 7.0,
                launched=(start, start + 4.5),
                hlo_op="loop_dynamic_update_slice_fusion",
                hlo_module="jit_qm_jax",
                tf_op="jit(qm_jax)/while/body/dynamic_update_slice",
            )
        at = end + 100
    return made


def progress_waits() -> TraceBuilder:
    """Twenty steps of 10 ms: 8.4 ms of kernels, the read, the next batch, the launch."""
    made = trace()
    for index in range(20):
        at = index * 10 * MS
        made.step(at, at + 10 * MS)
        made.call("$train.py:22 augmented", at, at + 1.35 * MS)
        made.call("$<unknown> normal", at + 0.4 * MS, at + 1.2 * MS)
        made.call("PjitFunction(train_step)", at + 1.36 * MS, at + 1.6 * MS)
        for number in range(12):
            start = at + 1.55 * MS + number * 0.7 * MS
            launch = at + 1.4 * MS + number * 14 * US
            made.kernel(
                "GPU:0",
                "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x16",
                start,
                start + 0.695 * MS,
                launched=(launch, launch + 6 * US),
                hlo_op=f"custom-call.{number}",
                hlo_module="jit_train_step",
                tf_op="jit(train_step)/dot_general",
            )
        made.call("$train.py:37 progress", at + 1.62 * MS, at + 9.98 * MS)
        made.call("np.asarray(jax.Array)", at + 1.65 * MS, at + 9.96 * MS)
        made.call("PjRtCApiBuffer::Await", at + 1.67 * MS, at + 9.95 * MS)
        made.copy("GPU:0", "D2H", at + 9.952 * MS, at + 9.954 * MS, 4)
    return made


def average_leaves_the_devices() -> TraceBuilder:
    """Eight steps of 64 ms on four GPUs: the step, then 40 leaves through the host."""
    made = trace()
    for index in range(8):
        at = index * 64 * MS
        made.step(at, at + 64 * MS)
        made.call("$train.py:84 make_step", at, at + 0.9 * MS)
        made.call("PjitFunction(make_step)", at + 10 * US, at + 0.8 * MS)
        for device in range(4):
            made.kernel(
                f"GPU:{device}",
                "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x16",
                at + 0.5 * MS,
                at + 20.5 * MS,
                launched=(at + (100 + 20 * device) * US, at + (110 + 20 * device) * US),
                hlo_op="custom-call.3",
                hlo_module="jit_make_step",
                tf_op="jit(make_step)/dot_general",
            )
        made.call("$train.py:88 ema_update", at + MS, at + 61.6 * MS)
        made.call("PjitFunction(ema_update)", at + 1.1 * MS, at + 61.5 * MS)
        made.call("$pxla.py:120 shard_args", at + 1.2 * MS, at + 61 * MS)
        for leaf in range(40):
            start = at + 20.6 * MS + leaf * MS
            made.call("$array.py:640 _value", start, start + 0.5 * MS)
            made.copy("GPU:0", "D2H", start + 0.02 * MS, start + 0.49 * MS, 5_800_000)
            made.call("BufferFromHostBuffer", start + 0.5 * MS, start + 0.6 * MS)
            made.copy("GPU:0", "H2D", start + 0.52 * MS, start + 0.98 * MS, 5_800_000)
        made.kernel(
            "GPU:0",
            "loop_add_fusion",
            at + 61.6 * MS,
            at + 63.6 * MS,
            launched=(at + 61.2 * MS, at + 61.25 * MS),
            hlo_op="loop_add_fusion",
            hlo_module="jit_ema_update",
            tf_op="jit(ema_update)/add",
        )
    return made


def augmented_one_by_one() -> TraceBuilder:
    """Three steps of 384 ms: the layer's loop over 32 pictures, 100 tiny kernels each,
    then 64 ms of the model.
    """
    made = trace()
    layer = "sequential/random_contrast/map/while"
    ops = (
        ("RandomUniform", "random_uniform/RandomUniform"),
        ("AdjustContrastv2", "adjust_contrast"),
        ("Mul", "mul"),
        ("ClipByValue", "clip_by_value"),
    )
    for index in range(3):
        at = index * 384 * MS
        made.thread("python3/100").step(at, at + 384 * MS)
        made.call("train_function", at + 40 * US, at + 383.9 * MS, tracing_count=1)
        made.call(
            "EagerLocalExecute: __inference_one_step_on_iterator_8000",
            at + 60 * US,
            at + 383.8 * MS,
        )
        made.thread("tf_Compute/200")
        for number in range(3200):
            kind, op = ops[number % len(ops)]
            start = at + (200 + number * 99.5) * US
            made.call(f"{layer}/{op}:{kind}", start, start + 60 * US, is_eager=0)
            made.kernel(
                "GPU:0",
                "void Eigen::internal::EigenMetaKernel<Eigen::TensorEvaluator<Eigen::TensorAssignOp<Eigen::TensorMap<float>>>, int>",
                start + 62 * US,
                start + 65 * US,
                launched=(start + 30 * US, start + 36 * US),
                tf_op=f"{layer}/{op}:{kind}",
            )
        for number in range(64):
            name = f"sequential/efficientnetv2-b0/block{number}/expand_conv/convolution"
            start = at + (319 + number) * MS
            launch = at + 318.7 * MS + number * 12 * US
            made.call(f"{name}:Conv2D", launch, launch + 8 * US, is_eager=0)
            made.kernel(
                "GPU:0",
                "volta_scudnn_128x64_relu_interior_nn_v1",
                start,
                start + 0.99 * MS,
                launched=(launch + 1 * US, launch + 6 * US),
                tf_op=f"{name}:Conv2D",
            )
    return made


TRACES = {
    "g01_scan_on_gpu": scan_on_gpu,
    "g02_progress_waits": progress_waits,
    "t07_augmented_one_by_one": augmented_one_by_one,
    "g03_average_leaves_the_devices": average_leaves_the_devices,
}

if __name__ == "__main__":
    for name, build in TRACES.items():
        build().write(Path(sys.argv[1]) / name)
