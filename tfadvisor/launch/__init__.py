"""The line that starts a run again: flags and variables that its report and its machines ask for."""
