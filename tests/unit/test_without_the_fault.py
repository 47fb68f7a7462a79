"""Built traces of accelerators without what is wrong with them: its time is cut out,
and nothing grave may be left.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from support.places import ROOT

from tfadvisor import analyze
from tfadvisor.trace import messages
from tfadvisor.vocabulary import Severity

CASES = ROOT.parent / "shared" / "cases" / "built-accelerators"
FAULTS = {
    "layout-copies-tpu": "copy|transpose",
    "fsdp-scan-tpu": "all-gather",
    "barrier-cores-v6e": "barrier",
    "sparsecore-async-v6e": "async-(done|start)",
    "all-reduce-scatter-fusion-v6e": "all-reduce-scatter|async_collective",
    "multi-slice-dcn": "recv|send",
    "host-offload-v6e": "copy-(start|done)",
    "fsdp-unrolled-gpu": "nccl",
    "moe-all-to-all-gpu": "nccl",
    "copy-engine-permute": "MemcpyP2P",
    "4x-rtx-pro-6000": "nccl",
    "host0-of-64-gpus": "nccl",
    "two-hosts-network-bound": "nccl",
    "8xh100-16-mib": "nccl",
    "command-buffer-h100": "nchwToNhwc|transpose|copy",
}
"""What the fault's events are called. Left out: where Python takes the rest of the
step, as in tf-mirrored-300-all-reduces.
"""
LEFT = 0.01
"""Of a fault's time."""


def times(space: messages.XSpace, plane_of: str, named: str) -> list[tuple[int, int]]:
    """(begin, end) in ps of the events of the first device that has any of
    these names.
    """
    for plane in space.planes:
        wanted = {
            key
            for key, one in plane.event_metadata.items()
            if re.search(named, one.name.decode())
        }
        found = [
            (
                line.timestamp_ns * 1000 + one.offset_ps,
                line.timestamp_ns * 1000 + one.offset_ps + one.duration_ps,
            )
            for line in plane.lines
            for one in line.events
            if one.metadata_id in wanted
        ]
        if plane.name.decode().startswith(plane_of) and found:
            return sorted(found)
    return []


def without(space: messages.XSpace, named: str) -> None:
    """Moves and shortens every event, of hosts too, as if the fault had taken LEFT of
    its time.
    """
    known, moved, gone, last = [0], [0.0], 0.0, 0
    for started, end in times(space, "/device:", named):
        begin = max(started, last)
        if end > begin:
            known += [begin, end]
            moved += [begin - gone, begin - gone + (end - begin) * LEFT]
            gone, last = gone + (end - begin) * (1 - LEFT), end
    known, moved = [*known, 10**15], [*moved, 10**15 - gone]
    for plane in space.planes:
        for line in plane.lines:
            base = line.timestamp_ns * 1000
            for one in line.events:
                begin, end = np.interp(
                    [base + one.offset_ps, base + one.offset_ps + one.duration_ps],
                    known,
                    moved,
                )
                one.offset_ps, one.duration_ps = (
                    int(begin) - base,
                    max(int(end) - int(begin), 0),
                )


@pytest.mark.skipif(
    not CASES.is_dir(), reason="the built traces are not beside this checkout"
)
@pytest.mark.parametrize(("case", "named"), FAULTS.items(), ids=FAULTS)
def test_nothing_grave_is_left(case: str, named: str, tmp_path: Path) -> None:
    for file in (CASES / case).glob("*.pb"):
        space = messages.XSpace()
        space.ParseFromString(file.read_bytes())
        assert times(space, "/device:", named)
        without(space, named)
        (tmp_path / file.name).write_bytes(space.SerializeToString())

    report = analyze(tmp_path).report

    assert report.verdict.bottleneck == "compute"
    assert [
        one.rule_id
        for one in report.findings
        if one.severity.rank >= Severity.MEDIUM.rank
    ] == []
