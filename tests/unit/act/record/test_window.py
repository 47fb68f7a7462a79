"""The files of a window, and why there is none."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from msgspec.structs import replace
from support.told_processes import process

from tfadvisor.act.record import window
from tfadvisor.act.record.program_times import ProgramTimes
from tfadvisor.act.record.window import collect
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
    monkeypatch.setattr(window, "answers_to", lambda *_: [])

    found = window.record_window(
        board,
        [process],
        0.2,
        Options(),
        python_tracer=False,
        has_ended=lambda: False,
        watch=SimpleNamespace(pid=1),
    )  # type: ignore[arg-type,list-item]

    assert found == window.NoWindow(why)


def test_what_each_process_left_is_collected_under_the_name_of_its_host(
    tmp_path: Path,
) -> None:
    """Two of one host, and one of another, which has no counters. What the GPUs of this
    machine did is told by processes of this machine alone.
    """
    told = {"a": ("h", 1), "b": ("h", 2), "c": ("other", 1)}
    recorded = []
    for name, (host, pid) in told.items():
        (tmp_path / f"7-{name}.xplane.pb").write_bytes(name.encode())
        answer = {"file": f"7-{name}.xplane.pb"}
        recorded.append(
            replace(process(name, host=host, pid=pid), windows={"7": answer})
        )
    for name in ("a", "b"):
        (tmp_path / f"7-{name}.machine.json").write_text('{"version": 1}', "utf-8")
        (tmp_path / f"7-{name}.sources.json").write_text("{}", "utf-8")

    found = collect(tmp_path, "7", recorded, [{"name": "T4"}], ProgramTimes(1))

    traces = {one.name: one.read_bytes() for one in found.folder.glob("*.xplane.pb")}
    assert traces == {
        "h-0.xplane.pb": b"a",
        "h-1.xplane.pb": b"b",
        "other.xplane.pb": b"c",
    }
    beside = sorted(one.name for one in found.folder.glob("*.json"))
    assert beside == [
        "h-0.machine.json",
        "h-0.sources.json",
        "h-1.machine.json",
        "h-1.sources.json",
    ]
    counters = json.loads((found.folder / "h-0.machine.json").read_text("utf-8"))
    assert counters == {"version": 1, "gpus": []}
