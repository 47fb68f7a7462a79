"""An HLO module as XLA serialises it."""
