"""Codemods: What is compiled, and how often."""
