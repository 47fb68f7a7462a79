"""Tables as Parquet files."""
