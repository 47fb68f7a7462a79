"""The pandas frames for notebooks."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from support.trace_builder import trace

import tfadvisor
from tfadvisor.errors import UsageError


def test_events_are_a_frame_with_the_stats_asked_for(tmp_path: Path) -> None:
    path = trace().step(1, 3).busy("GPU:0", (2, 4), name="k").write(tmp_path)

    opened = tfadvisor.open(path, stats=["step_num", "kernel_details"])
    frame = opened.events(["step_num", "kernel_details"])

    assert frame["name"].tolist() == ["train", "k"]
    assert frame["plane"].tolist() == ["/host:CPU", "/device:GPU:0"]
    assert frame["start_ps"].tolist() == [1_000_000, 2_000_000]
    assert frame["duration_ps"].tolist() == [2_000_000, 2_000_000]
    assert frame["step_num"].tolist() == [0, None]
    assert frame["kernel_details"].tolist() == [None, "regs:1"]


def test_without_pandas_a_frame_is_one_error_that_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    opened = tfadvisor.open(trace().step(1, 3).write(tmp_path))

    with pytest.raises(UsageError, match=r"pip install 'tfadvisor\[pandas\]'$"):
        opened.events()
