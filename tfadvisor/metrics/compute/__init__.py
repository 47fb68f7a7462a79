"""What the devices compute by layer, op type and source line."""

from tfadvisor.metrics.compute import largest, recurrent, undisturbed, uneven_op, uneven_replicas

__all__ = ["largest", "recurrent", "undisturbed", "uneven_op", "uneven_replicas"]
