"""The compiled programs in a trace: what HLO computes, moves and exchanges."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tfadvisor.program.buffers import Buffer, ProgramMemory, program_memory
    from tfadvisor.program.cost import Cost, Costs
    from tfadvisor.program.module import Frame, Instruction, Module
    from tfadvisor.program.modules_of_trace import Modules, find_modules
    from tfadvisor.program.operations import (
        SourceLocation,
        location_near,
        location_of,
    )
    from tfadvisor.program.schedule import Launched, launched
else:
    from tfadvisor.face import face

    __getattr__ = face(
        __name__,
        {
            "Buffer": "buffers",
            "Cost": "cost",
            "Costs": "cost",
            "Frame": "module",
            "Instruction": "module",
            "Launched": "schedule",
            "Module": "module",
            "Modules": "modules_of_trace",
            "ProgramMemory": "buffers",
            "SourceLocation": "operations",
            "find_modules": "modules_of_trace",
            "launched": "schedule",
            "location_near": "operations",
            "location_of": "operations",
            "program_memory": "buffers",
        },
    )

__all__ = [
    "Buffer",
    "Cost",
    "Costs",
    "Frame",
    "Instruction",
    "Launched",
    "Module",
    "Modules",
    "ProgramMemory",
    "SourceLocation",
    "find_modules",
    "launched",
    "location_near",
    "location_of",
    "program_memory",
]
