"""How long after it is opened does the page of a large trace show its first screen? In
headless Chromium, from the disk.

python benchmarks/page_opening.py [TRACE…] [--runs N]

Without a trace it builds one of 42 MB with 700,000 kernels. Each opening has a browser
of its own, so nothing is compiled or cached from the one before. Prints medians: from
navigation to the first content painted (verdict, first finding, its edit), and until
every section is there. Needs the extra `browser` and a Chromium in PATH, or its path in
TFADVISOR_CHROMIUM.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from build_gpu_plane import trace
from page_fluidity import chromium
from playwright.sync_api import sync_playwright

KERNELS = 700_000
LOOK_EVERY_MS = 100
WIDTHS = ({"width": 1280, "height": 800}, {"width": 390, "height": 844})
WATCH = """() => {
  window.painted = 0; window.whole = 0;
  new PerformanceObserver((list) => {
    for (const one of list.getEntriesByName('first-contentful-paint')) {
      if (document.querySelector('#verdict .verdict-name') === null) throw new Error('painted without a verdict');
      painted = one.startTime;
    }
  }).observe({type: 'paint', buffered: true});
  const look = () => {
    if (document.querySelector('main:not([aria-busy]) #metrics') === null) requestAnimationFrame(look);
    else whole = performance.now();
  };
  requestAnimationFrame(look);
}"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("traces", nargs="*", type=Path, metavar="TRACE")
    parser.add_argument("--runs", type=int, default=9)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        traces = arguments.traces or [built(Path(place))]
        print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}\n")
        print(
            "| trace | page | width | first screen | every section |\n"
            "|---|---|---|---|---|"
        )
        for number, source in enumerate(traces):
            page = page_of(source, Path(place) / f"{number}.html")
            for viewport in WIDTHS:
                runs = [
                    opened(playwright, page, viewport) for _ in range(arguments.runs)
                ]
                first, whole = (
                    sorted(one[column] for one in runs) for column in range(2)
                )
                sizes = (
                    f"{source.stat().st_size / 1e6:.0f} MB | "
                    f"{page.stat().st_size / 1e6:.2f} MB"
                )
                print(
                    f"| {source.parent.name}, {sizes} | {viewport['width']} px | "
                    f"{told(first)} | {told(whole)} |",
                    flush=True,
                )


def built(folder: Path) -> Path:
    file = folder / "host.xplane.pb"
    file.write_bytes(trace(KERNELS))
    return file


def page_of(source: Path, page: Path) -> Path:
    """As a user makes it."""
    command = Path(sys.executable).parent / "tfadvisor"
    subprocess.run(
        [command, "analyze", source, "-o", page], check=True, stderr=subprocess.DEVNULL
    )
    return page


def opened(
    playwright: Any, page: Path, viewport: dict[str, int]
) -> tuple[float, float]:
    """Milliseconds from navigation to the first screen, and to every section."""
    browser = playwright.chromium.launch(executable_path=chromium())
    tab = browser.new_page(viewport=viewport)
    tab.add_init_script(f"({WATCH})()")
    tab.goto(page.as_uri())
    first = whole = 0
    while not (first and whole):
        tab.wait_for_timeout(LOOK_EVERY_MS)
        first, whole = tab.evaluate("[painted, whole]")
    browser.close()
    return first, max(first, whole)


def told(sorted_ms: list[float]) -> str:
    return f"{median(sorted_ms):.0f} ms (at most {sorted_ms[-1]:.0f})"


if __name__ == "__main__":
    main()
