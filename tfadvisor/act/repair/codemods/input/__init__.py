"""Codemods: What feeds the step."""
