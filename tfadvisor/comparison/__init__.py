"""Two runs side by side, and the gate that judges a change."""
