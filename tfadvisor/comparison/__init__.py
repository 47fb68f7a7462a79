"""Two runs side by side: where the change of the step time comes from. Nothing here sees a trace."""
