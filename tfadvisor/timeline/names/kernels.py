"""What a GPU kernel's name tells of its arithmetic: precision, matrix or convolution,
Tensor Cores.

Libraries change their names with every GPU generation, so a name that no rule knows is
UNKNOWN, its own class: metrics report its share and rules abstain when it is large. XLA
names what it generates after opcodes (`loop_add_fusion`, `gemm_fusion_dot_3`), never
after types.

Names end at their call's arguments here: `<__half>(float, __half const*)` scales halves
by a float.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence, Set
from enum import Enum
from functools import lru_cache

import msgspec


class Precision(Enum):
    """Of what is multiplied, however the sums are kept."""

    FP64 = "fp64"
    FP32 = "fp32"
    TF32 = "tf32"
    BF16 = "bf16"
    FP16 = "fp16"
    BITS16 = "16-bit"
    """bf16 or fp16: cuDNN's attention says f16 for both."""
    FP8 = "fp8"
    INT8 = "int8"
    BELOW_8_BITS = "below 8 bits"
    UNKNOWN = "unknown"


class KernelKind(msgspec.Struct, frozen=True):
    """is_matrix: works on a matrix product, convolution or attention, the summing up of
    its parts included, the moving and converting of its operands not. tensor_cores:
    NVIDIA's or AMD's matrix cores; None where the name does not say.
    """

    precision: Precision
    is_matrix: bool
    tensor_cores: bool | None
    is_vector: bool = False
    """Multiplies a matrix by a vector: memory is what it waits for, and Tensor Cores
    could not help.
    """


_FUSIONS = (
    "loop_",
    "input_",
    "wrapped_",
    "fusion",
    "triton_poi_",
    "triton_red_",
    "triton_per_",
)
_PRODUCTS = """
    gemm gemv matmul bmm_ conv wgrad dgrad fprop bprop winograd splitk dot_general _dot
    nvjet_ cijk_ _xmma_ tensorop scudnn hcudnn 4cudnn 6cudnn 8cudnn cutlass::kernel
    cutlass::device_kernel fft2d_ contractionkernel blockpersist fmha flash_fwd
    flash_bwd flashattn sdpa attention attn_fwd attn_bwd bwd_kernel_d mha_fwd mha_bwd
    mha_forward mha_backward qk_int marlin<
""".split()
_AROUND_PRODUCTS = """
    computeoffsets nchwtonhwc nhwctonchw im2col pooling converttensor dot_do_o ograddoto
    convert_dq convertdq convertqgrad bwdpreprocess prepare_varlen setup_grouped
    prepare_grouped _gemm_starts cublasdotparams reduce_1block subtensorop addtensorop
    multensorop
""".split()
"""Helpers that are named after the product they serve: layout, offsets, pointers of
grouped products, the elementwise ends of attention; cuBLAS' dot products of vectors;
MIOpen's elementwise ops on tensors."""
_SUMS_OF_PARTS = """
    splitkreduce splitk_reduce reducesplitk postgsu reduce_wgrad nhwc_reduction_kernel
    splitkv_combine fwdcombine
""".split()
_PREPARING = """
    computeoffsets nchwtonhwc im2col dot_do_o ograddoto bwdpreprocess prepare_
    addpadding init_device
""".split()
_FINISHING = "nhwctonchw convert_dq convertdq reduction::".split()
_TENSOR_CORES = """
    tensorop gmma hmma imma wmma mma_sync tcgen05 umma:: sm100_mma warpspecialized
    flashattentionforwardsm flashattentionbackwardsm qk_int marlin< flash_fwd flash_bwd
    flashattn flash_fprop flash_bprop fmha_v2 aiter::fmha mfma xdl ck_tile:: _gtcx _gtcw
""".split()
_NO_TENSOR_CORES = """
    simt ffma gemv gemmsn gemmk1 magma_ igemm_int8 contractionkernel convolve_ wgrad_alg
    dgrad_alg dgrad_engine dgrad2d_alg grouped_direct depthwise winograd fft2d_ asmconv
    naive_conv igemm_fwd_gtc igemm_bwd_gtc igemm_wrw_gtc gridwisegemmdl
""".split()
"""Looked for after _TENSOR_CORES: MIOpen's `gtcx` uses them, its `gtc` does not."""
_WORDS = {
    **dict.fromkeys(("bf16", "bfloat16", "bfloat162", "bhalf"), Precision.BF16),
    **dict.fromkeys(("fp16", "f16", "half", "half2", "float16"), Precision.FP16),
    **dict.fromkeys(("tf32", "tfloat32", "xf32"), Precision.TF32),
    **dict.fromkeys(("fp32", "f32", "float", "float2", "float4"), Precision.FP32),
    **dict.fromkeys(("fp64", "f64", "double", "double2"), Precision.FP64),
    **dict.fromkeys(
        ("fp8", "f8", "bf8", "e4m3", "e5m2", "float8", "mxfp8"),
        Precision.FP8,
    ),
    **dict.fromkeys(
        ("e2m1", "fp4", "nvfp4", "mxfp4", "e2m3", "e3m2"),
        Precision.BELOW_8_BITS,
    ),
}
"""Words between punctuation: `__nv_bfloat16`, `Eigen::half`, `float_e4m3_t`, `DT_HALF`.
"""
_INSIDE = (
    ("e2m1", Precision.BELOW_8_BITS),
    ("xf4", Precision.BELOW_8_BITS),
    ("e4m3", Precision.FP8),
    ("tf32", Precision.TF32),
)
"""Types that run into others: `ue4m3xf4`, 4-bit with 8-bit scales;
`SM90_64x128x8_F32TF32TF32_SS`.
"""
_NARROW_FIRST = (
    Precision.BELOW_8_BITS,
    Precision.FP8,
    Precision.INT8,
    Precision.BITS16,
    Precision.BF16,
    Precision.FP16,
    Precision.TF32,
    Precision.FP32,
    Precision.FP64,
)
_ALWAYS_TENSOR_CORES = (Precision.TF32, Precision.FP8, Precision.BELOW_8_BITS)
_BETWEEN_WORDS = str.maketrans(dict.fromkeys("_<>(),:;*&[]{}.-= \n", " "))
_VECTORS = ("gemv",)


_ATTENTION = ("attention", "attn", "fmha", "sdpa", "mha_fwd", "mha_bwd", "qk_int")


def is_attention(name: str) -> bool:
    """Whether a kernel does both products of an attention and what lies between."""
    return _holds_any(name.lower(), _ATTENTION)


_OF_LIBRARY = re.compile(
    r"::|<|^(?:void |nvjet_|cudnn|cublas|cutlass|cask|sm\d+_|(?:volta|turing|ampere)_"
    r"|Cijk_|gemv|splitK|miopen|_Z)",
    re.IGNORECASE,
)


def is_of_library(name: str) -> bool:
    """Whether a kernel is a library's, cuBLAS' or cuDNN's, by how its name is made."""
    return _OF_LIBRARY.search(name) is not None


def multiplies_type(name: str, dtype: str) -> bool:
    """Whether a kernel may multiply what HLO calls by this type, as far as its name
    and the type show: TF32 is f32 there.
    """
    found = kernel_kind(name).precision
    wanted = precision_of_type(dtype)
    if Precision.UNKNOWN in (found, wanted) or found is Precision.BITS16:
        return True
    return found is wanted or (found is Precision.TF32 and wanted is Precision.FP32)


class Side(Enum):
    """Where a library's kernel works for a product: a call launches several."""

    BEFORE = "before"
    """It prepares operands."""
    PRODUCT = "product"
    """It multiplies."""
    BEHIND = "behind"
    """It puts results together."""
    UNKNOWN = "unknown"


def side_of_product(name: str) -> Side:
    """By the kernel's name."""
    lower = name.lower()
    if _holds_any(lower, _PREPARING):
        return Side.BEFORE
    if _holds_any(lower, _SUMS_OF_PARTS) or _holds_any(lower, _FINISHING):
        return Side.BEHIND
    return Side.PRODUCT if _is_matrix(lower) else Side.UNKNOWN


def kernel_kind(name: str) -> KernelKind:
    """What the name says; UNKNOWN and None where it does not. Equal kinds are one
    object.
    """
    if name.startswith(_FUSIONS) and not _holds_any(name, ("dot", "convol", "gemm")):
        return kind_of_parts(Precision.UNKNOWN, False, None)
    lower = name.partition(">(")[0].lower()
    if not _is_matrix(lower):
        types = _types(lower, _words(lower))
        only = types.pop() if len(types) == 1 else Precision.UNKNOWN
        return kind_of_parts(only, False, None)
    if _holds_any(lower, _SUMS_OF_PARTS):
        return kind_of_parts(Precision.UNKNOWN, True, None)
    found = _of_product(name, lower)
    if not _holds_any(lower, _VECTORS):
        return found
    return kind_of_parts(found.precision, True, found.tensor_cores, is_vector=True)


def _of_product(name: str, lower: str) -> KernelKind:
    if lower.startswith("nvjet_"):
        return kind_of_parts(_of_nvjet(lower), True, True)
    if "cijk_" in lower:
        return _of_tensile(name)
    return _of_xmma(lower) if "_xmma_" in lower else _of_words(lower)


def _is_matrix(lower: str) -> bool:
    plain = lower.replace("conver", "")  # conversions are no convolutions
    return _holds_any(plain, _PRODUCTS) and not _holds_any(lower, _AROUND_PRODUCTS)


_NVJET = {
    "t": Precision.BF16,
    "h": Precision.FP16,
    "q": Precision.FP8,  # e4m3
    "r": Precision.FP8,  # e5m2
    "o": Precision.BELOW_8_BITS,  # e2m1
    "b": Precision.INT8,
    "d": Precision.FP64,
}


def _of_nvjet(lower: str) -> Precision:
    """cuBLAS since Hopper: `nvjet_[sm90_]<letters>_…`, letters of A (and B), compute
    and D: tst, hsh, or of A, B, C, compute and D: qqtst, ootst. A kernel of fp32
    operands is `sss`, and says `tf32` when it rounds them to that."""
    parts = lower.split("_")
    letters = parts[2] if len(parts) > 2 and parts[1].startswith("sm") else parts[1]
    if letters.startswith("s"):
        return Precision.TF32 if "tf32" in parts else Precision.UNKNOWN
    if len(letters) not in (3, 5):
        return Precision.UNKNOWN
    return _NVJET.get(letters[:1], Precision.UNKNOWN)


_TENSILE = (
    ("4xi8", Precision.INT8),
    ("I8", Precision.INT8),
    ("I4", Precision.BELOW_8_BITS),
    ("F8", Precision.FP8),
    ("B8", Precision.FP8),
    ("F6", Precision.BELOW_8_BITS),
    ("B6", Precision.BELOW_8_BITS),
    ("F4", Precision.BELOW_8_BITS),
    ("H", Precision.FP16),
    ("B", Precision.BF16),
    ("S", Precision.FP32),
    ("D", Precision.FP64),
    ("C", Precision.FP32),
    ("Z", Precision.FP64),
)
_MIXED_TENSILE = ("HHS", "HSS", "BBS", "BSS")


def _of_tensile(name: str) -> KernelKind:
    """rocBLAS and hipBLASLt: `Cijk_Ailk_Bljk_<types>_…`, the first of the types is A's;
    `SB` is fp32 and a beta. With operands of two types (`HF8_HHS_BH`) the product's
    follow. `S_MX` rounds fp32 to xf32."""
    parts = name[name.lower().index("cijk_") :].split("_")
    if len(parts) < 4 or not parts[1].startswith("A"):
        return kind_of_parts(Precision.UNKNOWN, True, None)
    following = parts[4] if len(parts) > 4 else ""
    letters = following if following in _MIXED_TENSILE else parts[3]
    if (letters, following) == ("S", "MX"):
        precision = Precision.TF32
    else:
        precision = _of_letters(letters)
    return kind_of_parts(precision, True, _tensile_cores(name, parts, precision))


def _of_letters(letters: str) -> Precision:
    for code, precision in _TENSILE:
        if letters.startswith(code):
            return precision
    return Precision.UNKNOWN


def _tensile_cores(
    name: str,
    parts: Sequence[str],
    precision: Precision,
) -> bool | None:
    """`_MI16x16x1` is the matrix instruction's shape, which kernels without one
    lack.
    """
    if precision in _ALWAYS_TENSOR_CORES:
        return True
    for part in parts:
        if part.startswith("MI") and part[2:3].isdigit():
            return True
    return None if "shortname" in name else False


_XMMA = {
    **dict.fromkeys(("e4m3", "e5m2"), Precision.FP8),
    "bf16": Precision.BF16,
    "tf32": Precision.TF32,
    "f16": Precision.FP16,
    "f32": Precision.FP32,
    "f64": Precision.FP64,
    "i8": Precision.INT8,
    "u8": Precision.INT8,
    "i32": Precision.UNKNOWN,
}


def _of_xmma(lower: str) -> KernelKind:
    """cuBLAS, cuDNN and TensorRT: `sm90_xmma_gemm_f32f32_tf32f32_f32_tn…`: the pairs
    are A and C in memory, A and the sum in the multiplier. `tensor16x8x16` or warp
    groups are Tensor Cores, `ffma` and `sm50` are not."""
    types = set()
    for word in lower.split("_"):
        for first, precision in _XMMA.items():
            if word.startswith(first) and word[len(first) :] in _XMMA:
                types.add(precision)
    precision = _narrowest(types)
    if any(word in lower for word in ("tensor", "gmma", "warpgroupsize")):
        return kind_of_parts(precision, True, True)
    if (
        any(word in lower for word in ("ffma", "sm50_", "depthwise", "simt", "gemv"))
        or precision is Precision.FP32
    ):
        return kind_of_parts(precision, True, False)
    return kind_of_parts(
        precision,
        True,
        True if precision in _ALWAYS_TENSOR_CORES else None,
    )


def _of_words(lower: str) -> KernelKind:
    words = _words(lower)
    types = _types(lower, words)
    shaped = set(filter(None, (_of_shape(word, types) for word in words)))
    if shaped:
        return kind_of_parts(_narrowest(shaped), True, True)
    plain = {_WITHOUT_SHAPE[word] for word in words if word in _WITHOUT_SHAPE}
    if plain:
        operands = {Precision.INT8} if "int8" in words else types or plain
        return kind_of_parts(_narrowest(operands), True, False)
    precision = _of_operands(_narrowest(types), lower, words)
    return kind_of_parts(precision, True, _uses_tensor_cores(lower, precision))


def _of_operands(
    precision: Precision,
    lower: str,
    words: Set[str],
) -> Precision:
    """What is multiplied, where a library's name says something else. precision: what
    it says.
    """
    # SageAttention's first product; its second is of fp8 or fp16.
    if "qk_int8" in lower:
        return Precision.INT8
    if precision is Precision.UNKNOWN and not words.isdisjoint(("int8", "imma")):
        return Precision.INT8
    # cuDNN's Ampere_hmma_fp32_traits sums halves in fp32.
    if precision is Precision.FP32 and _HALVES_IN_FP32.search(lower):
        precision = Precision.FP16
    if precision is Precision.FP16 and "sdpa" in words:
        return Precision.BITS16
    return precision


_HALVES_IN_FP32 = re.compile("hmma_fp32|hmma_implicit_gemm")


_WITHOUT_SHAPE = {
    **dict.fromkeys(("sgemm", "sgemmex", "cgemm", "gcgemm", "scudnn"), Precision.FP32),
    **dict.fromkeys(("hgemm", "hcudnn"), Precision.FP16),
    **dict.fromkeys(("dgemm", "zgemm"), Precision.FP64),
}
_SHAPED = (
    "gemm",
    "cudnn",
    "fprop",
    "dgrad",
    "wgrad",
    "deconv",
    "syrk",
    "symm",
    "trmm",
    "herk",
    "hemm",
)
_INT4_SHAPES = ("16864", "8832", "168128", "168256")


def _of_shape(word: str, types: Set[Precision]) -> Precision | None:
    """cuBLAS, cuDNN and CUTLASS name kernels of Tensor Cores after the sum's type and
    the instruction's shape: `s16816gemm`, `h884cudnn`, `s256x256x8tf32gemm`; the others
    without a shape: `sgemm`, `scudnn`. Of fp32 operands, s1688 is TF32."""
    letter = word[:1]
    tail = word[1:].lstrip("0123456789x")
    shape = word[1 : len(word) - len(tail)]
    if len(shape) < 3 or letter not in "shidcz" or not tail.endswith(_SHAPED):
        return None
    if letter in "dz":
        return Precision.FP64
    if letter == "i":
        return Precision.BELOW_8_BITS if shape in _INT4_SHAPES else Precision.INT8
    # s1688f16gemm rounds fp32 operands.
    for named in ("tf32", "bf16", "f16"):
        if tail.startswith(named):
            return _WORDS[named]
    return _of_sum(letter, shape, types)


def _of_sum(
    letter: str,
    shape: str,
    types: Set[Precision],
) -> Precision:
    """By the other types in the name, else by the sum's type and the shape."""
    narrow = types - {Precision.FP32, Precision.FP64}
    if narrow:
        return _narrowest(narrow)
    if letter == "h" or shape == "884":
        return Precision.FP16
    if shape == "1688" or Precision.FP32 in types:
        return Precision.TF32
    return Precision.BITS16


def _uses_tensor_cores(
    lower: str,
    precision: Precision,
) -> bool | None:
    # Compiled for four generations; of fp32, those since sm80 may round to TF32.
    if "fmha_cutlass" in lower:
        if "sm50" in lower:
            return False
        return None if precision is Precision.FP32 else True
    if precision in _ALWAYS_TENSOR_CORES or _holds_any(lower, _TENSOR_CORES):
        return True
    if precision is Precision.FP32 or _holds_any(lower, _NO_TENSOR_CORES):
        return False
    return None


def _holds_any(lower: str, words: Iterable[str]) -> bool:
    return any(word in lower for word in words)


def _words(lower: str) -> set[str]:
    apart = lower.replace("double_buffer", "").translate(_BETWEEN_WORDS)
    words = set(apart.split())
    if not lower.startswith("_z"):
        return words
    return {word.lstrip("0123456789") for word in words}


def _types(lower: str, words: Set[str]) -> set[Precision]:
    """Every floating-point type that the name holds."""
    found = {_WORDS[word] for word in words if word in _WORDS}
    found.update(precision for word, precision in _INSIDE if word in lower)
    if "ushort" in words or ("unsigned short" in lower and "ck::" in lower):
        found.add(Precision.BF16)  # how MIOpen and composable kernel store it
    return found


def _narrowest(types: Set[Precision]) -> Precision:
    if Precision.BF16 in types and Precision.FP16 in types:
        types = types | {Precision.BITS16}
    return next((kind for kind in _NARROW_FIRST if kind in types), Precision.UNKNOWN)


@lru_cache(maxsize=1 << 8)
def kind_of_parts(
    precision: Precision,
    is_matrix: bool,
    tensor_cores: bool | None,
    is_vector: bool = False,
) -> KernelKind:
    """The one object of equal kinds."""
    return KernelKind(precision, is_matrix, tensor_cores, is_vector)


_HLO_TYPES = {
    "f64": Precision.FP64,
    "f32": Precision.FP32,
    "bf16": Precision.BF16,
    "f16": Precision.FP16,
}


def precision_of_type(dtype: str) -> Precision:
    """Of what HLO calls `bf16` or `f8e4m3fn`; UNKNOWN for types without arithmetic of
    their own.
    """
    if dtype in _HLO_TYPES:
        return _HLO_TYPES[dtype]
    if dtype.startswith("f8"):
        return Precision.FP8
    if dtype.startswith(("f4", "f6")):
        return Precision.BELOW_8_BITS
    return Precision.UNKNOWN
