"""Memory of a large file goes back while it is decoded: what was read of it, and
nothing that is still asked for.
"""

from __future__ import annotations

import mmap
import sys
from pathlib import Path

import numpy as np
import pytest
from support.same_trace import assert_same
from support.trace_builder import trace

from tfadvisor.timeline.host_build import SELECTION
from tfadvisor.trace import compiled_decoder, source
from tfadvisor.trace.columns import Selection
from tfadvisor.trace.source import Source, open_source

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="looks for the zeros that Linux leaves"
)

PAGE = mmap.PAGESIZE
NOTHING = np.empty((0, 2), np.int64)


@pytest.fixture(autouse=True)
def _small_files_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "_HEAD", 4096)
    monkeypatch.setattr(compiled_decoder, "_WORTH_GIVING_BACK", PAGE)
    for module in (source, compiled_decoder):
        monkeypatch.setattr(module, "LARGE", 4096)


def opened(folder: Path, data: bytes) -> Source:
    path = folder / "h.xplane.pb"
    path.write_bytes(data)
    return open_source(path)


def test_whole_pages_between_two_positions_go(tmp_path: Path) -> None:
    file = opened(tmp_path, b"x" * (8 * PAGE))

    file.give_back(PAGE + 1, 5 * PAGE + 7, NOTHING)

    assert bytes(file.buffer) == b"x" * (2 * PAGE) + b"\0" * (3 * PAGE) + b"x" * (
        3 * PAGE
    )


def test_pages_with_bytes_that_are_kept_stay(tmp_path: Path) -> None:
    """One range lies within a page, one reaches over two pages, and one is before all
    that goes.
    """
    file = opened(tmp_path, b"x" * (10 * PAGE))
    kept = np.array(
        [[PAGE + 5, PAGE + 9], [5 * PAGE - 1, 5 * PAGE + 1], [0, 3]], np.int64
    )

    file.give_back(0, 10 * PAGE, kept)

    pages = [
        bytes(file.buffer[at * PAGE : (at + 1) * PAGE]) == b"x" * PAGE
        for at in range(10)
    ]
    assert pages == [True, True, False, False, True, True, False, False, False, False]


def test_less_than_a_page_stays(tmp_path: Path) -> None:
    file = opened(tmp_path, b"x" * (4 * PAGE))

    file.give_back(PAGE + 1, 2 * PAGE + PAGE - 1, NOTHING)

    assert bytes(file.buffer) == b"x" * (4 * PAGE)


def test_nothing_goes_of_a_buffer_of_somebody_else() -> None:
    data = b"x" * (4 * PAGE)

    Source("memory", memoryview(data), len(data)).give_back(0, len(data), NOTHING)

    assert data == b"x" * (4 * PAGE)


@pytest.mark.parametrize(
    "selection",
    [Selection(None), SELECTION, Selection()],
    ids=["everything", "timeline", "nothing"],
)
def test_what_is_decoded_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, selection: Selection
) -> None:
    """Several chunks a line, lines with texts and without, and names whose only event
    lies in the middle of a chunk.
    """
    monkeypatch.setattr(compiled_decoder, "_EVENTS_A_CHUNK", 1000)
    builder = trace()
    for at in range(5000):
        name = f"once{at}" if at % 1700 == 850 else f"k{at % 7}"
        builder.on_line(
            "/device:GPU:0", "Stream #1(Compute)", name, at, at + 1, correlation_id=at
        )
        builder.on_line(
            "/device:GPU:0",
            "Stream #2(Compute)",
            name,
            at,
            at + 1,
            hlo_op=f"op{at % 3}",
        )
        builder.call("cuLaunchKernel", at, at + 1, correlation_id=at)
    data = builder.bytes()
    file = opened(tmp_path, data)

    decoded = compiled_decoder.decode(file, selection)

    assert_same(
        compiled_decoder.decode(
            Source("memory", memoryview(data), len(data)), selection
        ),
        decoded,
    )
    gone = len(data) - sum(map(bool, file.buffer)) - data.count(0)
    assert gone > 0.3 * len(data)
