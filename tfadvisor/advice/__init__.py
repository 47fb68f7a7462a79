"""Rules and flags: what a run should change."""
