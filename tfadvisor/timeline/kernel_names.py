"""What a GPU kernel's name tells of its arithmetic: precision, matrix or convolution, Tensor Cores.

Libraries change their names with every GPU generation, so a name that no rule knows is UNKNOWN, a class of its own:
metrics report its share and rules abstain when it is large.
"""

from __future__ import annotations

import re
from enum import Enum

from tfadvisor.record import record


class Precision(Enum):
    """Of the operands."""

    FP64 = "fp64"
    FP32 = "fp32"
    TF32 = "tf32"
    BITS16 = "16-bit"
    BITS8 = "8-bit"
    UNKNOWN = "unknown"


@record
class KernelKind:
    """is_matrix: a matrix product or convolution. tensor_cores: None where the name does not say."""

    precision: Precision
    is_matrix: bool
    tensor_cores: bool | None


_MATRIX = re.compile(
    r"gemm|matmul|conv(?!ert)|wgrad|dgrad|fprop|cutlass|cublas|nvjet|implicit_|winograd|fmha|flash|attention|_dot_?\d*|Cijk_|splitK",
    re.IGNORECASE,
)
# Tensor-Core instructions by generation: Volta h884/s884, Turing and Ampere 1688/16816/16832, Hopper gmma/wgmma (64xNxK).
_TENSOR_CORE = re.compile(
    r"[his]884|[hisc]1688|16816|i16832|i8816|16832|hmma|imma|gmma|_mma_|tensorop|xmma_(?:gemm|implicit_gemm|sparse|warp)|nvjet_|sm(?:80|86|89|90|100)_xmma"
    r"|fmha_v2|flash_fwd|flash_bwd|cudnn_generated_(?:fort_native_)?sdpa|mfma|MFMA"
)
_PRECISION: tuple[tuple[Precision, re.Pattern[str]], ...] = (
    (Precision.BITS8, re.compile(r"e4m3|e5m2|fp8|float8|f8f|i8816|i16832|imma|int8|s8_|_i8|qgemm", re.IGNORECASE)),
    (Precision.TF32, re.compile(r"tf32|s1688(?!.*f16)|xf32", re.IGNORECASE)),
    (
        Precision.BITS16,
        re.compile(
            r"half|fp16|bf16|bfloat|f16(?!_f32)|h884|h1688|hmma|s884|s16816|h16816|_hsh_|_hss_|_bss_|_tss_|__nv_bfloat16|nvjet_(?:hs|ts|tt|hh)|hgemm",
            re.IGNORECASE,
        ),
    ),
    (Precision.FP64, re.compile(r"dgemm|f64|double|fp64|d884", re.IGNORECASE)),
    (
        Precision.FP32,
        re.compile(r"sgemm|_sss_|fp32|f32|\bfloat\b|<float|scudnn|ffma|simt|nvjet_ss", re.IGNORECASE),
    ),
)


def kernel_kind(name: str) -> KernelKind:
    """What the name says; UNKNOWN and None where it does not."""
    is_matrix = bool(_MATRIX.search(name))
    precision = next((kind for kind, pattern in _PRECISION if pattern.search(name)), Precision.UNKNOWN)
    tensor_cores: bool | None = None
    if _TENSOR_CORE.search(name):
        tensor_cores = True
    elif is_matrix and (precision in (Precision.FP32, Precision.FP64) or "simt" in name.lower()):
        tensor_cores = False
    return KernelKind(precision, is_matrix, tensor_cores)


def short_name(name: str, longest: int = 60) -> str:
    """A kernel's name for people: template and call arguments cut, `void ` and namespaces of a long name dropped."""
    base = name.removeprefix("void ").removesuffix(".kd")
    for bracket in "<(":
        at = base.find(bracket, 1)
        if at > 0 and len(base) > longest:
            base = base[:at]
    return base if len(base) <= longest else base[: longest - 1] + "…"
