"""Commands that stay and answer, until whoever asks goes away."""
