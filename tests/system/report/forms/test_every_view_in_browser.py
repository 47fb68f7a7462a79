"""Each view of the page in a real browser on five traces: it shows what the trace
holds, or says that it holds none.
"""

from __future__ import annotations

import importlib.util
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support import shared_traces
from support.browser import chromium, open_all, violations  # noqa: F401
from support.opened_pages import Opened
from support.pages import page_of_folder
from support.places import FIXTURES, ROOT

from tfadvisor.report.forms.html import as_html
from tfadvisor.report.forms.page_data import PageData

pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed (the extra `browser`)"
)

GPU = shared_traces.FOLDER / "keras-one-batch" / "t4-a-20231107-184716"
"""One batch of a Keras model on a T4."""
KERNELS_OF_40_MB = 700_000
MOST_LOOKS = 200
TRACES = ("tf-python-map", "jax-logging", "jax-hosts-late", "gpu", "40mb")
"""TensorFlow waiting for input, JAX waiting for its host, three hosts, a real GPU, and
one whose file has 42 MB.
"""


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    found = {
        name: FIXTURES / name
        for name in ("tf-python-map", "jax-logging", "jax-hosts-late")
    }
    if GPU.exists():
        found["gpu"] = GPU
    found["40mb"] = tmp_path_factory.mktemp("large") / "40mb"
    found["40mb"].mkdir()
    (found["40mb"] / "host.xplane.pb").write_bytes(built_trace(KERNELS_OF_40_MB))
    return found


def built_trace(kernels: int) -> bytes:
    """As benchmarks/build_gpu_plane.py builds it."""
    spec = importlib.util.spec_from_file_location(
        "build_gpu_plane", ROOT / "benchmarks" / "build_gpu_plane.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return bytes(module.trace(kernels))


@pytest.fixture(scope="module")
def data(folders: dict[str, Path]) -> dict[str, PageData]:
    return {name: page_of_folder(folder) for name, folder in folders.items()}


@pytest.fixture(scope="module")
def files(
    data: dict[str, PageData], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    for name, page in data.items():
        (folder / f"{name}.html").write_text(as_html([page]), encoding="utf-8")
    return {name: folder / f"{name}.html" for name in data}


@pytest.fixture(scope="module", params=TRACES)
def seen(
    chromium: Any,  # noqa: F811
    files: dict[str, Path],
    request: pytest.FixtureRequest,  # noqa: F811, RUF100
) -> Iterator[tuple[str, Opened]]:
    """A page that a reader has scrolled through."""
    if request.param not in files:
        pytest.skip("the traces recorded by others are not here")
    one = Opened(
        chromium, files[request.param], viewport={"width": 1280, "height": 800}
    )
    one.see_everything()
    yield request.param, one
    assert one.errors == []
    one.context.close()


def rows_of(table: Any) -> int:
    """Of a table that draws only what is in view."""
    return int(table.get_attribute("aria-rowcount")) - 1


def is_painted(canvas: Any) -> bool:
    """Whether any point of it has a colour."""
    return bool(
        canvas.evaluate(
            "one => one.getContext('2d').getImageData(0, 0, one.width, "
            "one.height).data.some((value) => value > 0)"
        )
    )


def verdict(page: Any, data: PageData) -> None:
    assert (
        page.locator("#verdict .verdict-words").inner_text()
        == data.report.verdict.summary
    )
    shares = [share for share in data.report.breakdown.values() if share >= 0.0005]
    assert page.locator("#verdict .bar > span").count() == len(shares)


def where(page: Any, data: PageData) -> None:
    """A row a class, the largest first; a class of a tenth of the step or more
    is open.
    """
    rows = page.locator("#where .tree > li > details")
    assert [one.get_attribute("id") for one in rows.all()] == [
        f"where-{one.kind}" for one in data.report.attribution
    ]
    opened = [one.get_attribute("open") is not None for one in rows.all()]
    assert opened == [one.fraction >= 0.1 for one in data.report.attribution]


def findings(page: Any, data: PageData) -> None:
    titles = [one.title for one in data.report.findings if one.category != "capture"]
    shown = page.locator("#findings .card-title").all_inner_texts()
    assert [one.split(". ", 1)[1].rstrip(" ▼▶") for one in shown] == titles


def steps(page: Any, data: PageData) -> None:
    assert page.locator("#steps h2 .note").inner_text() == str(data.report.steps.count)
    assert is_painted(page.locator("#steps .chart canvas").first)
    page.locator("#steps summary", has_text="Steps as a table").click()
    assert rows_of(page.locator("#steps [role=table]")) == len(data.report.steps.each)


def timeline(page: Any, data: PageData) -> None:
    assert data.drawn
    assert is_painted(page.locator("#timeline .timeline canvas"))
    page.locator("#timeline summary", has_text="Events as a table").click()
    assert rows_of(page.locator("#timeline [role=table]").last) >= len(
        data.drawn[0].start
    )


def parts(page: Any, data: PageData) -> None:
    """Summed by the ops' names, the op with the most time comes first."""
    page.locator("#parts").get_by_label("By", exact=True).select_option("Op")
    by_name: dict[str, float] = defaultdict(float)
    for one in data.parts:
        by_name[one.name] += one.ms_per_step
    share = max(by_name.values()) / sum(by_name.values())
    told = page.locator("#parts .vt-row").first.inner_text()
    assert f"{share:.0%}" in told or f"{share:.1%}" in told
    assert page.locator("#parts .flame-box").count() >= 2


def ops(page: Any, data: PageData) -> None:
    assert rows_of(page.locator("#ops [role=table]")) == len(data.ops)
    longest = max(data.ops, key=lambda one: one.ms_per_step)
    first = (
        page.locator("#ops .vt-row").first.locator("[role=cell]").first.text_content()
    )
    assert (longest.op or longest.kernel or "")[-12:] in first


def memory(page: Any, data: PageData) -> None:
    if not data.memory and not data.programs:
        assert (
            "This trace tells nothing of device memory"
            in page.locator("#memory").inner_text()
        )
    for one in data.memory:
        assert one.allocator in page.locator("#memory").inner_text()
    for program in data.programs[:4]:
        assert f"Program {program.program}" in page.locator("#memory").inner_text()


def collectives(page: Any, data: PageData) -> None:
    if not data.collectives:
        assert page.locator("#collectives").count() == 0
        return
    assert rows_of(page.locator("#collectives [role=table]")) == len(data.collectives)
    assert is_painted(page.locator("#collectives .chart canvas").first)


def devices(page: Any, data: PageData) -> None:
    assert rows_of(page.locator("#devices [role=table]").first) == len(data.devices)


def input_(page: Any, data: PageData) -> None:
    if not data.pipelines and not data.calls:
        assert page.locator("#input").count() == 0
        return
    assert page.get_by_role("group", name="Input pipeline as a graph").count() == len(
        data.pipelines
    )
    words = page.locator("#input").inner_text()
    for call in data.calls[:3]:
        assert call.place in words


def metrics(page: Any, data: PageData) -> None:
    known = [name for name, one in data.report.metrics.items() if one.value is not None]
    assert page.locator("#metrics .metric").count() == len(data.report.metrics)
    assert page.locator("#metrics h2 .note").inner_text() == str(len(known))


def about(page: Any, data: PageData) -> None:
    words = page.locator("#capture").inner_text()
    assert all(one.note[:40] in words for one in data.report.capture)
    assert data.report.capture or "The capture is sound." in words


def passed(page: Any, data: PageData) -> None:
    shown = page.locator("#passed li code").all_inner_texts()
    assert sorted(shown) == sorted(rule.rule_id for rule in data.report.passed)


def not_applicable(page: Any, data: PageData) -> None:
    shown = page.locator("#not-applicable dd code").all_inner_texts()
    assert sorted(shown) == sorted(one.rule_id for one in data.report.not_applicable)


VIEWS = (
    verdict,
    where,
    findings,
    steps,
    timeline,
    parts,
    ops,
    memory,
    collectives,
    devices,
    input_,
    metrics,
    about,
    passed,
    not_applicable,
)


def test_no_view_is_forgotten(seen: tuple[str, Opened]) -> None:
    """`compare` needs two runs; its tests are in test_in_browser.py."""
    names = {"input_": "input", "about": "capture", "not_applicable": "not-applicable"}
    tested = {names.get(one.__name__, one.__name__) for one in VIEWS}

    shown = {one.get_attribute("id") for one in seen[1].page.locator("section").all()}

    assert shown <= tested
    assert tested - shown <= {"collectives", "input"}


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.__name__.rstrip("_"))
def test_the_view_shows_what_the_trace_holds(
    seen: tuple[str, Opened],
    data: dict[str, PageData],
    view: Callable[[Any, PageData], None],
) -> None:
    name, one = seen

    view(one.page, data[name])


def test_the_traces_are_what_they_are_called(
    folders: dict[str, Path], data: dict[str, PageData]
) -> None:
    assert data["tf-python-map"].report.run.framework == "tensorflow"
    assert data["tf-python-map"].report.verdict.bottleneck == "input"
    assert data["jax-logging"].report.run.framework == "jax"
    assert data["jax-logging"].report.verdict.bottleneck == "host"
    assert len(data["jax-hosts-late"].report.run.hosts) == 3
    assert (folders["40mb"] / "host.xplane.pb").stat().st_size > 40_000_000
    if "gpu" in data:
        assert [one.kind for one in data["gpu"].report.run.devices] == ["gpu"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", TRACES)
def test_assistive_technology_finds_its_way(
    chromium: Any,  # noqa: F811
    files: dict[str, Path],
    scheme: str,
    name: str,
) -> None:
    if name not in files:
        pytest.skip("the traces recorded by others are not here")
    one = Opened(chromium, files[name], color_scheme=scheme)
    one.see_everything()
    open_all(one.page)

    found = violations(one.page)
    one.context.close()

    assert found == []


@pytest.mark.parametrize("name", TRACES)
def test_a_picture_of_the_whole_page_is_whole(
    chromium: Any,  # noqa: F811
    files: dict[str, Path],
    name: str,  # noqa: F811, RUF100
) -> None:
    """Nobody has scrolled: what is out of view is drawn when the browser has time."""
    if name not in files:
        pytest.skip("the traces recorded by others are not here")
    one = Opened(chromium, files[name], viewport={"width": 1280, "height": 800})
    for _ in range(MOST_LOOKS):
        if one.page.locator(".chart:not(:has(canvas))").count() == 0:
            break
        one.page.wait_for_timeout(50)

    undrawn = one.page.locator(".chart:not(:has(canvas))").count()
    painted = is_painted(one.page.locator("#timeline .timeline canvas"))
    one.context.close()

    assert undrawn == 0
    assert painted


@pytest.mark.parametrize("name", TRACES)
def test_the_page_as_it_opens_is_no_longer_than_six_screens(
    chromium: Any,  # noqa: F811
    files: dict[str, Path],
    name: str,
) -> None:
    """Of 1,000 px: what a reader asks for next is folded."""
    if name not in files:
        pytest.skip("the traces recorded by others are not here")
    one = Opened(chromium, files[name], unfolded=False)
    one.see_everything()
    height = one.page.evaluate("document.documentElement.scrollHeight")
    one.context.close()

    assert 1000 < height < 6000


@pytest.mark.parametrize("name", TRACES)
def test_the_page_prints(chromium: Any, files: dict[str, Path], name: str) -> None:  # noqa: F811
    """At once after it is opened, in dark, on A4: light, whole, and not endless."""
    if name not in files:
        pytest.skip("the traces recorded by others are not here")
    one = Opened(chromium, files[name], color_scheme="dark")
    printed = one.page.pdf(format="A4", print_background=True)
    pages = len(re.findall(rb"/Type\s*/Page[^s]", printed))
    drawn = one.page.locator(".chart canvas").count()
    charts = one.page.locator(".chart").count()
    one.context.close()

    assert 4 <= pages <= 20
    assert drawn == charts >= 1
    assert one.errors == []
