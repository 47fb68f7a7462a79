"""From limits and runs to one result."""
