"""Facts that several rooms share, each with its one home."""

from __future__ import annotations

from enum import Enum


class DeviceKind(Enum):
    """What a run computes on. The order is that of precedence: a run with GPUs and a CPU computes on GPUs."""

    GPU = "gpu"
    TPU = "tpu"
    CPU = "cpu"
    """The cores of a run without an accelerator."""
