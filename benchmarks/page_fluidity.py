"""Does the page of a large run stay fluid? Frames and the longest task of the browser
while a reader uses it.

python benchmarks/page_fluidity.py [TRACE] [--steps N] [--kernels N] [--runs N]

Builds a trace of 5,000 steps with 20,000 distinct kernels, or takes the one that is
given, analyses it as a user does, opens the page in headless Chromium from the disk,
and scrolls, sorts, searches, clicks and types. Prints the median of several runs. Needs
the extra `browser` and a Chromium in PATH, or its path in TFADVISOR_CHROMIUM.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

from playwright.sync_api import sync_playwright

from tfadvisor.trace import messages

KERNELS_A_STEP = 20
PS_PER_US = 1_000_000
STEP_US, KERNEL_US = 400, 14
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
WATCH = """() => {
  window.tasks = []; window.frames = []; window.watching = true;
  new PerformanceObserver((list) => tasks.push(...list.getEntries().map((one) => one.duration))).observe({type: 'longtask'});
  let last = performance.now();
  const frame = (now) => { frames.push(now - last); last = now; requestAnimationFrame(frame); };
  requestAnimationFrame(frame);
}"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("trace", nargs="?", type=Path)
    parser.add_argument("--steps", type=int, default=5_000)
    parser.add_argument("--kernels", type=int, default=20_000)
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        given = arguments.trace
        page = page_of(
            given.read_bytes() if given else trace(arguments.steps, arguments.kernels),
            Path(place),
        )
        print(f"a page of {page.stat().st_size / 1e6:.2f} MB")
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium())
            print(f"Chromium {browser.version}, {os.cpu_count()} cores\n")
            runs = []
            for _ in range(arguments.runs):
                tab = browser.new_page(viewport={"width": 1440, "height": 900})
                runs.append(list(use(tab, page.as_uri())))
                tab.close()
            browser.close()
    print(
        "| what a reader does | median frame | 95% of frames | longest frame | "
        "longest task |"
    )
    print("|---|---|---|---|---|")
    for same in zip(*runs, strict=True):
        usual, most, longest, task = (
            median(one[1][place] for one in same) for place in range(4)
        )
        told = f"{task:.0f} ms" if task else "< 50 ms"
        print(
            f"| {same[0][0]} | {usual:.0f} ms | {most:.0f} ms | {longest:.0f} ms | "
            f"{told} |"
        )


def trace(steps: int, kernels: int) -> bytes:
    """An XSpace with one GPU; each step runs the next twenty kernels. Every 997th step
    is four times as long.
    """
    space = messages.XSpace(hostnames=[b"host"])
    device, host = (
        space.planes.add(name=b"/device:GPU:0"),
        space.planes.add(name=b"/host:CPU"),
    )
    for number in range(1, kernels + 1):
        name = f"loop_multiply_add_fusion_{number % 977}_kernel_{number}".encode()
        device.event_metadata[number].id, device.event_metadata[number].name = (
            number,
            name,
        )
    for number, name in (
        (1, b"train"),
        (2, b"cuLaunchKernel"),
        (3, b"$train.py:41 load_batch"),
    ):
        host.event_metadata[number].id, host.event_metadata[number].name = number, name
    for plane, number, name in (
        (host, 1, b"step_num"),
        (host, 2, b"correlation_id"),
        (device, 2, b"correlation_id"),
    ):
        plane.stat_metadata[number].id, plane.stat_metadata[number].name = number, name
    stream = device.lines.add(id=1, name=b"Stream #1(Compute)")
    thread = host.lines.add(id=2, name=b"python")
    at, launch = 0, 0
    for step in range(steps):
        length = STEP_US * (4 if step % 997 == 500 else 1) + step * 7919 % 40
        marker = thread.events.add(
            metadata_id=1,
            offset_ps=at * PS_PER_US,
            duration_ps=(length - 2) * PS_PER_US,
        )
        marker.stats.add(metadata_id=1, int64_value=step)
        loading = length - STEP_US + 60
        thread.events.add(
            metadata_id=3,
            offset_ps=(at + 1) * PS_PER_US,
            duration_ps=loading * PS_PER_US,
        )
        for place in range(KERNELS_A_STEP):
            launch += 1
            began = at + loading + 2 + place * KERNEL_US
            called = thread.events.add(
                metadata_id=2, offset_ps=began * PS_PER_US, duration_ps=3 * PS_PER_US
            )
            called.stats.add(metadata_id=2, int64_value=launch)
            ran = stream.events.add(
                metadata_id=1 + launch % kernels,
                offset_ps=(began + 5) * PS_PER_US,
                duration_ps=(KERNEL_US - launch % 7) * PS_PER_US,
            )
            ran.stats.add(metadata_id=2, int64_value=launch)
        at += length
    return bytes(space.SerializeToString())


def page_of(data: bytes, place: Path) -> Path:
    """The HTML report of a trace."""
    file, page = place / "host.xplane.pb", place / "report.html"
    file.write_bytes(data)
    command = Path(sys.executable).parent / "tfadvisor"
    began = time.perf_counter()
    subprocess.run(
        [command, "analyze", file, "--format", "html", "-o", page], check=True
    )
    print(
        f"a trace of {len(data) / 1e6:.1f} MB, analysed in "
        f"{time.perf_counter() - began:.2f} s"
    )
    return page


def chromium() -> str:
    """Raises SystemExit where there is none."""
    found = os.environ.get("TFADVISOR_CHROMIUM") or next(
        filter(None, map(shutil.which, BROWSERS)), None
    )
    if found is None:
        raise SystemExit(
            f"no Chromium on this machine: none of {', '.join(BROWSERS)} is in PATH"
        )
    return found


def use(page: Any, address: str) -> Iterator[tuple[str, tuple[float, ...]]]:
    """(what a reader does, what the browser saw meanwhile)."""
    page.add_init_script(f"({WATCH})()")
    page.goto(address)
    page.wait_for_timeout(500)
    yield "opens the page", seen(page)

    def doing(what: str, act: Callable[[], object]) -> tuple[str, tuple[float, ...]]:
        page.wait_for_timeout(200)
        page.evaluate("() => { tasks.length = 0; frames.length = 0 }")
        act()
        page.wait_for_timeout(100)
        return what, seen(page)

    ops, steps, stage = (
        page.locator("#ops .vt-scroll"),
        page.locator("#steps .chart-frame"),
        page.locator(".timeline"),
    )
    yield doing("scrolls the page to its end", lambda: wheel(page, 60, 150))
    ops.scroll_into_view_if_needed()
    yield doing(
        "scrolls the ops", lambda: hovering(page, ops, lambda: wheel(page, 60, 3_000))
    )
    yield doing(
        "sorts them by five columns",
        lambda: [
            page.locator("#ops .vt-head button").nth(one).click() for one in range(5)
        ],
    )
    yield doing(
        "searches them, letter by letter",
        lambda: page.get_by_label("Search ops").press_sequentially(
            "kernel_199", delay=30
        ),
    )
    steps.scroll_into_view_if_needed()
    yield doing("moves over the steps", lambda: across(page, steps))
    yield doing("clicks steps", lambda: clicks(page, steps))
    yield doing(
        "steps through them with the arrow keys",
        lambda: keys(page, steps, ["ArrowRight"] * 40),
    )
    yield doing(
        "zooms and pans the steps",
        lambda: keys(page, steps, [*"++++++", *"dddddddd", *"-----", "0"]),
    )
    page.locator("#steps summary").first.click()
    table = page.locator("#steps .vt-scroll")
    table.scroll_into_view_if_needed()
    yield doing(
        "scrolls the table of steps",
        lambda: hovering(page, table, lambda: wheel(page, 40, 1_000)),
    )
    stage.scroll_into_view_if_needed()
    yield doing(
        "zooms and pans the timeline",
        lambda: keys(page, stage, [*"++++++", *"dddddddd", *"-----", "0"]),
    )
    yield doing(
        "walks its events",
        lambda: keys(page, stage, ["ArrowDown", *["ArrowRight"] * 30]),
    )
    yield doing(
        "changes to the dark theme",
        lambda: [page.get_by_role("button", name="Theme").click() for _ in range(2)],
    )


def seen(page: Any) -> tuple[float, ...]:
    """Median frame, 95th percentile, longest frame, longest task, ms; 0 for tasks below
    50 ms.
    """
    frames = sorted(page.evaluate("frames")) or [0.0]
    usual, most = frames[len(frames) // 2], frames[int(len(frames) * 0.95)]
    return usual, most, frames[-1], max(page.evaluate("tasks"), default=0)


def wheel(page: Any, times: int, distance: int) -> None:
    for _ in range(times):
        page.mouse.wheel(0, distance)
        page.wait_for_timeout(16)


def hovering(page: Any, element: Any, act: Callable[[], None]) -> None:
    box = element.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    act()


def across(page: Any, element: Any) -> None:
    box = element.bounding_box()
    for place in range(60):
        page.mouse.move(
            box["x"] + 60 + (box["width"] - 80) * place / 60,
            box["y"] + box["height"] / 2,
        )
        page.wait_for_timeout(16)


def clicks(page: Any, element: Any) -> None:
    box = element.bounding_box()
    for place in range(20):
        page.mouse.click(
            box["x"] + 60 + (box["width"] - 80) * place / 20,
            box["y"] + box["height"] - 50,
        )


def keys(page: Any, element: Any, pressed: list[str]) -> None:
    element.focus()
    for key in pressed:
        page.keyboard.press(key)
        page.wait_for_timeout(16)


if __name__ == "__main__":
    main()
