"""What the devices compute by layer, op type and source line."""

from tfadvisor.metrics.compute import (
    beside_the_model,
    class_softmax,
    dense_gradients,
    filter_gradients,
    half_on_cpu,
    largest,
    recurrent,
    text_ops,
    undisturbed,
    uneven_op,
    uneven_replicas,
)

__all__ = [
    "beside_the_model",
    "class_softmax",
    "dense_gradients",
    "filter_gradients",
    "half_on_cpu",
    "largest",
    "recurrent",
    "text_ops",
    "undisturbed",
    "uneven_op",
    "uneven_replicas",
]
