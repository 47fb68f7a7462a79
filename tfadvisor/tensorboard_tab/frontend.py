"""The report's page taken apart for a server: a document without data, its script and its styles as files of their own."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

ENTRY = """\
export function render() {
  let run = "";
  try {
    run = /[#&]p\\.tfadvisor\\.run=([^&]*)/.exec(parent.location.hash)?.[1] ?? "";
  } catch {
    // Inside a page of another origin.
  }
  location.replace(new URL(run === "" ? "tab.html" : `tab.html?run=${run}`, document.baseURI));
}
"""
"""What TensorBoard imports into the tab's frame; `document.baseURI` is the folder of the plugin's routes.

It names the run that is going to be shown, so that its analysis begins while the browser still loads the page."""

_PAGE = Path(__file__).parents[1] / "report" / "page" / "page.html"
_POLICY = (
    "default-src 'none'; connect-src 'self'; script-src 'self'; style-src 'self'; img-src data:; base-uri 'none'; "
    "form-action 'none'; require-trusted-types-for 'script'; trusted-types default"
)


class File(msgspec.Struct, frozen=True):
    """What a route serves. lasting: its address changes with its content."""

    content: str
    kind: str
    lasting: bool


@functools.cache
def files() -> Mapping[str, File]:
    """By route."""
    page = _PAGE.read_text(encoding="utf-8")
    (styles,), (script,) = (
        re.findall(r"<style>(.*?)</style>", page, re.S),
        re.findall(r"<script>(.*?)</script>", page, re.S),
    )
    version = re.findall(r'<meta name="sources" content="([0-9a-f]+)">', page)[0][:16]
    page = page.replace(f"<style>{styles}</style>", f'<link rel="stylesheet" href="tab.css?{version}">')
    page = page.replace(f"<script>{script}</script>", f'<script src="tab.js?{version}"></script>')
    page = page.replace('<script id="data" type="application/json"></script>\n', "")
    page = re.sub(r'(http-equiv="Content-Security-Policy" content=)"[^"]*"', rf'\1"{_POLICY}"', page)
    return {
        "/index.js": File(ENTRY, "application/javascript", lasting=False),
        "/tab.html": File(page.replace("<html ", '<html data-served="" ', 1), "text/html", lasting=False),
        "/tab.css": File(styles, "text/css", lasting=True),
        "/tab.js": File(script, "application/javascript", lasting=True),
    }
