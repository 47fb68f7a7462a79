"""Values as jaxlib 0.4.30 and 0.11.2 took and refused them when they were tried."""

from __future__ import annotations

import pytest

from tfadvisor.advice.flags.advice import variables
from tfadvisor.advice.flags.recorded import recording
from tfadvisor.advice.flags.setting_values import (
    fault_of_flag,
    fault_of_variable,
    is_default,
)

JAXLIB = recording().table("XLA_FLAGS", "jaxlib")
TAKEN = [
    ("xla_cpu_enable_fast_math", None),
    ("xla_cpu_enable_fast_math", "true"),
    ("xla_cpu_enable_fast_math", "TRUE"),
    ("xla_cpu_enable_fast_math", "1"),
    ("xla_cpu_enable_fast_math", "False"),
    ("xla_gpu_autotune_level", "04"),
    ("xla_gpu_autotune_level", "+4"),
    ("xla_gpu_autotune_level", "-1"),
    ("xla_gpu_autotune_gemm_rtol", "1e-3"),
    ("xla_gpu_autotune_gemm_rtol", "inf"),
    ("xla_gpu_autotune_gemm_rtol", ".5"),
    ("xla_gpu_enable_command_buffer", ""),
    ("xla_gpu_enable_command_buffer", "+fusion,-CUBLAS"),
    ("xla_gpu_enable_command_buffer", "FUSION, CUBLAS,"),
    ("xla_gpu_disable_async_collectives", "allreduce,AllGather"),
    ("xla_gpu_shape_checks", "IGNORE"),
    ("xla_gpu_detect_nan", "fail"),
    ("xla_dump_to", "anything at all"),
]
REFUSED = [
    ("xla_cpu_enable_fast_math", ""),
    ("xla_cpu_enable_fast_math", "yes"),
    ("xla_cpu_enable_fast_math", "t"),
    ("xla_cpu_enable_fast_math", "2"),
    ("xla_gpu_autotune_level", None),
    ("xla_gpu_autotune_level", ""),
    ("xla_gpu_autotune_level", "4.0"),
    ("xla_gpu_autotune_level", "1e1"),
    ("xla_gpu_autotune_level", "0x4"),
    ("xla_gpu_autotune_level", "2147483648"),
    ("xla_gpu_all_reduce_combine_threshold_bytes", "99999999999999999999"),
    ("xla_gpu_autotune_gemm_rtol", ""),
    ("xla_gpu_autotune_gemm_rtol", "0.5f"),
    ("xla_gpu_enable_command_buffer", None),
    ("xla_gpu_enable_command_buffer", "zz"),
    ("xla_gpu_enable_command_buffer", "+FUSION,CUBLAS"),
    ("xla_gpu_disable_async_collectives", "allreduce, allgather"),
    ("xla_gpu_shape_checks", "ignore"),
    ("xla_gpu_detect_nan", "DETECTION_MODE_FAIL"),
    ("xla_gpu_pipeline_all_reduce", "maybe"),
]


@pytest.mark.parametrize(("name", "value"), TAKEN)
def test_values_that_jaxlib_takes(name: str, value: str | None) -> None:
    flag = JAXLIB.flag(name, "0.11.2")

    assert flag is not None
    assert fault_of_flag(flag, value) == ""


@pytest.mark.parametrize(("name", "value"), REFUSED)
def test_values_that_end_the_process(name: str, value: str | None) -> None:
    flag = JAXLIB.flag(name, "0.11.2")

    assert flag is not None
    assert fault_of_flag(flag, value) != ""


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("xla_gpu_enable_highest_priority_async_stream", None, True),
        ("xla_gpu_enable_highest_priority_async_stream", "1", True),
        ("xla_gpu_enable_highest_priority_async_stream", "false", False),
        ("xla_gpu_autotune_level", "4", True),
        ("xla_gpu_autotune_level", "3", False),
        ("xla_gpu_detect_nan", "none", True),
        ("xla_gpu_detect_nan", "fail", False),
        ("xla_gpu_pipeline_all_reduce", "DEFAULT", True),
        ("xla_dump_to", "", True),
        ("xla_dump_to", "x", False),
        ("xla_gpu_enable_command_buffer", "", False),
        ("xla_gpu_enable_command_buffer", "FUSION", False),
    ],
)
def test_a_value_that_is_the_default(
    name: str, value: str | None, expected: bool
) -> None:
    flag = JAXLIB.flag(name, "0.11.2")

    assert flag is not None
    assert is_default(flag, value) is expected


@pytest.mark.parametrize(
    ("name", "value", "fits"),
    [
        ("TF_GPU_THREAD_MODE", "gpu_private", True),
        ("TF_GPU_THREAD_MODE", "private", False),
        ("TF_FORCE_GPU_ALLOW_GROWTH", "true", True),
        ("TF_FORCE_GPU_ALLOW_GROWTH", "1", False),
        ("TF_ENABLE_ONEDNN_OPTS", "1", True),
        ("TF_ENABLE_ONEDNN_OPTS", "yes", False),
        ("TF_CPP_MIN_LOG_LEVEL", "4", False),
        ("TF_CPP_VMODULE", "gpu_device=1,bfc_allocator=2", True),
        ("TF_CPP_VMODULE", "gpu_device", False),
        ("JAX_ENABLE_PGLE", "yes", True),
        ("JAX_ENABLE_PGLE", "maybe", False),
        ("XLA_PYTHON_CLIENT_PREALLOCATE", "false", True),
        ("XLA_PYTHON_CLIENT_PREALLOCATE", "no", False),
        ("XLA_CLIENT_MEM_FRACTION", ".8", True),
        ("XLA_CLIENT_MEM_FRACTION", "80", False),
        ("XLA_CLIENT_MEM_FRACTION", "nan", False),
        ("NCCL_PROTO", "SIMPLE,LL,LL128", True),
        ("NCCL_PROTO", "^LL128", True),
        ("NCCL_PROTO", "LL64", False),
        (
            "NCCL_ALGO",
            "ring,collnetdirect;allreduce:tree,collnetdirect;broadcast:ring",
            True,
        ),
        ("NCCL_ALGO", "star", False),
        ("NCCL_IB_TIMEOUT", "32", False),
        ("NCCL_LL_BUFFSIZE", "-2", True),
        ("CUDA_DEVICE_MAX_CONNECTIONS", "1", True),
        ("CUDA_DEVICE_MAX_CONNECTIONS", "0", False),
    ],
)
def test_values_of_variables(name: str, value: str, fits: bool) -> None:
    assert (fault_of_variable(variables()[name], value) == "") is fits
