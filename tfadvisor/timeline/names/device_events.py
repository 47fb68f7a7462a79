"""What a device does, by the name of its event; which GPU it is; what a copy or an
allocation says of itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import permutations
from math import isqrt, prod
from typing import NamedTuple

from tfadvisor.timeline.names.classes import DeviceClass
from tfadvisor.timeline.names.collective_events import (
    called_collective,
    kernel_collective,
    op_collective,
    op_stem,
)
from tfadvisor.units import number_of

_COPY_STARTS = (
    (
        DeviceClass.H2D,
        ("MEMCPYH2D", "MEMCPYHTOD", "MEMCPY_H2D", "MEMCPY_HTOD", "COPYHOSTTODEVICE"),
    ),
    (
        DeviceClass.D2H,
        ("MEMCPYD2H", "MEMCPYDTOH", "MEMCPY_D2H", "MEMCPY_DTOH", "COPYDEVICETOHOST"),
    ),
    (
        DeviceClass.D2D,
        ("MEMCPYD2D", "MEMCPYDTOD", "MEMCPY_D2D", "MEMCPY_DTOD", "COPYDEVICETODEVICE"),
    ),
    (
        DeviceClass.P2P,
        ("MEMCPYP2P", "MEMCPYPTOP", "MEMCPY_P2P", "MEMCPY_PTOP", "COPYPEERTOPEER"),
    ),
    (
        DeviceClass.D2D,
        ("MEMCPY32", "MEMCPY128"),
    ),  # the kernels that copy in a CUDA graph
    (DeviceClass.OTHER_COPY, ("MEMCPY", "COPYBUFFER", "__AMD_ROCCLR_COPYBUFFER")),
    (DeviceClass.MEMSET, ("MEMSET", "__AMD_ROCCLR_FILLBUFFER")),
)
"""Copies and fills on a GPU's stream, CUDA's and AMD's, in capitals."""
_NO_WORK_STARTS = (
    "UM_",
    "UNIFIEDMEMORY",
    "MEMORY ",
    "MEMORYALLOC",
    "MEMORYFREE",
    "MEMORYRESIDENCY",
)
"""CUPTI's records of memory allocated, resident or moved by page faults, in capitals:
`UM_GPU_PAGE_FAULT`, `Memory Device`.
"""
_WHOLE_GRAPH = "CudaGraphExec:"
"""CUPTI's one event for all kernels of a CUDA graph, with the graph's number."""
_EXCHANGES = (
    "all-reduce",
    "all-gather",
    "reduce-scatter",
    "all-to-all",
    "collective",
    "host send",
    "host recv",
    "barrier",
)
"""In the categories of ops that exchange data between devices or wait for others, as
XProf's.
"""
_COMPUTES = frozenset(
    """
    convolution data formatting broadcast concatenate dynamic-slice dynamic-update-slice
    gather scatter pad reverse select select-and-scatter slice sort reduce reduce-window
    copy iota rng rng-bit-generator cholesky triangular-solve fft non-fusion elementwise
""".split()
)
"""Words that categories of ops on the core consist of, beside those that end in
`fusion`.
"""
GUESSED_CATEGORY, MOVING_CATEGORIES = (
    "custom-call",
    ("data formatting", "copy", "transpose"),
)
"""Of ops whose cost is a guess of the kernel's author, and of ops that only change
where or in which order data lies.
"""
_CONTROL_FLOW_HLO = ("while", "conditional", "call")
"""HLO opcodes whose event covers those of their body."""
_COPY_HLO = ("copy-start", "copy-done")
"""HLO opcodes of copies that run beside other ops."""
_HOST_SLICES = re.compile(r"dynamic-(?:update-)?slice-(?:start|done)")
"""HLO opcodes of copies of a part of an array that lies in the host's memory, as a loop
that offloads has.
"""
_START, _DONE = "-start", "-done"
_SENDS = re.compile(r"^(send|recv)(?=\.|$)")
_HOST_MEMORY, _ON_CHIP = "S(5)", "S(1)"
"""XLA's memory spaces of the host, and on a TPU's chip, in a layout."""


def instruction_name(name: str) -> str:
    """`%all-reduce.7 = f32[8] …`, as TPUs write it, -> `all-reduce.7`."""
    return name.partition(" = ")[0].removeprefix("%")


def possible_instructions(event: str) -> tuple[str, str]:
    """The names that an event's instruction may have in its program: `call.1::fusion.3`
    is `fusion.3` where ops nest.
    """
    whole = event.partition(" = ")[0].strip().removeprefix("%")
    return whole, whole.rpartition("::")[2]


def kernel_of_instruction(instruction: str) -> str:
    """The kernel's name that XLA makes of an instruction's: `loop_add_fusion.3` ->
    `loop_add_fusion_3`.
    """
    return instruction.replace(".", "_").replace("-", "_")


def is_done_half(name: str) -> bool:
    """Whether an op waits for another one that was started before, as
    `all-reduce-done.1` does.
    """
    return _DONE in instruction_name(name)


def done_half(name: str) -> str:
    """`all-reduce-start.1` -> `all-reduce-done.1`, `recv.2` -> `recv-done.2`: the op
    that waits for it.
    """
    return _SENDS.sub(r"\1-done", instruction_name(name).replace(_START, _DONE, 1))


def is_span(name: str, op: str) -> bool:
    """Whether an event shows an asynchronous op from its start to its end, as a TPU's
    line of these does: it is called after the start, `%copy-start.1 = …`, and belongs
    to the op that waits for it.
    """
    return bool(op) and _START in instruction_name(name) and done_half(name) == op


def device_class(name: str) -> DeviceClass:
    """The class of one kernel or copy on a GPU stream, by its name alone."""
    upper = name[:32].upper()
    if upper.startswith(_NO_WORK_STARTS):
        return DeviceClass.NO_WORK
    for found, starts in _COPY_STARTS:
        if upper.startswith(starts):
            return found
    return (
        DeviceClass.COMPUTE
        if kernel_collective(name) is None and op_collective(name) is None
        else DeviceClass.COLLECTIVE
    )


def is_whole_graph(name: str) -> bool:
    """Whether a GPU's event stands for all kernels of a CUDA graph, whose names the
    trace then lacks.
    """
    return name.startswith(_WHOLE_GRAPH)


def is_command_buffer(op: str) -> bool:
    """Whether an op stands for all kernels of a command buffer, XLA's word for a CUDA
    graph: `command_buffer_1`.
    """
    return op.startswith(("command_buffer", "command-buffer"))


def opcode_and_effect(category: str) -> tuple[str, str]:
    """`convolution fusion` -> `fusion`, ""; `transpose` -> `transpose`, `copy`: of ops
    that only move data, and of those that are no fusions, the opcode that makes the
    result is known."""
    effect = (
        "copy" if category in MOVING_CATEGORIES else "" if " " in category else category
    )
    return "".join(category.split()[-1:]), effect


def hlo_class(name: str, category: str = "") -> DeviceClass:
    """The class of one XLA op by its HLO name: `psum.7` communicates, `copy-start`
    copies, `infeed` waits.

    category: what the profiler sorts the op into (`all-gather fusion`), "" where it
    does not say. It decides before the name.
    """
    if any(word in category for word in _EXCHANGES):
        return DeviceClass.COLLECTIVE
    if _is_computation(category):
        exchanges = called_collective(name) is not None
        return DeviceClass.COLLECTIVE if exchanges else DeviceClass.COMPUTE
    if op_collective(name) is not None:
        return DeviceClass.COLLECTIVE
    bare = name.removeprefix("%")
    if bare.startswith("infeed"):
        return DeviceClass.INFEED
    if bare.startswith("outfeed"):
        return DeviceClass.OTHER_COPY
    return _direction(bare) if _is_copy(bare) else DeviceClass.COMPUTE


def _is_computation(category: str) -> bool:
    if category.endswith("fusion"):
        return True
    return bool(category) and _COMPUTES.issuperset(category.split())


def _is_copy(name: str) -> bool:
    if name.startswith(_COPY_HLO):
        return True
    return _HOST_MEMORY in name and _HOST_SLICES.match(name) is not None


def _direction(name: str) -> DeviceClass:
    """Of `copy-start.1 = (f32[8]{0:T(8)S(5)}, f32[8]{0:T(8)}, u32[]) …`, target first:
    XLA's memory space 5 is the host's. Who waits for a copy within the chip waits for
    memory, as every op that reads some does."""
    if _HOST_SLICES.match(name):
        return DeviceClass.D2H if name.startswith("dynamic-update") else DeviceClass.H2D
    if name.startswith(_COPY_HLO[1]) and _ON_CHIP in name:
        return DeviceClass.COMPUTE
    result = name.partition(" = ")[2]
    ends = (result[1:] if result.startswith("(") else result.partition("((")[2]).split(
        "}, "
    )
    if len(ends) < 2:
        return DeviceClass.OTHER_COPY
    to_host, from_host = _HOST_MEMORY in ends[0], _HOST_MEMORY in ends[1]
    if to_host == from_host:
        return DeviceClass.OTHER_COPY if to_host else DeviceClass.D2D
    return DeviceClass.D2H if to_host else DeviceClass.H2D


_OPERANDS = re.compile(r"^\(\(.*?[}\]]\), ")
"""In the result of an op that starts: what it works on, in front of what it makes."""
_ARRAY = re.compile(r"^(?:pred|[a-z]{1,4}(\d{1,3})\w{0,12})\[([\d,]*)\]")
"""An array's type and dimensions: `bf16[8,128]`, `f8e4m3fn[4096]`."""


def copied_bytes(instruction: str) -> int:
    """What `%copy-start.1 = (f32[8,128]{…}, …) copy-start(…)` copies, without padding;
    -1 where no shape stands there.
    """
    result = _OPERANDS.sub("", instruction.partition(" = ")[2])
    found = _ARRAY.match(result.lstrip("("))
    if found is None:
        return -1
    bits = number_of(found.group(1) or "8") or 0
    sides = [side for side in found.group(2).split(",") if side]
    return -(-_elements(sides) * bits // 8)


def _elements(sides: Iterable[str]) -> int:
    return prod(number_of(side) or 0 for side in sides)


_MOST_OPERANDS = 8
"""Operands that are looked at."""
_BESIDE = 0.05
"""Operations of a fusion beside its product's, as a share of these."""


class ProvenProduct(NamedTuple):
    """An m×k matrix times a k×n one, of numbers of a type."""

    dtype: str
    m: int
    n: int
    k: int


_RESULT_AND_OPERANDS = re.compile(r"^(\S+) [a-z][\w-]*\((.*?)\)(?:, |$)")
_TYPED = re.compile(r"\b(pred|[a-z]{1,4}\d{1,3}\w{0,12})\[([\d,]+)\]")


def proven_product(instruction: str, flops: int) -> ProvenProduct | None:
    """What an instruction multiplies whose own shapes and number of operations prove
    it: two operands of m·k and k·n elements, m·n in the result, and hardly more
    operations than 2·m·n·k. None else.
    """
    found = _RESULT_AND_OPERANDS.match(instruction.partition(" = ")[2])
    result = _TYPED.match(found[1]) if found else None
    if found is None or result is None:
        return None
    sides = result[2].split(",")
    made = _elements(sides)
    last = number_of(sides[-1]) or 0
    operands = [
        (kind, _elements(text.split(","))) for kind, text in _TYPED.findall(found[2])
    ]
    for operand, other in permutations(operands[:_MOST_OPERANDS], 2):
        dtype, left = operand
        _, right = other
        k = _common_side(made, last, left, right)
        least = 2 * made * k
        if k and least <= flops <= least * (1 + _BESIDE):
            return ProvenProduct(dtype, left // k, right // k, k)
    return None


def _common_side(
    made: int,
    last: int,
    left: int,
    right: int,
) -> int:
    """k of operands with so many elements whose product has `made`, and rows of `last`;
    0 where these numbers do not go together.
    """
    k = isqrt(left * right // made) if made else 0
    if not k or k * k * made != left * right:
        return 0
    return 0 if left % k or right // k % last else k


def awaited_start(name: str) -> str:
    """The op that `%async-done.3 = f32[8] async-done(%async-start.3)` waits for, "" for
    all but such ends.
    """
    inside = name.partition(" async-done(")[2].partition(")")[0]
    return inside.rpartition("%")[2]


@lru_cache(maxsize=2)  # asked for each op
def exchanging_starts(names: tuple[str, ...]) -> frozenset[str]:
    """The ops among whole instructions that start another computation which exchanges
    data: `async-start.3`.
    """
    starts = (name for name in names if " async-start(" in name)
    return frozenset(
        instruction_name(name) for name in starts if op_collective(name) is not None
    )


def is_control_flow(hlo_name: str) -> bool:
    """Whether an XLA op's name is that of a loop, a branch or a call, whose event
    covers its children's.
    """
    return op_stem(hlo_name) in _CONTROL_FLOW_HLO


def is_for_games(model: str) -> bool:
    """Whether a GPU is a card for games, which sums 16-bit products at half the speed
    of the others of its generation.
    """
    return "geforce" in model.lower()


_MODELS = (
    ("nvidia", (6, 0), 56, (12, 17), "Tesla P100"),
    ("nvidia", (7, 0), 80, (16, 34), "Tesla V100"),
    ("nvidia", (7, 5), 40, (14, 17), "Tesla T4"),
    ("nvidia", (8, 0), 108, (39, 86), "NVIDIA A100"),
    ("nvidia", (8, 6), 80, (22, 25), "NVIDIA A10G"),
    ("nvidia", (8, 6), 84, (44, 52), "NVIDIA A40"),
    ("nvidia", (8, 9), 58, (22, 25), "NVIDIA L4"),
    ("nvidia", (8, 9), 142, (44, 52), "NVIDIA L40S"),
    ("nvidia", (9, 0), 114, (79, 86), "NVIDIA H100 PCIe"),
    ("nvidia", (9, 0), 132, (79, 86), "NVIDIA H100"),
    ("nvidia", (9, 0), 132, (139, 152), "NVIDIA H200"),
    ("amd", (9, 0), 104, (31, 35), "AMD Instinct MI210"),
    ("amd", (9, 4), 228, (126, 138), "AMD Instinct MI300A"),
    ("amd", (9, 4), 304, (190, 210), "AMD Instinct MI300X"),
    ("amd", (9, 4), 304, (255, 280), "AMD Instinct MI325X"),
)
"""Maker, compute capability or architecture, multiprocessors or compute units, memory
in GB (least, most), model.
"""


def gpu_model(
    maker: str,
    capability: tuple[int, int],
    cores: float | None,
    memory_bytes: float | None,
) -> str:
    """The model that the four describe, "" where none or several do. maker: in lower
    case.
    """
    gigabytes = (memory_bytes or 0.0) / 1e9
    fitting = [
        model
        for of, version, number, (least, most), model in _MODELS
        if (of, version, number) == (maker, capability, cores)
        and least <= gigabytes <= most
    ]
    return fitting[0] if len(fitting) == 1 else ""


# What the drivers' collectors say of copies, and what allocators call themselves and
# their events.


PAGEABLE = "pageable"
PINNED = "pinned"
ON_DEVICE = frozenset({"device", "array", "managed"})
"""Kinds of memory that need no memory of the host."""

_BYTES = re.compile(r"(?:^|[\s\n])(?:size|num_bytes):(\d+)")
"""CUPTI's collector writes `size:`, others `num_bytes:`."""
_MEMORY = re.compile(r"kind_(?:src|dst):(\w+)")
"""The kind of memory at either end."""
_DIRECTIONS = (
    (DeviceClass.H2D, ("HtoD", "H2D", "HostToDevice")),
    (DeviceClass.D2H, ("DtoH", "D2H", "DeviceToHost")),
    (DeviceClass.P2P, ("PtoP", "P2P", "Peer")),
    (DeviceClass.D2D, ("DtoD", "D2D", "DeviceToDevice")),
)
"""In the names of CUDA's and HIP's calls."""


def copy_bytes(details: str) -> int:
    """Bytes of a copy from its detail string (`size:` or `num_bytes:`, split by spaces
    or newlines); -1 if not there.
    """
    match = _BYTES.search(details)
    found = number_of(match.group(1)) if match else None
    return -1 if found is None else found


def memory_kinds(details: str) -> tuple[str, ...]:
    """The kinds of memory at a copy's ends, from its `kind_src:` and `kind_dst:`:
    ("pageable", "device").
    """
    return tuple(_MEMORY.findall(details.lower()))


def direction_of(call: str) -> DeviceClass:
    """Which way the copy goes that a call of this name launches; OTHER_COPY where the
    name does not say.
    """
    return next(
        (kind for kind, words in _DIRECTIONS if any(word in call for word in words)),
        DeviceClass.OTHER_COPY,
    )


ALLOCATION = "MemoryAllocation"
"""TensorFlow's and XLA's allocators giving out memory."""
ALLOCATOR_EVENTS = (ALLOCATION, "MemoryDeallocation")
"""Events that bear an allocator's statistics."""
_HOST_ALLOCATORS = ("cpu", "mklcpu", "host", "pinned", "gpu_host")
"""Parts of the names of allocators of the host's memory."""
_DEVICE_ALLOCATOR = re.compile(
    r"^(?:[G\0]PU_\d+_bfc|GPU_\d+\b|gpu_async_\d+|cuda_malloc_async|TPU_\d+)",
    re.IGNORECASE,
)
"""Names of allocators of an accelerator's memory: `gpu_host_bfc` is none. TensorFlow
for Windows writes `GPU_0_bfc` with a zero byte in place of its first letter.
"""


def is_host_allocator(name: str) -> bool:
    """Whether an allocator gives out the host's memory."""
    return any(word in name.lower() for word in _HOST_ALLOCATORS)


def is_device_allocator(name: str) -> bool:
    """Whether an allocator gives out memory of an accelerator, which proves that one
    was used: `GPU_0_bfc`.
    """
    return _DEVICE_ALLOCATOR.match(name) is not None


def allocator_in_words(name: str) -> str:
    """An allocator's name with the first letter that TensorFlow for Windows loses."""
    return "G" + name[1:] if name.startswith("\0") else name
