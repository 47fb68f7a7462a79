"""Models of GPUs that a trace describes without a name."""

from __future__ import annotations

import pytest

from tfadvisor.timeline.names.device_events import gpu_model


@pytest.mark.parametrize(
    ("maker", "capability", "cores", "memory", "model"),
    [
        ("nvidia", (7, 5), 40, 15_843_721_216, "Tesla T4"),
        ("nvidia", (7, 0), 80, 16_945_512_448, "Tesla V100"),
        ("amd", (9, 4), 304, 206_141_652_992, "AMD Instinct MI300X"),
        ("nvidia", (9, 0), 132, 85_028_896_768, "NVIDIA H100"),
        ("nvidia", (9, 0), 132, 150_754_820_096, "NVIDIA H200"),
        ("nvidia", (7, 5), 48, 15_843_721_216, ""),
        ("amd", (7, 5), 40, 15_843_721_216, ""),
        ("nvidia", (7, 5), 40, None, ""),
        ("nvidia", (0, 0), None, None, ""),
    ],
)
def test_capability_multiprocessors_and_memory_tell_the_model(
    maker: str,
    capability: tuple[int, int],
    cores: float | None,
    memory: float | None,
    model: str,
) -> None:
    assert gpu_model(maker, capability, cores, memory) == model
