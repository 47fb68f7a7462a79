"""Reports for other programs: TensorBoard, agents, Perfetto, Parquet, PGLE."""
