"""Input, Python, dispatch and compilation."""

from tfadvisor.metrics.host import (
    between_dispatches,
    compilation,
    input,
    input_ops,
    launch,
    loader,
    repeated_calls,
)

__all__ = [
    "between_dispatches",
    "compilation",
    "input",
    "input_ops",
    "launch",
    "loader",
    "repeated_calls",
]
