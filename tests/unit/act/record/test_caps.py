"""How long a window may be, by the last one."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from tfadvisor.act.record.caps import Caps
from tfadvisor.act.record.window import RecordedWindow
from tfadvisor.timeline.host.event_counts import EventCounts


def window(
    seconds: float,
    *,
    stopping: float = 0.0,
    events: int = 0,
    cut: bool = False,
    folder: Path,
) -> RecordedWindow:
    read = SimpleNamespace(counts=(EventCounts(events, 0, events),))
    return RecordedWindow(
        folder,
        False,
        0.0,
        seconds,
        read,  # type: ignore[arg-type]
        None,
        stopping=stopping,
        cut_in_vain=cut,
    )


@pytest.mark.parametrize(
    ("stopping", "events", "cut", "longest"),
    [
        (0.0, 0, False, 20.0),
        (2.0, 0, False, 0.8),
        (2.0, 200_000, False, 0.2),
        (2.0, 10, True, 20.0),
    ],
)
def test_a_window_is_as_long_as_the_last_one_allows(
    tmp_path: Path, stopping: float, events: int, cut: bool, longest: float
) -> None:
    """After one of 0.2 s: 8 s to stop at most, and 200,000 events; half as long with
    calls of Python. One that the program's own memory cut says nothing.
    """
    caps = Caps()
    caps.learn(window(0.2, stopping=stopping, events=events, cut=cut, folder=tmp_path))

    assert caps.seconds(100.0, python_tracer=False) == pytest.approx(longest)
    assert caps.seconds(100.0, python_tracer=True) == pytest.approx(longest / 2)
