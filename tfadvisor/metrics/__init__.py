"""One question, one function. Importing the package registers every metric and fact, folder by folder."""

from tfadvisor.metrics import (
    collectives,
    compute,
    copies_and_memory,
    host,
    kernels,
    machine,
    needless,
    signals,
    time,
    trace,
)

__all__ = [
    "collectives",
    "compute",
    "copies_and_memory",
    "host",
    "kernels",
    "machine",
    "needless",
    "signals",
    "time",
    "trace",
]
