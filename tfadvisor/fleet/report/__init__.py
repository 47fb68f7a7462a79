"""What a table of runs says the fleet loses: numbers once, then as text and as a page."""
