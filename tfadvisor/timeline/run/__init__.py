"""Hosts of one run beside each other."""
