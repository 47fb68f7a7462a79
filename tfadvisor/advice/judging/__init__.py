"""Conditions, claims and the verdict."""
