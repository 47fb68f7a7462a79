"""Many runs as one table, read by one machine or a cluster."""
