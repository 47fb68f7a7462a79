"""What a program's main thread does by a timer's ticks, and how often its loop goes
round: a process of its own each.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import time
from pathlib import Path
from textwrap import dedent
from types import SimpleNamespace

import pytest

from tfadvisor.act.record.caps import Caps
from tfadvisor.act.record.started_program import HOOK
from tfadvisor.act.record.window import RecordedWindow
from tfadvisor.timeline.host.event_counts import EventCounts

IN_ONE_CALL = """
    import json, sys, threading, time
    sys.path.insert(0, sys.argv[1])
    from tfadvisor_hook.sampling import Sampler

    def watch():
        time.sleep(0.2)
        print(json.dumps([sampler.count_rounds(3.0, threading.Event()), sampler.inside]))

    sampler = Sampler()
    threading.Thread(target=watch).start()
    time.sleep(2.5)
"""


def test_a_program_that_is_in_one_call_has_no_rounds_and_the_call_is_named(
    tmp_path: Path,
) -> None:
    """As one whose whole training is one compiled loop."""
    text = dedent(IN_ONE_CALL).lstrip()
    (tmp_path / "train.py").write_text(text)

    done = subprocess.run(
        [sys.executable, tmp_path / "train.py", HOOK],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )

    line = text.splitlines().index("time.sleep(2.5)") + 1
    assert json.loads(done.stdout) == [
        None,
        [str(tmp_path / "train.py"), line, "<module>"],
    ]


LOOP_IN_A_STEP = """
    import json, sys, threading, time
    sys.path.insert(0, sys.argv[1])
    from tfadvisor_hook.sampling import Sampler

    def watch():
        time.sleep(0.1)
        print(json.dumps(sampler.count_rounds(3.0, threading.Event())))

    sampler = Sampler()
    watcher = threading.Thread(target=watch)
    watcher.start()
    for epoch in range(1000):
        if not watcher.is_alive():
            break
        for batch in range(100):
            if not watcher.is_alive():
                continue
            time.sleep({beside})
            for gradient in range(10):
                if gradient > 20:
                    continue
                time.sleep({inside})
            loss = batch
    sampler.stop()
"""


@pytest.mark.parametrize(
    ("beside", "inside", "median_ms"), [(0.3, 0.002, 320), (0.001, 0.05, 50)]
)
def test_a_loop_that_takes_little_of_a_round_is_no_round(
    tmp_path: Path, beside: float, inside: float, median_ms: float
) -> None:
    """Ten gradients are clipped one by one in each step: the loop goes round ten times
    before the step does so once.
    """
    text = dedent(LOOP_IN_A_STEP).lstrip().format(beside=beside, inside=inside)
    (tmp_path / "train.py").write_text(text)

    done = subprocess.run(
        [sys.executable, tmp_path / "train.py", HOOK],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )

    assert json.loads(done.stdout)["median_ms"] == pytest.approx(median_ms, rel=0.25)


LINE_TWICE_A_ROUND = """
    import contextlib, json, sys, threading, time
    sys.path.insert(0, sys.argv[1])
    from tfadvisor_hook.sampling import Sampler

    def watch():
        time.sleep(0.1)
        loop = sampler.count_rounds({limit}, threading.Event())
        print(json.dumps([loop, sampler.rounds_ns]))

    sampler = Sampler()
    watcher = threading.Thread(target=watch)
    watcher.start()
    for step in range(1000):
        if not watcher.is_alive():
            break
        time.sleep(0.4)
        with contextlib.nullcontext():
            time.sleep(0.002)
        loss = step
        total = loss
    sampler.stop()
"""


@pytest.mark.parametrize(("limit", "median_ms"), [(3.0, 402), (1.0, None)])
def test_a_line_that_comes_twice_in_each_round_tells_no_round(
    tmp_path: Path, limit: float, median_ms: float | None
) -> None:
    """`with` comes when its block is left, too: in one second it comes four times in
    two rounds of 0.4 s, 2 ms apart.
    """
    (tmp_path / "train.py").write_text(
        dedent(LINE_TWICE_A_ROUND).lstrip().format(limit=limit)
    )

    done = subprocess.run(
        [sys.executable, tmp_path / "train.py", HOOK],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )

    loop, began_ns = json.loads(done.stdout)
    if median_ms is None:
        assert (loop, began_ns) == (None, [])
        return
    assert loop["median_ms"] == pytest.approx(median_ms, rel=0.25)
    periods = [(after - before) / 1e6 for before, after in itertools.pairwise(began_ns)]
    assert len(periods) >= 2
    assert periods == pytest.approx([median_ms] * len(periods), rel=0.25)
    assert abs(began_ns[-1] / 1e9 - time.time()) < 60


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
        cut=cut,
    )


@pytest.mark.parametrize(
    ("stopping", "events", "cut", "longest"),
    [
        (0.0, 0, False, 20.0),
        (2.0, 0, False, 0.8),
        (2.0, 200_000, False, 0.2),
        (0.1, 10, True, 0.1),
    ],
)
def test_a_window_is_as_long_as_the_last_one_allows(
    tmp_path: Path, stopping: float, events: int, cut: bool, longest: float
) -> None:
    """After one of 0.2 s: 8 s to stop at most, and 200,000 events; half as long with
    calls of Python.
    """
    caps = Caps()
    caps.learn(window(0.2, stopping=stopping, events=events, cut=cut, folder=tmp_path))

    assert caps.seconds(100.0, python_tracer=False) == pytest.approx(longest)
    assert caps.seconds(100.0, python_tracer=True) == pytest.approx(longest / 2)
