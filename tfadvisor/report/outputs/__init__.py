"""The report as text, JSON, Markdown and HTML."""
