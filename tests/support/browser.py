"""A real browser for tests, and what it says of accessibility."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from support.places import ROOT

AXE = ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A browser of this machine; skips where there is none."""
    sync_api = pytest.importorskip(
        "playwright.sync_api",
        reason="playwright is not installed (the extra `browser`)",
    )
    path = os.environ.get("TFADVISOR_CHROMIUM") or next(
        filter(None, map(shutil.which, _BROWSERS)), None
    )
    if path is None:
        pytest.skip(
            f"no Chromium on this machine: none of {', '.join(_BROWSERS)} is in PATH"
        )
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path)
        yield browser
        browser.close()


def open_all(frame: Any) -> None:
    """Opens everything that can be opened in a page or frame."""
    for summary in frame.locator("summary").all():
        if summary.locator("xpath=..").get_attribute("open") is None:
            summary.click()


def violations(frame: Any) -> list[tuple[str, str, list[str]]]:
    """(rule, impact, elements) that axe finds to be more than minor in a page or frame;
    skips where axe is not installed.
    """
    if not AXE.exists():
        pytest.skip("axe-core is not installed: run `npm ci` in web/")
    frame.evaluate(AXE.read_text(encoding="utf-8"))
    found = frame.evaluate("axe.run(document, {resultTypes: ['violations']})")[
        "violations"
    ]
    return [
        (one["id"], one["impact"], [node["html"][:160] for node in one["nodes"][:3]])
        for one in found
        if one["impact"] in ("moderate", "serious", "critical")
    ]
