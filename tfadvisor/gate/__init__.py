"""Budgets, baselines and the verdict. The gate sees reports, never a trace."""
