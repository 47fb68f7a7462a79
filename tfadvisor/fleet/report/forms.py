"""The forms of the report."""

from __future__ import annotations

from tfadvisor.report.outputs.forms import Form

FLEET_FORMS = (
    Form("text", (".txt",), "tfadvisor.fleet.report.text:as_text", on_screen=True),
    Form("json", (".json",), "tfadvisor.fleet.report.json_text:as_json"),
    Form("html", (".html", ".htm"), "tfadvisor.fleet.report.page:as_page", drawn=True),
)
