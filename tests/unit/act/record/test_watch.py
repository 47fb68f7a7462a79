"""What py-spy has written, as entries of `HOST.samples.json`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from support.places import FIXTURES

from tfadvisor.act.record import watch
from tfadvisor.act.record.py_spy import errors_in, read_stays, why_not
from tfadvisor.act.record.sleeping import Sleeps
from tfadvisor.act.record.watch import SeenStacks
from tfadvisor.trace.samples import Samples

TRAIN, HOOK = "/home/me/train.py", "/x/act/record/injected/tfadvisor_hook/watch.py"


def event(
    kind: str, ts: int, name: str, line: int = 0, file: str = "", tid: int = 1
) -> dict[str, Any]:
    args = {"filename": file, "line": line}
    return {"ph": kind, "ts": ts, "name": name, "pid": 7, "tid": tid, "args": args}


def begun(ts: int, thread: str, tid: int = 1) -> list[dict[str, Any]]:
    """Below a launcher."""
    names = ['process 3:"bash"', 'process 7:"/bin/python t.py"', thread]
    return [event("B", ts, name, tid=tid) for name in names]


def seen(tmp_path: Path, events: list[dict[str, Any]]) -> Samples:
    out = tmp_path / "stacks"
    out.write_text(json.dumps(events))
    stacks = SeenStacks(Sleeps(7))
    stacks.add(read_stays(out), 1_000_000, 2)
    return msgspec.convert(stacks.of_process(7), Samples)


def test_a_clock_that_is_set_back_leaves_samples_in_order(tmp_path: Path) -> None:
    """40 ms are seen, then 40 more, of which the clock says that they began 30 ms
    before the first ended: they follow each other all the same.
    """
    events = [
        *begun(5, "thread (7): MainThread"),
        event("B", 5, "main", 50, TRAIN),
        event("E", 45_000, "main", 50, TRAIN),
    ]
    out = tmp_path / "stacks"
    out.write_text(json.dumps(events))
    stacks = SeenStacks(Sleeps(7))
    for began_ns in (1_000_000, 16_000_000):
        stacks.add(read_stays(out), began_ns, 0)

    found = msgspec.convert(stacks.of_process(7), Samples)

    assert [after_us for after_us, *_ in found.samples] == [5, 45_005]
    assert found.is_usable()


def test_a_stack_that_stays_is_one_entry(tmp_path: Path) -> None:
    """main calls load for 30 ms, then is at another line itself for 10: samples come
    every 10 ms.
    """
    found = seen(
        tmp_path,
        [
            *begun(5, "thread (7): MainThread"),
            event("B", 5, "main", 50, TRAIN),
            event("B", 5, "Loader.load", 12, TRAIN),
            event("E", 30_005, "Loader.load", 12, TRAIN),
            event("E", 30_005, "main", 50, TRAIN),
            event("B", 30_005, "main", 51, TRAIN),
            event("E", 40_005, "main", 51, TRAIN),
        ],
    )

    assert found.is_usable()
    assert found.frames == [
        (TRAIN, "main", 50),
        (TRAIN, "load", 12),
        (TRAIN, "main", 51),
    ]
    assert found.stacks == [[0, 1], [2]]
    assert found.samples == [(5, 0, 0, 3), (30_005, 0, 1, 1)]
    assert found.threads == [("MainThread", True, "7 python")]
    assert (found.every_ns, found.began_ns, found.errors) == (10_000_000, 1_000_000, 2)
    assert found.ended_ns == 1_000_000 + 40_005_000


def test_nothing_of_tfadvisor_itself_is_shown(tmp_path: Path) -> None:
    """Its thread is left out; what it does in the program's main thread belongs to the
    line that is under way there. Imports have no stacks of their own.
    """
    found = seen(
        tmp_path,
        [
            *begun(5, "thread (9)", tid=2),
            event("B", 5, "follow", 1, HOOK, tid=2),
            *begun(5, "thread (7)"),
            event("B", 5, "main", 50, TRAIN),
            event("B", 5, "_find_and_load", 1, "<frozen importlib._bootstrap>"),
            event("B", 5, "find_spec", 40, HOOK),
            event("E", 20_005, "find_spec", 40, HOOK),
            event("E", 20_005, "follow", 1, HOOK, tid=2),
        ],
    )

    assert found.frames == [(TRAIN, "main", 50)]
    assert found.samples == [(5, 0, 0, 2)]
    assert [name for name, _, _ in found.threads] == ["MainThread"]


def test_a_long_run_keeps_fewer_samples_and_the_same_shares(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """400 turns of 40 ms, 30 at one line and 10 at another: 800 entries. With a sample
    every 20 ms in step with the turns the second line would never be met.
    """
    monkeypatch.setattr("tfadvisor.act.record.watch._MOST_ENTRIES", 799)
    events = begun(0, "thread (7)")
    for turn in range(400):
        at = turn * 40_000
        events.append(event("B", at, "main", 50, TRAIN))
        events.append(event("E", at + 30_000, "main", 50, TRAIN))
        events.append(event("B", at + 30_000, "main", 51, TRAIN))
        events.append(event("E", at + 40_000, "main", 51, TRAIN))

    found = seen(tmp_path, events)
    _, stacks = found.ticks()

    assert found.is_usable()
    assert found.every_ns == 20_000_000
    assert len(stacks) == pytest.approx(800, abs=2)
    assert stacks.mean() == pytest.approx(0.25, abs=0.05)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("Error: Permission Denied: Try running again with sudo", "ptrace"),
        ("This program requires root on OSX.", "root"),
        ("Error: Failed to find python version from target process", ""),
    ],
)
def test_why_nothing_is_seen(words: str, why: str) -> None:
    assert why in why_not(words)
    assert bool(why_not(words)) == bool(why)


def test_errors_are_those_that_it_counts() -> None:
    assert errors_in("py-spy> Wrote it. Samples: 741 Errors: 5\n") == 5
    assert errors_in("py-spy> died") == 0


@pytest.mark.parametrize(
    ("program", "function", "what", "since"),
    [
        ("keras-evaluates", "evaluate", "evaluate", "program"),
        ("jax-evaluates", "evaluate", "evaluate", "program"),
        ("jax-evaluates", "save", "save", "program"),
    ],
)
def test_what_was_seen_agrees_with_the_clock_of_the_program(
    program: str, function: str, what: str, since: str
) -> None:
    """Within one point of the program's time."""
    folder = FIXTURES / "watched" / program
    text = (folder / "host.samples.json").read_bytes()
    found = msgspec.json.decode(text, type=Samples)
    clock = json.loads((folder / "clock.json").read_text("utf-8"))

    _, stacks = found.ticks()
    named = {
        number
        for number, stack in enumerate(found.stacks)
        if any(found.frames[frame][1] == function for frame in stack)
    }
    seconds = sum(one in named for one in stacks.tolist()) * found.every_ns / 1e9

    assert seconds / clock[since] == pytest.approx(clock[what] / clock[since], abs=0.01)


class Started:
    """py-spy, which takes 20 ms to start."""

    def __init__(self, clock: list[int], out: Path, events: str) -> None:
        clock[0] += 20_000_000
        out.write_text(events)

    def wait(self) -> None:
        """It has ended already."""


def test_times_count_from_when_py_spy_runs_and_not_from_when_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is asked for at 1 s, and tells of a stack from its own 5 ms on, so that the
    stack begins at 1.025 s.
    """
    clock, out = [1_000_000_000], tmp_path / "stacks-1"
    events = [
        *begun(5_000, "thread (7): MainThread"),
        event("B", 5_000, "main", 50, TRAIN),
        event("E", 15_000, "main", 50, TRAIN),
    ]
    monkeypatch.setattr(watch.time, "time_ns", lambda: clock[0])
    monkeypatch.setattr(
        watch.subprocess,
        "Popen",
        lambda *_, **__: Started(clock, out, json.dumps(events)),
    )
    program = watch.Watch.__new__(watch.Watch)
    program.pid, program.why = 7, ""
    program._stays = SeenStacks(Sleeps(7))

    assert program._chunk(out, rate=100, seconds=15)

    letter = program._stays.of_process(7)
    (sample,) = letter["samples"]
    assert letter["began_ns"] + 1000 * sample[0] == 1_025_000_000


def test_sleep_before_the_first_sample_is_of_no_stretch(tmp_path: Path) -> None:
    """A file that is asked for before any stack was read."""
    sleeps = Sleeps(7)
    sleeps.found[7] = [(5_000_000, 9_000_000)]

    found = msgspec.convert(SeenStacks(sleeps).of_process(7), Samples)

    assert found.asleep == []
