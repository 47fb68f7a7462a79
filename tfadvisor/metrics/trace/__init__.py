"""What the trace was recorded on, and what it lacks."""

from tfadvisor.metrics.trace import capture, devices, hardware, libraries, unrecorded

__all__ = ["capture", "devices", "hardware", "libraries", "unrecorded"]
