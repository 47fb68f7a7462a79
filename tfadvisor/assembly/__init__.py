"""Timelines, metrics and outcomes put together: the report, its ops, its page, and the comparison of two runs."""
