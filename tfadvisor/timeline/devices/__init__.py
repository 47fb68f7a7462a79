"""What the devices do: GPUs, TPUs, and the cores of a run without either."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tfadvisor.timeline.devices.collective_calls import CollectiveCalls
    from tfadvisor.timeline.devices.device_kinds import peaks_of
    from tfadvisor.timeline.devices.gpu import capability, vendor
    from tfadvisor.timeline.devices.protocol import UNKNOWN, Peaks, number
else:
    from tfadvisor.face import face

    __getattr__ = face(
        __name__,
        {
            "CollectiveCalls": "collective_calls",
            "Peaks": "protocol",
            "UNKNOWN": "protocol",
            "capability": "gpu",
            "number": "protocol",
            "peaks_of": "device_kinds",
            "vendor": "gpu",
        },
    )

__all__ = [
    "UNKNOWN",
    "CollectiveCalls",
    "Peaks",
    "capability",
    "number",
    "peaks_of",
    "vendor",
]
