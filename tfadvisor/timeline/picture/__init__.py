"""Events of a single step, to be drawn."""
