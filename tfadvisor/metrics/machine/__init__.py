"""What the machine did while the trace was recorded, from the counters beside it."""

from tfadvisor.metrics.machine import cores, gpus, memory

__all__ = ["cores", "gpus", "memory"]
