"""What of the compute a step hardly needs: by the names that TensorFlow gives its ops, by HLO, and by the paths of JAX's ops."""

from tfadvisor.metrics.needless import backward_passes, costly_ops, same_on_devices

__all__ = ["backward_passes", "costly_ops", "same_on_devices"]
