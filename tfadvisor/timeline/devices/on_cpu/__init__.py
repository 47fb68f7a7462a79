"""What only a run on host threads needs: how its ops end, which call started which run, and ops without names."""
