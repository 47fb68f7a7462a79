"""Patches for findings."""
