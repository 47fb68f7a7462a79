"""The forms of a verdict: text, Markdown, JUnit, SARIF, Code Quality, GitHub."""
