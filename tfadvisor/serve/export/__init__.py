"""Files for other tools: Perfetto, and the profile for XLA's scheduler."""
