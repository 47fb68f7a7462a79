"""One question, one function. Importing the package registers every metric and fact."""

from tfadvisor.metrics import (  # noqa: F401  (each registers what it answers)
    between_dispatches,
    capture,
    collective_kinds,
    collectives,
    copies,
    devices,
    input,
    kinds,
    launch,
    layers,
    machine,
    memory,
    needless,
    precision,
    products,
    programs,
    signals,
    step_time,
    stragglers,
)
