"""How many programs on a GPU bear out the range of their finding: `on_gpu.json`, the rows
of benchmarks/gpu-programs/planted.md whose saving the clock tells, and of the first
answers to programs of fixtures/gpu-runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec

from tfadvisor.advice.savings import Held

ROWS = Path(__file__).resolve().parent / "on_gpu.json"
_AS_MUCH = 0.9
"""A tenth less is as much: step times of two recordings differ by as much."""


class Row(msgspec.Struct, frozen=True):
    """One program. Shares of the step."""

    program: str
    """Below fixtures/gpu, without `jax-`, or fixtures/gpu-runs."""
    fault: str
    """The planted fault's class, as in rules/savings.json."""
    rule: str | None
    """Of the finding that names it; None where none does."""
    takes: float | None
    """What of the recorded step that rule says could go at most."""
    saves: float
    """Of the healthy form, by the clock, without a profiler."""

    @property
    def bears_out(self) -> bool:
        """Whether its cure saves as much as the finding says at most, or more."""
        return self.takes is not None and self.saves >= _AS_MUCH * self.takes


def rows() -> list[Row]:
    """Every program."""
    return msgspec.json.decode(ROWS.read_bytes(), type=list[Row])


def held(programs: Sequence[Row]) -> Held:
    """What `rules/savings.json` holds of GPUs."""
    counts = Counter(one.fault for one in programs if one.bears_out)
    return Held("On an H200", dict(sorted(counts.items())))
