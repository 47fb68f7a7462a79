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

import msgspec
import pytest

from tfadvisor.act.record.caps import Caps
from tfadvisor.act.record.started_program import HOOK
from tfadvisor.act.record.window import RecordedWindow
from tfadvisor.timeline.host.event_counts import EventCounts
from tfadvisor.trace.samples import Samples

PROGRAM = """
    import json, sys, threading, time
    sys.path.insert(0, sys.argv[1])
    from tfadvisor_hook.sampling import Sampler

    def spin(seconds):
        until = time.perf_counter() + seconds
        while time.perf_counter() < until:
            pass

    def watch():
        time.sleep(0.2)
        loop = sampler.count_rounds(3.0, threading.Event())
        time.sleep(1.5)
        told = sampler.told(0)
        sampler.stop()
        print(json.dumps([loop, [[*told["places"][one][1:3]] for one in told["at"]]]))

    def main():
        while watcher.is_alive():
            time.sleep(0.008)
            spin(0.002)

    sampler = Sampler()
    watcher = threading.Thread(target=watch)
    watcher.start()
    main()
"""


STACKS = """
    import ctypes, faulthandler, signal, sys, time
    sys.path.insert(0, sys.argv[1])
    from tfadvisor_hook.sampling import Sampler
    from tfadvisor_hook.signal_timer import SignalAction, SignalStack

    def stack():
        found = SignalStack()
        ctypes.CDLL(None).sigaltstack(None, ctypes.byref(found))
        return found

    if sys.argv[2] == "its own":
        faulthandler.enable()
    before = stack()
    sampler = Sampler()
    sampler.start()
    time.sleep(0.3)
    sampler.stop()
    action, after = SignalAction(), stack()
    ctypes.CDLL(None).sigaction(signal.SIGURG, None, ctypes.byref(action))
    print(bool(before.flags & 2), bool(after.flags & 2), before.at == after.at, after.size >= 1 << 14)
    print(bool(action.flags & 0x08000000), bool(action.flags & 0x10000000), len(sampler.told(0)["at"]) > 10, sampler.why)
"""


@pytest.mark.parametrize(
    ("whose", "stacks"),
    [("none", "True False False True"), ("its own", "False False True True")],
)
def test_ticks_are_handled_on_a_stack_of_their_own(
    tmp_path: Path, whose: str, stacks: str
) -> None:
    """SA_ONSTACK and SA_RESTART are set, and the main thread has a stack for it: the
    program's, where it has one.

    Without it a tick inside a product of oneDNN for AVX-512 ends the program with a
    corrupted heap.
    """
    (tmp_path / "train.py").write_text(dedent(STACKS).lstrip())

    done = subprocess.run(
        [sys.executable, tmp_path / "train.py", HOOK, whose],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )

    assert done.stdout.splitlines() == [stacks, "True True True "]


def test_a_loop_and_the_functions_in_it(tmp_path: Path) -> None:
    """A round sleeps 8 ms, in which all ticks belong to the line that sleeps, and spins
    2.
    """
    text = dedent(PROGRAM).lstrip()
    (tmp_path / "train.py").write_text(text)
    lines = text.splitlines()
    marks = ("while watcher", "time.sleep(0.008", "spin(0.002")
    body = {
        number for number, line in enumerate(lines, 1) if line.strip().startswith(marks)
    }

    done = subprocess.run(
        [sys.executable, tmp_path / "train.py", HOOK],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )

    loop, at = json.loads(done.stdout)
    assert (Path(loop["file"]).name, loop["function"], loop["line"] in body) == (
        "train.py",
        "main",
        True,
    )
    assert 9 < loop["median_ms"] < 60  # others use the machine too
    spun = sum(function == "spin" for _, function in at) / len(at)
    assert 0.05 < spun < 0.5
    assert len(at) > 20


EPOCHS = """
    import json, sys, threading, time
    sys.path.insert(0, sys.argv[1])
    from tfadvisor_hook.sampling import Sampler

    def watch():
        sampler.start()
        time.sleep(0.5)
        sampler.count_rounds(3.0, threading.Event())
        time.sleep(2.0)
        told = sampler.told(0)
        print(json.dumps([told["loop"], [told["lines"][one] for one in told["at"]]]))

    def epoch():
        for batch in range(20):
            time.sleep(0.01)

    sampler = Sampler()
    watcher = threading.Thread(target=watch)
    watcher.start()
    {loop}
    sampler.stop()
"""


@pytest.mark.parametrize(
    ("loop", "first", "last", "behind"),
    [
        (
            "while watcher.is_alive():\n    for batch in range(20):\n        "
            "time.sleep(0.01)\n    time.sleep(0.1)",
            1,
            2,
            3,
        ),
        (
            "for batch in iter(watcher.is_alive, False):\n    time.sleep(0.01)\n    "
            "time.sleep(0.02)",
            0,
            2,
            None,
        ),
    ],
    ids=["batches in epochs", "one loop"],
)
def test_samples_tell_the_line_of_the_loops_function_that_is_under_way(
    tmp_path: Path, loop: str, first: int, last: int, behind: int | None
) -> None:
    """Behind 20 batches of 10 ms an epoch ends, which takes 100 ms. Before a loop was
    counted no line is known.
    """
    text = dedent(EPOCHS).lstrip().format(loop=loop)
    (tmp_path / "train.py").write_text(text)
    at = text.splitlines().index(loop.splitlines()[0]) + 1

    done = subprocess.run(
        [sys.executable, tmp_path / "train.py", HOOK],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )

    found, lines = json.loads(done.stdout)
    assert found == [str(tmp_path / "train.py"), "<module>", at + first, at + last]
    assert lines[0] == 0
    known = [line for line in lines if line]
    assert {
        at + first <= line <= at + last
        for line in known
        if line != at + (behind or -at)
    } == {True}
    share = sum(line == at + (behind or -at) for line in known) / len(known)
    assert share == pytest.approx(1 / 3 if behind else 0.0, abs=0.1)


FOLLOWED = """
    import json, os, sys, time
    sys.path.insert(0, sys.argv[1])
    from tfadvisor_hook.sampling import Sampler

    calls, most, handled = 0, 0, 0

    def follow(frame, what, argument):
        global calls, most, handled
        if what == "call" and frame.f_code.co_name == "tfadvisor_tick":
            handled, calls = handled + 1, 1
        elif what == "return" and frame.f_code.co_name == "tfadvisor_tick":
            calls = 0
        elif calls and what in ("call", "c_call"):
            calls += 1
            most = max(most, calls - 1) if handled > 3 else 0

    def nested(levels):
        return nested(levels - 1) if levels else spin(1.0)

    def spin(seconds):
        until = time.perf_counter() + seconds
        while time.perf_counter() < until:
            pass

    sampler = Sampler()
    sampler.start()
    spin(0.1)
    sampler.stop()
    since = time.perf_counter()
    spin(0.3)
    sampler.start()
    paused = time.perf_counter() - since
    sys.setprofile(follow)
    nested(40)
    sys.setprofile(None)
    sampler.stop()
    told = sampler.told(0)
    json.dump(told, open(sys.argv[2], "w"))
    print(json.dumps([handled, most, paused]))
"""


def test_ticks_go_on_while_all_calls_are_followed_and_a_pause_is_of_no_line(
    tmp_path: Path,
) -> None:
    """40 functions deep a tick calls a few others, not two for each frame: each would
    be an event of the profiler's.
    """
    (tmp_path / "train.py").write_text(dedent(FOLLOWED).lstrip())
    told = tmp_path / "vm.samples.json"

    done = subprocess.run(
        [sys.executable, tmp_path / "train.py", HOOK, told],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )

    handled, most, paused = json.loads(done.stdout)
    assert handled > 8
    assert 0 < most < 12
    _, place = msgspec.json.decode(told.read_bytes(), type=Samples).ticks()
    assert (place == -1).sum() * 6.173e-3 == pytest.approx(paused, abs=0.1)


INTERRUPTED = """
    import sys, threading, time
    sys.path.insert(0, sys.argv[1])
    from tfadvisor_hook.round_counter import RoundCounter

    rounds = RoundCounter(0.0, 60.0, lambda _: True)
    rounds.tick(sys._getframe())

    def interrupted(event):  # as by a signal, while the lock is held
        with event._cond:
            rounds.tick(sys._getframe())
            event._flag = True

    threading.Event.set = interrupted
    for number in range(10):
        time.sleep(0.01)
    print(rounds.over, bool(rounds.found()["median_ms"]))
"""


def test_a_tick_while_the_count_of_rounds_ends_locks_nothing(tmp_path: Path) -> None:
    """The main thread ends the count in its loop, and in a tick: both at once must not
    wait for each other for ever.
    """
    (tmp_path / "train.py").write_text(dedent(INTERRUPTED).lstrip())

    done = subprocess.run(
        [sys.executable, tmp_path / "train.py", HOOK],
        capture_output=True,
        text=True,
        timeout=20,
        check=True,
    )

    assert done.stdout == "True True\n"


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


FIFTH = """
    import json, sys, threading, time, zlib
    sys.path.insert(0, sys.argv[1])
    from tfadvisor_hook.sampling import Sampler

    DATA, spent = bytes(range(256)) * 1600, [0.0, 0.0]

    def prepare(rounds):
        number = 0
        for _ in range(rounds):
            number = (number * 31 + 7) % 1009
        return number

    def step():
        began = time.perf_counter()
        prepare(30_000)
        middle = time.perf_counter()
        for _ in range(calls):
            zlib.crc32(DATA)
        spent[0] += middle - began
        spent[1] += time.perf_counter() - began

    calls, fastest = 10, [1.0, 1.0]
    for _ in range(20):
        spent = [0.0, 0.0]
        step()
        fastest = [min(fastest[0], spent[0]), min(fastest[1], spent[1] - spent[0])]
    calls, spent = round(4 * fastest[0] / (fastest[1] / calls)), [0.0, 0.0]
    sampler = Sampler()
    sampler.start()
    until = time.monotonic() + 12
    while time.monotonic() < until:
        step()
    sampler.stop()
    print(json.dumps([spent[0] / spent[1], sampler.told(0)]))
"""


@pytest.mark.slow
@pytest.mark.nightly
def test_a_function_in_python_that_takes_a_fifth_of_each_step_is_seen_to_take_a_fifth(
    tmp_path: Path,
) -> None:
    """It holds the interpreter's lock, which no thread that looks on can take from it.
    The program's own clock tells its share, 20% where nobody else has the cores.
    """
    (tmp_path / "train.py").write_text(dedent(FIFTH).lstrip())

    done = subprocess.run(
        [sys.executable, tmp_path / "train.py", HOOK],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )

    share, told = json.loads(done.stdout)
    samples = msgspec.convert(told, Samples)
    at, place = samples.ticks()
    functions = [samples.places[row][2] for row in place.tolist() if row >= 0]
    assert len(at) > 1000
    assert functions.count("prepare") / len(at) == pytest.approx(share, abs=0.03)
    assert 0.1 < share < 0.4


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
