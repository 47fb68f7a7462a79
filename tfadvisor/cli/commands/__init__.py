"""A module for each command: its options, and what is done with them."""
