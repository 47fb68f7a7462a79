"""Which communication between devices an event's name tells of: kernels of NCCL and its
kin, and XLA's ops.

NCCL (src/device/generate.py) compiles one kernel for each collective, type and RING or
TREE, and launches every protocol and every reduction through it:
`…AllReduce_Sum_bf16_RING_LL` may run LL128 and Prod. What it says of the collective and
the type holds. Kernels that only move bytes carry no type, or a placeholder
(`AllGather_RING_LL_Sum_int8_t`).
"""

from __future__ import annotations

from enum import Enum
from functools import lru_cache

import msgspec


class CollectiveKind(Enum):
    """What is exchanged."""

    ALL_REDUCE = "all-reduce"
    ALL_GATHER = "all-gather"
    REDUCE_SCATTER = "reduce-scatter"
    ALL_TO_ALL = "all-to-all"
    BROADCAST = "broadcast"
    SEND_RECV = "send-recv"
    """Between pairs: send, recv, and XLA's collective-permute."""
    BARRIER = "barrier"
    """Nothing but waiting for the others: `barrier-cores` of TPUs."""
    OTHER = "other"
    """Reduce to one device, or a name that does not say: RCCL runs everything through
    one kernel.
    """


class Collective(msgspec.Struct, frozen=True):
    """dtype as in HLO: bf16, f32, u8. None: not known."""

    kind: CollectiveKind
    dtype: str | None = None


_KINDS = (
    ("reducescatter", CollectiveKind.REDUCE_SCATTER),
    ("allreduce", CollectiveKind.ALL_REDUCE),
    ("allgather", CollectiveKind.ALL_GATHER),
    ("alltoall", CollectiveKind.ALL_TO_ALL),
    ("broadcast", CollectiveKind.BROADCAST),
    ("sendrecv", CollectiveKind.SEND_RECV),
)
"""In letters only; the first that a kernel's name holds."""
_NCCL_LIKE = ("nccl", "rccl", "msccl", "oneccl")
_OTHER_KERNELS = (
    (
        "allreduce",
        CollectiveKind.ALL_REDUCE,
    ),  # XLA's gpu::AllReduceKernelImpl, TensorRT-LLM, FlashInfer
    ("all_reduce", CollectiveKind.ALL_REDUCE),
    ("cross_device_reduce", CollectiveKind.ALL_REDUCE),  # vLLM, SGLang, AITER
    ("reduce_scatter_kernel", CollectiveKind.REDUCE_SCATTER),
    ("reducescatterkernel", CollectiveKind.REDUCE_SCATTER),
    ("allgather", CollectiveKind.ALL_GATHER),
    ("all_gather", CollectiveKind.ALL_GATHER),
    ("alltoall", CollectiveKind.ALL_TO_ALL),  # XLA's RaggedAllToAllKernelImpl
    ("all_to_all", CollectiveKind.ALL_TO_ALL),
    (
        "deep_ep::int",
        CollectiveKind.ALL_TO_ALL,
    ),  # intranode, internode: experts' dispatch and combine
    ("nvshmem", CollectiveKind.OTHER),
)
_USERBUFFERS = (
    ("_rs", CollectiveKind.REDUCE_SCATTER),
    ("_ag", CollectiveKind.ALL_GATHER),
    ("allgather", CollectiveKind.ALL_GATHER),
    ("pushsend", CollectiveKind.SEND_RECV),
    ("pushrecv", CollectiveKind.SEND_RECV),
    ("_sum_", CollectiveKind.ALL_REDUCE),
)
"""TransformerEngine's userbuffers.cu; `userbuffers_fp16_sum_inplace_gpu_rr_rs_oop`
scatters.
"""
_DTYPES = {
    "bf16": "bf16",
    "bfloat16": "bf16",
    "f16": "f16",
    "half": "f16",
    "f32": "f32",
    "float": "f32",
    "f64": "f64",
    "double": "f64",
    "f8e4m3": "f8e4m3",
    "f8e5m2": "f8e5m2",
    "u8": "u8",
    "u32": "u32",
    "u64": "u64",
    "i8": "s8",
    "i32": "s32",
    "i64": "s64",
}
_OPS = {
    "all-reduce": CollectiveKind.ALL_REDUCE,
    "psum": CollectiveKind.ALL_REDUCE,
    "psum-invariant": CollectiveKind.ALL_REDUCE,
    "pmean": CollectiveKind.ALL_REDUCE,
    "pmax": CollectiveKind.ALL_REDUCE,
    "pmin": CollectiveKind.ALL_REDUCE,
    "all-gather": CollectiveKind.ALL_GATHER,
    "all-gather-invariant": CollectiveKind.ALL_GATHER,
    "allgather": CollectiveKind.ALL_GATHER,
    "reduce-scatter": CollectiveKind.REDUCE_SCATTER,
    "all-reduce-scatter": CollectiveKind.REDUCE_SCATTER,
    "psum-scatter": CollectiveKind.REDUCE_SCATTER,
    "all-to-all": CollectiveKind.ALL_TO_ALL,
    "ragged-all-to-all": CollectiveKind.ALL_TO_ALL,
    "collective-broadcast": CollectiveKind.BROADCAST,
    "pbroadcast": CollectiveKind.BROADCAST,
    "collective-permute": CollectiveKind.SEND_RECV,
    "ppermute": CollectiveKind.SEND_RECV,
    "send": CollectiveKind.SEND_RECV,
    "recv": CollectiveKind.SEND_RECV,
    "async-collective": CollectiveKind.OTHER,
    "all-reduce-fusion": CollectiveKind.ALL_REDUCE,
    "all-gather-fusion": CollectiveKind.ALL_GATHER,
    "reduce-scatter-fusion": CollectiveKind.REDUCE_SCATTER,
    "all-reduce-scatter-fusion": CollectiveKind.REDUCE_SCATTER,
    "barrier-cores": CollectiveKind.BARRIER,
}
"""XLA's opcodes, and JAX's primitives where ops are named after them. Compiler passes
(`all-reduce-promotion`, `all-gather-combiner`) have further words and so are none. TPUs
fuse collectives with what follows."""
_WRAPPERS = ("fusion", "async")
"""What the names of ops end in that run another computation, which their instruction
names: `calls=%all-reduce.clone`.
"""
_CALLS = " calls=%"

_TENSORFLOW = (
    ("CollectiveReduceScatter", CollectiveKind.REDUCE_SCATTER),
    ("CollectiveReduce", CollectiveKind.ALL_REDUCE),
    ("CollectiveGather", CollectiveKind.ALL_GATHER),
    ("CollectiveBcast", CollectiveKind.BROADCAST),
    ("CollectiveAllToAll", CollectiveKind.ALL_TO_ALL),
    ("NcclAllReduce", CollectiveKind.ALL_REDUCE),
)


@lru_cache(maxsize=1 << 14)  # asked for each device of each host
def collective_of(name: str) -> Collective | None:
    """What a kernel, an XLA op or a TensorFlow op of this name exchanges; None when it
    computes or copies.
    """
    return tensorflow_collective(name) or kernel_collective(name) or op_collective(name)


@lru_cache(maxsize=1 << 14)  # the hosts of a run mostly have the same names
def tensorflow_collective(name: str) -> Collective | None:
    """The collective of TensorFlow's `name:Type`, as
    `sgd/CollectiveReduceV2:CollectiveReduceV2`.
    """
    _, _, kind = name.rpartition(":")
    if not kind.startswith(("Collective", "Nccl")):
        return None
    found = next(
        (kind_of for start, kind_of in _TENSORFLOW if kind.startswith(start)),
        None,
    )
    return None if found is None else Collective(found)


def kernel_collective(name: str) -> Collective | None:
    """The collective of a GPU kernel's name."""
    lower = name.lower()
    if any(library in lower for library in _NCCL_LIKE):
        return _of_nccl(name)
    if "userbuffers" in lower:
        kind = next(
            (kind for word, kind in _USERBUFFERS if word in lower),
            CollectiveKind.OTHER,
        )
        return Collective(kind)  # the fp16 in these names is any 16-bit type
    named = lower.replace("small", "")  # `small_reduce` holds `all_reduce`
    found = next((kind for word, kind in _OTHER_KERNELS if word in named), None)
    if found is None or is_fusion(name):
        return None
    return Collective(found, _dtype(lower))


def op_collective(name: str) -> Collective | None:
    """The collective of an XLA op's name: `all-gather-start.1`, `psum.3`, `%all-reduce
    = f32[8] all-reduce(…)`.
    """
    stem = op_stem(name)
    whole = stem.removesuffix("-start").removesuffix("-done")
    kind = _OPS.get(stem) or _OPS.get(whole)
    if kind is None and whole.endswith(_WRAPPERS):
        kind = called_collective(name)
    return None if kind is None else Collective(kind, _result_type(name))


def kind_of_opcode(opcode: str) -> CollectiveKind | None:
    """What an HLO instruction of this opcode exchanges."""
    return _OPS.get(opcode)


def called_collective(instruction: str) -> CollectiveKind | None:
    """What the computation exchanges that a whole instruction runs: `%fusion.7 = …
    fusion(…), calls=%all-reduce-scatter.2`.
    """
    called = instruction.partition(_CALLS)[2].partition(",")[0].partition(" ")[0]
    return _OPS.get(op_stem(called)) if called else None


def op_stem(name: str) -> str:
    """An XLA op's name without `%`, numbers and what it is defined as:
    `%all_reduce-start.12 = …` is `all-reduce-start`.
    """
    head, _, rest = name.partition(" ")
    if rest and not rest.startswith("= "):
        return name
    return (
        head.removeprefix("%").partition(".")[0].replace("_", "-").rstrip("0123456789-")
    )


def _of_nccl(name: str) -> Collective:
    own = name.partition("(")[0]
    squeezed = own.lower().replace("_", "").replace("-", "")
    kind = next(
        (kind for word, kind in _KINDS if word in squeezed),
        CollectiveKind.OTHER,
    )
    reduces = kind in (
        CollectiveKind.ALL_REDUCE,
        CollectiveKind.REDUCE_SCATTER,
        CollectiveKind.OTHER,
    )
    return Collective(kind, _dtype(own.lower()) if reduces else None)


@lru_cache(maxsize=1 << 14)  # asked for each device of each host
def is_fusion(name: str) -> bool:
    """Whether XLA named a kernel after the opcodes it fuses:
    `input_reduce_scatter_fusion_2` scatters what it reduced.
    """
    lower = name.lower()
    if lower.startswith(("loop_", "input_", "wrapped_")):
        return True
    return "::" not in lower and lower.removesuffix(".kd").rstrip(
        "0123456789_."
    ).endswith("fusion")


def _dtype(lower: str) -> str | None:
    for other in "<>(),:_*&":
        lower = lower.replace(other, " ")
    return next((_DTYPES[word] for word in lower.split() if word in _DTYPES), None)


def _result_type(name: str) -> str | None:
    """Of `%x = f32[8]{0} all-reduce(…)` and `%x = (bf16[8], bf16[4]) all-reduce(…)`:
    the first element type.
    """
    shape = name.partition(" = ")[2].lstrip("(")
    return shape.partition("[")[0] or None if "[" in shape else None
