"""Does the gate stay green on programs that did not change, recorded with Python frames
or without?

    python benchmarks/unchanged_gates.py --python PYTHON [--runs 10] [--keep DIR] [NAME
    ...]

PYTHON: an interpreter with JAX and TensorFlow. Each program is recorded by `tfadvisor
run`, in turns for so short that it ends before the window with Python frames, and for
longer. Where calls of Python cost too little to need a window of their own, the program
records itself in those turns: TensorFlow's own profiler writes no frames. `tfadvisor
gate --add` judges each recording by those before it, with the recommended settings.
Prints a table; the exit code is 1 when any gate was red.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import tfadvisor

HERE = Path(__file__).parent / "programs_to_run"
COMMAND = Path(sys.executable).parent / "tfadvisor"
PROGRAMS = (
    ("jax_loop.py", 120, 700),
    ("keras_fit.py", 500, 2000),
    ("tf_custom_loop.py", 0, 1000),
)
"""Each with the steps of a short and of a longer run; 0 where it records itself instead
of a short run.
"""
_AGAIN = (1.5, 2.0)
"""How many times as many steps a further try makes."""


def main() -> int:
    asked = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    asked.add_argument("--python", default=sys.executable)
    asked.add_argument("--runs", type=int, default=10)
    asked.add_argument("--keep", type=Path)
    asked.add_argument("names", nargs="*")
    given = asked.parse_args()
    red = 0
    print(
        "| program | recordings | with Python frames | gates passed | what the "
        "others said |\n|---|--:|--:|--:|---|"
    )
    with tempfile.TemporaryDirectory() as folder:
        for script, *steps in PROGRAMS:
            if given.names and script.removesuffix(".py") not in given.names:
                continue
            codes, framed, said = judged(
                script,
                steps,
                given.python,
                given.runs,
                (given.keep or Path(folder)) / script,
            )
            red += sum(code != 0 for code in codes)
            print(
                f"| {script} | {len(codes)} | {framed} | {codes.count(0)} | "
                f"{'; '.join(said)} |",
                flush=True,
            )
    return 1 if red else 0


def judged(
    script: str, steps: list[int], python: str, runs: int, folder: Path
) -> tuple[list[int], int, list[str]]:
    """Exit codes of the gates, how many recordings hold Python frames, and what red
    gates said first.
    """
    codes, framed, said = [], 0, []
    for number in range(runs):
        logdir = folder / f"{number}"
        made = recorded(logdir, python, script, steps[number % 2])
        # on a busy machine a profiler may not stop in time; on a quick one the program
        # ends too soon
        for longer in _AGAIN:
            if made.returncode:
                print(
                    f"{script}: run {number} again: {made.stderr.strip()}",
                    file=sys.stderr,
                )
                made = recorded(
                    logdir, python, script, round(steps[number % 2] * longer)
                )
        if made.returncode:
            raise SystemExit(f"{script}: {made.stderr}")
        framed += tfadvisor.analyze(logdir).report.run.python_calls
        done = called(
            COMMAND, "gate", logdir, "--baseline", folder / "baselines", "--add"
        )
        codes.append(done.returncode)
        if done.returncode:
            said.append(f"run {number}: {' '.join(done.stdout.split()[:25])}")
    return codes, framed, said


def recorded(
    logdir: Path, python: str, script: str, steps: int
) -> subprocess.CompletedProcess[str]:
    if steps:
        return called(
            COMMAND, "run", "--out", logdir, "--", python, HERE / script, steps
        )
    return called(python, HERE / script, 200, BY_HAND=str(logdir))


def called(*words: object, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **environment}
    return subprocess.run(
        [*map(str, words)], capture_output=True, text=True, check=False, env=env
    )


if __name__ == "__main__":
    sys.exit(main())
