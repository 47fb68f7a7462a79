"""Budgets, baselines and statistics: pass, warn, fail or cannot tell."""
