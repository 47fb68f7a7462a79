"""How long a window is open in the recorded process, by what memory it needs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import chain, cycle
from pathlib import Path
from types import SimpleNamespace

import pytest

from tfadvisor.act.record.injected.tfadvisor_hook import giving_way
from tfadvisor.act.record.injected.tfadvisor_hook import recorder as of
from tfadvisor.act.record.injected.tfadvisor_hook.giving_way import GivingWay
from tfadvisor.act.record.injected.tfadvisor_hook.recorder import Recorder

BATCHES = 100, 264
"""MiB, without a batch and with one."""


@pytest.mark.parametrize(
    ("meanwhile", "cut"),
    [(BATCHES, ""), ((100, 264, 310), ""), ((100, 264, 320), "memory")],
    ids=["a batch comes and goes", "46 MiB more", "56 MiB more"],
)
def test_a_window_is_open_while_a_batch_comes_and_goes_in_each_step(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    meanwhile: tuple[int, ...],
    cut: str,
) -> None:
    """A step builds a batch of 164 MiB, more than the 50 MiB that a process may grow
    by because it is recorded. Its rounds were counted before, with such batches.
    """
    recorder = Recorder(str(tmp_path), forked=False)
    recorder.way = GivingWay()
    recorder.finished.set()

    holds(monkeypatch, cycle(BATCHES))
    recorder.count({"seconds": 0.1, "least_seconds": 0.1})
    holds(monkeypatch, chain(meanwhile, cycle(BATCHES)))
    window = recorder.open_for(0.2, SimpleNamespace(has_calls=False))

    assert window["cut"] == cut


@pytest.mark.parametrize(
    ("available", "cut"), [(60, "memory"), (100, "")], ids=["15 MiB", "25 MiB"]
)
def test_a_recording_leaves_the_machine_three_times_what_it_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, available: int, cut: str
) -> None:
    """The process grows by 20 MiB in the window. It held 4 GiB before, as while it
    loaded its data, and grew by itself: neither is what the machine has now.
    """
    recorder = Recorder(str(tmp_path), forked=False)
    recorder.way = GivingWay()
    recorder.own_bytes, recorder.growth_bytes = 4 << 30, 3 << 30
    monkeypatch.setattr(of, "available_bytes", lambda: available << 20)
    holds(monkeypatch, chain((100,), cycle((120,))))

    window = recorder.open_for(0.2, SimpleNamespace(has_calls=False))

    assert window["cut"] == cut


def holds(monkeypatch: pytest.MonkeyPatch, memory: Iterator[int]) -> None:
    """memory: resident, MiB, each time that it is read."""
    page = os.sysconf("SC_PAGE_SIZE")

    def statm(_file: int, _most: int, _from: int) -> bytes:
        return b"0 %d 0" % ((next(memory) << 20) // page)

    monkeypatch.setattr(giving_way.os, "pread", statm)
