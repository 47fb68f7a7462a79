"""A reader with only the page answers the questions of ten-questions.md with as many clicks as it says."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.browser import chromium  # noqa: F401  (a fixture)
from support.opened_pages import Opened
from support.pages import page_of_folder
from support.places import FIXTURES

from tfadvisor.report.forms.html import as_html

pytest.importorskip("playwright.sync_api", reason="playwright is not installed (the extra `browser`)")

QUESTIONS = Path(__file__).with_name("ten-questions.md")


class Reader:
    """Someone who clicks, counted."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.clicks = 0

    def click(self, one: Any) -> None:
        one.click()
        self.clicks += 1

    def goes_to(self, section: str) -> Any:
        """By the list of sections; returns the section."""
        link = self.page.locator(".contents a", has_text=section)
        self.click(link)
        return self.page.locator(f"section{link.get_attribute('href')}")

    def chooses(self, control: Any, option: str) -> None:
        control.select_option(option)
        self.clicks += 1


def what_limits(reader: Reader) -> str:
    return str(reader.page.locator("#verdict").inner_text())


def which_layer(reader: Reader) -> str:
    return str(reader.goes_to("Compute by layer and line").locator(".vt-row").first.inner_text())


def which_line(reader: Reader) -> str:
    section = reader.goes_to("Compute by layer and line")
    reader.chooses(section.get_by_label("By", exact=True), "Source line")
    return str(section.locator(".vt-row").first.inner_text())


def which_kernel(reader: Reader) -> str:
    return str(reader.goes_to("Ops and kernels").locator(".vt-row").nth(1).inner_text())


def what_it_computes(reader: Reader) -> str:
    section = reader.goes_to("Ops and kernels")
    reader.click(section.locator(".vt-row", has_text="dot.3"))
    return str(section.locator(".hlo").inner_text())


def what_lives_at_the_peak(reader: Reader) -> str:
    return str(reader.goes_to("Memory").inner_text())


def the_worst_step(reader: Reader) -> str:
    reader.click(reader.page.get_by_role("button", name="Worst step"))
    reader.click(reader.page.get_by_role("button", name="Show its timeline"))
    return str(reader.page.locator("#timeline").get_by_label("Step", exact=True).locator("option:checked").inner_text())


def the_other_hosts(reader: Reader) -> str:
    section = reader.goes_to("Timeline")
    reader.chooses(section.get_by_label("Host", exact=True), "All hosts, the late one first")
    section.locator(".timeline-frame:not([aria-busy])").wait_for()
    section.locator(".timeline").press("ArrowDown")
    section.locator(".timeline").press("ArrowDown")
    return str(section.locator(".event-panel").inner_text())


def what_would_shorten_it(reader: Reader) -> str:
    section = reader.goes_to("Timeline")
    reader.click(section.locator("summary", has_text="Critical path"))
    return str(section.locator("table tbody tr").first.inner_text())


def the_slowest_stage(reader: Reader) -> str:
    return str(reader.goes_to("Input and training loop").locator(".slowest").first.inner_text())


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("questions")
    for name in ("tf-python-map", "jax-hosts-late"):
        (folder / f"{name}.html").write_text(as_html([page_of_folder(FIXTURES / name)]), encoding="utf-8")
    return folder


def clicks_told(number: int) -> int:
    """What the page of questions says."""
    rows = re.findall(r"^\| (\d+) \|[^|]+\|[^|]+\| (\d+) \|", QUESTIONS.read_text(encoding="utf-8"), re.MULTILINE)
    return {int(one): int(clicks) for one, clicks in rows}[number]


@pytest.mark.parametrize(
    ("number", "trace", "ask", "answer"),
    [
        (1, "jax-hosts-late", what_limits, r"Unbalanced(?s:.*)saves 13–57%(?s:.*)program\.py:48(?s:.*)def prefetch"),
        (2, "tf-python-map", which_layer, r"sequential_1/dense_1"),
        (3, "jax-hosts-late", which_line, r"program\.py:28"),
        (4, "jax-hosts-late", which_kernel, r"dot\.3"),
        (5, "jax-hosts-late", what_it_computes, r"(?s:.*)Read by(?s:.*)%dot\.3 = f32\[(?s:.*)dot\("),
        (
            6,
            "jax-hosts-late",
            what_lives_at_the_peak,
            r"(?s:.*)Needs 18\.7 MiB(?s:.*)ynn_fusion\.3(?s:.*)program\.py:28",
        ),
        (7, "jax-hosts-late", the_worst_step, r"Worst: step \d+, 7\d\.\d ms"),
        (8, "jax-hosts-late", the_other_hosts, r"(?s:.*)beta \(the others wait for it\)"),
        (9, "tf-python-map", what_would_shorten_it, r"input"),
        (10, "tf-python-map", the_slowest_stage, r"ParallelMap"),
    ],
)
def test_the_answer_takes_as_many_clicks_as_the_page_says(
    chromium: Any,  # noqa: F811
    reports: Path,
    number: int,
    trace: str,
    ask: Callable[[Reader], str],
    answer: str,
) -> None:
    one = Opened(chromium, reports / f"{trace}.html", viewport={"width": 1280, "height": 800})
    reader = Reader(one.page)

    found = ask(reader)
    one.context.close()

    assert re.search(answer, found), found
    assert reader.clicks == clicks_told(number)
