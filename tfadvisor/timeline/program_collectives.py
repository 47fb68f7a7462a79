"""Which ops of a compiled program are collectives, by the HLO that the trace carries."""

from __future__ import annotations

from collections.abc import Mapping

from tfadvisor.errors import TraceError
from tfadvisor.hlo.collectives import Collective, collectives
from tfadvisor.hlo.find_modules import Modules


def collectives_by_name(programs: Modules, module: str) -> Mapping[str, Collective]:
    """Of all programs of one name; empty where the trace does not hold their HLO, or holds it damaged."""
    try:
        return {one.name: one for program in programs.named(module) for one in collectives(program)}
    except TraceError:
        return {}
