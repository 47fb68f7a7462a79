"""The gate's configuration file."""
