"""Input, Python, dispatch and compilation."""

from tfadvisor.metrics.host import (
    between_dispatches,
    compilation,
    dropped_elements,
    input,
    input_ops,
    launch,
    loader,
    repeated_calls,
    shared_cores,
)

__all__ = [
    "between_dispatches",
    "compilation",
    "dropped_elements",
    "input",
    "input_ops",
    "launch",
    "loader",
    "repeated_calls",
    "shared_cores",
]
