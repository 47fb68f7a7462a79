"""Does an unchanged program get the same answer ten times, and does the gate see how
much slower it became?

    python benchmarks/same_answer.py --tensorflow PYTHON --jax PYTHON [--runs 10]
                                     [--keep DIR] [NAME ...]

Six programs: three that `tfadvisor run` records, whose parts (first batches of epochs,
evaluation, saving) their own clock times too, and three that record themselves with
calls of Python. They are recorded in turns; `tfadvisor gate --add` judges each
recording by those before it. Then the same programs with steps 10, 50 and 150% longer
are judged by the first five recordings. Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent / "programs_to_run"
COMMAND = Path(sys.executable).parent / "tfadvisor"
SLOWER = (0.1, 0.5, 1.5)
BASELINES = 5
WITHIN = 0.05
"""How far a share of the report may be from that of the program's own clock."""


@dataclass(frozen=True)
class Program:
    """name: of its file. steps: its argument. by_hand: it records itself. part, says:
    what its clock calls the part, and what names that part in the run's account.
    """

    name: str
    framework: str
    steps: int
    by_hand: bool = False
    part: str = ""
    says: tuple[str, ...] = ()


PROGRAMS = (
    Program(
        "keras_shuffle",
        "tensorflow",
        22,
        part="first batch of each epoch",
        says=("first batch", "first step", "freeing an iterator"),
    ),
    Program("jax_evaluates", "jax", 8000, part="evaluate", says=("evaluat",)),
    Program("tf_saves", "tensorflow", 2000, part="save", says=("saving",)),
    Program("jax_loop", "jax", 80, by_hand=True),
    Program("jax_optax", "jax", 80, by_hand=True),
    Program("flax_nnx", "jax", 80, by_hand=True),
)


@dataclass
class Answers:
    """What was said of one program."""

    verdicts: list[str] = field(default_factory=list)
    causes: list[str] = field(default_factory=list)
    shares: list[tuple[float, float | None]] = field(default_factory=list)
    gates: list[int] = field(default_factory=list)
    slower: dict[float, int] = field(default_factory=dict)


def main() -> int:
    asked = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    asked.add_argument("--tensorflow", required=True)
    asked.add_argument("--jax", required=True)
    asked.add_argument("--runs", type=int, default=10)
    asked.add_argument("--keep", type=Path)
    asked.add_argument("names", nargs="*")
    given = asked.parse_args()
    chosen = [p for p in PROGRAMS if not given.names or p.name in given.names]
    answers = {program.name: Answers() for program in chosen}
    with tempfile.TemporaryDirectory() as folder:
        kept = (given.keep or Path(folder)).resolve()
        for number in range(given.runs):
            for program in chosen:
                python = getattr(given, program.framework)
                add(answers[program.name], program, python, kept, number)
        for slower in SLOWER:
            for program in chosen:
                python = getattr(given, program.framework)
                judge(answers[program.name], program, python, kept, slower)
    print(table(chosen, answers))
    return 0


def add(
    answers: Answers, program: Program, python: str, folder: Path, number: int
) -> None:
    """Record the program once more and ask the gate."""
    logdir = folder / program.name / f"{number}"
    record(program, python, logdir)
    report = analyzed(logdir)
    verdict = report["verdict"]
    answers.verdicts.append(
        "healthy" if verdict.get("healthy") else verdict["bottleneck"]
    )
    findings = report["findings"]
    answers.causes.append(findings[0]["rule_id"] if findings else "none")
    if program.part:
        own = json.loads((logdir / "own_clock.json").read_text())["shares"]
        answers.shares.append((own[program.part], share(report, program.says)))
    baselines = folder / program.name / "baselines"
    answers.gates.append(gate(logdir, baselines, "--add"))
    if number == BASELINES - 1:
        shutil.copytree(baselines, folder / program.name / "first")
    print(program.name, number, answers, file=sys.stderr, flush=True)


def judge(
    answers: Answers, program: Program, python: str, folder: Path, slower: float
) -> None:
    """Record the program with longer steps; the gate judges it by the first five."""
    logdir = folder / program.name / f"slower-{slower}"
    record(program, python, logdir, SLOWER=str(slower))
    answers.slower[slower] = gate(logdir, folder / program.name / "first")
    print(program.name, slower, answers.slower, file=sys.stderr, flush=True)


def record(program: Program, python: str, logdir: Path, **environment: str) -> None:
    logdir.mkdir(parents=True)
    words: list[object] = [python, HERE / f"{program.name}.py", program.steps]
    if program.by_hand:
        environment["BY_HAND"] = str(logdir)
    else:
        words = [COMMAND, "run", "--out", logdir, "--", *words]
        environment["OWN_CLOCK"] = str(logdir)
    done = called(*words, **environment)
    (logdir / "output.txt").write_text(done.stdout + done.stderr)
    if done.returncode:
        print(f"{logdir}: exit code {done.returncode}", file=sys.stderr)


def analyzed(logdir: Path) -> dict[str, Any]:
    done = called(COMMAND, "analyze", logdir, "--format", "json")
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def gate(logdir: Path, baselines: Path, *options: str) -> int:
    done = called(COMMAND, "gate", logdir, "--baseline", baselines, *options)
    (logdir / "gate.txt").write_text(done.stdout + done.stderr)
    return done.returncode


def share(report: dict[str, Any], says: tuple[str, ...]) -> float | None:
    """Of the parts outside of the steps that are called so; None if there are none."""
    account = report.get("run_account") or {}
    shares = [
        part["fraction"]
        for part in account.get("parts", ())[1:]
        if any(words in part["what"].lower() for words in says)
    ]
    return sum(shares) if shares else None


def table(programs: list[Program], answers: dict[str, Answers]) -> str:
    lines = [
        "| program | verdicts | first causes | share within 5 points | gates passed "
        "| 10% | 50% | 150% |",
        "|---|---|---|--:|--:|---|---|---|",
    ]
    for program in programs:
        of = answers[program.name]
        near = sum(
            told is not None and abs(own - told) <= WITHIN for own, told in of.shares
        )
        red = ["red" if code else "green" for code in of.slower.values()]
        cells = [
            program.name,
            counted(of.verdicts),
            counted(of.causes),
            f"{near} of {len(of.shares)}" if of.shares else "–",
            f"{of.gates.count(0)} of {len(of.gates)}",
            *red,
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def counted(words: list[str]) -> str:
    return ", ".join(f"{word} {times}" for word, times in Counter(words).most_common())


def called(*words: object, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **environment}
    return subprocess.run(
        [*map(str, words)], capture_output=True, text=True, check=False, env=env
    )


if __name__ == "__main__":
    sys.exit(main())
