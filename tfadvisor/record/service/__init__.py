"""The profiler's gRPC service, which jobs offer after `jax.profiler.start_server` or `tf.profiler.experimental.server.start`."""
