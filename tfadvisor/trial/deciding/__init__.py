"""From step times to a verdict: when there is enough, what is better, by how much."""
