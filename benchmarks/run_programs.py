"""`tfadvisor run` on programs of many kinds, beside recordings made by hand, as a
Markdown table.

    python benchmarks/run_programs.py --jax PYTHON --tensorflow PYTHON [NAME ...]

PYTHON: an interpreter that has the framework; for all JAX programs also optax, flax,
equinox, grain, IPython and tfadvisor. What recording costs their steps is measured by
recording_cost.py.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import tfadvisor

HERE = Path(__file__).parent / "programs_to_run"


@dataclass(frozen=True)
class Program:
    """name: how it is called in the table. command: after the interpreter. steps: how
    many it makes.
    """

    name: str
    framework: str
    command: tuple[str, ...]
    steps: int = 0
    expected: int = 0
    """The exit code."""


PROGRAMS = (
    Program("Keras fit", "tensorflow", ("keras_fit.py",), 2000),
    Program("TensorFlow loop", "tensorflow", ("tf_custom_loop.py",), 1000),
    Program("TensorFlow, a pipeline a step", "tensorflow", ("tf_loop.py",), 1500),
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
    Program("notebook", "jax", ("notebook.py",), 1000),
    Program("crashes", "jax", ("crashes.py",), expected=3),
    Program("no steps", "jax", ("no_steps.py",), expected=3),
)


@dataclass(frozen=True)
class Seen:
    """What one program gave."""

    exit_code: int
    said: str
    first: str | None
    told: float | None
    """The cost that the note beside the trace tells."""


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--jax", default=sys.executable)
    asked.add_argument("--tensorflow", default=sys.executable)
    asked.add_argument("names", nargs="*")
    given = asked.parse_args()
    pythons = {"jax": given.jax, "tensorflow": given.tensorflow}
    print(
        "| program | exit code | first finding by `run` | by hand | told cost of "
        "calls |\n|---|---|---|---|---|",
        flush=True,
    )
    for program in PROGRAMS:
        if not given.names or program.name in given.names:
            print(row_of(program, pythons[program.framework]), flush=True)


def row_of(program: Program, python: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        seen = seen_by_run(program, python, Path(folder))
        by_hand = first_by_hand(program, python, Path(folder))
    code = (
        str(seen.exit_code)
        if seen.exit_code == program.expected
        else f"**{seen.exit_code}**"
    )
    first = seen.first or seen.said
    told = f"{seen.told:.0%}" if seen.told is not None else "–"
    return f"| {program.name} | {code} | {first} | {by_hand or '–'} | {told} |"


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
    out = folder / "out"
    call = command_of(program, python, out)
    if program.name != "notebook":
        advisor = [
            sys.executable,
            "-m",
            "tfadvisor",
            "run",
            "--out",
            str(out),
            "-o",
            str(folder / "report.json"),
        ]
        call = [*advisor, "--", *call]
    done = subprocess.run(
        call, cwd=HERE, env=environment(), capture_output=True, text=True, check=False
    )
    said = next(
        (line for line in done.stderr.splitlines() if line.startswith("tfadvisor: ")),
        "",
    )
    notes = list(out.rglob("recording.json"))
    if not notes:
        return Seen(done.returncode, said.replace(str(HERE), ""), None, None)
    note = json.loads(notes[0].read_text())
    return Seen(done.returncode, said, first_finding(out), note["python_tracer_cost"])


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", **more}


def first_by_hand(program: Program, python: str, folder: Path) -> str | None:
    """The first finding of a recording that the program makes itself, with the
    framework's own defaults.
    """
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
    found = [
        one.rule_id
        for one in tfadvisor.analyze(logdir).findings
        if one.category != "capture"
    ]
    return found[0] if found else "none"


if __name__ == "__main__":
    main()
