"""What the host does: threads, dispatches, waits, Python, the input pipeline."""
