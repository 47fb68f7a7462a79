"""Which XLA, TensorFlow, JAX, NCCL and CUDA settings a version knows, and what is wrong with those that a user gives."""
