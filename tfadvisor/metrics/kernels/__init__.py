"""What the devices compute, how, and in which precision."""

from tfadvisor.metrics.kernels import (
    algorithms,
    arguments,
    double_precision,
    filters,
    kinds,
    loops,
    one_hot,
    patterns,
    precision,
    product_sides,
    programs,
    programs_of_step,
)

__all__ = [
    "algorithms",
    "arguments",
    "double_precision",
    "filters",
    "kinds",
    "loops",
    "one_hot",
    "patterns",
    "precision",
    "product_sides",
    "programs",
    "programs_of_step",
]
