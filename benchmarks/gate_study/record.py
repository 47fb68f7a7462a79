"""Records the runs of the gate's study: small programs, unchanged and with something
planted, in turns.

    python benchmarks/gate_study/record.py [--plan tuned|judged] [--rounds N] [--within
    SECONDS] [--python PROGRAM] [--out FILE]

Needs tfadvisor, and an interpreter (`--python`, this one by default) with the `record`
extra. Every run is a process of its own; its trace becomes a snapshot and is deleted.
Unchanged runs come in every round, changed ones spread between them, so that both meet
the same weather on the machine. A recording that was cut off by --within goes on where
it stopped. About 20 minutes on two cores.

`tuned` is the recording that the gate's numbers were chosen on, `judged` the one that
it is judged by.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import tfadvisor
from tfadvisor.comparison.baseline.snapshot import snapshot_of
from tfadvisor.comparison.baseline.snapshot_json import as_text

HERE = Path(__file__).parent
EVERY = {"jax_compute": 1, "jax_input": 1, "tf_loop": 2}
"""Every how many rounds a program runs unchanged."""
POWER = {"slower-5": 5, "slower-10": 5, "slower-20": 5, "recompile": 4, "copy": 4}
CAUSES = {"host": 4, "op": 4, "launches": 4, "input": 4}
COUNTS = {
    "jax_compute": ("copy", "dispatch", "recompile"),
    "jax_input": ("copy", "dispatch", "recompile"),
    "tf_loop": ("copy", "dispatch", "recompile"),
    "jax_parallel": ("collective", "dispatch", "recompile"),
}
"""What the judged recording plants, four times each."""
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONHASHSEED": "0"}
Planned = tuple[int, str, str, int]


def main() -> None:
    """Adds to the file until the plan is done or the time is over."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--plan", choices=("tuned", "judged"), default="judged")
    options.add_argument("--rounds", type=int, help="93 of the one, 62 of the other")
    options.add_argument(
        "--within", type=float, default=1200, help="seconds after which no run is begun"
    )
    options.add_argument("--python", default=sys.executable)
    options.add_argument("--out", type=Path, help="the plan's file in data/")
    given = options.parse_args()
    out = given.out or HERE / "data" / f"{given.plan}.jsonl.gz"
    plan = list(
        tuned(given.rounds or 93)
        if given.plan == "tuned"
        else judged(given.rounds or 62)
    )
    lines = recorded(out)
    began = _began(lines)
    end = time.monotonic() + given.within
    for number, program, kind, steps in plan[len(lines) :]:
        if time.monotonic() > end:
            break
        known = {
            "round": number,
            "program": program,
            "kind": kind,
            "at": round(time.time() - began),
        }
        lines.append({**known, **run(given.python, program, kind, steps)})
        print(f"{len(lines)} of {len(plan)}  {program}  {kind}", file=sys.stderr)
    out.parent.mkdir(exist_ok=True)
    text = "".join(json.dumps(line) + "\n" for line in [about(lines), *lines])
    out.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def recorded(file: Path) -> list[dict]:
    """The runs of a recording that was cut off."""
    return (
        [
            json.loads(line)
            for line in gzip.decompress(file.read_bytes()).splitlines()[1:]
        ]
        if file.exists()
        else []
    )


def _began(lines: list[dict]) -> float:
    """When the first run was, by the clock of the machine."""
    if not lines:
        return time.time()
    return (
        datetime.fromisoformat(lines[0]["snapshot"]["recorded_at"]).timestamp()
        - lines[0]["at"]
    )


def about(lines: list[dict]) -> dict[str, object]:
    """The first line of a file."""
    return {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, shared",
        "seconds": lines[-1]["at"] if lines else 0,
    }


def judged(rounds: int) -> Iterator[Planned]:
    """(round, program, kind, steps): every program unchanged in each round, the
    parallel one in every third.
    """
    plants = [
        (program, kind)
        for _ in range(4)
        for program, kinds in COUNTS.items()
        for kind in kinds
    ]
    for number in range(rounds):
        for program in COUNTS:
            if program != "jax_parallel" or number % 3 == 0:
                yield number, program, "none", 120
        if number >= 4:
            share = len(plants) / (rounds - 4)
            for program, kind in plants[
                round((number - 4) * share) : round((number - 3) * share)
            ]:
                yield number, program, kind, 120


def tuned(rounds: int) -> Iterator[Planned]:
    """(round, program, kind, steps), unchanged runs first in each round; changed ones
    begin when there is a baseline.
    """
    changed = [
        (program, kind)
        for program in EVERY
        for kind, number in {**POWER, **CAUSES}.items()
        for _ in range(number)
        if (program, kind)
        != (
            "tf_loop",
            "input",
        )  # without Python frames nothing tells its loading from other work
    ]
    changed = [
        changed[(at * 37) % len(changed)] for at in range(len(changed))
    ]  # 37 and their number have no common divisor
    first = min(22, rounds // 2)
    for number in range(rounds):
        for program, every in EVERY.items():
            if number % every == 0:
                yield number, program, "none", 40
        if number >= first:
            share = len(changed) / (rounds - first)
            done = number - first
            for program, kind in changed[
                round(done * share) : round((done + 1) * share)
            ]:
                yield number, program, kind, 40


def run(python: str, program: str, kind: str, steps: int) -> dict[str, object]:
    """One run's snapshot, with its ops and metrics, its findings, and the machine's
    load before it.
    """
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as place:
        command = [
            python,
            str(HERE / "programs" / f"{program}.py"),
            place,
            kind,
            str(steps),
        ]
        subprocess.run(
            command, check=True, capture_output=True, env={**os.environ, **QUIET}
        )
        report = tfadvisor.analyze(place).report
    findings = [
        [
            one.rule_id,
            one.severity.value,
            [row.metric for row in one.evidence if row.metric],
        ]
        for one in report.findings
    ]
    snapshot = json.loads(as_text(snapshot_of(report, program)))
    return {"load": round(load, 1), "findings": findings, "snapshot": snapshot}


if __name__ == "__main__":
    main()
