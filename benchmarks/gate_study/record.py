"""Records the runs of the gate's study: three programs, unchanged and with something planted, in turns.

    python benchmarks/gate_study/record.py [--rounds N] [--within SECONDS] [--python PROGRAM] [--out FILE]

Needs tfadvisor, and an interpreter (`--python`, this one by default) with the `record` extra. Every run is a process of its
own; its trace becomes a snapshot and is deleted. Unchanged runs come in every round, changed ones spread between them, so
that both meet the same weather on the machine. About 20 minutes on two cores.
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
from pathlib import Path

import tfadvisor
from tfadvisor.gate.baseline.snapshot import snapshot_of
from tfadvisor.gate.baseline.snapshot_json import as_text

HERE = Path(__file__).parent
DATA = HERE / "data" / "runs.jsonl.gz"
EVERY = {"jax_compute": 1, "jax_input": 1, "tf_loop": 2}
"""Every how many rounds a program runs unchanged."""
POWER = {"slower-5": 5, "slower-10": 5, "slower-20": 5, "recompile": 4, "copy": 4}
CAUSES = {"host": 4, "op": 4, "launches": 4, "input": 4}
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONHASHSEED": "0"}


def main() -> None:
    """Writes the file anew, at the end."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rounds", type=int, default=93)
    options.add_argument("--within", type=float, default=1200, help="seconds after which no run is begun")
    options.add_argument("--python", default=sys.executable)
    options.add_argument("--out", type=Path, default=DATA)
    given = options.parse_args()
    begun, lines = time.monotonic(), []
    for number, program, kind in schedule(given.rounds):
        seconds = time.monotonic() - begun
        if seconds > given.within:
            break
        known = {"round": number, "program": program, "kind": kind, "at": round(seconds)}
        lines.append({**known, **run(given.python, program, kind)})
        print(f"{seconds:6.0f} s  round {number}  {program}  {kind}", file=sys.stderr)
    about = {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, shared",
        "seconds": round(time.monotonic() - begun),
    }
    given.out.parent.mkdir(exist_ok=True)
    text = "".join(json.dumps(line) + "\n" for line in [about, *lines])
    given.out.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def schedule(rounds: int) -> Iterator[tuple[int, str, str]]:
    """(round, program, kind), unchanged runs first in each round; changed ones begin when there is a baseline."""
    changed = [
        (program, kind)
        for program in EVERY
        for kind, number in {**POWER, **CAUSES}.items()
        for _ in range(number)
        if (program, kind) != ("tf_loop", "input")  # without Python frames nothing tells its loading from other work
    ]
    changed = [
        changed[(at * 37) % len(changed)] for at in range(len(changed))
    ]  # 37 and their number have no common divisor
    first = min(22, rounds // 2)
    for number in range(rounds):
        for program, every in EVERY.items():
            if number % every == 0:
                yield number, program, "none"
        if number >= first:
            share = len(changed) / (rounds - first)
            done = number - first
            for program, kind in changed[round(done * share) : round((done + 1) * share)]:
                yield number, program, kind


def run(python: str, program: str, kind: str) -> dict[str, object]:
    """One run's snapshot, with its ops and metrics, and the machine's load before it."""
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as place:
        command = [python, str(HERE / "programs" / f"{program}.py"), place, kind]
        subprocess.run(command, check=True, capture_output=True, env={**os.environ, **QUIET})
        snapshot = snapshot_of(tfadvisor.analyze(place), program)
    return {"load": round(load, 1), "snapshot": json.loads(as_text(snapshot))}


if __name__ == "__main__":
    main()
