"""The report in its forms; nothing here sees a trace."""
