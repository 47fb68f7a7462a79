"""Reports for other programs: TensorBoard, agents, Perfetto, PGLE."""
