"""Bytes to columns: finding a run's files, decoding them, and nothing about what they mean."""
