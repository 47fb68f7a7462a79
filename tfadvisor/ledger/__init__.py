"""What was promised and what was measured, kept in one small file."""
