"""GPUs by what a plane states of them, for traces that do not name the model: TensorFlow's until 2.4, and all of AMD's.

The numbers of multiprocessors and the sizes of memory are the makers' own, from their data sheets; one model may come with
several sizes, and some share both numbers, so memory decides.
"""

from __future__ import annotations

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
