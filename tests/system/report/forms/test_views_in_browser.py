"""What a reader looks further into, in a real browser, on five traces: the values that
each view shows.
"""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest
from support import shared_traces
from support.browser import chromium, open_all, violations  # noqa: F401
from support.opened_pages import Opened
from support.pages import enlarged, page_of_folder
from support.places import FIXTURES

from tfadvisor.report.forms.html import as_html
from tfadvisor.report.forms.page_data import PageData

sync_api = pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed (the extra `browser`)"
)

GPU = shared_traces.FOLDER / "keras-one-batch" / "t4-a-20231107-184716"
"""One batch of a Keras model on a T4."""
WIDTHS = [{"width": 1280, "height": 800}, {"width": 390, "height": 844}]


@pytest.fixture(scope="module")
def data() -> dict[str, PageData]:
    """What the pages are made of."""
    found = {
        name: page_of_folder(FIXTURES / name)
        for name in ("tf-python-map", "jax-logging", "jax-hosts-late")
    }
    found["large"] = enlarged(
        page_of_folder(FIXTURES / "tf-tiny-ops"), steps=5_000, ops=20_000
    )
    if GPU.exists():
        found["gpu"] = page_of_folder(GPU)
    return found


@pytest.fixture(scope="module")
def reports(
    data: dict[str, PageData], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    folder = tmp_path_factory.mktemp("views")
    for name, page in data.items():
        (folder / f"{name}.html").write_text(as_html([page]), encoding="utf-8")
    return folder


@pytest.fixture
def opened(chromium: Any, reports: Path, request: pytest.FixtureRequest) -> Any:  # noqa: F811
    def open_(name: str, **context: Any) -> Opened:
        if not (reports / f"{name}.html").exists():
            pytest.skip("the traces recorded by others are not here")
        one = Opened(chromium, reports / f"{name}.html", **context)
        request.addfinalizer(one.context.close)
        return one

    return open_


def chosen(page: Any, label: str, value: str) -> None:
    """Chooses an option of the timeline and waits until it is drawn."""
    page.locator("#timeline").get_by_label(label, exact=True).select_option(value)
    frame = page.locator("#timeline .timeline-frame")
    sync_api.expect(frame).not_to_have_attribute("aria-busy", "true")


@pytest.mark.parametrize("viewport", WIDTHS, ids=["desktop", "phone"])
@pytest.mark.parametrize(
    ("name", "verdict", "title", "place", "edit"),
    [
        (
            "tf-python-map",
            "Input-bound",
            "The input pipeline runs Python",
            "does not tell the line",
            "dataset.map(",
        ),
        (
            "jax-hosts-late",
            "Unbalanced",
            "All hosts wait for one",
            "program.py:48",
            "executor.submit(",
        ),
        ("jax-logging", "Host-bound", "", "program.py:", ""),
        (
            "gpu",
            "Compute-bound",
            "Matrix products run in fp32",
            "does not tell the line",
            "mixed_float16",
        ),
    ],
)
def test_the_first_screen_says_what_where_how_and_how_much(
    opened: Any,
    viewport: dict[str, int],
    name: str,
    verdict: str,
    title: str,
    place: str,
    edit: str,
) -> None:
    """Without scrolling: each part begins above the lower edge with a line of room."""
    page = opened(name, viewport=viewport).page
    parts = {
        ".verdict-name": verdict,
        ".first-head strong": title,
        ".first .saving": "% of step time",
        ".first-where": place,
        ".first pre": edit,
    }

    for selector, words in parts.items():
        part = page.locator(f"#verdict {selector}").first
        box = part.bounding_box()
        assert words in part.inner_text()
        assert box["y"] + min(box["height"], 36) <= viewport["height"], selector
    assert page.evaluate("scrollY") == 0


def test_evidence_is_in_words_with_the_definition_of_each_number(opened: Any) -> None:
    words = (
        opened("tf-python-map")
        .page.locator(".card .evidence")
        .first.locator("dt")
        .all_inner_texts()
    )

    assert not [one for one in words if "_" in one or one.islower()]
    assert any(one.startswith("Share of step time") for one in words)


def test_metrics_stand_in_groups_and_absent_ones_are_folded(
    opened: Any, data: dict[str, PageData]
) -> None:
    page = opened("tf-python-map").page
    absent = sum(
        one.value is None for one in data["tf-python-map"].report.metrics.values()
    )

    last = page.locator("#metrics details").last
    assert (
        last.locator("summary").inner_text() == f"Not known from this trace ({absent})"
    )
    assert last.get_attribute("open") is None
    page.get_by_label("Find a metric").fill("peak memory")
    assert (
        "peak_memory_fraction"
        in page.locator("#metrics .metric:visible").first.inner_text()
    )


def test_compute_is_summed_by_line_layer_and_op_type(
    opened: Any, data: dict[str, PageData]
) -> None:
    page = opened("jax-hosts-late").page
    by_line: dict[str, float] = {}
    for part in data["jax-hosts-late"].parts:
        by_line[part.line] = by_line.get(part.line, 0) + part.ms_per_step
    share = by_line["program.py:28"] / sum(by_line.values())

    page.locator("#parts").get_by_label("By", exact=True).select_option("Source line")

    first = page.locator("#parts .vt-row").first
    assert first.locator("[role=cell]").first.inner_text() == "program.py:28"
    assert f"{share:.0%}" in first.inner_text()
    first.click()
    assert "dot.3" in page.locator("#parts .panel").first.inner_text()


def test_layers_of_a_keras_model_on_a_gpu(opened: Any) -> None:
    page = opened("gpu").page

    assert (
        page.locator("#parts .vt-row [role=cell]").first.inner_text()
        == "sequential_1/conv2d_3"
    )
    page.locator("#parts .flame").focus()
    for key in ("ArrowDown", "ArrowDown"):
        page.keyboard.press(key)
    assert (
        "sequential_1/conv2d_3"
        not in page.locator("#parts p.small[aria-live]").first.inner_text()
    )
    assert (
        page.locator("#parts p.small[aria-live]")
        .first.inner_text()
        .startswith("conv2d_")
    )


def test_peaks_that_are_typed_in_tell_what_is_wasted(
    opened: Any, data: dict[str, PageData]
) -> None:
    """The largest product does 805,306,368 operations; at 1 TFLOP/s and 1,000 GB/s that
    takes 0.805 ms of its time.
    """
    page = opened("jax-hosts-late").page
    largest = data["jax-hosts-late"].parts[0]
    assert largest.flops == 805_306_368
    page.get_by_label("Peak, TFLOP/s").fill("1")
    page.get_by_label("Peak, TFLOP/s").press("Tab")
    page.get_by_label("Memory, GB/s").fill("1000")
    page.get_by_label("Memory, GB/s").press("Tab")

    page.locator("#parts").get_by_label("By", exact=True).select_option("Op")

    assert (
        page.locator("#parts .vt-row [role=cell]").nth(5).inner_text()
        == f"{largest.ms_per_step - 0.805:.2f} ms"
    )
    page.locator("#parts .chart canvas").first.wait_for()
    page.get_by_text("Roofline as a table").click()
    assert (
        f"{805_306_368 / 12_845_056:.3g}"
        in page.locator("#parts table").last.inner_text()
    )


def test_an_op_opens_with_its_hlo_and_leads_to_its_neighbours(opened: Any) -> None:
    page = opened("jax-hosts-late").page
    page.get_by_label("Search ops").fill("dot.3")

    page.locator("#ops .vt-row").first.click()

    text = page.locator("#ops .hlo pre").inner_text()
    assert text.startswith("%dot.3 = f32[")
    assert "lhs_contracting_dims=" in text
    assert "program.py" in text
    assert (
        page.get_by_role("group", name="Neighbours of the op")
        .locator(".this")
        .inner_text()
        == "dot.3"
    )


def test_memory_of_a_program_at_its_peak(opened: Any) -> None:
    """6,758,400 bytes of arguments, 12,582,936 of temporaries, 270,364 of outputs, 8 of
    constants.
    """
    words = opened("jax-hosts-late").page.locator("#memory")

    assert "Needs 18.7 MiB on each device" in words.inner_text()
    assert "temporaries 12.0 MiB" in words.inner_text()
    assert "made at program.py:28" in words.inner_text()
    assert words.locator(".vt-row").count() >= 8


def test_memory_of_an_allocator_over_time(opened: Any) -> None:
    words = opened("gpu").page.locator("#memory")

    assert "At most 144 MiB of 13.6 GiB (1.0%)" in words.inner_text()
    row = words.locator(".vt-row").first.text_content()
    assert row.startswith(
        "gradient_tape/sequential_1/conv2d_4/Conv2D/Conv2DBackpropFilter"
    )
    assert "61.6 MiB" in row


def test_every_step_of_every_host_can_be_drawn(
    opened: Any, data: dict[str, PageData]
) -> None:
    one = opened("jax-hosts-late")
    page = one.page
    steps = [
        step.index
        for step in data["jax-hosts-late"].report.steps.each
        if step.host == "beta"
    ]

    chosen(page, "Host", "1")
    assert page.locator("#timeline").get_by_label("Step", exact=True).locator(
        "option"
    ).count() == len(steps)
    for index in steps:
        chosen(page, "Step", str(index))
        assert page.locator("#timeline [role=status]").is_hidden()
    assert one.errors == []


def test_all_hosts_of_a_step_stand_under_each_other_the_late_one_first(
    opened: Any,
) -> None:
    """The path goes through beta, which loads its batch while the others wait."""
    page = opened("jax-hosts-late").page

    chosen(page, "Host", "3")
    page.get_by_text("Critical path of this step").click()

    path = page.locator("#timeline table tbody tr").first.inner_text()
    assert path.startswith("input")
    page.locator(".timeline").focus()
    for key in ("ArrowDown", "ArrowDown"):
        page.keyboard.press(key)
    assert (
        "beta (the others wait for it) CPU:0: where its time goes"
        in page.locator("#timeline .event-panel").inner_text()
    )


def test_a_step_that_the_file_leaves_out_says_where_it_is(opened: Any) -> None:
    page = opened("large").page

    chosen(page, "Step", "4321")

    words = page.locator("#timeline [role=status]").inner_text()
    assert words.startswith("This file does not hold step 4321")
    assert "tfadvisor export" in words


def test_the_input_pipeline_is_a_graph_from_source_to_step(opened: Any) -> None:
    page = opened("tf-python-map").page
    graph = page.get_by_role("group", name="Input pipeline as a graph")

    boxes = [
        one.replace("\n", " ") for one in graph.locator(".flow-box").all_inner_texts()
    ]

    assert boxes[-1] == "training step"
    assert graph.locator(".slowest strong").inner_text() == "ParallelMap"
    assert re.fullmatch(r"2\.\d+ ms", graph.locator(".slowest .number").inner_text())


@pytest.mark.parametrize(
    ("section", "heading"),
    [("#ops", "Op or kernel"), ("#devices", "Device"), ("#parts", "Layer")],
)
def test_a_table_is_saved_as_csv(
    opened: Any, tmp_path: Path, section: str, heading: str
) -> None:
    page = opened("tf-python-map").page
    table = page.locator(f"{section} .vt-frame").first

    with page.expect_download() as saved:
        table.get_by_role("button", name="CSV").click()

    saved.value.save_as(tmp_path / "table.csv")
    rows = list(
        csv.reader((tmp_path / "table.csv").read_text(encoding="utf-8").splitlines())
    )
    assert rows[0][0] == heading
    assert len(rows) == int(
        table.locator("[role=table]").get_attribute("aria-rowcount")
    )


def test_the_data_of_the_page_are_saved_as_json(opened: Any, tmp_path: Path) -> None:
    page = opened("tf-python-map").page

    with page.expect_download() as saved:
        page.get_by_role("button", name="Save as JSON").click()

    saved.value.save_as(tmp_path / "page.json")
    data = json.loads((tmp_path / "page.json").read_text(encoding="utf-8"))
    assert data["report"]["verdict"]["bottleneck"] == "input"
    assert "ParallelMap" in json.dumps(data)


def test_a_row_opens_with_all_of_it(opened: Any) -> None:
    page = opened("gpu").page
    page.locator("#memory .vt-row").first.click()

    assert "gradient_tape/sequential_1/conv2d_4/Conv2D/Conv2DBackpropFilter" in (
        page.locator("#memory .vt-more").first.text_content()
    )


@pytest.mark.parametrize("name", ["tf-python-map", "gpu", "large"])
def test_the_page_prints(opened: Any, name: str) -> None:
    """Charts that nobody has scrolled to are drawn; a table of 20,000 rows takes no
    more than a page.
    """
    one = opened(name, color_scheme="dark")
    page = one.page

    pages = len(
        re.findall(
            rb"/Type\s*/Page[^s]",
            page.pdf(prefer_css_page_size=True, print_background=True),
        )
    )

    assert 4 <= pages <= 20
    assert page.locator("#steps .chart canvas").count() == 1
    assert page.evaluate("document.documentElement.dataset.theme") is None
    assert one.errors == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["jax-hosts-late", "gpu", "large"])
def test_assistive_technology_finds_its_way(
    opened: Any, scheme: str, name: str
) -> None:
    one = opened(name, color_scheme=scheme)
    one.see_everything()
    if name == "jax-hosts-late":
        one.page.locator("#ops .vt-row").nth(1).click()
        one.page.locator("#parts .vt-row").first.click()
    open_all(one.page)

    assert violations(one.page) == []


def test_all_findings_are_printed_and_closed_again(opened: Any) -> None:
    page = opened("jax-hosts-late").page
    second = page.locator(".card > details").nth(1)

    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert second.get_attribute("open") is not None
    page.evaluate("dispatchEvent(new Event('afterprint'))")

    assert second.get_attribute("open") is None


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everything_is_reached_with_the_keyboard_and_shows_where_it_is(
    opened: Any, scheme: str
) -> None:
    """Tab reaches each control and scrolling part of the page; none is a trap, each has
    an outline while it has the focus.
    """
    page = opened("jax-hosts-late", color_scheme=scheme).page
    place = """() => {
      const one = document.activeElement;
      const isSeen = one === document.body || getComputedStyle(one).outlineStyle !== 'none';
      return [one.closest('section')?.id ?? '', one.ariaLabel ?? '', isSeen];
    }"""
    reached = []
    for _ in range(200):
        page.keyboard.press("Tab")
        reached.append(page.evaluate(place))

    assert {
        "verdict",
        "findings",
        "steps",
        "timeline",
        "parts",
        "ops",
        "memory",
        "metrics",
    } <= {one[0] for one in reached}
    assert any("Compute time by lines" in label for _, label, _ in reached)
    assert [one for one in reached if not one[2]] == []
