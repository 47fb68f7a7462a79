"""Snapshots of runs: small files of metrics, never traces."""
