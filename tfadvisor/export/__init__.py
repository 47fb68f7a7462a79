"""A run's trace for other tools: every event, beside what was concluded from it."""
