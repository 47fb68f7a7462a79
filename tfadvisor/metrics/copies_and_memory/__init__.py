"""Copies between host and devices, and device memory."""

from tfadvisor.metrics.copies_and_memory import copies, memory

__all__ = ["copies", "memory"]
