"""Snapshots of earlier runs, and which of them compare."""
