"""How surprising a run is."""
