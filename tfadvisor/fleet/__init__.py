"""Many runs as one table: a row a run, made again only for what is new, and what the table says the fleet loses."""
