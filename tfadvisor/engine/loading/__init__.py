"""From rule files to rules."""
