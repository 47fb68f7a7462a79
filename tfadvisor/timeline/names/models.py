"""What accelerators can do at most, by the names that traces give them.

Operations are dense, not of sparse matrices; a multiply and an add count two. Sums of 16-bit products are kept in fp32, as
frameworks ask for: GeForce cards multiply half as fast then.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

import msgspec


class Model(msgspec.Struct, frozen=True):
    """Of one device as frameworks count them, None where its maker does not say. A MI250 is two devices.

    bf16, fp8, tf32, fp32: 10¹² operations a second, fp32 on ordinary cores but AMD's, which multiply fp32 matrices faster.
    bandwidth: of its memory, 10⁹ bytes a second. source: the document.
    """

    bf16: float | None
    fp8: float | None
    tf32: float | None
    fp32: float | None
    bandwidth: float | None
    source: str


_TABLE = """
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
tpu v7x                 | 1153.5 | 2307   |   -    |   -   | 3690 | Google Cloud TPU documentation, TPU7x: two devices a chip
tpu 7x                  | 1153.5 | 2307   |   -    |   -   | 3690 | Google Cloud TPU documentation, TPU7x: two devices a chip
"""
"""Maker and model | bf16 (fp16 before Ampere) | fp8 | TF32 | fp32 | bandwidth | source."""
_MAKERS = ("nvidia", "amd", "tpu")
_SAYS_NOTHING = re.compile(
    r"^(?:geforce|instinct|tesla|quadro|jetson|agx|oam|vf|gpu|blackwell|workstation|edition|generation|sxm\d?|hbm\d?e?|\d+gb|d?gx|480gb)$"
)
"""Words of a name that tell no model: brands, memory, socket. What is left must be a row of the table as a whole, so that a
`RTX 4090 Laptop GPU` or a slice of a H100 is none of them."""


@cache
def _models() -> Mapping[tuple[str, ...], Model]:
    found = {}
    for line in _TABLE.strip().splitlines():
        name, *numbers, source = (one.strip() for one in line.split("|"))
        bf16, fp8, tf32, fp32, bandwidth = (None if one == "-" else float(one) for one in numbers)
        found[tuple(name.split())] = Model(bf16, fp8, tf32, fp32, bandwidth, source)
    return found


def known_model(name: str) -> Model | None:
    """What is known of a device by its name, `NVIDIA H100 80GB HBM3`; None for all others."""
    words = [one for one in re.split(r"[\s_/-]+", name.lower()) if one and not _SAYS_NOTHING.match(one)]
    if words and words[0] not in _MAKERS:
        words.insert(0, "amd" if words[0].startswith("mi") else "nvidia")
    return _models().get(tuple(words))
