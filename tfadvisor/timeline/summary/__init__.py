"""A host reduced to what metrics ask."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tfadvisor.timeline.summary.device import (
        TINY_PS,
        CopyTotals,
        DeviceSummary,
        OpTable,
    )
    from tfadvisor.timeline.summary.host_summary import HostSummary, ProgramSummary
    from tfadvisor.timeline.summary.hot_ops import CalmOps, HotOp, HotOps
    from tfadvisor.timeline.summary.main_program import ProgramPatterns
    from tfadvisor.timeline.summary.program_products import ProgramProducts
else:
    from tfadvisor.face import face

    __getattr__ = face(
        __name__,
        {
            "CalmOps": "hot_ops",
            "CopyTotals": "device",
            "DeviceSummary": "device",
            "HostSummary": "host_summary",
            "HotOp": "hot_ops",
            "HotOps": "hot_ops",
            "OpTable": "device",
            "ProgramPatterns": "main_program",
            "ProgramProducts": "program_products",
            "ProgramSummary": "host_summary",
            "TINY_PS": "device",
        },
    )

__all__ = [
    "TINY_PS",
    "CalmOps",
    "CopyTotals",
    "DeviceSummary",
    "HostSummary",
    "HotOp",
    "HotOps",
    "OpTable",
    "ProgramPatterns",
    "ProgramProducts",
    "ProgramSummary",
]
