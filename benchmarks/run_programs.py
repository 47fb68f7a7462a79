"""`tfadvisor run` on programs of many kinds, beside recordings made by hand, as a Markdown table.

    python benchmarks/run_programs.py --jax PYTHON --tensorflow PYTHON [--runs N] [NAME ...]

PYTHON: an interpreter that has the framework; for all JAX programs also optax, flax, equinox, grain, IPython and tfadvisor.
The times of steps are the programs' own, by `time.time()` after each step: the median of up to 200 periods before the first
window, in the window that the report is about, and after the last one. What recording costs is its step over the middle of
the other two: one run says little about it, so the median of several counts. Use a calm machine.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import tfadvisor

HERE = Path(__file__).parent / "programs_to_run"
MOST_PERIODS = 200


@dataclass(frozen=True)
class Program:
    """name: how it is called in the table. command: after the interpreter. steps: how many it makes."""

    name: str
    framework: str
    command: tuple[str, ...]
    steps: int = 0
    expected: int = 0
    """The exit code."""


PROGRAMS = (
    Program("Keras fit", "tensorflow", ("keras_fit.py",), 2000),
    Program("TensorFlow loop", "tensorflow", ("tf_loop.py",), 1500),
    Program("TensorFlow op by op", "tensorflow", ("tf_eager.py",), 4000),
    Program("JAX loop", "jax", ("jax_loop.py",), 2000),
    Program("JAX, much Python", "jax", ("jax_logging.py",), 3000),
    Program("Optax outside of jit", "jax", ("jax_optax.py",), 2000),
    Program("Flax NNX", "jax", ("flax_nnx.py",), 2000),
    Program("Equinox, healthy", "jax", ("equinox_mlp.py",), 500),
    Program("Grain", "jax", ("grain_loader.py",), 1500),
    Program("python -m", "jax", ("-m", "jax_package"), 2000),
    Program("two processes", "jax", ("two_processes.py",), 1000),
    Program("shell script", "jax", ("wrapper.sh",), 2000),
    Program("forks", "jax", ("forks.py",), 1500),
    Program("short", "jax", ("jax_loop.py",), 150),
    Program("notebook", "jax", ("notebook.py",), 100),
    Program("crashes", "jax", ("crashes.py",), expected=3),
    Program("no steps", "jax", ("no_steps.py",), expected=3),
)


@dataclass(frozen=True)
class Seen:
    """What one program gave."""

    exit_code: int
    said: str
    first: str | None
    median_ms: tuple[float | None, float | None, float | None]
    """Before the first window, while recording, after the last window."""
    told: float | None
    """The cost that the note beside the trace tells."""

    @property
    def cost(self) -> float | None:
        """What recording adds to a step, as a share of it."""
        before, during, after = self.median_ms
        others = [one for one in (before, after) if one]
        return during / statistics.mean(others) - 1 if during and others else None


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--jax", default=sys.executable)
    asked.add_argument("--tensorflow", default=sys.executable)
    asked.add_argument("--runs", type=int, default=1, metavar="N", help="of each program; medians are printed")
    asked.add_argument("names", nargs="*")
    given = asked.parse_args()
    pythons = {"jax": given.jax, "tensorflow": given.tensorflow}
    print(
        "| program | exit code | first finding by `run` | by hand | ms a step before | recording | after | told cost |"
    )
    print("|---|---|---|---|---|---|---|---|", flush=True)
    costs = []
    for program in PROGRAMS:
        if not given.names or program.name in given.names:
            cost, row = row_of(program, pythons[program.framework], given.runs)
            print(row, flush=True)
            costs += [cost] if cost is not None else []
    if costs:
        least, middle, most = min(costs), statistics.median(costs), max(costs)
        print(
            f"\nRecording adds {middle:+.0%} to a step in the median of {len(costs)} programs ({least:+.0%} to {most:+.0%})"
        )


def row_of(program: Program, python: str, runs: int) -> tuple[float | None, str]:
    """(what recording adds to a step, as a share of it; the row). The answers are those of the first run."""
    with tempfile.TemporaryDirectory() as folder:
        first, *more = [seen_by_run(program, python, Path(folder) / str(number)) for number in range(runs)]
        by_hand = first_by_hand(program, python, Path(folder))
    seen = [first, *more]
    before, during, after = (middle_of([one.median_ms[at] for one in seen]) for at in range(3))
    cost = middle_of([one.cost for one in seen])
    cells = [f"{one:.2f}" if one else "–" for one in (before, during, after)]
    if cost is not None:
        cells[1] += f" ({cost:+.0%})"
    code = str(first.exit_code) if first.exit_code == program.expected else f"**{first.exit_code}**"
    told = middle_of([one.told for one in seen])
    answers = f"| {program.name} | {code} | {first.first or first.said} | {by_hand or '–'} "
    return cost, f"{answers}| {' | '.join(cells)} | {'–' if told is None else f'{told:.0%}'} |"


def middle_of(values: Iterable[float | None]) -> float | None:
    known = [one for one in values if one is not None]
    return statistics.median(known) if known else None


def command_of(program: Program, python: str, out: Path) -> list[str]:
    if program.command[0].endswith(".sh"):
        return ["bash", *program.command, python, str(program.steps)]
    return [
        python,
        *program.command,
        *([str(program.steps)] if program.steps else []),
        *([str(out)] if program.name == "notebook" else []),
    ]


def seen_by_run(program: Program, python: str, folder: Path) -> Seen:
    """Runs it once under `tfadvisor run`; a notebook records itself."""
    out, times = folder / "out", folder / "times"
    times.mkdir(parents=True)
    call = command_of(program, python, out)
    if program.name != "notebook":
        advisor = [sys.executable, "-m", "tfadvisor", "run", "--out", str(out), "-o", str(folder / "report.json")]
        call = [*advisor, "--", *call]
    done = subprocess.run(
        call, cwd=HERE, env=environment(STEP_TIMES=str(times)), capture_output=True, text=True, check=False
    )
    said = next((line for line in done.stderr.splitlines() if line.startswith("tfadvisor: ")), "")
    notes = list(out.rglob("recording.json"))
    if not notes:
        return Seen(done.returncode, said.replace(str(HERE), ""), None, (None, None, None), None)
    note = json.loads(notes[0].read_text())
    ticks = max((json.loads(one.read_text()) for one in times.glob("*.json")), key=len, default=[])
    return Seen(done.returncode, said, first_finding(out), medians(ticks, note), note["python_tracer_cost"])


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", **more}


def medians(ticks: list[float], note: dict) -> tuple[float | None, float | None, float | None]:
    """ms a step: before any window, in the chosen one, after all."""
    windows = [one for one in (note["without_python_tracer"], note["with_python_tracer"]) if one]
    if not windows:
        return None, None, None
    chosen = note["recorded"]
    first, last = min(one["opened"] for one in windows), max(one["closed"] for one in windows)
    return (
        median_between(ticks, 0, first - 0.05),
        median_between(ticks, chosen["opened"], chosen["closed"]),
        median_between(ticks, last + 1.5, ticks[-1] if ticks else 0),
    )


def median_between(ticks: list[float], begin: float, end: float) -> float | None:
    within = [one for one in ticks if begin <= one <= end][-MOST_PERIODS:]
    periods = [(b - a) * 1000 for a, b in pairwise(within)]
    return statistics.median(periods) if len(periods) >= 5 else None


def first_by_hand(program: Program, python: str, folder: Path) -> str | None:
    """The first finding of a recording that the program makes itself, with the framework's own defaults."""
    if program.expected or program.name == "notebook":
        return None
    logdir = folder / "by_hand"
    subprocess.run(
        command_of(program, python, logdir),
        cwd=HERE,
        env=environment(BY_HAND=str(logdir)),
        capture_output=True,
        check=True,
    )
    return first_finding(logdir)


def first_finding(logdir: Path) -> str:
    """About the program, not about the recording."""
    found = [one.rule_id for one in tfadvisor.analyze(logdir).findings if one.category != "capture"]
    return found[0] if found else "none"


if __name__ == "__main__":
    main()
