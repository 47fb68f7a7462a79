"""Communication between devices, and who comes late to it."""

from tfadvisor.metrics.collectives import cost, kinds, settings_to_try, stragglers

__all__ = ["cost", "kinds", "settings_to_try", "stragglers"]
