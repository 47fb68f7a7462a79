"""The public functions: programs call them, the recorder does not."""

from jax._src.profiler import start_trace, stop_trace
