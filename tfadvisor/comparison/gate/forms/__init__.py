"""The forms of a verdict: text, JSON, Markdown, HTML, JUnit, GitHub."""

from __future__ import annotations

from tfadvisor.report.forms import Form

# The forms of a gate's verdict, and those of the files that it writes beside.

_HERE = "tfadvisor.comparison.gate.forms"

VERDICT_FORMS = (
    Form("text", (".txt",), f"{_HERE}.text:as_text", on_screen=True),
    Form("json", (".json",), "tfadvisor.report.forms.html:as_json"),
    Form("markdown", (".md", ".markdown"), f"{_HERE}.pages:as_markdown"),
    Form("html", (".html", ".htm"), f"{_HERE}.pages:as_html", drawn=True),
)
FILES = (
    Form("junit", (), f"{_HERE}.ci:as_junit"),
    Form("comment", (), f"{_HERE}.pages:as_comment"),
)
"""Each has an option of its own, named like the form."""
