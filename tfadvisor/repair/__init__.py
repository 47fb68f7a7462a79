"""Patches to the user's program for what a report found: codemods, where they apply, and how they are written."""
