"""What a device does, by the name of its event, and which GPU it is, by what its plane states where nobody names it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache

import msgspec

from tfadvisor.timeline.names.classes import DeviceClass
from tfadvisor.timeline.names.collectives import called_collective, kernel_collective, op_collective, op_stem

_COPY_STARTS = (
    (DeviceClass.H2D, ("MEMCPYH2D", "MEMCPYHTOD", "MEMCPY_H2D", "MEMCPY_HTOD", "COPYHOSTTODEVICE")),
    (DeviceClass.D2H, ("MEMCPYD2H", "MEMCPYDTOH", "MEMCPY_D2H", "MEMCPY_DTOH", "COPYDEVICETOHOST")),
    (DeviceClass.D2D, ("MEMCPYD2D", "MEMCPYDTOD", "MEMCPY_D2D", "MEMCPY_DTOD", "COPYDEVICETODEVICE")),
    (DeviceClass.P2P, ("MEMCPYP2P", "MEMCPYPTOP", "MEMCPY_P2P", "MEMCPY_PTOP", "COPYPEERTOPEER")),
    (DeviceClass.OTHER_COPY, ("MEMCPY", "COPYBUFFER", "__AMD_ROCCLR_COPYBUFFER")),
    (DeviceClass.MEMSET, ("MEMSET", "__AMD_ROCCLR_FILLBUFFER")),
)
"""Copies and fills on a GPU's stream, CUDA's and AMD's, in capitals."""
_NO_WORK_STARTS = ("UM_", "UNIFIEDMEMORY", "MEMORY ", "MEMORYALLOC", "MEMORYFREE", "MEMORYRESIDENCY")
"""CUPTI's records of memory that is allocated, lies or moves by page faults, in capitals: `UM_GPU_PAGE_FAULT`, `Memory Array`."""
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
"""In the categories of ops that exchange data between devices or wait for others, as XProf's."""
_COMPUTES = """
    convolution data formatting broadcast concatenate dynamic-slice dynamic-update-slice gather scatter pad reverse select
    select-and-scatter slice sort reduce reduce-window copy iota rng rng-bit-generator cholesky triangular-solve fft non-fusion
    elementwise
""".split()
"""Words that categories of ops on the core consist of, beside those that end in `fusion`."""
_CONTROL_FLOW_HLO = ("while", "conditional", "call")
"""HLO opcodes whose event covers those of their body."""
_COPY_HLO = ("copy-start", "copy-done")
"""HLO opcodes of copies that run beside other ops."""
_START, _DONE = "-start", "-done"
_HOST_MEMORY = "S(5)"
"""XLA's memory space of the host, in a layout."""


def instruction_name(name: str) -> str:
    """`%all-reduce.7 = f32[8] …`, as TPUs write it, -> `all-reduce.7`."""
    return name.partition(" = ")[0].removeprefix("%")


def possible_instructions(event: str) -> tuple[str, str]:
    """The names that an event's instruction may have in its program: `call.1::fusion.3` is `fusion.3` where ops nest."""
    whole = event.partition(" = ")[0].strip().removeprefix("%")
    return whole, whole.rpartition("::")[2]


def kernel_of_instruction(instruction: str) -> str:
    """The kernel's name that XLA makes of an instruction's: `loop_add_fusion.3` -> `loop_add_fusion_3`."""
    return instruction.replace(".", "_").replace("-", "_")


def is_done_half(name: str) -> bool:
    """Whether an op waits for another one that was started before, as `all-reduce-done.1` does."""
    return _DONE in instruction_name(name)


def done_half(name: str) -> str:
    """`all-reduce-start.1` -> `all-reduce-done.1`, the op that waits for it."""
    return instruction_name(name).replace(_START, _DONE, 1)


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
    """Whether a GPU's event stands for all kernels of a CUDA graph, whose names the trace then lacks."""
    return name.startswith(_WHOLE_GRAPH)


def is_command_buffer(op: str) -> bool:
    """Whether an op stands for all kernels of a command buffer, XLA's word for a CUDA graph: `command_buffer_1`."""
    return op.startswith(("command_buffer", "command-buffer"))


def hlo_class(name: str, category: str = "") -> DeviceClass:
    """The class of one XLA op by its HLO name: `psum.7` communicates, `copy-start` copies, `infeed` waits.

    category: what the profiler sorts the op into (`all-gather fusion`), "" where it does not say. It decides before the name.
    """
    if any(word in category for word in _EXCHANGES):
        return DeviceClass.COLLECTIVE
    if category.endswith("fusion") or (category and set(category.split()) <= set(_COMPUTES)):
        return DeviceClass.COMPUTE if called_collective(name) is None else DeviceClass.COLLECTIVE
    if op_collective(name) is not None:
        return DeviceClass.COLLECTIVE
    bare = name.removeprefix("%")
    if bare.startswith("infeed"):
        return DeviceClass.INFEED
    if bare.startswith(_COPY_HLO):
        return _direction(bare)
    return DeviceClass.OTHER_COPY if bare.startswith("outfeed") else DeviceClass.COMPUTE


def _direction(name: str) -> DeviceClass:
    """Of `copy-start.1 = (f32[8]{0:T(8)S(5)}, f32[8]{0:T(8)}, u32[]) …`, target first: XLA's memory space 5 is the host's."""
    result = name.partition(" = ")[2]
    ends = (result[1:] if result.startswith("(") else result.partition("((")[2]).split("}, ")
    if len(ends) < 2:
        return DeviceClass.OTHER_COPY
    to_host, from_host = _HOST_MEMORY in ends[0], _HOST_MEMORY in ends[1]
    if to_host == from_host:
        return DeviceClass.OTHER_COPY if to_host else DeviceClass.D2D
    return DeviceClass.D2H if to_host else DeviceClass.H2D


def awaited_start(name: str) -> str:
    """The op that `%async-done.3 = f32[8] async-done(%async-start.3)` waits for, "" for all but such ends."""
    inside = name.partition(" async-done(")[2].partition(")")[0]
    return inside.rpartition("%")[2]


@lru_cache(maxsize=2)  # asked for each op
def exchanging_starts(names: tuple[str, ...]) -> frozenset[str]:
    """The ops among whole instructions that start another computation which exchanges data: `async-start.3`."""
    starts = (name for name in names if " async-start(" in name)
    return frozenset(instruction_name(name) for name in starts if op_collective(name) is not None)


def is_control_flow(hlo_name: str) -> bool:
    """Whether an XLA op's name is that of a loop, a branch or a call, whose event covers its children's."""
    return op_stem(hlo_name) in _CONTROL_FLOW_HLO


def is_for_games(model: str) -> bool:
    """Whether a GPU is a card for games, which sums 16-bit products at half the speed of the others of its generation."""
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
"""Maker, compute capability or architecture, multiprocessors or compute units, memory in GB (least, most), model."""


def gpu_model(maker: str, capability: tuple[int, int], cores: float | None, memory_bytes: float | None) -> str:
    """The model that the four describe, "" where none or several do. maker: in lower case."""
    gigabytes = (memory_bytes or 0.0) / 1e9
    fitting = [
        model
        for of, version, number, (least, most), model in _MODELS
        if (of, version, number) == (maker, capability, cores) and least <= gigabytes <= most
    ]
    return fitting[0] if len(fitting) == 1 else ""


class Model(msgspec.Struct, frozen=True):
    """What a device can do at most, as frameworks count devices (a MI250 is two), None where its maker does not say.

    Operations are dense, not of sparse matrices; a multiply and an add count two. Sums of 16-bit products are kept in fp32, as
    frameworks ask for: GeForce cards multiply half as fast then.

    bf16, fp8, tf32, fp32: 10¹² operations a second, fp32 on ordinary cores but AMD's, which multiply fp32 matrices faster.
    bandwidth: of its memory, 10⁹ bytes a second. source: the document.
    """

    bf16: float | None
    fp8: float | None
    tf32: float | None
    fp32: float | None
    bandwidth: float | None
    source: str


_PEAKS_TABLE = """
nvidia v100             |  125   |   -    |   -    |  15.7 |  900 | NVIDIA V100 data sheet
nvidia v100 pcie        |  112   |   -    |   -    |  14.0 |  900 | NVIDIA V100 data sheet
nvidia t4               |   65   |   -    |   -    |   8.1 |  320 | NVIDIA T4 data sheet
nvidia a100             |  312   |   -    |  156   |  19.5 | 1555 | NVIDIA A100 data sheet
nvidia a100 pcie        |  312   |   -    |  156   |  19.5 | 1555 | NVIDIA A100 data sheet
nvidia a30              |  165   |   -    |   82   |  10.3 |  933 | NVIDIA A30 data sheet
nvidia a10              |  125   |   -    |   62.5 |  31.2 |  600 | NVIDIA A10 data sheet
nvidia a10g             |   70   |   -    |   35   |  31.5 |  600 | NVIDIA A10G data sheet
nvidia a40              |  149.7 |   -    |   74.8 |  37.4 |  696 | NVIDIA A40 data sheet
nvidia rtx a6000        |  154.8 |   -    |   77.4 |  38.7 |  768 | NVIDIA Ampere GA102 white paper
nvidia l4               |  121   |  242.5 |   60   |  30.3 |  300 | NVIDIA L4 data sheet
nvidia l40              |  181   |  362   |   90.5 |  90.5 |  864 | NVIDIA L40 data sheet
nvidia l40s             |  362   |  733   |  183   |  91.6 |  864 | NVIDIA L40S data sheet
nvidia rtx 6000 ada     |  364.2 |  728.5 |  182.1 |  91.1 |  960 | NVIDIA Ada GPU Architecture white paper
nvidia h100             |  989.4 | 1978.9 |  494.7 |  66.9 | 3350 | NVIDIA H100 Tensor Core GPU Architecture white paper
nvidia h100 pcie        |  756   | 1513   |  378   |  51.2 | 2039 | NVIDIA H100 Tensor Core GPU Architecture white paper
nvidia h100 nvl         |  835.5 | 1670.5 |  417.5 |  60   | 3900 | NVIDIA H100 data sheet
nvidia h800             |  989.4 | 1978.9 |  494.7 |  66.9 | 3350 | NVIDIA H800 data sheet
nvidia h200             |  989.4 | 1978.9 |  494.7 |  66.9 | 4800 | NVIDIA H200 data sheet
nvidia h200 nvl         |  835.5 | 1670.5 |  417.5 |  60   | 4800 | NVIDIA H200 data sheet
nvidia gh200            |  989.4 | 1978.9 |  494.7 |  66.9 | 4000 | NVIDIA GH200 data sheet
nvidia h20              |  148   |  296   |   74   |  44   | 4000 | NVIDIA H20 data sheet
nvidia b200             | 2250   | 4500   | 1125   |  75   | 8000 | NVIDIA HGX B200 data sheet, an eighth
nvidia gb200            | 2500   | 5000   | 1250   |  80   | 8000 | NVIDIA GB200 NVL72 data sheet, half of a superchip
nvidia b300             | 2250   | 4500   | 1125   |  75   | 8000 | NVIDIA HGX B300 data sheet, an eighth
nvidia gb300            | 2500   | 5000   | 1250   |  80   | 8000 | NVIDIA GB300 NVL72 data sheet, a seventy-second
nvidia gb10             |    -   |    -   |    -   |    -  |  273 | NVIDIA DGX Spark data sheet
nvidia thor             |    -   |    -   |    -   |    -  |  273 | NVIDIA Jetson Thor data sheet
nvidia orin             |   42.5 |    -   |    -   |   5.3 | 204.8 | NVIDIA Jetson AGX Orin data sheet: 85 of sparse matrices
nvidia rtx 2080 ti      |   53.8 |   -    |   -    |  13.4 |  616 | NVIDIA Turing GPU Architecture white paper
nvidia rtx 3080         |   59.5 |   -    |   29.8 |  29.8 |  760 | NVIDIA Ampere GA102 white paper
nvidia rtx 3090         |   71   |   -    |   35.6 |  35.6 |  936 | NVIDIA Ampere GA102 white paper
nvidia rtx 4080         |   97.5 |  194.9 |   48.7 |  48.7 |  716.8 | NVIDIA Ada GPU Architecture white paper
nvidia rtx 4090         |  165.2 |  330.3 |   82.6 |  82.6 | 1008 | NVIDIA Ada GPU Architecture white paper
nvidia rtx 5070         |   61.7 |  123.5 |   30.9 |  30.9 |  672 | NVIDIA RTX Blackwell GPU Architecture white paper
nvidia rtx 5070 ti      |   87.9 |  175.8 |   43.9 |  43.9 |  896 | NVIDIA RTX Blackwell GPU Architecture white paper
nvidia rtx 5080         |  112.6 |  225.1 |   56.3 |  56.3 |  960 | NVIDIA RTX Blackwell GPU Architecture white paper
nvidia rtx 5090         |  209.5 |  419   |  104.8 | 104.8 | 1792 | NVIDIA RTX Blackwell GPU Architecture white paper
nvidia rtx pro 6000     |  503.8 | 1007.6 |  251.9 | 126   | 1792 | NVIDIA RTX PRO Blackwell GPU Architecture white paper
amd mi100               |   92.3 |   -    |   -    |  46.1 | 1228.8 | AMD Instinct MI100 data sheet
amd mi210               |  181   |   -    |   -    |  45.3 | 1638.4 | AMD Instinct MI210 data sheet
amd mi250               |  181   |   -    |   -    |  45.3 | 1638.4 | AMD Instinct MI250 data sheet, a half
amd mi250x              |  191.5 |   -    |   -    |  47.9 | 1638.4 | AMD Instinct MI250X data sheet, a half
amd mi300a              |  980.6 | 1961.2 |  490.3 | 122.6 | 5300 | AMD Instinct MI300A data sheet
amd mi300x              | 1307.4 | 2614.9 |  653.7 | 163.4 | 5300 | AMD Instinct MI300X data sheet
amd mi325x              | 1307.4 | 2614.9 |  653.7 | 163.4 | 6000 | AMD Instinct MI325X data sheet
amd mi350x              | 2306.9 | 4613.7 |   -    | 144.2 | 8000 | AMD Instinct MI350X data sheet
amd mi355x              | 2516.6 | 5033.2 |   -    | 157.3 | 8000 | AMD Instinct MI355X data sheet
tpu v4                  |  275   |   -    |   -    |   -   | 1228 | Google Cloud TPU documentation, v4
tpu v5e                 |  197   |   -    |   -    |   -   |  819 | Google Cloud TPU documentation, v5e
tpu v5 lite             |  197   |   -    |   -    |   -   |  819 | Google Cloud TPU documentation, v5e
tpu v5p                 |  459   |   -    |   -    |   -   | 2765 | Google Cloud TPU documentation, v5p
tpu v5                  |  459   |   -    |   -    |   -   | 2765 | Google Cloud TPU documentation, v5p
tpu v6e                 |  918   |   -    |   -    |   -   | 1640 | Google Cloud TPU documentation, v6e
tpu v6 lite             |  918   |   -    |   -    |   -   | 1640 | Google Cloud TPU documentation, v6e
tpu v7x                 | 1153.5 | 2307   |   -    |   -   | 3690 | Google Cloud TPU documentation, TPU7x, half a chip
tpu 7x                  | 1153.5 | 2307   |   -    |   -   | 3690 | Google Cloud TPU documentation, TPU7x, half a chip
"""
"""Maker and model | bf16 (fp16 before Ampere) | fp8 | TF32 | fp32 | bandwidth | source."""
_MAKERS = ("nvidia", "amd", "tpu")
_SAYS_NOTHING = re.compile(
    r"^(?:geforce|instinct|tesla|quadro|jetson|agx|oam|vf|gpu|blackwell|workstation|edition|generation|sxm\d?|hbm\d?e?|\d+gb|d?gx|480gb)$"
)
"""Words of a name that tell no model: brands, memory, socket. What is left must be a row of the table as a whole, so that a
`RTX 4090 Laptop GPU` or a slice of a H100 is none of them."""


@cache
def _models_by_name() -> Mapping[tuple[str, ...], Model]:
    found = {}
    for line in _PEAKS_TABLE.strip().splitlines():
        name, *numbers, source = (one.strip() for one in line.split("|"))
        bf16, fp8, tf32, fp32, bandwidth = (None if one == "-" else float(one) for one in numbers)
        found[tuple(name.split())] = Model(bf16, fp8, tf32, fp32, bandwidth, source)
    return found


def known_model(name: str) -> Model | None:
    """What is known of a device by its name, `NVIDIA H100 80GB HBM3`; None for all others."""
    words = [one for one in re.split(r"[\s_/-]+", name.lower()) if one and not _SAYS_NOTHING.match(one)]
    if words and words[0] not in _MAKERS:
        words.insert(0, "amd" if words[0].startswith("mi") else "nvidia")
    return _models_by_name().get(tuple(words))
