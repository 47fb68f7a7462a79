"""Candidate changes, timed against the unmodified program."""
