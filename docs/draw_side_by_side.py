"""Draws the same slow run in XProf and here, side by side:
docs/pictures/side-by-side.png.

    pip install '.[browser,tensorboard]' && python docs/draw_side_by_side.py

Opens both pages of fixtures/jax-logging in headless Chromium (in PATH, or
TFADVISOR_CHROMIUM). XProf's page draws its graph of step times with Google Charts, from
the network; this picture shows the part of the page that needs none, its summary.
"""

from __future__ import annotations

import base64
import gzip
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[1]
RUN = "jax-logging"
TRACE = ROOT / "fixtures" / RUN / "trace.xplane.pb.gz"
PICTURE = ROOT / "docs" / "pictures" / "side-by-side.png"
SUMMARY = {"x": 340, "y": 64, "width": 372, "height": 880}
"""Where XProf's performance summary stands in a window of 1500 × 1500."""
OURS = {"width": 760, "height": 720}
LONGEST_START_S = 60
PAGE = """<!doctype html><meta charset="utf-8"><style>
body {{ margin: 0; padding: 16px; background: #fff; font: 15px/22px system-ui, sans-serif; width: 1096px; display: grid;
  grid-template-columns: 304px 760px; gap: 8px 32px; }}
img {{ border: 1px solid #d9dfe6; width: 100%; display: block; box-sizing: border-box; }}
p {{ margin: 0; align-self: end; }}
</style><p><b>{theirs}</b>: its overview page, without the graph</p><p><b>tfadvisor</b>: the first screen</p>
<img src="data:image/png;base64,{their_picture}"><img src="data:image/png;base64,{our_picture}">"""


def main() -> None:
    """Writes the picture."""
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        folder = Path(place)
        browser = playwright.chromium.launch(
            executable_path=os.environ.get(
                "TFADVISOR_CHROMIUM", shutil.which("chromium")
            )
        )
        with xprof(folder) as address:
            theirs = summary(browser, address)
        composed = PAGE.format(
            theirs=f"XProf {escape(version('xprof'))}",
            their_picture=base64.b64encode(theirs).decode(),
            our_picture=base64.b64encode(first_screen(browser, folder)).decode(),
        )
        page = browser.new_page(viewport={"width": 1128, "height": 400})
        page.set_content(composed)
        page.screenshot(path=PICTURE, full_page=True)
        browser.close()


@contextmanager
def xprof(folder: Path) -> Iterator[str]:
    """The address of XProf's server of a logdir that holds the run."""
    session = folder / "plugins" / "profile" / RUN
    session.mkdir(parents=True)
    (session / "vm.xplane.pb").write_bytes(gzip.decompress(TRACE.read_bytes()))
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    found = shutil.which(
        "xprof", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    )
    command = [found or "xprof", "--logdir", folder, "--port", str(port)]
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as server:
        try:
            address = f"http://localhost:{port}"
            wait_for(address)
            yield address
        finally:
            server.terminate()


def wait_for(address: str) -> None:
    """Raises the last error when it does not answer in time."""
    last = time.monotonic() + LONGEST_START_S
    while True:
        try:
            urllib.request.urlopen(address).close()
        except OSError:
            if time.monotonic() > last:
                raise
            time.sleep(0.5)
        else:
            return


def summary(browser: Any, address: str) -> bytes:
    """A picture of XProf's summary of the run."""
    page = browser.new_page(viewport={"width": 1500, "height": 1500})
    page.goto(
        f"{address}/data/plugin/profile/overview_page?run={RUN}&tag=overview_page&host=vm"
    )
    page.get_by_text("Device Compute Time").wait_for()
    page.wait_for_timeout(1_000)
    return bytes(page.screenshot(clip=SUMMARY))


def first_screen(browser: Any, folder: Path) -> bytes:
    """A picture of the page as it opens."""
    file = folder / "report.html"
    subprocess.run(
        [
            Path(sys.executable).parent / "tfadvisor",
            "analyze",
            TRACE.parent,
            "-o",
            file,
        ],
        check=True,
    )
    page = browser.new_page(viewport=OURS)
    page.goto(file.as_uri())
    page.locator("main:not([aria-busy])").wait_for()
    return bytes(page.screenshot())


if __name__ == "__main__":
    main()
