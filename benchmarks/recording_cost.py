"""What recording costs a program's step while it lasts, by the program's own clock.

    python benchmarks/recording_cost.py --jax PYTHON --tensorflow PYTHON [--windows N]
    [NAME …]

The programs are those of run_programs.py. Each is recorded as `tfadvisor run` does it,
and then again and again, with or without calls of Python as `run` chose, half a second
with the profiler and half a second without in turns. The median step of a window is set
against the median step of the pauses beside it; the median of these ratios counts.
Machines change their pace by half within seconds, so a single window says nothing.
What reading stacks from outside adds while nothing is recorded is measured likewise,
second by second, and printed with the memory that it adds to the program.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from run_programs import HERE, PROGRAMS, Program, command_of, environment

from tfadvisor.act.record.board import Board
from tfadvisor.act.record.choosing import RecordRequest
from tfadvisor.act.record.conduct import conduct
from tfadvisor.act.record.settling import may_train
from tfadvisor.act.record.started_program import Launch, with_hook
from tfadvisor.act.record.started_program import StartedProgram as Started
from tfadvisor.act.record.unrecorded import Nothing
from tfadvisor.act.record.watch import Watch
from tfadvisor.analysis import Options

SECONDS = 0.5
WATCHED_SECONDS = 1.0
SETTLING_SECONDS = 0.1
PATIENCE_SECONDS = 300.0
STEPS = 1_000_000
"""More than any program makes before it is ended."""
FEWEST = 5
LIMIT = 0.10
Window = dict[str, float]


def main() -> None:
    asked = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    asked.add_argument("--jax", default=sys.executable)
    asked.add_argument("--tensorflow", default=sys.executable)
    asked.add_argument("--windows", type=int, default=24)
    asked.add_argument(
        "--no-calls", action="store_true", help="never trace calls of Python"
    )
    asked.add_argument("names", nargs="*")
    given = asked.parse_args()
    pythons = {"jax": given.jax, "tensorflow": given.tensorflow}
    print(
        "| program | ms a step | recording adds | of windows the middle half | calls "
        "of Python |\n|---|---:|---:|---:|---|"
    )
    costs = []
    for program in PROGRAMS:
        if (
            program.steps
            and program.name != "short"
            and (program.name in given.names or not given.names)
        ):
            python = pythons[program.framework]
            if program.name == "notebook":
                step_ms, shares, traced = cost_of_blocks(program, python, given.windows)
            else:
                step_ms, shares, traced = cost(
                    program, python, given.windows, calls=not given.no_calls
                )
            lower, middle, upper = statistics.quantiles(shares, n=4)
            costs.append(middle)
            calls = "traced" if traced else "not traced"
            print(
                f"| {program.name} | {step_ms:.2f} | {middle:+.0%} | {lower:+.0%} to "
                f"{upper:+.0%} | {calls} |",
                flush=True,
            )
    if costs:
        few = sum(one < LIMIT for one in costs)
        print(
            f"\nIn the median {statistics.median(costs):+.0%}, {max(costs):+.0%} at "
            f"most; {few} of {len(costs)} below {LIMIT:.0%}"
        )


def cost(
    program: Program, python: str, windows: int, *, calls: bool
) -> tuple[float, list[float], bool]:
    """(ms a step without the profiler, what each window adds as a share of it, whether
    calls of Python are traced).
    """
    with tempfile.TemporaryDirectory() as folder:
        times = Path(folder) / "times"
        times.mkdir()
        board = Board(Path(folder))
        command = command_of(replace(program, steps=STEPS), python, Path(folder))
        with (Path(folder) / "log").open("wb") as log:
            place = Launch(
                HERE,
                with_hook(environment(STEP_TIMES=str(times)), board.folder),
                log,
                PATIENCE_SECONDS,
            )
            started = Started(command, place.environment or {}, place)
            watch = Watch(started.pid, board.folder)
            wanted = RecordRequest(None, 20, python_tracer=calls)
            found = conduct(board, started, wanted, Options(), watch)
            if isinstance(found, Nothing):
                raise SystemExit(f"{program.name}: {found.why}")
            watch.stop()
            training = may_train(board.processes(), time.time())
            before = max(_resident_mb(one.pid) for one in training)
            watched = [_watched(started.pid, board.folder) for _ in range(windows)]
            outside_mb = max(_resident_mb(one.pid) for one in training) - before
            recorded = [
                _window(board, python_tracer=found.chosen.python_tracer)
                for _ in range(windows)
            ]
            time.sleep(SECONDS)
            board.order_end(stop=True)
            started.wait(10.0)
            started.stop()
            started.forget()
        ticks = max(
            (json.loads(one.read_text()) for one in times.glob("*.json")), key=len
        )
    _, shares = _compared(ticks, watched)
    print(
        f"  {program.name}: watching from outside adds {statistics.median(shares):+.1%}, "
        f"and {outside_mb:+.0f} MB",
        file=sys.stderr,
    )
    return *_compared(ticks, recorded), found.chosen.python_tracer


def _watched(pid: int, folder: Path) -> Window:
    """A pause, and then as long a time in which its stacks are read."""
    time.sleep(WATCHED_SECONDS)
    begun = time.time()
    watch = Watch(pid, folder)
    time.sleep(SETTLING_SECONDS)
    opened = time.time()
    time.sleep(WATCHED_SECONDS)
    closed = time.time()
    watch.stop()
    return {"begun": begun, "opened": opened, "closed": closed, "stopped": time.time()}


def _resident_mb(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def cost_of_blocks(
    program: Program, python: str, blocks: int
) -> tuple[float, list[float], bool]:
    """The same of a notebook, which records itself: what its report is about, beside
    the steps between the blocks.
    """
    with tempfile.TemporaryDirectory() as folder:
        times, out = Path(folder) / "times", Path(folder) / "out"
        times.mkdir()
        command = [*command_of(program, python, out), str(blocks)]
        subprocess.run(
            command,
            cwd=HERE,
            env=environment(STEP_TIMES=str(times)),
            capture_output=True,
            check=True,
        )
        ticks = max(
            (json.loads(one.read_text()) for one in times.glob("*.json")), key=len
        )
        notes = [
            json.loads(one.read_text()) for one in sorted(out.rglob("recording.json"))
        ]
    recorded = [one["recorded"] for one in notes]
    first = [
        min(window["opened"] for window in one.values() if isinstance(window, dict))
        for one in notes
    ]
    windows = [
        {
            "begun": begun,
            "opened": one["opened"],
            "closed": one["closed"],
            "stopped": one["closed"],
        }
        for begun, one in zip(first, recorded, strict=True)
    ]
    return *_compared(ticks, windows), recorded[0]["python_tracer"]


def _window(board: Board, *, python_tracer: bool) -> Window:
    """A pause, and then a window: when it was begun, opened, closed and stopped."""
    time.sleep(SECONDS)
    processes = may_train(board.processes(), time.time())
    number = str(board.order(processes, SECONDS, python_tracer=python_tracer))
    until = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < until:
        answers = [
            one.windows[number] for one in board.processes() if number in one.windows
        ]
        if len(answers) == len(processes):
            names = {"begun": min, "opened": max, "closed": min, "stopped": max}
            return {
                name: which(one[name] for one in answers)
                for name, which in names.items()
            }
        time.sleep(0.05)
    raise SystemExit("a window was not answered")


def _compared(ticks: list[float], windows: list[Window]) -> tuple[float, list[float]]:
    """(median step in ms in the pauses, what each window adds to the step of the pauses
    beside it).
    """
    starts = [-1.0, *(one["stopped"] + SETTLING_SECONDS for one in windows)]
    pauses = [
        _steps(ticks, begin, one["begun"])
        for begin, one in zip(starts, windows, strict=False)
    ]
    pauses.append(_steps(ticks, starts[-1], ticks[-1]))
    shares = []
    for one, (before, after) in zip(windows, pairwise(pauses), strict=True):
        inside, beside = (
            _steps(ticks, one["opened"], one["closed"]),
            before[-100:] + after[:100],
        )
        if len(inside) >= FEWEST and len(beside) >= FEWEST:
            shares.append(statistics.median(inside) / statistics.median(beside) - 1)
    return statistics.median(period for pause in pauses[1:] for period in pause), shares


def _steps(ticks: list[float], begin: float, end: float) -> list[float]:
    """In ms, of the steps that lie inside."""
    within = [one for one in ticks if begin <= one <= end]
    return [(later - one) * 1000 for one, later in pairwise(within)]


if __name__ == "__main__":
    main()
