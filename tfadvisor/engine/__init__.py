"""Rules as data, judged on metrics."""
