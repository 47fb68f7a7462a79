"""What `tfadvisor gate` does beside judging a run: it records in turns, and writes pages."""
