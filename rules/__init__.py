"""The built-in rules, a folder a family; data only."""
