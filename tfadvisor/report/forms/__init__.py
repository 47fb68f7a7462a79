"""Every form of a report: terminal, brief, Markdown, page, notebook, JSON."""
