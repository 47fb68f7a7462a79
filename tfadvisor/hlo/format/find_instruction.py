"""Which instruction a trace event is about."""

from __future__ import annotations

from tfadvisor.hlo.format.instruction import Instruction
from tfadvisor.hlo.format.module import Module


def find_instruction(module: Module, event_name: str) -> Instruction | None:
    """By a stat `hlo_op` (`fusion.3`, or `call.1::fusion.3` where ops nest) or a TPU event (`%fusion.3 = f32[8] fusion(…)`).

    None when the module has none of this name. Raises TraceError for damaged bytes.
    """
    name = event_name.split(" = ", 1)[0].strip().removeprefix("%")
    return module.instruction(name) or module.instruction(name.rsplit("::", 1)[-1])
