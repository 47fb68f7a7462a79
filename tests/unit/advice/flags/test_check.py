"""What is said about settings: the fine ones first."""

from __future__ import annotations

import pytest

from tfadvisor.advice.flags.check import check

SCHEDULER = "--xla_gpu_enable_latency_hiding_scheduler=true"


def said(text: str, jaxlib: str | None = "0.10.2") -> list[tuple[str, str]]:
    """(kind, level) of everything, in order."""
    checked = check(text, jaxlib)
    everything = [one for judged in checked.settings for one in judged.remarks] + [
        *checked.together
    ]
    return [(one.kind, one.level) for one in everything]


def about(text: str, jaxlib: str | None = "0.10.2") -> str:
    checked = check(text, jaxlib)
    everything = [one for judged in checked.settings for one in judged.remarks] + [
        *checked.together
    ]
    return "\n".join(f"{one.text} | {one.instead}" for one in everything)


@pytest.mark.parametrize(
    "text",
    [
        SCHEDULER,
        "--xla_gpu_all_reduce_combine_threshold_bytes=436000000",
        "--xla_disable_hlo_passes=collective-permute-motion",
        "XLA_FLAGS='--xla_gpu_enable_pipelined_all_gather=true'",
        "TF_GPU_THREAD_MODE=gpu_private TF_GPU_THREAD_COUNT=4",
        "TF_GPU_ALLOCATOR=cuda_malloc_async",
        f"JAX_ENABLE_PGLE=true JAX_PGLE_PROFILING_RUNS=5 {SCHEDULER}",
        "JAX_ENABLE_PGLE=true",
        "XLA_CLIENT_MEM_FRACTION=0.85 NCCL_NVLS_ENABLE=1",
        "NCCL_DEBUG=WARN",
        "TF_XLA_FLAGS=--tf_xla_auto_jit=1",
        "JAX_COMPILATION_CACHE_DIR=cache JAX_COMPILATION_CACHE_EXPECT_PGLE=true",
    ],
)
def test_nothing_to_say(text: str) -> None:
    assert said(text) == []


@pytest.mark.parametrize(
    ("text", "kind", "level", "words"),
    [
        (
            "--xla_gpu_enable_latency_hiding_schedular=true",
            "unknown",
            "error",
            SCHEDULER,
        ),
        (
            "--xla-gpu-autotune-level=3",
            "unknown",
            "error",
            "--xla_gpu_autotune_level=3",
        ),
        ("-xla_gpu_autotune_level=3", "unknown", "error", "two dashes"),
        (
            "--xla_gpu_enable_async_all_reduce=true",
            "removed",
            "error",
            "Asynchronous by default",
        ),
        ("--xla_gpu_graph_level=0", "removed", "error", "0.7.1 is the last"),
        (
            "--xla_gpu_lhs_enable_gpu_async_tracker=true",
            "removed",
            "error",
            "its default was then true",
        ),
        ("--xla_gpu_detect_infs=none", "unknown", "error", "--xla_gpu_detect_inf=none"),
        ("--xla_gpu_pipeline_all_reduce=off", "unknown", "error", "from 0.11.1 on"),
        (
            "--xla_gpu_cudnn_gemm_fusion=true",
            "renamed",
            "error",
            "--xla_gpu_cudnn_gemm_fusion_level=1",
        ),
        (
            "--xla_tpu_enable_async=true",
            "misplaced",
            "error",
            "LIBTPU_INIT_ARGS=--xla_tpu_enable_async=true",
        ),
        (
            "XLA_FLAGS=--tf_xla_auto_jit=1",
            "misplaced",
            "error",
            "TF_XLA_FLAGS=--tf_xla_auto_jit=1",
        ),
        (
            "TF_XLA_FLAGS=--xla_dump_to=x",
            "misplaced",
            "error",
            "XLA_FLAGS=--xla_dump_to=x",
        ),
        ("--xla_gpu_autotune_level=high", "value", "error", "not a whole number"),
        ("--xla_gpu_autotune_level", "value", "error", "needs `=`"),
        ("--xla_gpu_autotune_level=99", "value", "warning", "0 to 5, and not 99"),
        ("TF_XLA_FLAGS=--tf_xla_auto_jit=3", "value", "warning", "-1 to 2, and not 3"),
        ("--xla_gpu_enable_cudnn_fmha=true", "deprecated", "warning", "Deprecated"),
        (
            "--xla_gpu_enable_highest_priority_async_stream=true",
            "default",
            "note",
            "0.10.2",
        ),
        ("--xla_gpu_autotune_level=0", "dangerous", "warning", "57%"),
        (
            "--xla_disable_hlo_passes=algsimp,fusion_merger",
            "dangerous",
            "warning",
            "FusionMerger",
        ),
        (
            "--xla_disable_hlo_passes=GpuConvAlgorithmPicker",
            "dangerous",
            "warning",
            "gpu-conv-algorithm-picker",
        ),
        ("LIBTPU_INIT_ARGS=--xla_tpu_x=1", "not-recorded", "note", "libtpu"),
        (
            "TF_GPU_THREAD_MODDE=gpu_private",
            "unknown",
            "warning",
            "TF_GPU_THREAD_MODE=gpu_private",
        ),
        ("NCCL_SOMETHING_NEW=1", "unknown", "note", "silently"),
        ("HOME=/x", "unknown", "note", "not a known variable of"),
        ("TF_DISABLE_MKL=1", "removed", "warning", "TF_ENABLE_ONEDNN_OPTS=0"),
        (
            "TF_GPU_THREAD_MODE=private",
            "value",
            "error",
            "refuses to make the GPU device",
        ),
        ("JAX_ENABLE_PGLE=maybe", "value", "error", "ValueError"),
        ("XLA_PYTHON_CLIENT_PREALLOCATE=off", "value", "warning", "for true"),
        (
            "XLA_PYTHON_CLIENT_MEM_FRACTION=.8",
            "renamed",
            "note",
            "XLA_CLIENT_MEM_FRACTION=.8",
        ),
        ("NCCL_LL_BUFFSIZE=-2", "default", "note", "already"),
        ("NCCL_P2P_DISABLE=1", "dangerous", "warning", "host talk through its memory"),
        ("TF_CPP_MIN_LOG_LEVEL=3", "dangerous", "warning", "hides errors"),
        ("TF_CPP_MIN_LOG_LEVEL=2", "effect", "note", "hides warnings"),
        ("TF_CUDNN_USE_AUTOTUNE=0", "dangerous", "warning", "slow"),
    ],
)
def test_one_setting(text: str, kind: str, level: str, words: str) -> None:
    assert said(text) == [(kind, level)]
    assert words in about(text)


@pytest.mark.parametrize(
    ("text", "kind", "level", "words"),
    [
        (
            f"{SCHEDULER} --xla_gpu_disable_async_collectives=allreduce",
            "conflict",
            "warning",
            "synchronous",
        ),
        (
            "JAX_ENABLE_PGLE=1 --xla_gpu_enable_latency_hiding_scheduler=0",
            "conflict",
            "warning",
            "which is off",
        ),
        (
            "--xla_gpu_pgle_profile_file_or_directory_path=p.pb",
            "conflict",
            "warning",
            SCHEDULER,
        ),
        (
            "JAX_ENABLE_PGLE=1 --xla_gpu_enable_command_buffer=",
            "conflict",
            "note",
            "while it measures",
        ),
        (
            "JAX_ENABLE_PGLE=1 --xla_enable_command_buffers_during_profiling",
            "conflict",
            "warning",
            "CUDA graphs",
        ),
        (
            "JAX_ENABLE_PGLE=1 JAX_PGLE_PROFILING_RUNS=0",
            "conflict",
            "warning",
            "never compiles again",
        ),
        ("JAX_PGLE_PROFILING_RUNS=5", "conflict", "note", "without JAX_ENABLE_PGLE"),
        (
            "JAX_ENABLE_PGLE=1 JAX_COMPILATION_CACHE_EXPECT_PGLE=1",
            "conflict",
            "warning",
            "the run that fills",
        ),
        (
            "XLA_CLIENT_MEM_FRACTION=.8 XLA_PYTHON_CLIENT_MEM_FRACTION=.9",
            "conflict",
            "error",
            "ValueError",
        ),
        (
            "XLA_CLIENT_MEM_FRACTION=.94 NCCL_NVLS_ENABLE=1",
            "conflict",
            "warning",
            "leaves little",
        ),
        (
            "--xla_gpu_enable_nccl_user_buffers NCCL_NVLS_ENABLE=0",
            "conflict",
            "warning",
            "NVLink SHARP only",
        ),
        (
            "TF_GPU_THREAD_COUNT=4",
            "conflict",
            "warning",
            "no effect without TF_GPU_THREAD_MODE",
        ),
        ("NCCL_PROTO=SIMPLE,LL,LL128", "dangerous", "warning", "single host only"),
        ("--xla_gpu_deterministic_ops=true", "conflict", "note", "next compilation"),
        (
            "XLA_PYTHON_CLIENT_ALLOCATOR=platform XLA_CLIENT_MEM_FRACTION=.9",
            "conflict",
            "note",
            "in advance",
        ),
        (f"{SCHEDULER} {SCHEDULER}", "duplicate", "note", "again"),
        (
            f"--xla_gpu_autotune_level=2 {SCHEDULER} --xla_gpu_autotune_level=3",
            "conflict",
            "warning",
            "comes later",
        ),
        ("--xla_gpu_autotune_level=3 true", "unread", "error", "stops reading"),
    ],
)
def test_settings_together(text: str, kind: str, level: str, words: str) -> None:
    assert (kind, level) in said(text)
    assert words in about(text)


def test_old_versions_need_the_scheduler_beside_pgle() -> None:
    assert said("JAX_ENABLE_PGLE=true", "0.5.0") == [("conflict", "warning")]
    assert said("JAX_ENABLE_PGLE=true", "0.5.1") == []


def test_old_versions_know_other_variables() -> None:
    assert said("XLA_CLIENT_MEM_FRACTION=.8", "0.4.31") == [("unknown", "warning")]
    assert said("XLA_PYTHON_CLIENT_MEM_FRACTION=.8", "0.4.31") == []
    assert said("XLA_PYTHON_CLIENT_ALLOCATOR=vmm", "0.9.2") == [("value", "error")]
    assert said("XLA_PYTHON_CLIENT_ALLOCATOR=vmm", "0.10.0") == []


def test_passes_that_are_listed_twice_add_up() -> None:
    """Tried with jaxlib 0.9.2: the option then holds both."""
    assert said("--xla_disable_hlo_passes=a --xla_disable_hlo_passes=b") == []


def test_tensorflow_judges_when_it_is_asked_to() -> None:
    checked = check("--xla_gpu_detect_nan=none", tensorflow="2.19.1")

    assert (checked.library, checked.version) == ("TensorFlow", "2.19.1")
    assert "TensorFlow accepts it from 2.21.0 on" in checked.settings[0].remarks[0].text


def test_the_newest_version_judges_when_none_is_given() -> None:
    assert "the newest recorded" in check(SCHEDULER).note
    assert check("NCCL_DEBUG=WARN").note == ""


def test_settings_keep_their_order() -> None:
    checked = check("NCCL_DEBUG=WARN --xla_dump_to=x TF_GPU_THREAD_MODE=global")

    assert [one.setting.written for one in checked.settings] == [
        "NCCL_DEBUG=WARN",
        "--xla_dump_to=x",
        "TF_GPU_THREAD_MODE=global",
    ]
