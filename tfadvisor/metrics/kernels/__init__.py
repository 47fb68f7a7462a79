"""What the devices compute, how, and in which precision."""

from tfadvisor.metrics.kernels import (
    algorithms,
    arguments,
    double_precision,
    kinds,
    loops,
    patterns,
    precision,
    product_sides,
    products_with_zeros,
    programs,
)

__all__ = [
    "algorithms",
    "arguments",
    "double_precision",
    "kinds",
    "loops",
    "patterns",
    "precision",
    "product_sides",
    "products_with_zeros",
    "programs",
]
