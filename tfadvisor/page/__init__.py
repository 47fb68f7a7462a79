"""What the page of a report draws, and how it is written into the page; nothing here sees a trace."""
