"""What the trace was recorded on, and what it lacks."""

from tfadvisor.metrics.trace import capture, devices, hardware, libraries, tracer, unrecorded

__all__ = ["capture", "devices", "hardware", "libraries", "tracer", "unrecorded"]
