"""The forms of an output: names, suffixes of files, and who writes each. A new form is
its module and a line of a table.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from tfadvisor.text_page import PLAIN, Screen

_HERE = "tfadvisor.report.forms"


class Form(msgspec.Struct, frozen=True):
    """One form of an output."""

    name: str
    """As `--format` takes it."""
    suffixes: tuple[str, ...]
    """Of files that are in this form where nobody names one, as `.json`."""
    writer: str
    """`module:function` from what is written to a text; imported when it is asked for.
    """
    on_screen: bool = False
    """Whether the writer also takes `screen`, and what else the caller says: for eyes,
    not for machines.
    """
    drawn: bool = False
    """Whether it is a page for a browser, made from the trace and not from the report
    alone.
    """

    @property
    def is_json(self) -> bool:
        """Whether a program reads it as JSON."""
        return ".json" in self.suffixes

    def write(self, subject: Any, screen: Screen = PLAIN, **settings: Any) -> str:
        """The text of a report, comparison or verdict. screen, settings: for forms on a
        screen.
        """
        module, _, function = self.writer.partition(":")
        writer = getattr(import_module(module), function)
        if self.on_screen:
            return str(writer(subject, screen=screen, **settings))
        return str(writer(subject))


REPORT_FORMS = (
    Form("text", (".txt",), f"{_HERE}.terminal:as_text", on_screen=True),
    Form("json", (".json",), f"{_HERE}.html:as_json"),
    Form("markdown", (".md", ".markdown"), f"{_HERE}.markdown:as_markdown"),
    Form("html", (".html", ".htm"), f"{_HERE}.html:as_html", drawn=True),
    Form("brief", (), f"{_HERE}.brief:as_brief"),
)


def names_of(forms: Sequence[Form]) -> tuple[str, ...]:
    """What `--format` may be; the first is the usual one."""
    return tuple(form.name for form in forms)


def form_of(
    forms: Sequence[Form],
    name: str | None,
    output: Path | None,
) -> Form:
    """The named form, else that of the file's suffix, else the usual one."""
    suffix = output.suffix.lower() if output is not None else ""
    for form in forms:
        if form.name == name:
            return form
        if name is None and suffix in form.suffixes:
            return form
    return forms[0]
