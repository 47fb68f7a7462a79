"""As much of JAX as the recorder touches."""

import os

from jax import monitoring, profiler
from jax._src import xla_bridge

__version__ = "0.0-fake"


def devices():
    return ["a device"]


def live_arrays():
    return []


def jit(function):
    """Compiles: listeners hear of it."""
    xla_bridge._backends[os.environ.get("FAKE_BACKEND", "cpu")] = "a device"
    monitoring.compiled()
    return function
