"""A timeline for Perfetto, written packet by packet."""
