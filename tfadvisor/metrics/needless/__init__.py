"""What of the compute a step hardly needs: by the names that TensorFlow gives its ops, by HLO, and by the paths of JAX's ops."""

from tfadvisor.metrics.needless import (
    backward_passes,
    branches_and_loops,
    costly_ops,
    derivatives,
    fft_lengths,
    forward_only,
    gradients_again,
    one_line,
    pair_differences_in_hlo,
    pair_differences_in_tape,
    random_numbers,
    resized_input,
    same_on_devices,
)

__all__ = [
    "backward_passes",
    "branches_and_loops",
    "costly_ops",
    "derivatives",
    "fft_lengths",
    "forward_only",
    "gradients_again",
    "one_line",
    "pair_differences_in_hlo",
    "pair_differences_in_tape",
    "random_numbers",
    "resized_input",
    "same_on_devices",
]
