"""Rule files: read, checked, compiled."""
