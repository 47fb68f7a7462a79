"""Records programs, blocks and jobs."""
