"""Why there is no window."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tfadvisor.act.record import window
from tfadvisor.analysis import Options


@pytest.mark.parametrize(
    ("left", "why"),
    [
        (True, "the program ended before its trace was written"),
        (
            False,
            "the profiler had not written its trace 45 s after its 0.2 s were over",
        ),
    ],
)
def test_a_process_that_left_was_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, left: bool, why: str
) -> None:
    """Its answer never came. The program that was started may go on for a moment, as a
    launcher does.
    """
    process = SimpleNamespace(name="a", left=left)
    board = SimpleNamespace(order=lambda *_, **__: 1, processes=lambda: [process])
    monkeypatch.setattr(window, "_answers", lambda *_: [])

    found = window.record_window(
        board, [process], 0.2, Options(), python_tracer=False, has_ended=lambda: False
    )  # type: ignore[arg-type,list-item]

    assert found == window.Refused(why)
