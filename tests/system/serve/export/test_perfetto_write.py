"""`tfadvisor export --to perfetto`, through the installed command, read back by
Perfetto's own message types.
"""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest
from support.perfetto_reader import Read, read
from support.places import FIXTURES
from support.trace_builder import TraceBuilder, trace

from tfadvisor.trace.columns import Selection
from tfadvisor.trace.decode import decode_file

pytestmark = pytest.mark.slow

COMMAND = Path(sys.executable).parent / "tfadvisor"


def exported(path: Path, target: Path, *more: str) -> Read:
    done = subprocess.run(
        [COMMAND, "export", path, "--to", "perfetto", "-o", target, *more],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    return read(target)


def built(builder: TraceBuilder, folder: Path) -> Read:
    return exported(builder.write(folder / "run"), folder / "run.pftrace")


def spans(found: Read, track: str) -> list[tuple[str, int, int, int]]:
    """(name, start and end in µs, depth)."""
    return [
        (one.name, one.start // 1000, one.end // 1000, one.depth)
        for one in found.on(track)
    ]


def input_bound() -> TraceBuilder:
    builder = trace()
    for index in range(5):
        at = index * 100
        builder.step(at, at + 100).call("$dataloader.py:12 __next__", at + 1, at + 70)
        builder.kernel(
            "GPU:0",
            "matmul",
            at + 75,
            at + 99,
            launched=(at + 71, at + 74),
            hlo_op="dot.3",
        )
    return builder


def test_lines_are_threads_of_their_planes(tmp_path: Path) -> None:
    found = built(input_bound().thread("loader").call("decode", 0, 30), tmp_path)

    assert sorted(found.processes.values()) == ["host /device:GPU:0", "host /host:CPU"]
    by_process = {
        track.name: found.processes[track.pid]
        for track in found.tracks.values()
        if track.tid is not None
    }
    assert by_process == {
        "python": "host /host:CPU",
        "loader": "host /host:CPU",
        "Stream #1(Compute)": "host /device:GPU:0",
    }


def test_events_keep_name_time_and_depth(tmp_path: Path) -> None:
    found = built(
        trace()
        .step(0, 100)
        .call("outer", 10, 60)
        .call("inner", 10, 30)
        .call("after", 60, 60),
        tmp_path,
    )

    assert spans(found, "python") == [
        ("train", 0, 100, 0),
        ("outer", 10, 60, 1),
        ("inner", 10, 30, 2),
        ("after", 60, 60, 1),
    ]


def test_events_that_only_overlap_get_a_track_below(tmp_path: Path) -> None:
    found = built(
        trace().call("first", 0, 50).call("second", 30, 80).call("third", 60, 90),
        tmp_path,
    )

    assert spans(found, "python") == [("first", 0, 50, 0), ("third", 60, 90, 0)]
    assert spans(found, "python, overlapping") == [("second", 30, 80, 0)]
    assert [track.name for track in found.children("python")] == ["python, overlapping"]


def test_steps_and_where_their_time_goes(tmp_path: Path) -> None:
    found = built(input_bound(), tmp_path)
    steps = found.on("Steps")

    assert [one.name for one in steps] == [f"train {index}" for index in range(5)]
    classes = found.on("GPU:0: where its time goes")
    spent: dict[str, int] = defaultdict(int)
    for one in classes:
        spent[one.name] += one.end - one.start
    assert spent["compute"] == 5 * 24_000
    assert spent["input"] == 5 * 69_000


def test_a_step_that_does_not_count_says_why(tmp_path: Path) -> None:
    """The first compiles for 900 of its 1,000 µs."""
    builder = trace().step(0, 1000).call("XlaCompile", 10, 910)
    for index in range(5):
        builder.step(1000 + index * 100, 1100 + index * 100)

    names = [one.name for one in built(builder, tmp_path).on("Steps")]

    assert names[0].startswith("train 0 (not counted: ")
    assert names[1:] == [f"train {index}" for index in range(1, 6)]


def test_a_finding_is_marked_in_the_time_it_is_about_with_evidence_and_fix(
    tmp_path: Path,
) -> None:
    found = built(input_bound(), tmp_path)
    first = found.children("Findings")[0]
    marked = found.on(first.name)
    steps = [one for one in marked if one.depth == 0]
    inside = [one for one in marked if one.depth == 1]

    assert "load" in first.name or "input" in first.name.lower()
    assert len(steps) == 1
    assert {one.category for one in marked} == {"input"}
    assert steps[0].arguments["rule"].startswith("input-")
    assert "evidence[0]" in steps[0].arguments
    assert "fix[0].do" in steps[0].arguments
    assert {one.name for one in inside} == {"input"}
    assert {(one.end - one.start) // 1000 for one in inside} == {69}


def test_hosts_stand_beside_each_other_by_their_session_start(tmp_path: Path) -> None:
    builder = trace()
    for host, began in (("a", 1_000_000_000), ("b", 1_000_250_000)):
        builder.host(host).steps(3, period=100).busy("GPU:0", (0, 290))
        builder.plane_stat("Task Environment", profile_start_time=began)
    found = built(builder, tmp_path)
    kernels = [one for one in found.slices if one.name == "some_kernel"]

    assert sorted(found.processes.values()) == [
        "a /device:GPU:0",
        "a /host:CPU",
        "b /device:GPU:0",
        "b /host:CPU",
    ]
    assert [
        track.name
        for track in found.tracks.values()
        if track.name.startswith("tfadvisor")
    ] == [
        "tfadvisor: a",
        "tfadvisor: b",
    ]
    assert kernels[1].start - kernels[0].start == 250_000


@pytest.mark.parametrize(
    "name",
    [
        '</script>"; DROP TABLE slice',
        "\x1b]0;owned\x07\u202e",
        "日本 🔥 é",
        "a\nb\tc\r",
        "x" * 100_000,
        "\ud800",
    ],
    ids=["markup", "controls", "unicode", "lines", "long", "surrogate"],
)
def test_any_name_survives(tmp_path: Path, name: str) -> None:
    builder = trace().steps(3, period=100)
    builder.call("plain", 0, 10)
    if name == "\ud800":
        data = builder.bytes().replace(b"plain", b"\xff\xfe\xfa\xfb\xf0")
        name = "�" * 5
    else:
        data = builder.call(name, 20, 30).bytes()
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "h.xplane.pb").write_bytes(data)

    found = exported(tmp_path / "run", tmp_path / "run.pftrace")

    assert name[:4096] in {
        one.name for one in found.slices
    }  # longer names are cut where they are read


def test_nul_becomes_its_picture(tmp_path: Path) -> None:
    """The Python package separates texts by NUL: one inside a name would move all cells
    after it.
    """
    assert "a␀b" in {
        one.name
        for one in built(trace().step(0, 100).call("a\0b", 0, 10), tmp_path).slices
    }


RECORDED = sorted({file.parent for file in FIXTURES.rglob("*.xplane.pb*")})
SMALL = 300_000
"""Bytes of a packed trace whose export takes no longer than a second or two."""


def on_each_push(folder: Path) -> bool:
    """One of each kind of program; more versions, devices and sizes run at night."""
    size = sum(file.stat().st_size for file in folder.glob("*.xplane.pb*"))
    return folder.parent == FIXTURES and size < SMALL


@pytest.mark.slow
@pytest.mark.parametrize(
    "folder",
    [
        pytest.param(
            folder,
            marks=[] if on_each_push(folder) else pytest.mark.nightly,
            id=str(folder.relative_to(FIXTURES)),
        )
        for folder in RECORDED
    ],
)
def test_every_event_of_every_fixture_is_there_once(
    tmp_path: Path, folder: Path
) -> None:
    found = exported(folder, tmp_path / "run.pftrace.gz")

    placed = 0
    for file in sorted(folder.glob("*.xplane.pb*")):
        host = decode_file(file, Selection())
        placed += len(host.events) - len(host.stat("num_occurrences"))
    ours = {
        uuid
        for uuid, track in found.tracks.items()
        if track.tid is not None or "overlapping" in track.name
    }
    assert sum(one.track in ours for one in found.slices) == placed
    assert all(one.end >= one.start for one in found.slices)
