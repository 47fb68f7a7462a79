"""The command: options, paths, exit codes."""
