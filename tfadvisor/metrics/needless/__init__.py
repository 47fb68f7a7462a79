"""What of the compute a step hardly needs, by the names that TensorFlow gives its ops."""

from tfadvisor.metrics.needless import (
    backward_passes,
    costly_ops,
    forward_only,
    gradients_again,
    pairs_of_rows,
    resized_input,
)

__all__ = [
    "backward_passes",
    "costly_ops",
    "forward_only",
    "gradients_again",
    "pairs_of_rows",
    "resized_input",
]
