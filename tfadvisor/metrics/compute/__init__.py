"""What the devices compute by layer, op type and source line."""

from tfadvisor.metrics.compute import recurrent, undisturbed, uneven_op, uneven_replicas

__all__ = ["recurrent", "undisturbed", "uneven_op", "uneven_replicas"]
