"""What the recorded machine counted while a trace was recorded: the small file beside the trace."""
