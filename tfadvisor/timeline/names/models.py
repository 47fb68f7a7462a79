"""What accelerators can do at most, by the names that traces give them.

Operations are dense, not of sparse matrices; a multiply and an add count two. Sums of
16-bit products are kept in fp32, as frameworks ask for: GeForce cards multiply half as
fast then.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import msgspec


class Model(msgspec.Struct, frozen=True):
    """Of one device as frameworks count them, None where its maker does not say. A
    MI250 is two devices.

    bf16, fp8, tf32, fp32: 10¹² operations a second, fp32 on ordinary cores but AMD's,
    which multiply fp32 matrices faster. bandwidth: of its memory, nvlink: both ways
    between GPUs that are sold as linked, without bridges; 10⁹ bytes a second. source:
    the document.
    """

    bf16: float | None
    fp8: float | None
    tf32: float | None
    fp32: float | None
    bandwidth: float | None
    nvlink: float | None
    source: str


_MAKERS = ("nvidia", "amd", "tpu")
_SAYS_NOTHING = re.compile(
    r"^(?:geforce|instinct|tesla|quadro|jetson|agx|oam|vf|gpu|blackwell|workstation|edition|generation|sxm\d?|hbm\d?e?|\d+gb|d?gx|480gb)$"
)
"""Words of a name that tell no model: brands, memory, socket. What is left must be a
row of the table as a whole, so that a `RTX 4090 Laptop GPU` or a slice of a H100 is
none of them."""


class Multiprocessor(msgspec.Struct, frozen=True):
    """Of an NVIDIA GPU: 16-bit operations a cycle, of cards for games too; warps,
    blocks and KiB of shared memory it holds.
    """

    per_cycle: int
    for_games: int
    warps: int
    blocks: int
    kibibytes: int


def _rows(file: str) -> list[list[str]]:
    lines = Path(__file__).with_name(file).read_text(encoding="utf-8").splitlines()[1:]
    return [[part.strip() for part in line.split("|")] for line in lines]


@cache
def multiprocessors() -> Mapping[tuple[int, ...], Multiprocessor]:
    """`multiprocessors.txt`, by compute capability."""
    return {
        tuple(map(int, version.split("."))): Multiprocessor(*map(int, rest))
        for version, *rest in _rows("multiprocessors.txt")
    }


_VOLTA = (7, 0)
_TURING = (7, 5)
_FEWEST = 30
"""Multiprocessors of the smallest chip of compute capability 7.5 that has Tensor Cores,
a RTX 2060's. The GTX 16xx, MX450 and T400 to T1200 of the same generation have 12 to 24
(NVIDIA's Turing white paper, and the makers' pages of the TU116 and TU117).
"""
_WITHOUT = re.compile(
    r"\bgtx\b|\bgt \d|\bmx ?[1-4]\d0\b|\bmx ?550\b|\btitan xp?\b|\b[kmp]\d{1,4}m?\b"
    r"|\bt(?:400|500|550|600|1000|1200|2000)\b"
)
"""Names of NVIDIA's cards without Tensor Cores: `GeForce GTX 1660 Ti`, `Tesla P100`."""


def has_tensor_cores(
    name: str,
    capability: tuple[int, int],
    multiprocessors: float | None,
) -> bool | None:
    """Whether an NVIDIA GPU has Tensor Cores; None where the trace does not tell.

    capability: of CUDA, zeros where it is not known.
    """
    if _WITHOUT.search(name.lower()):
        return False
    if capability == (0, 0):
        return None
    if capability == _TURING:
        return multiprocessors >= _FEWEST if multiprocessors else None
    return capability >= _VOLTA


@cache
def _models() -> Mapping[tuple[str, ...], Model]:
    """`models.txt`, by the words of a name."""
    found = {}
    for name, *numbers, source in _rows("models.txt"):
        bf16, fp8, tf32, fp32, bandwidth, nvlink = (
            None if number == "-" else float(number) for number in numbers
        )
        found[tuple(name.split())] = Model(
            bf16,
            fp8,
            tf32,
            fp32,
            bandwidth,
            nvlink,
            source,
        )
    return found


def known_model(name: str) -> Model | None:
    """What is known of a device by its name, `NVIDIA H100 80GB HBM3`; None for all
    others.
    """
    words = [
        part
        for part in re.split(r"[\s_/-]+|(?<=^tpu)(?=\d)", name.lower())
        if part and not _SAYS_NOTHING.match(part)
    ]
    if words and words[0] not in _MAKERS:
        words.insert(0, "amd" if words[0].startswith("mi") else "nvidia")
    return _models().get(tuple(words))
