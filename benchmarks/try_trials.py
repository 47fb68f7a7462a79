"""How often `tfadvisor try` is right: on step times of real runs, and on programs whose
better form is known.

    python benchmarks/try_trials.py record NAME ... --python PYTHON [--for SECONDS]   adds runs to try_samples.json
    python benchmarks/try_trials.py simulate [--trials 200]                           the decisions on those step times
    python benchmarks/try_trials.py pairs NAME ... --python PYTHON                    real trials: the healthy form as a patch

NAME is a program of diagnosis/programs.txt. `record` runs both forms in turns, as `try`
does, and keeps a step time a run. `simulate` draws rounds from them: two runs of the
faulty form that followed each other as identical arms, where no winner may be claimed;
the same with one of them quicker by a known factor, which the interval must hold; and
both forms of each program. PYTHON: an interpreter with the framework.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from random import Random
from statistics import median

from tfadvisor.act.trial.candidates import Candidate
from tfadvisor.act.trial.deciding import BASE, STAGES, Rounds, Standing
from tfadvisor.act.trial.one_run import StopRequest
from tfadvisor.act.trial.steps import choose_loop, plan_steps
from tfadvisor.act.trial.trial_result import BETTER
from tfadvisor.act.trial.tried_program import TriedProgram, settle_in

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE / "diagnosis"))

from sources import unpacked  # noqa: E402

PROGRAMS = HERE / "data" / "diagnosis" / "programs"
SAMPLES = HERE / "try_samples.json"
FAULT = '"--fault" in sys.argv'
TIMED_SECONDS = 1.0
FEWEST_ROUNDS = STAGES[-1] + 1
FACTORS = (0.95, 0.85, 0.7, 0.5)
"""Ratios of the simulated quicker forms."""

Runs = Mapping[str, Sequence[float]]
"""By form, a step time for each run, ms."""


def main() -> None:
    asked = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    asked.add_argument("what", choices=("record", "simulate", "pairs"))
    asked.add_argument("names", nargs="*")
    asked.add_argument("--python", default=sys.executable)
    asked.add_argument("--for", dest="seconds", type=float, default=100.0)
    asked.add_argument("--trials", type=int, default=200)
    asked.add_argument("--budget", default="5m")
    asked.add_argument(
        "--samples",
        type=Path,
        default=SAMPLES,
        help="for simulate; try_samples_busy.json: a busy machine",
    )
    given = asked.parse_args()
    unpacked(HERE / "diagnosis" / "programs.txt", PROGRAMS)
    if given.what == "record":
        record(given.names, given.python, given.seconds)
    elif given.what == "simulate":
        for line in simulated(json.loads(given.samples.read_text()), given.trials):
            print(line, flush=True)
    else:
        for name in given.names:
            print(pair(name, given.python, given.budget), flush=True)


def record(names: Sequence[str], python: str, seconds: float) -> None:
    until = time.monotonic() + seconds
    for name in names:
        forms = recorded(
            name,
            python,
            until if len(names) == 1 else time.monotonic() + seconds / len(names),
        )
        known = json.loads(SAMPLES.read_text()) if SAMPLES.exists() else {}
        for form, runs in forms.items():
            known.setdefault(name, {}).setdefault(form, []).extend(runs)
        SAMPLES.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")


def recorded(name: str, python: str, until: float) -> dict[str, list[float]]:
    """Both forms in turns, for as long as there is time."""
    with tempfile.TemporaryDirectory() as logdir:
        program = TriedProgram(
            (python, str(PROGRAMS / f"{name}.py"), logdir, "--fault"), StopRequest()
        )
        watched = program.watch(100.0, TIMED_SECONDS)
        chosen = choose_loop([loop for one in watched.answers for loop in one.loops])
        assert chosen is not None, (name, watched.code, watched.tail)
        plan = plan_steps(
            chosen, TIMED_SECONDS, all(one.ended for one in watched.answers)
        )
        forms = {"faulty": Candidate("faulty"), "healthy": healthy(name)}
        found: dict[str, list[float]] = {form: [] for form in forms}
        plan, first = settle_in(
            lambda now, fewest: program.time(forms["faulty"], now, 100.0, 1, fewest),
            plan,
            TIMED_SECONDS,
        )
        assert first.step_ms is not None, (name, first.why)
        while time.monotonic() + 2.2 * first.seconds < until:
            for form, candidate in forms.items():
                timed = program.time(candidate, plan, 100.0, 1)
                assert timed.step_ms is not None, (name, form, timed.why)
                found[form].append(round(timed.step_ms, 4))
        return found


def healthy(name: str) -> Candidate:
    """The program without its fault, as a patch of the faulty one."""
    file = PROGRAMS / f"{name}.py"
    text = file.read_text()
    assert text.count(FAULT) == 1, name
    return Candidate(
        "healthy", texts={os.path.realpath(file): text.replace(FAULT, "False")}
    )


def simulated(samples: Mapping[str, Runs], trials: int) -> Iterator[str]:
    yield "| program | runs of each form | spread | false winners | better form found | intervals that hold the true ratio |"
    yield "|---|--:|--:|--:|--:|--:|"
    totals = [0, 0, 0, 0, 0, 0]
    for name, runs in sorted(samples.items()):
        if len(runs["faulty"]) < FEWEST_ROUNDS:
            continue
        base, spread = runs["faulty"], spread_of(runs["faulty"])
        alike = list(pairwise(base))
        false = [trial(alike, 1.0, number) for number in range(trials)]
        known = [
            trial(alike, factor, number)
            for factor in FACTORS
            for number in range(trials // len(FACTORS))
        ]
        ratios = [factor for factor in FACTORS for _ in range(trials // len(FACTORS))]
        forms = [
            trial(
                list(zip(base, runs["healthy"], strict=True)), 1.0, number, alike=False
            )
            for number in range(trials)
        ]
        wrong = sum(one.outcome == BETTER for one in false)
        found = sum(one.outcome == BETTER for one in forms)
        held = sum(holds(one, 1.0) for one in false) + sum(map(holds, known, ratios))
        of = len(false) + len(known)
        for place, number in enumerate(
            (wrong, len(false), found, len(forms), held, of)
        ):
            totals[place] += number
        count = f"{len(base)}, {len(runs['healthy'])}"
        yield f"| {name} | {count} | {spread:.0%} | {wrong} of {len(false)} | {found / len(forms):.0%} | {held / of:.0%} |"
    wrong, of_false, found, of_forms, held, of = totals
    yield f"| all | | | {wrong / of_false:.2%} | {found / of_forms:.1%} | {held / of:.1%} |"


def trial(
    rounds: Sequence[tuple[float, float]],
    factor: float,
    number: int,
    *,
    alike: bool = True,
    stages: Sequence[int] = STAGES,
) -> Standing:
    """One comparison, with rounds drawn from those that were recorded, none twice. The
    new form's times are multiplied.

    alike: both are runs of one form, so that either may be the new one.
    """
    random = Random(number)
    left = random.sample(rounds, len(rounds))
    drawn: dict[str, float] = {}

    def measure(arm: str) -> float:
        if not drawn:
            old, new = left.pop()
            if alike and random.random() < 0.5:
                old, new = new, old
            drawn.update({BASE: old, "new": new * factor})
        return drawn.pop(arm)

    return Rounds(["new"], measure, stages, seed=number).decide().arms["new"]


def trial_of(runs: Sequence[float], number: int, stages: Sequence[int]) -> Standing:
    """Two arms of the same program, by runs that followed each other."""
    return trial(list(pairwise(runs)), 1.0, number, stages=stages)


def holds(one: Standing, ratio: float) -> bool:
    return one.effect is not None and one.effect.low <= ratio <= one.effect.high


def spread_of(runs: Sequence[float]) -> float:
    """The median distance of runs from their median, as a share of that."""
    middle = median(runs)
    return median(abs(one - middle) for one in runs) / middle


def pair(name: str, python: str, budget: str) -> str:
    """A real trial: the healthy form and one with nothing but a comment, beside the
    faulty form.
    """
    file = PROGRAMS / f"{name}.py"
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "train.py").write_text(file.read_text())
        for arm, text in (
            ("healthy", file.read_text().replace(FAULT, "False")),
            ("same", file.read_text() + "# the same\n"),
        ):
            (place / f"{arm}.py").write_text(text)
            diff = subprocess.run(
                ["diff", "-u", "train.py", f"{arm}.py"],
                cwd=place,
                capture_output=True,
                text=True,
                check=False,
            )
            (place / f"{arm}.diff").write_text(
                diff.stdout.replace(f"{arm}.py", "train.py")
            )
        call = [
            sys.executable,
            "-m",
            "tfadvisor",
            "try",
            "--patch",
            "healthy.diff",
            "--patch",
            "same.diff",
        ]
        call += [
            "--budget",
            budget,
            "--format",
            "json",
            "--",
            python,
            "train.py",
            "logdir",
            "--fault",
        ]
        done = subprocess.run(
            call, cwd=place, capture_output=True, text=True, check=False
        )
        if done.returncode not in (0, 1, 4):
            return (
                f"| {name} | {done.returncode} | "
                f"{done.stderr.strip().splitlines()[-1]} |"
            )
        result = json.loads(done.stdout)
    cells = [said(one) for one in result["arms"]]
    return (
        f"| {name} | {median(result['base_step_ms']):.2f} | {' | '.join(cells)} | "
        f"{result['seconds']:.0f} |"
    )


def said(arm: Mapping[str, object]) -> str:
    ratio = arm["ratio"]
    words = f"{arm['outcome']}{': ' + str(arm['why']) if arm['why'] else ''}"
    if isinstance(ratio, dict):
        words += (
            f", ratio {ratio['estimate']:.3f} ({ratio['low']:.3f} to "
            f"{ratio['high']:.3f}), results {arm['check']}"
        )
    return words


if __name__ == "__main__":
    main()
