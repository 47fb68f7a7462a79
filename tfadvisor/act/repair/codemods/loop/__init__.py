"""Codemods: What the loop does beside the step."""
