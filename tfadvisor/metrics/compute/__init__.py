"""What the devices compute by layer, op type and source line."""

from tfadvisor.metrics.compute import (
    class_softmax,
    dense_gradients,
    largest,
    recurrent,
    text_ops,
    undisturbed,
    uneven_op,
    uneven_replicas,
)

__all__ = [
    "class_softmax",
    "dense_gradients",
    "largest",
    "recurrent",
    "text_ops",
    "undisturbed",
    "uneven_op",
    "uneven_replicas",
]
