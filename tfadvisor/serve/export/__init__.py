"""Files for other tools: Perfetto, Parquet, and the profile for XLA's scheduler."""
