"""The pages of the gate, its history and the fleet look and behave like a report's:
cards, themes, a phone's width.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.browser import chromium, violations  # noqa: F401
from support.places import FIXTURES

from tfadvisor.fleet.costs import summed
from tfadvisor.fleet.fleet_forms import as_page
from tfadvisor.fleet.work import Row

sync_api = pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed (the extra `browser`)"
)
COMMAND = Path(sys.executable).parent / "tfadvisor"
CUT = "one => one.scrollWidth > one.clientWidth + 1"
NAMES = ("fleet", "history", "gate")


def row(place: str, team: str, share: float) -> Row:
    return Row(
        place=place,
        run=place,
        team=team,
        model="resnet50",
        devices=8,
        healthy=False,
        verdict="input",
        verdict_fraction=share,
        step_time_ms=100.0,
        stamp="",
        rules="",
        tool="",
    )


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Written by the commands; a fleet's by its rows."""
    folder = tmp_path_factory.mktemp("pages")
    store = ["--baseline", str(folder / "baselines")]
    for words in (
        [
            "gate",
            FIXTURES / "jax-healthy",
            *store,
            "--add",
            "-o",
            folder / "first.html",
            "--format",
            "html",
        ],
        [
            "gate",
            FIXTURES / "jax-loader",
            *store,
            "-o",
            folder / "gate.html",
            "--format",
            "html",
        ],
        [
            "baseline",
            "history",
            "--store",
            folder / "baselines",
            "-o",
            folder / "history.html",
        ],
    ):
        subprocess.run([COMMAND, *words], capture_output=True, check=False)
    rows = tuple(
        row(f"gs://bucket/a/long/path/of/a/run/of/team/{team}/2026_01_01", team, 0.3)
        for team in ("a", "b")
    )
    (folder / "fleet.html").write_text(as_page(summed(rows)), encoding="utf-8")
    return folder


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("name", NAMES)
def test_cards_without_sideways_scrolling_in_both_themes(
    chromium: Any,  # noqa: F811
    pages: Path,
    name: str,
    width: int,
    scheme: str,
) -> None:
    context = chromium.new_context(
        viewport={"width": width, "height": 844}, color_scheme=scheme, offline=True
    )
    page = context.new_page()
    errors: list[str] = []
    page.on(
        "console",
        lambda message: errors.append(message.text) if message.type != "log" else None,
    )
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto((pages / f"{name}.html").as_uri())
    background = "getComputedStyle(document.body).backgroundColor"
    usual = page.evaluate(background)

    assert page.locator("main section").count() >= 1
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.locator(".table-frame").count() >= 1
    assert (
        page.evaluate(
            f"[...document.querySelectorAll('.table-frame')].filter({CUT}).length"
        )
        == 0
    )
    assert violations(page) == []

    button = page.get_by_role("button", name="Theme: system")
    button.click()
    light = page.evaluate(background)
    page.get_by_role("button", name="Theme: light").click()
    dark = page.evaluate(background)
    context.close()

    assert errors == []
    assert light != dark
    assert usual == (light if scheme == "light" else dark)
