"""The tab in a real browser and a real TensorBoard, in a subfolder: what a reader
clicks; and that nothing else is asked.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
from support.browser import chromium, open_all, violations  # noqa: F401
from support.logdirs import add_broken_run, add_run
from support.trace_builder import trace

pytest.importorskip(
    "tensorboard", reason="TensorBoard is not installed (the extra `tensorboard`)"
)
sync_api = pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed (the extra `browser`)"
)

HOSTILE = "</script><img src=x onerror=window.broken=1>{{x}}\u202e"
LATE, BALANCED = "train/2026_01_04_00_00_00", "train/2026_01_03_00_00_00"
LOGGING, BROKEN = "2026_01_01_00_00_00", "2025_01_01_00_00_00"
STRANGE = "a&b=c#d %41/<i>ü</i> 2020_01_01_00_00_00"
RUNS = 7


class Server:
    """`tensorboard` on a logdir, below a path prefix."""

    def __init__(self, logdir: Path, cache: Path, prefix: str = "/some/where") -> None:
        command = [
            sys.executable,
            "-m",
            "tensorboard.main",
            "--logdir",
            logdir,
            "--port",
            "0",
            "--host",
            "127.0.0.1",
        ]
        self.logdir = logdir
        self.process = subprocess.Popen(
            [*command, "--path_prefix", prefix, "--load_fast", "false"],
            env={
                **os.environ,
                "TFADVISOR_CACHE": str(cache),
                "TF_CPP_MIN_LOG_LEVEL": "3",
            },
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stderr is not None
        lines = []
        for line in self.process.stderr:
            lines.append(line)
            if found := re.search(r"at (http://\S+?)/? \(", line):
                self.address = found.group(1)
                break
        else:
            pytest.fail("TensorBoard does not start:\n" + "".join(lines))
        self._listening = threading.Thread(target=self.process.stderr.read, daemon=True)
        self._listening.start()

    def stop(self) -> None:
        self.process.terminate()
        self._listening.join(30)
        with self.process:
            pass


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with tempfile.TemporaryDirectory() as folder:
        logdir = Path(folder) / "logdir"
        add_run(logdir, LATE, "jax-hosts-late")
        add_run(logdir, BALANCED, "jax-hosts-balanced")
        add_run(logdir, LOGGING)
        add_run(logdir, STRANGE)
        add_broken_run(logdir, BROKEN)
        hostile().write(logdir / "plugins" / "profile" / "2024_01_01_00_00_00")
        add_run(logdir, "deep/er/2023_01_01_00_00_00", "tf-python-map")
        before = sorted(Path(folder).rglob("*"))
        one = Server(logdir, Path(folder) / "cache")
        yield one
        one.stop()
        after = [
            path
            for path in sorted(Path(folder).rglob("*"))
            if path.is_relative_to(logdir) and "later" not in path.parts
        ]
        assert after == [path for path in before if path.is_relative_to(logdir)]


def hostile() -> Any:
    builder = trace().host(HOSTILE.replace("/", "_")).thread(HOSTILE)
    for index in range(5):
        at = index * 100
        builder.step(at, at + 100, name=HOSTILE).call(
            f"$evil.py:7 {HOSTILE} load_batch", at, at + 60
        )
        builder.kernel("GPU:0", HOSTILE, at + 70, at + 100, launched=(at + 61, at + 62))
    return builder.warning(HOSTILE).error(HOSTILE)


class Tab:
    """TensorBoard with the tab open; what the tab says on the console, and every host
    that is asked for anything.
    """

    def __init__(
        self, browser: Any, server: Server, shown: str = "", **context: Any
    ) -> None:
        self.context = browser.new_context(
            viewport={"width": 1440, "height": 900}, **context
        )
        self.errors: list[str] = []
        self.asked: set[str] = set()
        self.context.on(
            "request", lambda request: self.asked.add(urlsplit(request.url).netloc)
        )
        self.page = self.context.new_page()
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", self._heard)
        self.page.goto(f"{server.address}/#tfadvisor{shown}")
        self.frame = self.page.frame_locator("iframe[src*=tfadvisor]")
        self.frame.locator("#verdict .verdict-name, .state h2").first.wait_for()

    @property
    def document(self) -> Any:
        """The frame itself, for scripts."""
        return next(
            frame
            for frame in self.page.frames
            if "plugin/tfadvisor/tab.html" in frame.url
        )

    def _heard(self, message: Any) -> None:
        if message.type != "log" and "/plugin/tfadvisor/" in message.location.get(
            "url", ""
        ):
            self.errors.append(message.text)

    def choose(self, label: str, run: str) -> None:
        options = (
            self.frame.get_by_label(label, exact=True)
            .locator("option")
            .all_inner_texts()
        )
        (place,) = [
            index
            for index, text in enumerate(options)
            if text == run or text.startswith((f"{run} (", f"{run}: "))
        ]
        self.frame.get_by_label(label, exact=True).select_option(index=place)


@pytest.fixture
def opened(chromium: Any, server: Server, request: pytest.FixtureRequest) -> Any:  # noqa: F811
    def open_(shown: str = "", **context: Any) -> Tab:
        tab = Tab(chromium, server, shown, **context)
        request.addfinalizer(tab.context.close)
        return tab

    return open_


def of(run: str, finding: str = "", compare: str = "") -> str:
    """The address of what is shown, as TensorBoard writes its own."""
    said = {"run": run, "compare": compare, "finding": finding}
    return "".join(
        f"&p.tfadvisor.{name}={quote(value, safe='')}"
        for name, value in said.items()
        if value
    )


@pytest.mark.every_push
def test_the_newest_run_is_shown_and_only_this_server_is_asked(
    opened: Any, server: Server
) -> None:
    tab = opened()

    assert tab.frame.locator("h1").inner_text() == LATE
    assert tab.frame.locator("#verdict .verdict-name").inner_text() == "Unbalanced"
    for section in tab.frame.locator("section").all():
        section.scroll_into_view_if_needed()
    assert tab.frame.get_by_label("Run", exact=True).locator("option").count() >= RUNS
    assert of(LATE) in tab.page.url
    assert tab.errors == []
    assert tab.asked == {urlsplit(server.address).netloc}


def test_a_finding_opens_a_fix_is_copied_a_step_is_clicked(opened: Any) -> None:
    tab = opened(permissions=["clipboard-read", "clipboard-write"])
    second = tab.frame.locator(".card").nth(1)

    second.locator("summary").first.click()
    second.locator("button.copy").first.click()

    sync_api.expect(second.locator("button.copy").first).to_have_text("Copied")
    assert (
        tab.document.evaluate("navigator.clipboard.readText()")
        == second.locator("pre").first.inner_text()
    )

    chart = tab.frame.locator("#steps .chart")
    chart.scroll_into_view_if_needed()
    chart.locator("canvas").first.wait_for()
    chart.click(position={"x": 90, "y": chart.bounding_box()["height"] - 60})

    assert tab.frame.locator("#steps .panel h3").inner_text().startswith("train 0")
    assert tab.errors == []


def test_a_finding_has_an_address_that_opens_it(opened: Any) -> None:
    link = opened().frame.locator(".card").last.locator(".card-foot a").last
    address, rule = link.get_attribute("href"), link.text_content()

    tab = opened(f"{of(LATE, rule)}")

    assert address.endswith(f"#tfadvisor{of(LATE, rule)}")
    assert (
        tab.frame.locator(f"#finding-{rule} > details").get_attribute("open")
        is not None
    )
    assert tab.document.evaluate("document.activeElement.tagName") == "SUMMARY"
    tab.page.evaluate(f"location.hash = 'tfadvisor{of(LOGGING, 'host-work-in-loop')}'")
    sync_api.expect(tab.frame.locator("h1")).to_have_text(LOGGING)
    sync_api.expect(
        tab.frame.locator("#finding-host-work-in-loop > details > summary")
    ).to_be_focused()


def test_two_runs_are_compared(opened: Any) -> None:
    tab = opened()

    tab.choose("Compare with", BALANCED)
    tab.frame.locator("#compare").wait_for()

    sync_api.expect(tab.frame.locator("#compare")).to_contain_text(
        "They add up to the change of the step."
    )
    assert tab.frame.locator("#compare .side").count() == 2
    assert of(LATE, compare=BALANCED) in tab.page.url
    tab.choose("Run", BALANCED)
    sync_api.expect(tab.frame.locator("h1")).to_have_text(BALANCED)
    assert of(BALANCED, compare=LATE) in tab.page.url
    tab.choose("Compare with", "nothing")
    sync_api.expect(tab.frame.locator("#compare")).to_have_count(0)
    assert tab.errors == []


def test_the_picker_tells_verdict_and_step_and_offers_the_run_before(
    opened: Any,
) -> None:
    """The balanced run before it has steps of 730 ms, and is known once it was
    analysed.
    """
    opened(of(BALANCED))
    tab = opened(of(LATE))
    run = tab.frame.get_by_label("Run", exact=True)
    sync_api.expect(run.locator("option:checked")).to_contain_text(
        "▼ −92%", timeout=20_000
    )
    words = run.locator("option:checked").inner_text()
    assert words.startswith(f"{LATE} (3 hosts): Unbalanced, 58.4 ms, ▼ −92%")

    tab.frame.get_by_role("button", name="Compare with the run before").click()

    tab.frame.locator("#compare").wait_for()
    chosen = (
        tab.frame.get_by_label("Compare with", exact=True)
        .locator("option:checked")
        .inner_text()
    )
    assert chosen.startswith(BALANCED)
    assert chosen.endswith("(the run before)")
    assert tab.errors == []


def test_any_step_is_drawn_with_every_thread_by_the_server(opened: Any) -> None:
    tab = opened(of(LOGGING))
    timeline = tab.frame.locator("#timeline")

    timeline.get_by_role("button", name="With every thread").click()
    sync_api.expect(timeline.locator(".timeline-frame")).not_to_have_attribute(
        "aria-busy", "true", timeout=20_000
    )

    assert timeline.locator("[role=status]").is_hidden()
    timeline.locator(".timeline").focus()
    tab.page.keyboard.press("ArrowDown")
    assert "of the step" in timeline.locator(".event-panel").inner_text()
    assert tab.errors == []


def test_a_comparison_has_an_address(opened: Any) -> None:
    tab = opened(of(LOGGING, compare=LATE))

    tab.frame.locator("#compare").wait_for()

    assert tab.frame.locator("h1").inner_text() == LOGGING


def test_a_broken_file_is_explained_and_the_others_stay_in_reach(opened: Any) -> None:
    tab = opened(of(BROKEN))

    assert "cannot be shown" in tab.frame.locator(".state h2").inner_text()
    assert "trace.xplane.pb" in tab.frame.locator(".state .caveat").inner_text()
    tab.frame.get_by_role("button", name="Try again").click()
    tab.frame.get_by_role("button", name="Try again").wait_for()
    tab.choose("Run", LOGGING)
    sync_api.expect(tab.frame.locator("#verdict .verdict-name")).to_have_text(
        "Host-bound"
    )
    tab.choose("Compare with", BROKEN)
    sync_api.expect(tab.frame.locator(".notice")).to_contain_text("cannot be compared")
    assert tab.errors == []


def test_a_hostile_name_stays_text(opened: Any) -> None:
    tab = opened(of("2024_01_01_00_00_00"))
    open_all(tab.frame)

    shown = tab.frame.locator("main").inner_text()

    assert "</script><img src=x onerror=window.broken=1>{{x}}\\x202e" in shown
    assert tab.document.evaluate("window.broken") is None
    assert tab.frame.locator("img").count() == 0
    assert tab.document.evaluate("document.scripts.length") == 1
    refused = (
        "() => { try { document.body.innerHTML = '<p>'; return false } catch { "
        "return true } }"
    )
    assert tab.document.evaluate(refused)
    assert tab.errors == []


def test_a_run_may_have_any_name(opened: Any) -> None:
    tab = opened(of(STRANGE))

    assert tab.frame.locator("h1").inner_text() == STRANGE


def test_a_run_that_is_not_there_gives_way_to_the_newest(opened: Any) -> None:
    assert opened(of("../../../etc")).frame.locator("h1").inner_text() == LATE


def test_a_new_run_is_announced_and_shown(opened: Any, server: Server) -> None:
    tab = opened(of(LOGGING))

    add_run(
        server.logdir, f"later/2020_01_01_00_00_00-{time.time_ns()}", "tf-python-map"
    )
    tab.frame.get_by_role("button", name="Refresh").click()
    tab.frame.get_by_role("button", name="Show it", exact=True).click()

    sync_api.expect(tab.frame.locator("#verdict .verdict-name")).to_have_text(
        "Input-bound"
    )


def test_a_run_whose_files_change_is_read_again_when_asked(
    opened: Any, server: Server
) -> None:
    tab = opened(of(LOGGING))
    (file,) = server.logdir.joinpath("plugins", "profile", LOGGING).iterdir()

    os.utime(file)
    tab.frame.get_by_role("button", name="Refresh").click()
    tab.frame.get_by_role("button", name="Read again").click()

    sync_api.expect(tab.frame.locator(".notice")).to_be_hidden()
    sync_api.expect(tab.frame.locator("#verdict .verdict-name")).to_have_text(
        "Host-bound"
    )


def test_it_follows_tensorboards_theme(opened: Any) -> None:
    tab = opened(color_scheme="dark")
    assert tab.document.evaluate("document.documentElement.dataset.theme") == "dark"

    tab.page.evaluate("document.body.classList.remove('dark-mode')")

    tab.document.wait_for_function("document.documentElement.dataset.theme === 'light'")
    assert tab.errors == []


def test_the_page_opens_outside_of_tensorboard_too(opened: Any, server: Server) -> None:
    page = opened().context.new_page()

    page.goto(
        f"{server.address}/data/plugin/tfadvisor/tab.html#run={quote(LOGGING)}&finding=host-work-in-loop"
    )

    sync_api.expect(page.locator("h1")).to_have_text(LOGGING)
    sync_api.expect(
        page.locator("#finding-host-work-in-loop > details > summary")
    ).to_be_focused()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    "shown", [of(LATE, compare=BALANCED), of(BROKEN)], ids=["compared", "broken"]
)
def test_assistive_technology_finds_its_way(
    opened: Any, scheme: str, shown: str
) -> None:
    tab = opened(shown, color_scheme=scheme)
    if BROKEN not in shown:
        tab.frame.locator("#compare").wait_for()
    open_all(tab.frame)

    assert violations(tab.document) == []
