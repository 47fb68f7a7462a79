"""The compiled programs that a trace carries: what XLA made of the user's code, read on demand and never run."""
