"""A comparison as text, JSON, Markdown and a page."""
