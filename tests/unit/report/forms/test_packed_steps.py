"""Drawn steps as few bytes, as the page reads them."""

from __future__ import annotations

import base64
import gzip
import json

from support.pages import page_of
from support.trace_builder import trace

from tfadvisor.report.forms.packed_steps import packed_steps


def test_columns_follow_a_head_as_small_numbers() -> None:
    """A kernel from 0.3 to 0.4 µs of a step of 1 µs, so two rows: the class and the
    kernel, both of compute. With signs alternating 300 ns is 600, which is 4 times 128
    and 88, and 100 ns is 200, 1 times 128 and 72; a byte that is not a number's last
    has 128 more.
    """
    page = page_of(trace().step(0, 1).busy("GPU:0", (0.3, 0.4), name="k"))
    (step,) = page.drawn
    rows = [row for row in range(len(step.start)) if step.lane[row] < 2]

    content = gzip.decompress(base64.b64decode(packed_steps([step])))

    size = int.from_bytes(content[:4], "little")
    head = json.loads(content[4 : 4 + size])
    assert head["names"] == list(step.names)
    assert head["steps"][0]["rows"] == len(step.start)
    columns = content[4 + size :]
    assert step.start[rows[-1]] == 300
    assert bytes([88 + 128, 4]) in columns
    assert bytes([72 + 128, 1]) in columns


def test_no_steps_are_no_bytes() -> None:
    assert packed_steps([]) == ""
