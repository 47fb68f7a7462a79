"""A reader with only the page answers the questions of questions.md with as many clicks
as it says, on any screen.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from support import shared_traces
from support.browser import chromium  # noqa: F401
from support.opened_pages import Opened
from support.pages import page_of_folder
from support.places import FIXTURES

from tfadvisor.report.forms.html import as_html

pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed (the extra `browser`)"
)

QUESTIONS = Path(__file__).with_name("questions.md")
LATE, MAP, GPU, UNEVEN, LOADER, WATCHED = (
    "jax-hosts-late",
    "tf-python-map",
    "t4",
    "jax-4dev-imbalance",
    "jax-loader",
    "watched/jax-augments",
)
T4 = shared_traces.FOLDER / "keras-one-batch" / "t4-a-20231107-184716"
"""One batch of a Keras model on a T4, recorded by others."""
TRACES = (LATE, MAP, GPU, UNEVEN, LOADER)


class Reader:
    """Someone who clicks, chooses, drags and searches, counted."""

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
        found = self.page.locator(f"section{link.get_attribute('href')}")
        found.locator(".timeline-frame:not([aria-busy])").or_(
            found.locator("h2")
        ).first.wait_for()
        return found

    def chooses(self, control: Any, option: str) -> None:
        control.select_option(option)
        self.clicks += 1

    def finds(self, section: Any, name: str) -> None:
        """In the timeline."""
        section.get_by_label("Find events in the timeline").fill(name)
        self.clicks += 1


def on_phone(page: Any) -> bool:
    return bool(page.viewport_size["width"] < 600)


def what_limits(reader: Reader) -> str:
    return str(reader.page.locator("#verdict").inner_text())


def which_step(reader: Reader) -> str:
    return str(reader.page.locator("#verdict .stats").inner_text())


def the_worst_step(reader: Reader) -> str:
    reader.click(reader.page.locator("#verdict .stats").get_by_role("link"))
    reader.page.locator("#timeline .timeline-frame:not([aria-busy])").wait_for()
    return str(
        reader.page.locator("#timeline")
        .get_by_label("Step", exact=True)
        .locator("option:checked")
        .inner_text()
    )


def which_kernel(reader: Reader) -> str:
    return str(reader.goes_to("Ops and kernels").locator(".vt-row").first.inner_text())


def how_launched(reader: Reader) -> str:
    section = reader.goes_to("Ops and kernels")
    row = section.locator(".vt-row").first
    if not on_phone(reader.page):
        return f"{section.locator('.vt-head').inner_text()} {row.inner_text()}"
    reader.click(row)
    return str(section.locator(".panel").inner_text())


def which_line(reader: Reader) -> str:
    section = reader.goes_to("Compute by layer and line")
    reader.chooses(section.get_by_label("By", exact=True), "Source line")
    return str(section.locator(".vt-row").first.inner_text())


def lost_to(reader: Reader) -> str:
    section = reader.goes_to("Timeline")
    section.locator(".timeline").click(
        position={
            "x": section.locator(".timeline").bounding_box()["width"] / 2,
            "y": CLASSES_Y,
        }
    )
    reader.clicks += 1
    return str(section.locator(".event-panel").inner_text())


def what_runs_beside(reader: Reader, name: str = "all-reduce") -> str:
    section = reader.goes_to("Timeline")
    reader.finds(section, name)
    return str(section.locator(".event-panel").inner_text())


def next_one(reader: Reader, name: str = "dot") -> str:
    section = reader.goes_to("Timeline")
    reader.finds(section, name)
    first = section.locator(".event-panel").inner_text()
    reader.click(section.get_by_label("Next match (Enter)"))
    second = section.locator(".event-panel").inner_text()
    assert first != second
    return str(section.locator(".finder").first.inner_text()) + second


def how_long(reader: Reader) -> str:
    section = reader.goes_to("Timeline")
    section.locator(".timeline").hover(position={"x": 40, "y": 12})
    box = section.locator(".timeline").bounding_box()
    reader.page.mouse.down()
    reader.page.mouse.move(box["x"] + box["width"] * 0.7, box["y"] + 12, steps=4)
    reader.page.mouse.up()
    reader.clicks += 1
    return str(section.locator(".panel", has_text="chosen").inner_text())


def what_lives_at_the_peak(reader: Reader) -> str:
    return str(reader.goes_to("Memory").inner_text())


def the_slowest_stage(reader: Reader) -> str:
    return str(
        reader.goes_to("Input and training loop").locator(".slowest").first.inner_text()
    )


def which_layer(reader: Reader) -> str:
    return str(
        reader.goes_to("Compute by layer and line")
        .locator(".vt-row")
        .first.inner_text()
    )


def what_it_computes(reader: Reader) -> str:
    section = reader.goes_to("Ops and kernels")
    reader.click(section.locator(".vt-row", has_text="dot.3"))
    return str(section.locator(".hlo").inner_text())


def the_other_hosts(reader: Reader) -> str:
    section = reader.goes_to("Timeline")
    section.locator(".timeline-frame:not([aria-busy])").wait_for()
    section.locator(".timeline").press("ArrowDown")
    section.locator(".timeline").press("ArrowDown")
    return str(section.locator(".event-panel").inner_text())


def what_would_shorten_it(reader: Reader) -> str:
    section = reader.goes_to("Timeline")
    reader.click(section.locator("summary", has_text="Critical path"))
    return str(section.locator("table tbody tr").first.inner_text())


CLASSES_Y = 40 + 18 + 20 + 6 + 20 + 9
"""px: below the axis the critical path, then the middle of the row of classes."""


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("questions")
    for name in TRACES:
        place = T4 if name == GPU else FIXTURES / name
        if place.is_dir():
            (folder / f"{file_of(name)}.html").write_text(
                as_html([page_of_folder(place)]), encoding="utf-8"
            )
    return folder


def file_of(trace: str) -> str:
    """The name of its page."""
    return trace.replace("/", "-")


def clicks_told(number: int, width: int = 1440) -> int:
    """What the page of questions says of a screen."""
    rows = re.findall(
        r"^\| (\d+) \|[^|]+\|[^|]+\| (\d+)(?:, on a phone (\d+))? \|",
        QUESTIONS.read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    usual, phone = {int(one): clicks for one, *clicks in rows}[number]
    return int(phone or usual) if width < 600 else int(usual)


def opened(
    browser: Any, reports: Path, trace: str, width: int = 1440, scheme: str = "light"
) -> Opened:
    file = reports / f"{file_of(trace)}.html"
    if not file.exists():
        pytest.skip("the traces recorded by others are not beside this checkout")
    height = 900 if width > 600 else 844
    return Opened(
        browser,
        file,
        unfolded=False,
        viewport={"width": width, "height": height},
        color_scheme=scheme,
        reduced_motion="reduce",
    )


def clicks_to(ask: Callable[[Reader], str], one: Opened, answer: str) -> int:
    """After how many clicks the page says what the pattern asks for; then it is
    closed.
    """
    reader = Reader(one.page)

    found = ask(reader)
    one.context.close()

    assert re.search(answer, found), found
    return reader.clicks


@pytest.mark.parametrize(
    ("number", "trace", "ask", "answer"),
    [
        (
            1,
            LATE,
            what_limits,
            r"Unbalanced(?s:.*)saves 13–57%(?s:.*)program\.py:48(?s:.*)executor\.submit",
        ),
        (2, MAP, which_step, r"(?s:.*)median;(?s:.*)longest 3\.67 ms \(train 2\)"),
        (3, LATE, the_worst_step, r"Worst: train \d+, 7\d\.\d ms"),
        (4, LATE, which_kernel, r"all-reduce|psum|dot"),
        (
            5,
            GPU,
            how_launched,
            r"(?i)grid(?s:.*)block(?s:.*)reg(?s:.*)occup(?s:.*)\d",
        ),
        (6, LATE, which_line, r"program\.py:28"),
        (7, MAP, lost_to, r"class\n(input|compute|launch|host)"),
        (
            8,
            LATE,
            what_runs_beside,
            r"Runs beside it(?s:.*)(load_batch|sleep|all-reduce)",
        ),
        (9, LATE, what_limits, r"waiting for beta"),
        (
            10,
            LATE,
            what_lives_at_the_peak,
            r"(?s:.*)Needs 18\.7 MiB(?s:.*)ynn_fusion\.3(?s:.*)program\.py:28",
        ),
        (11, LATE, next_one, r"2 of \d+ matches"),
        (12, MAP, how_long, r"ms chosen(?s:.*)By class(?s:.*)input"),
        (13, WATCHED, what_limits, r"Where the [\d.]+ m?s since(?s:.*)steps\n*\d+%"),
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
    assert clicks_to(ask, opened(chromium, reports, trace), answer) == clicks_told(
        number
    )


@pytest.mark.parametrize(
    ("trace", "ask", "answer", "clicks"),
    [
        (MAP, the_slowest_stage, r"ParallelMap", 1),
        (MAP, which_layer, r"sequential_1/dense_1", 1),
        (
            LATE,
            what_it_computes,
            r"(?s:.*)Read by(?s:.*)%dot\.3 = f32\[(?s:.*)dot\(",
            2,
        ),
        (LATE, the_other_hosts, r"(?s:.*)beta \(the others wait for it\)", 1),
        (MAP, what_would_shorten_it, r"input", 2),
    ],
)
def test_five_more(
    chromium: Any,  # noqa: F811
    reports: Path,
    trace: str,
    ask: Callable[[Reader], str],
    answer: str,
    clicks: int,
) -> None:
    assert clicks_to(ask, opened(chromium, reports, trace), answer) == clicks


Ask = tuple[Callable[..., str], str]
BESIDE = r"class\n(?s:.*)(Runs beside it|only communication between devices runs)"
ANYWHERE: dict[int, Ask] = {
    1: (
        what_limits,
        r"(?s:.*)\d+% of step time|The devices compute for \d+% of step time",
    ),
    2: (which_step, r"longest [\d.]+ (ms|s) \(.*\d+.*\)"),
    3: (the_worst_step, r"\d (µs|ms|s)"),
    4: (which_kernel, r"(compute|collective)(?s:.*)\d%"),
    5: (how_launched, r"(?s:.*)\d+(\.\d+)? (µs|ms)"),
    6: (which_line, r"program\.py:\d+(?s:.*)\d%"),
    7: (lost_to, r"class\n(input|compute|launch|host|collective|transfer|idle)"),
    8: (what_runs_beside, BESIDE),
    9: (what_limits, r"\d%"),
    10: (what_lives_at_the_peak, r"At most \d|Needs \d|tells nothing of device memory"),
    11: (next_one, r"2 of \d+ matches"),
    12: (how_long, r"(ms|µs) chosen(?s:.*)By class"),
    13: (what_limits, r"Where the [\d.]+ m?s since|Where the time goes|Where a step"),
}
"""What any trace answers, or says why not."""
WITH_DOT, WITH_MATMUL, WITH_CONV = (
    {
        8: (partial(what_runs_beside, name=name), BESIDE),
        11: (partial(next_one, name=name), r"2 of \d+ matches"),
    }
    for name in ("dot", "MatMul", "Conv2D")
)
OF_TRACE: dict[str, dict[int, Ask | None]] = {
    LATE: {
        **WITH_DOT,
        1: (what_limits, "waiting for beta"),
        8: (
            what_runs_beside,
            "class\ncollective",
        ),  # on the late host nothing does, and so nothing is listed
        9: (what_limits, "waiting for beta"),
    },
    MAP: {
        **WITH_MATMUL,
        1: (what_limits, "Input-bound"),
        6: None,
    },
    GPU: {
        **WITH_CONV,
        2: (which_step, r"^(?s:(?!.*percentile).*)1\n+counted"),
        1: (what_limits, "Compute-bound"),
        5: (how_launched, r"(?i)grid(?s:.*)occup(?s:.*)\d"),
        6: None,
    },
    UNEVEN: {1: (what_limits, "Unbalanced")},
    LOADER: {**WITH_DOT, 1: (what_limits, r"Input-bound(?s:.*)load_batch")},
    WATCHED: {**WITH_DOT, 13: (what_limits, r"Where the [\d.]+ m?s since")},
}
"""What is asked or answered in another way; None: the trace does not hold it, and so
the page has no such list.
"""
LISTS = {
    6: ("Compute by layer and line", "option", "Source line"),
}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("trace", TRACES)
def test_every_trace_answers_all_thirteen_on_every_screen(
    chromium: Any,  # noqa: F811
    reports: Path,
    trace: str,
    width: int,
    scheme: str,
) -> None:
    one = opened(chromium, reports, trace, width, scheme)

    for number, usual in ANYWHERE.items():
        asked = OF_TRACE[trace].get(number, usual)
        if asked is None:
            section, element, text = LISTS[number]
            assert (
                one.page.locator("section", has_text=section)
                .locator(element, has_text=text)
                .count()
                == 0
            )
            continue
        ask, answer = asked
        reader = Reader(one.page)
        found = ask(reader)
        assert re.search(answer, found), (number, trace, found)
        assert reader.clicks <= clicks_told(number, width), (number, trace)
        assert one.page.evaluate(
            "document.documentElement.scrollWidth <= innerWidth"
        ), (number, trace)
    one.context.close()

    assert one.errors == []
    assert [url for url in one.requests if not url.startswith(("file:", "data:"))] == []
