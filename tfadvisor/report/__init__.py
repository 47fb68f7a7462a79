"""The report: how outcomes become it, and every form of it."""
