"""From rules and metrics to findings and the verdict."""
