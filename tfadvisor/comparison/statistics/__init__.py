"""Tests and intervals for step times."""
