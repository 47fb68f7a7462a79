"""The page in a real browser: what a reader clicks, hears and types; and that it stays
closed and quick.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from support.browser import chromium, open_all, violations  # noqa: F401
from support.opened_pages import Opened
from support.pages import enlarged, page_of, page_of_folder
from support.places import FIXTURES
from support.trace_builder import trace

from tfadvisor.advice.findings import Plan, PlanStep
from tfadvisor.comparing import comparison_of
from tfadvisor.comparison.change_forms import signed, verdict_words
from tfadvisor.report.forms.html import as_html
from tfadvisor.report.forms.page_data import PageData

sync_api = pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed (the extra `browser`)"
)

COMMAND = Path(sys.executable).parent / "tfadvisor"
HOSTILE = '</script><img src=x onerror="window.broken=1"><b>{{x}}</b> \u202e&lt;'
DESKTOP, TABLET, PHONE = ({"width": width, "height": 900} for width in (1440, 800, 360))

OVERFLOWS = "one => one.scrollWidth > one.clientWidth"


@pytest.fixture
def opened(chromium: Any, request: pytest.FixtureRequest) -> Any:  # noqa: F811
    def open_(file: Path, hash_: str = "", **context: Any) -> Opened:
        one = Opened(chromium, file, hash_, **context)
        request.addfinalizer(one.context.close)
        return one

    return open_


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with pages."""
    folder = tmp_path_factory.mktemp("pages")
    late, balanced = (
        page_of_folder(FIXTURES / "jax-hosts-late"),
        page_of_folder(FIXTURES / "jax-hosts-balanced"),
    )
    pages = {
        "late": as_html([late]),
        "two": as_html([late, balanced]),
        "changed": changed(FIXTURES / "jax-loader", FIXTURES / "jax-healthy"),
        "refused": changed(gpu_run(folder / "gpu"), FIXTURES / "jax-healthy", code=4),
        "planned": as_html([planned(late)]),
        "map": as_html(
            [page_of_folder(FIXTURES / "tf-python-map")],
            "https://xprof.example/?run={run}&host={host}",
        ),
        "hostile": as_html([page_of(hostile())]),
        "large": as_html(
            [
                enlarged(
                    page_of_folder(FIXTURES / "tf-tiny-ops"), steps=5_000, ops=20_000
                )
            ]
        ),
    }
    for name, text in pages.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return folder


def planned(page: PageData) -> PageData:
    """With a plan of its first two findings."""
    first, second = (one.rule_id for one in page.report.findings[:2])
    changes = (
        PlanStep(first, 0.3, 0.5, 0.5, 0.7, worth=True),
        PlanStep(second, 0.05, 0.15, 0.4, 0.6, worth=True),
    )
    third = PlanStep("exposed-copies", 0.0, 0.01, 0.39, 0.6, worth=False)
    return replace(
        page, report=replace(page.report, plan=Plan((*changes, third), 0.5, 0.7))
    )


def changed(base: Path, new: Path, code: int = 0) -> str:
    """What `tfadvisor compare --format html` writes."""
    call = [COMMAND, "compare", base, new, "--format", "html"]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    return done.stdout


def gpu_run(folder: Path) -> Path:
    """Five steps of a GPU."""
    builder = trace()
    for at in range(0, 500, 100):
        builder.step(at, at + 100).kernel(
            "GPU:0", "matmul", at + 10, at + 90, launched=(at + 1, at + 5)
        )
    return builder.write(folder)


def hostile() -> Any:
    builder = trace().host(HOSTILE.replace("/", "_")).thread(HOSTILE)
    for index in range(5):
        at = index * 100
        builder.step(at, at + 100, name=HOSTILE).call(
            f"$evil.py:7 {HOSTILE} load_batch", at, at + 60
        )
        builder.kernel("GPU:0", HOSTILE, at + 70, at + 100, launched=(at + 61, at + 62))
    return builder.warning(HOSTILE).error(HOSTILE)


@pytest.mark.every_push
def test_the_verdict_and_where_a_step_goes(opened: Any, reports: Path) -> None:
    page = opened(reports / "map.html").page

    assert page.locator("#verdict .verdict-name").inner_text() == "Input-bound"
    assert "Input-bound" in page.title()
    assert (
        page.locator("#verdict .bar")
        .get_attribute("aria-label")
        .startswith("compute 20%")
    )


def test_the_plan_says_what_remains_and_opens_its_findings(
    opened: Any, reports: Path
) -> None:
    page = opened(reports / "planned.html").page
    plan = page.locator("#findings .plan")
    second = page.locator(".card").nth(1)

    assert plan.locator("li").count() == 2
    assert "saves 5.0–15%, leaves " in plan.locator("li").nth(1).inner_text()
    assert "Stop here: the other finding saves hardly anything." in plan.inner_text()
    assert not second.locator(".fix").first.is_visible()
    plan.locator("button").nth(1).click()
    assert second.locator(".fix").first.is_visible()


def test_a_run_with_one_thing_to_change_has_no_plan(opened: Any, reports: Path) -> None:
    assert opened(reports / "map.html").page.locator("#findings .plan").count() == 0


@pytest.mark.parametrize(
    "name", ["late", "two", "changed", "planned", "map", "hostile", "large"]
)
@pytest.mark.parametrize(
    "viewport", [DESKTOP, TABLET, PHONE], ids=["desktop", "tablet", "phone"]
)
def test_no_error_no_request_no_sideways_scrolling(
    opened: Any, reports: Path, name: str, viewport: dict[str, int]
) -> None:
    one = opened(reports / f"{name}.html", viewport=viewport)
    one.see_everything()

    assert one.errors == []
    assert [url for url in one.requests if not url.startswith(("file:", "data:"))] == []
    assert one.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert (
        one.page.evaluate(
            f"[...document.querySelectorAll('.vt-head')].filter({OVERFLOWS}).length"
        )
        == 0
    )


@pytest.mark.every_push
def test_a_finding_opens_and_its_fix_is_copied(opened: Any, reports: Path) -> None:
    one = opened(
        reports / "late.html", permissions=["clipboard-read", "clipboard-write"]
    )
    second = one.page.locator(".card").nth(1)
    assert not second.locator(".fix").first.is_visible()

    second.locator("summary").first.click()
    second.locator("button.copy").first.click()

    sync_api.expect(second.locator("button.copy").first).to_have_text("Copied")
    copied = one.page.evaluate("navigator.clipboard.readText()")
    assert copied == second.locator("pre").first.inner_text()


def test_a_link_to_a_finding_opens_it(opened: Any, reports: Path) -> None:
    rule = (
        opened(reports / "late.html")
        .page.locator(".card")
        .last.get_attribute("id")
        .removeprefix("finding-")
    )

    page = opened(reports / "late.html", f"#finding={rule}").page

    assert page.locator(f"#finding-{rule} > details").get_attribute("open") is not None
    assert page.evaluate("document.activeElement.tagName") == "SUMMARY"


def test_a_clicked_step_shows_its_breakdown(opened: Any, reports: Path) -> None:
    page = opened(reports / "late.html").page
    chart = page.locator("#steps .chart")
    chart.scroll_into_view_if_needed()
    page.wait_for_timeout(200)
    box = chart.bounding_box()

    page.mouse.click(box["x"] + 90, box["y"] + box["height"] - 60)

    assert page.locator("#steps .panel h3").inner_text().startswith("train 0")
    assert page.locator("#steps .panel tbody tr").count() >= 3


def test_steps_are_chosen_with_the_keyboard(opened: Any, reports: Path) -> None:
    page = opened(reports / "late.html").page

    page.locator("#steps .chart-frame").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")

    assert page.locator("#steps .panel h3").inner_text().startswith("train 1")


def test_the_worst_step_leads_to_its_timeline(opened: Any, reports: Path) -> None:
    page = opened(reports / "late.html").page

    page.get_by_role("button", name="Worst step").click()
    page.get_by_role("button", name="Show its timeline").click()

    assert (
        page.locator("#timeline select option:checked")
        .last.inner_text()
        .startswith("Worst")
    )
    assert page.evaluate("document.activeElement.className") == "timeline"


def test_the_timeline_is_read_with_the_keyboard(opened: Any, reports: Path) -> None:
    page = opened(reports / "map.html").page

    page.locator(".timeline").focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "+", "Enter"):
        page.keyboard.press(key)

    words = page.locator("#timeline .event-panel").inner_text()
    assert "of the step" in words
    assert "CPU:0" in words


def test_a_finding_highlights_its_class_in_the_timeline(
    opened: Any, reports: Path
) -> None:
    page = opened(reports / "map.html").page

    page.get_by_role("button", name="Show input in the timeline").first.click()

    assert page.locator("#timeline .kind[aria-pressed=true]").inner_text() == "input"


def test_findings_are_marked_in_the_timeline(opened: Any, reports: Path) -> None:
    page = opened(reports / "map.html").page
    first = page.locator(".card .card-title").first.inner_text()
    button = (
        page.get_by_role("group", name="Findings in this step")
        .get_by_role("button")
        .first
    )
    assert button.inner_text() == first

    button.click()

    assert page.locator("#timeline .kind[aria-pressed=true]").all_inner_texts() == [
        "input",
        first,
    ]
    page.locator("#timeline .timeline").press("Escape")
    assert page.locator("#timeline .kind[aria-pressed=true]").count() == 0


def test_time_that_a_finding_is_about_leads_to_the_finding(
    opened: Any, reports: Path
) -> None:
    page = opened(reports / "map.html").page
    page.locator(".card > details").first.evaluate("one => { one.open = false }")
    page.locator("#timeline summary", has_text="Events as a table").click()
    page.locator("#timeline .vt-row", has_text="where its time goes").filter(
        has_text="input"
    ).first.click()

    page.locator("#timeline .event-panel a").first.click()

    assert page.locator(".card > details").first.get_attribute("open") is not None
    assert page.evaluate("document.activeElement.tagName") == "SUMMARY"


PERFETTO = """<script>addEventListener("message", (event) => {
  if (event.data === "PING") event.source.postMessage("PONG", "*");
  else {
    const { title, buffer } = event.data.perfetto;
    document.title = `${title}: ${JSON.parse(new TextDecoder().decode(buffer)).traceEvents.length}`;
  }
});</script>"""
"""What of Perfetto's page answers."""


def test_a_step_is_handed_to_perfettos_page_by_one_click(
    opened: Any, reports: Path
) -> None:
    one = opened(reports / "map.html", offline=False)
    one.context.route(
        "https://ui.perfetto.dev/**",
        lambda route: route.fulfill(body=PERFETTO, content_type="text/html"),
    )

    with one.context.expect_page() as found:
        one.page.get_by_role("button", name="Open in Perfetto").click()

    found.value.wait_for_function("document.title.startsWith('tfadvisor, step')")
    assert int(found.value.title().rpartition(": ")[2]) > 10


def test_a_step_is_saved_for_perfetto_without_a_network(
    opened: Any, reports: Path
) -> None:
    page = opened(reports / "map.html").page

    with page.expect_download() as found:
        page.get_by_role("button", name="Save for Perfetto").click()

    events = json.loads(Path(found.value.path()).read_text())["traceEvents"]
    assert {"M", "X"} == {one["ph"] for one in events}


def test_an_imbalance_opens_on_all_hosts_the_late_one_first(
    opened: Any, reports: Path
) -> None:
    page = opened(reports / "late.html").page
    page.locator("#timeline .timeline-frame:not([aria-busy])").wait_for()

    assert (
        page.locator("#timeline select")
        .first.locator("option:checked")
        .inner_text()
        .startswith("All hosts")
    )
    assert (
        page.locator("#steps select").first.locator("option:checked").inner_text()
        == "beta"
    )
    assert (
        "Collectives take 74% of a step on the others"
        in page.locator("#verdict").inner_text()
    )


def test_xprof_is_linked_when_its_address_is_known(opened: Any, reports: Path) -> None:
    link = opened(reports / "map.html").page.get_by_role("link", name="XProf")
    none = opened(reports / "late.html").page.get_by_role("link", name="XProf")

    assert link.get_attribute("href").startswith(
        "https://xprof.example/?run=tf-python-map&host="
    )
    assert none.count() == 0


@pytest.mark.every_push
def test_two_runs_stand_side_by_side(opened: Any, reports: Path) -> None:
    one = opened(reports / "two.html")
    page = one.page
    assert "shorter" in page.locator("#compare").inner_text()
    assert page.locator("#compare .side").count() == 2

    page.get_by_label("Run", exact=True).select_option(index=1)

    assert page.locator("h1").inner_text() == "jax-hosts-balanced"
    assert "longer" in page.locator("#compare").inner_text()
    page.get_by_label("Compare with").select_option(index=0)
    assert page.locator("#compare").count() == 0
    assert one.errors == []


def test_the_causes_of_a_change_add_up_to_it_in_both_directions(
    opened: Any, reports: Path
) -> None:
    """The causes come from `compare`, which knows ops that compilers number anew."""
    one = opened(reports / "changed.html")
    page = one.page
    assert page.locator("h1").inner_text() == "jax-healthy"
    causes = page.locator("#compare table").nth(1)
    known = comparison_of(FIXTURES / "jax-loader", FIXTURES / "jax-healthy")
    assert page.locator("#compare strong").first.inner_text() == verdict_words(known)
    assert causes.locator("tbody tr").last.inner_text().split("\t")[
        -1
    ].strip() == signed(known.median_change_ms)
    assert "(was " in causes.inner_text()

    page.get_by_label("Run", exact=True).select_option(index=1)

    assert page.locator("h1").inner_text() == "jax-loader"
    assert causes.locator("tbody tr").last.inner_text().split("\t")[
        -1
    ].strip() == signed(-known.median_change_ms)
    assert one.errors == []


def test_of_runs_of_other_kinds_no_difference_is_called_a_change(
    opened: Any, reports: Path
) -> None:
    """As the command and the gate refuse them: a step of a GPU is no longer than one of
    a CPU by so many per cent.
    """
    one = opened(reports / "refused.html")

    for index in (0, 1):
        one.page.get_by_label("Run", exact=True).select_option(index=index)
        shown = one.page.locator("#compare").inner_text()
        assert shown.splitlines()[2].startswith("These runs are not comparable: ")
        assert "devices: 1 " in shown.partition("The runs differ in")[2]
        assert "change" not in shown
        assert "%" not in shown.partition("The runs differ in")[2]
        assert one.page.locator("#compare table").count() == 0
    assert one.errors == []


@pytest.mark.every_push
def test_a_hostile_name_stays_text(opened: Any, reports: Path) -> None:
    one = opened(reports / "hostile.html")
    one.see_everything()
    open_all(one.page)

    shown = one.page.locator("main").inner_text()

    assert (
        '</script><img src=x onerror="window.broken=1"><b>{{x}}</b> \\x202e&lt;'
        in shown
    )
    assert one.page.evaluate("window.broken") is None
    assert one.page.locator("img").count() == 0
    assert one.page.evaluate("document.scripts.length") == 2
    assert one.errors == []


def test_markup_cannot_be_made_from_text_at_all(opened: Any, reports: Path) -> None:
    one = opened(reports / "late.html")

    refused = one.page.evaluate(
        "() => { try { document.body.innerHTML = '<p>'; return false } catch { "
        "return true } }"
    )

    assert refused


def test_the_theme_is_the_systems_until_another_is_chosen(
    opened: Any, reports: Path
) -> None:
    page = opened(reports / "late.html", color_scheme="dark").page
    background = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(background)

    page.get_by_role("button", name="Theme").click()

    assert page.get_by_role("button", name="Theme").inner_text() == "Theme: light"
    assert page.evaluate(background) != dark


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["two", "changed", "planned", "map"])
def test_assistive_technology_finds_its_way(
    opened: Any, reports: Path, scheme: str, name: str
) -> None:
    one = opened(reports / f"{name}.html", color_scheme=scheme)
    one.see_everything()
    open_all(one.page)

    assert violations(one.page) == []


def test_ops_are_searched_and_sorted(opened: Any, reports: Path) -> None:
    page = opened(reports / "large.html").page
    rows = page.locator("#ops .vt-row")

    page.get_by_label("Search ops").fill("fusion.19999")
    assert rows.count() == 1
    page.get_by_label("Search ops").fill("")
    page.locator("#ops").get_by_role("button", name="Times").click()

    assert page.locator("#ops [aria-sort=descending]").inner_text().startswith("Times")
    assert rows.first.locator("[role=cell]").nth(4).inner_text() == "13"


def test_what_a_narrow_table_leaves_out_is_told_of_the_chosen_row(
    opened: Any, reports: Path
) -> None:
    page = opened(reports / "late.html", viewport=PHONE).page
    table = page.locator("#collectives .vt-frame")
    assert "Exposed" not in table.inner_text()

    table.locator(".vt-scroll").focus()
    page.keyboard.press("ArrowDown")

    assert "Exposed" in table.locator(".vt-more").inner_text()
    assert "264 KiB" in table.locator(".vt-more").inner_text()


def test_5000_steps_and_20000_ops_stay_fluid(opened: Any, reports: Path) -> None:
    """Only rows in view exist, and nothing keeps the page from answering for long.
    Times are many times those measured.
    """
    one = opened(reports / "large.html")
    page = one.page
    one.see_everything()
    watch = (
        "window.long = []; new PerformanceObserver(l => "
        "window.long.push(...l.getEntries().map(e => e.duration)))"
    )
    page.evaluate(f"() => {{ {watch}.observe({{type: 'longtask'}}) }}")

    page.locator("#ops .vt-scroll").scroll_into_view_if_needed()
    for _ in range(20):
        page.locator("#ops .vt-scroll").evaluate("one => { one.scrollTop += 20000 }")
        page.wait_for_timeout(16)
    page.get_by_label("Search ops").type("fusion")
    page.locator("#steps .chart-frame").focus()
    for key in ["ArrowRight", "+", "+", "d", "-"]:
        page.keyboard.press(key)
    page.wait_for_timeout(100)

    assert page.locator("#ops .vt-row").count() < 60
    assert max(page.evaluate("window.long"), default=0) < 1_000
