"""Which ops of a compiled program are collectives, by the HLO that the trace carries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tfadvisor.errors import TraceError

if TYPE_CHECKING:
    from tfadvisor.hlo.format.find_modules import Modules
    from tfadvisor.hlo.questions.collectives import CollectiveOp


def collectives_by_name(programs: Modules, module: str) -> Mapping[str, CollectiveOp]:
    """Of all programs of one name; empty where the trace does not hold their HLO, or holds it damaged."""
    if not programs.keys:
        return {}
    from tfadvisor.hlo.questions.collectives import collectives  # only with HLO in the trace

    try:
        return {one.name: one for program in programs.named(module) for one in collectives(program)}
    except TraceError:
        return {}
