"""What the devices do: GPUs, TPUs, and the cores of a run without either."""
