"""The file that XLA reads: a ProfiledInstructionsProto, binary or as text.

Source: tsl/profiler/protobuf/profiled_instructions.proto. XLA tells the two apart by the file's ending, and reads none with
another (`ReadProfileFromSources` in openxla/xla, xla/service/gpu/gpu_hlo_schedule.cc).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping

from tfadvisor.export.perfetto.wire import sized, tag
from tfadvisor.export.pgle.costs import Costs
from tfadvisor.protobuf import FIXED_64

_COSTS, _NAME, _COST_US = 1, 1, 2


def as_binary(costs: Costs) -> bytes:
    """One InstructionCost a name. No latencies between instructions: XLA's own converter writes none either."""
    return b"".join(
        sized(_COSTS, sized(_NAME, name.encode()) + tag(_COST_US, FIXED_64) + struct.pack("<d", cost.us))
        for name, cost in costs.items()
    )


def as_text(costs: Costs) -> bytes:
    """The same in protobuf's text format."""
    return "".join(
        f'costs {{ name: "{_escaped(name)}" cost_us: {cost.us!r} }}\n' for name, cost in costs.items()
    ).encode()


FORMS: Mapping[str, Callable[[Costs], bytes]] = {".pb": as_binary, ".pbtxt": as_text}
"""By the file's ending."""


def _escaped(text: str) -> str:
    """Quotes, backslashes and control characters as the text format has them."""
    out = text.replace("\\", "\\\\").replace('"', '\\"')
    return "".join(one if one >= " " else f"\\{ord(one):03o}" for one in out)
