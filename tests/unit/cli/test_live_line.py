"""The line at the foot of a terminal."""

from __future__ import annotations

import time

import pytest

from tfadvisor.cli.live_line import LiveLine


def test_it_counts_seconds_up_to_what_it_will_take() -> None:
    line = LiveLine()
    line.show("step 21.7 ms · recording", 3.0)
    began = time.monotonic()

    assert line.line(began + 2) == "step 21.7 ms · recording 2 of 3 s"
    assert line.line(began + 9) == "step 21.7 ms · recording 3 of 3 s"
    line.show("waits for steps")
    assert line.line(began) == "waits for steps"


def test_where_nobody_looks_nothing_is_written(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with LiveLine() as line:
        line.show("waits for steps")

    assert capsys.readouterr() == ("", "")
