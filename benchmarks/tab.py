"""How long the tab in TensorBoard takes from the click to the verdict, how quickly
TensorBoard answers meanwhile, and how long a logdir of many runs takes to list.

    pip install '.[browser]' tensorboard
    python benchmarks/tab.py                  # traces, rounds, runs: --help

Opens a real TensorBoard in a real browser (Chromium, or TFADVISOR_CHROMIUM). The traces
are those of against_xprof.py.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

TRACES = Path(__file__).parent / "data" / "plugins" / "profile"
OF_OTHER_TABS = ("data/environment", "data/runs", "data/plugins_listing", "")
ASK_EVERY_S = 0.02


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--traces",
        nargs="+",
        default=["tf-2mb", "tf-20mb", "tf-40mb", "tf-400mb"],
        metavar="NAME",
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--runs", type=int, default=200, help="in the logdir that is listed"
    )
    arguments = parser.parse_args()
    print(
        "| trace | first verdict | again | other tabs, alone | other tabs, meanwhile "
        "|\n|---|---|---|---|---|"
    )
    for name in arguments.traces:
        rows = [from_click_to_verdict(name) for _ in range(arguments.rounds)]
        first, again, calm, busy = ([row[place] for row in rows] for place in range(4))
        print(
            f"| {name}, "
            f"{(TRACES / name / 'host.xplane.pb').stat().st_size / 1e6:.1f} MB "
            f"| {statistics.median(first):.2f} s (at most {max(first):.2f}) | "
            f"{statistics.median(again):.2f} s "
            f"| {milliseconds(calm)} | {milliseconds(busy)} |",
            flush=True,
        )
    print(f"\n{arguments.runs} runs:", listing(arguments.runs))


def milliseconds(rounds: list[list[float]]) -> str:
    seconds = list(itertools.chain.from_iterable(rounds))
    return (
        f"{statistics.median(seconds) * 1e3:.0f} ms (at most {max(seconds) * 1e3:.0f})"
    )


def from_click_to_verdict(name: str) -> tuple[float, float, list[float], list[float]]:
    """Seconds to the verdict of a run that was never read, and of the same run in a new
    window; answers of other tabs.
    """
    with tempfile.TemporaryDirectory() as folder:
        logdir = Path(folder) / "logdir"
        (logdir / "plugins" / "profile").mkdir(parents=True)
        (logdir / "plugins" / "profile" / name).symlink_to(TRACES / name)
        with (
            tensorboard(logdir, Path(folder) / "cache") as address,
            browser() as opened,
        ):
            calm = Asking(address)
            time.sleep(0.5)
            calm.stop()
            busy = Asking(address)
            first = click(opened, address)
            busy.stop()
            return first, click(opened, address), calm.took, busy.took


def click(opened: Any, address: str) -> float:
    context = opened.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    page.goto(f"{address}/#timeseries")
    tab = page.get_by_role("tab", name="Advisor").or_(
        page.locator(".mat-mdc-tab, .mat-tab-label").filter(has_text="Advisor")
    )
    tab.first.wait_for()
    page.wait_for_timeout(300)
    began = time.perf_counter()
    tab.first.click()
    page.frame_locator("iframe[src*=tfadvisor]").locator(
        "#verdict .verdict-name"
    ).wait_for()
    took = time.perf_counter() - began
    context.close()
    return took


class Asking:
    """Asks for what other tabs ask for, over and over, in a thread of its own."""

    def __init__(self, address: str) -> None:
        self.took: list[float] = []
        self._address = address
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._ask)
        self._thread.start()

    def stop(self) -> None:
        self._end.set()
        self._thread.join()

    def _ask(self) -> None:
        while not self._end.wait(ASK_EVERY_S):
            for route in OF_OTHER_TABS:
                began = time.perf_counter()
                urllib.request.urlopen(f"{self._address}/{route}").read()
                self.took.append(time.perf_counter() - began)


def listing(runs: int) -> str:
    """Answer of the route, and the time until the tab's list is filled."""
    source = TRACES / "tf-2mb" / "host.xplane.pb"
    with tempfile.TemporaryDirectory() as folder:
        logdir = Path(folder) / "logdir"
        for index in range(runs):
            session = (
                logdir
                / f"job-{index:03}"
                / "plugins"
                / "profile"
                / "2026_01_01_00_00_00"
            )
            session.mkdir(parents=True)
            (session / "host.xplane.pb").symlink_to(source)
        with (
            tensorboard(logdir, Path(folder) / "cache") as address,
            browser() as opened,
        ):
            began = time.perf_counter()
            answer = json.load(
                urllib.request.urlopen(f"{address}/data/plugin/tfadvisor/runs")
            )
            took = time.perf_counter() - began
            assert len(answer["runs"]) == runs
            return (
                f"listed in {took * 1e3:.0f} ms, first verdict "
                f"{click(opened, address):.2f} s after the click"
            )


@contextmanager
def tensorboard(logdir: Path, cache: Path) -> Iterator[str]:
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
    environment = {**os.environ, "TFADVISOR_CACHE": str(cache)}
    with subprocess.Popen(
        command, env=environment, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        address = next(
            found.group(1)
            for line in process.stderr
            if (found := re.search(r"at (http://\S+?)/? \(", line))
        )
        threading.Thread(target=process.stderr.read, daemon=True).start()
        try:
            yield address
        finally:
            process.terminate()
            process.wait()


@contextmanager
def browser() -> Iterator[Any]:
    path = (
        os.environ.get("TFADVISOR_CHROMIUM")
        or shutil.which("chromium")
        or shutil.which("google-chrome")
    )
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path)
        yield opened
        opened.close()


if __name__ == "__main__":
    main()
