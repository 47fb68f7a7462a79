"""The forms of a comparison."""

from __future__ import annotations

from tfadvisor.report.outputs.forms import Form

COMPARISON_FORMS = (
    Form("text", (".txt",), "tfadvisor.comparison.outputs.text:as_text", on_screen=True),
    Form("json", (".json",), "tfadvisor.report.outputs.json_text:as_json"),
    Form("markdown", (".md", ".markdown"), "tfadvisor.comparison.outputs.markdown:as_markdown"),
    Form("html", (".html", ".htm"), "tfadvisor.report.outputs.html:as_html", drawn=True),
)
