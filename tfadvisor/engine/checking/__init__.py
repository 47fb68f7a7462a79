"""Whether rules are right: their cases, their sources, their pages."""
