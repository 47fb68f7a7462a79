from jax._src.profiler import start_trace, stop_trace, trace
