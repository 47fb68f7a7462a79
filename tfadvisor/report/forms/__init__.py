"""Every form of a report, and what forms of other things are made with."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tfadvisor.report.forms.brief import as_brief
    from tfadvisor.report.forms.encode import (
        encode_comparison,
        encode_pages,
        encode_step,
    )
    from tfadvisor.report.forms.form import REPORT_FORMS, Form, form_of, names_of
    from tfadvisor.report.forms.html import as_html, as_json, whole_page
    from tfadvisor.report.forms.notebook import as_fragment, as_line
    from tfadvisor.report.forms.of_place import place_text
    from tfadvisor.report.forms.terminal import as_text
else:
    from tfadvisor.face import face

    __getattr__ = face(
        __name__,
        {
            "Form": "form",
            "REPORT_FORMS": "form",
            "as_brief": "brief",
            "as_fragment": "notebook",
            "as_html": "html",
            "as_json": "html",
            "as_line": "notebook",
            "as_text": "terminal",
            "encode_comparison": "encode",
            "encode_pages": "encode",
            "encode_step": "encode",
            "form_of": "form",
            "names_of": "form",
            "place_text": "of_place",
            "whole_page": "html",
        },
    )

__all__ = [
    "REPORT_FORMS",
    "Form",
    "as_brief",
    "as_fragment",
    "as_html",
    "as_json",
    "as_line",
    "as_text",
    "encode_comparison",
    "encode_pages",
    "encode_step",
    "form_of",
    "names_of",
    "place_text",
    "whole_page",
]
