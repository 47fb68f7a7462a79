"""Time of a thread of which nothing is recorded goes to the lines on which samples saw it."""

from __future__ import annotations

import numpy as np
import pytest
from support.trace_builder import trace

from tfadvisor.timeline.attribution.model import Sampled
from tfadvisor.vocabulary import TimeClass


def test_every_tick_in_a_gap_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five steps of 10 ms: four calls in 1 ms, the GPU until 4 ms. A tick a ms: line 7 in two steps, then line 9."""
    ms = np.arange(50)
    places = (("train.py", 7, "load", ""), ("train.py", 9, "log", ""))
    seen = Sampled(ms * 1_000_000_000 + 500_000_000, np.where(ms < 20, 0, 1), places)
    monkeypatch.setattr("tfadvisor.timeline.build.sampled", lambda _trace: seen)
    built = trace().steps(5, 10_000).busy("GPU:0", *((10_000 * i, 10_000 * i + 4_000) for i in range(5)))
    for i in range(5):
        for part in range(4):
            start = 10_000 * i + 250 * part
            built.call("PjitFunction(train_step)", start, start + 250)

    (host,) = built.build().hosts

    found = {(one.file, one.line): one.ps for one in host.evidence.spent if one.kind is not TimeClass.COMPUTE}
    assert found == {("train.py", 7): 12_000_000_000, ("train.py", 9): 18_000_000_000}
