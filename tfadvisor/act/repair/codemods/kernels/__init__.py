"""Codemods: What the compiled step computes."""
