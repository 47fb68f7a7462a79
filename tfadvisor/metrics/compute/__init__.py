"""What the devices compute by layer, op type and source line, and what of it a step hardly needs."""

from tfadvisor.metrics.compute import (
    backward_passes,
    class_softmax,
    costly_ops,
    dense_gradients,
    forward_only,
    gradients_again,
    largest,
    pairs_of_rows,
    recurrent,
    text_ops,
    undisturbed,
    uneven_op,
    uneven_replicas,
)

__all__ = [
    "backward_passes",
    "class_softmax",
    "costly_ops",
    "dense_gradients",
    "forward_only",
    "gradients_again",
    "largest",
    "pairs_of_rows",
    "recurrent",
    "text_ops",
    "undisturbed",
    "uneven_op",
    "uneven_replicas",
]
