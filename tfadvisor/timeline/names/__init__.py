"""What a runtime calls things: every string that TensorFlow, JAX, XLA or a driver
chose.
"""
