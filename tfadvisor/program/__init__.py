"""The compiled programs in a trace: what HLO computes, moves and exchanges."""
