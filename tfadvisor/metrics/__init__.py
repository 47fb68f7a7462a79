"""One question, one function; importing the package registers them all."""

from tfadvisor.metrics import (
    capture,
    collectives,
    compile,
    copies,
    devices,
    host,
    input,
    launch,
    memory,
    precision,
    programs,
    steps,
    stragglers,
    time_shares,
)

__all__ = [
    "capture",
    "collectives",
    "compile",
    "copies",
    "devices",
    "host",
    "input",
    "launch",
    "memory",
    "precision",
    "programs",
    "steps",
    "stragglers",
    "time_shares",
]
