"""What the gate checks without a configuration: the presets, in the words of a configuration file.

`recommended` fails on a slower step and on counts that hardly scatter: those tell a change of the program where times
cannot. Findings warn, new severe ones fail. `strict` takes less and fails on severe findings too. `none` asks nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_AMOUNTS = (
    "kernels_per_step",
    "allreduce_bytes_per_step",
    "h2d_bytes_per_step",
    "d2h_bytes_per_step",
    "d2d_bytes_per_step",
)
_EACH = ("dispatches_per_step", "graph_launches_per_step", "collectives_per_step", "d2h_copies_per_step")
"""Of these one more in every step counts, however many there are."""


def _counts(limit: str) -> dict[str, Any]:
    return dict.fromkeys(_AMOUNTS, limit) | {name: {"limit": limit, "change": 0.5} for name in _EACH}


PRESETS: Mapping[str, Mapping[str, Any]] = {
    "none": {},
    "recommended": {
        "relative": {
            "step_time_ms": "5%",
            **_counts("2%"),
            "retraces_in_steady_state": {"change": 0},
            "fp16_kernel_share": {"change": "2%"},
            "tensor_core_kernel_share": {"change": "2%"},
        },
        "severity": {"critical": "warn", "high": "warn", "medium": "warn", "low": "off", "info": "off"},
    },
    "strict": {
        "budgets": {"retraces_in_steady_state": 0, "dropped_events": {"max": 0, "level": "warn"}},
        "relative": {
            "step_time_ms": "3%",
            **_counts("1%"),
            "retraces_in_steady_state": {"change": 0},
            "fp16_kernel_share": {"change": "1%"},
            "tensor_core_kernel_share": {"change": "1%"},
            "input_bound_fraction": {"change": "2%"},
            "host_fraction": {"change": "2%"},
            "kernel_launch_gap_fraction": {"change": "2%"},
            "exposed_collective_fraction": {"change": "2%"},
        },
        "severity": {"critical": "error", "high": "error", "medium": "warn", "low": "off", "info": "off"},
    },
}
