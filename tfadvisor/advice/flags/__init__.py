"""Which flags and variables each release accepts, and what they do."""
