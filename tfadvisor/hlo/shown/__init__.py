"""Parts of a compiled program as a reader is shown them: instructions as text, and what lies in memory."""
