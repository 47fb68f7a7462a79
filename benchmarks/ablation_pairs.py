"""Do ablations show what a planted part costs? The arm that takes it out, beside the
form of the program that has it not.

    python benchmarks/ablation_pairs.py measure NAME[:ARM] ... --python PYTHON [--for SECONDS]   adds to ablation_pairs.json
    python benchmarks/ablation_pairs.py table                                                    what is in there
    python benchmarks/ablation_pairs.py alike                                                    identical arms, simulated

The true cost is that of the pair's healthy form, as a patch; of arms that are nobody's
fault (half of the batch, eight steps a call, precision) that of the same setting
written into the program. Both run in turns with the program as it is, three rounds or
five, as `try --ablate` does it. A hit: the arm's interval holds the true ratio. PYTHON:
an interpreter with the frameworks.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import Any

from msgspec.structs import replace
from try_trials import FAULT, PROGRAMS, SAMPLES, trial_of, unpacked

from tfadvisor.act.trial.ablation import HOOKED, STAGES, arms_for
from tfadvisor.act.trial.arms import Arms
from tfadvisor.act.trial.candidates import Candidate
from tfadvisor.act.trial.deciding import RATE, Rounds
from tfadvisor.act.trial.one_run import StopRequest
from tfadvisor.act.trial.steps import choose_loop, plan_steps
from tfadvisor.act.trial.trial_result import BETTER
from tfadvisor.act.trial.tried_program import TriedProgram

HERE = Path(__file__).resolve().parent
RESULTS = Path(os.environ.get("ABLATION_PAIRS", HERE / "ablation_pairs.json"))
TIMED_SECONDS = 1.0
LONGER = 3
"""The programs make some 20 steps, too few to time well."""
INPUT, CALLBACKS, CHECKPOINTS, READS = (
    "input",
    "callbacks",
    "checkpoints",
    "values read back",
)
BEHIND, COMPILED, JIT_ON, EAGER_OFF = (
    "work behind the step",
    "step compiled",
    "jit on",
    "eager off",
)
HALF, EIGHT, PRECISION = "half the batch", "eight steps a call", "mixed precision"

PLANTED: Mapping[str, str] = {
    "tf_photo_cnn": INPUT, "tf_reviews_text": INPUT, "tf_two_tower": INPUT, "tf_loans_tabular": INPUT,
    "tf_parcels_crops": INPUT, "jax_radar_decode": INPUT, "jax_ads_feature_store": INPUT, "jax_taxi_regression": INPUT,
    "jax_gestures_collate": INPUT, "jax_owls_sqlite": INPUT,
    "tf_faces_keras": CALLBACKS, "tf_energy_keras_log": CALLBACKS, "tf_cells_predict": CALLBACKS,
    "tf_visits_summaries": CALLBACKS, "jax_stars_mixture": CALLBACKS, "jax_trades_journal": CALLBACKS,
    "tf_waves_saving": CHECKPOINTS, "tf_prices_checkpoint": CHECKPOINTS, "jax_orchards_pickle": CHECKPOINTS,
    "jax_variational_checkpoint": CHECKPOINTS,
    "jax_tides_rnn": READS, "jax_corals_print": READS, "tf_stocks_metrics": READS,
    "jax_churn_auc": BEHIND, "jax_rivers_indicators": BEHIND, "jax_plants_confusion": BEHIND,
    "tf_clouds_noise": JIT_ON, "tf_leaves_eager_fit": EAGER_OFF,
    "tf_bandits_module": COMPILED, "jax_chess_transformer": COMPILED, "jax_heat_unfused": COMPILED,
}  # fmt: skip
"""The arm that takes out what is planted, chosen by what truth.yaml says of the fault.
"""
SET: Mapping[tuple[str, str], tuple[tuple[str, str], ...]] = {
    ("jax_tides_rnn", HALF): (("BATCH, HOURS, WIDTH = 24", "BATCH, HOURS, WIDTH = 12"),),
    ("tf_leaves_eager_fit", HALF): (
        ("BATCH * 10", "320"), (".batch(BATCH)", ".batch(16)"),
    ),
    ("tf_loans_tabular", EIGHT): (("jit_compile=False)", "jit_compile=False, steps_per_execution=8)"),),
    ("tf_loans_tabular", PRECISION): (
        ("def main(logdir, faulty):", "def main(logdir, faulty):\n    "
        "tf.keras.config.set_dtype_policy('mixed_bfloat16')"),
    ),
    ("tf_faces_keras", EIGHT): (("jit_compile=False)", "jit_compile=False, steps_per_execution=8)"),),
}  # fmt: skip
"""Settings that are no fault of the program: how they are written into it."""


def main() -> None:
    asked = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    asked.add_argument("what", choices=("measure", "table", "alike"))
    asked.add_argument("names", nargs="*")
    asked.add_argument("--python", default=sys.executable)
    asked.add_argument("--for", dest="seconds", type=float, default=1e9)
    asked.add_argument("--longer", type=int, default=LONGER)
    given = asked.parse_args()
    if given.what == "table":
        print("\n".join(table(_known())))
    elif given.what == "alike":
        print(alike(json.loads(SAMPLES.read_text()), 1000))
    else:
        unpacked(HERE / "diagnosis" / "programs.txt", PROGRAMS)
        until = time.monotonic() + given.seconds
        for one in given.names:
            if time.monotonic() < until:
                name, _, arm = one.partition(":")
                row = measured(name, arm or PLANTED[name], given.python, given.longer)
                print(line_of(row), flush=True)
                RESULTS.write_text(
                    json.dumps({**_known(), one: row}, indent=1, sort_keys=True) + "\n"
                )


def _known() -> dict[str, Any]:
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


def measured(name: str, arm: str, python: str, longer: int) -> dict[str, Any]:
    """What the arm says, and what is true."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, f"{name}.py")
        text = (PROGRAMS / f"{name}.py").read_text()
        steps = next(line for line in text.splitlines() if line.startswith("STEPS = "))
        text = text.replace(steps, f"STEPS = {int(steps.split()[2]) * longer}")
        file.write_text(text)
        fixed = text.replace(FAULT, "False")
        for old, new in SET.get((name, arm), ()):
            assert old in text, (name, old)
            fixed = (text if fixed == text.replace(FAULT, "False") else fixed).replace(
                old, new
            )
        program = TriedProgram(
            (python, str(file), str(Path(folder, "logdir")), "--fault"), StopRequest()
        )
        watched = program.watch(150.0, TIMED_SECONDS, parts=HOOKED)
        chosen = choose_loop([loop for one in watched.answers for loop in one.loops])
        if chosen is None:
            return {
                "name": name,
                "arm": arm,
                "why": f"no loop: {watched.code} {watched.tail[-200:]}",
            }
        plan = plan_steps(
            chosen, TIMED_SECONDS, all(one.ended for one in watched.answers)
        )
        found, missing = arms_for(watched.answers)
        if arm in missing:
            return {"name": name, "arm": arm, "why": missing[arm]}
        true = Candidate("true", texts={os.path.realpath(file): fixed}, check="none")
        part = replace(next(one for one in found if one.name == arm), check="none")
        arms = Arms(
            program, plan, (part, true), time.monotonic() + 400, 1, lambda _: None
        )
        arms.smoke(TIMED_SECONDS)
        rounds = Rounds([arm, "true"], arms.measure, STAGES, RATE)
        standings = rounds.decide()
    row: dict[str, Any] = {
        "name": name,
        "arm": arm,
        "why": arms.broken.get(arm, arms.broken.get("true", "")),
    }
    row["base"] = [round(one, 3) for one in standings.base]
    for key, of in (("shown", arm), ("true", "true")):
        effect = standings.arms[of].effect
        row[f"{key}_ms"] = [round(one, 3) for one in standings.arms[of].runs]
        row[key] = (
            [round(one, 4) for one in (effect.ratio, effect.low, effect.high)]
            if effect
            else None
        )
    row["outcome"] = standings.arms[arm].outcome
    return row


def verdict(row: Mapping[str, Any]) -> str:
    """hit, near (the intervals overlap), miss, or why there is no arm."""
    if row["why"] or not (row.get("shown") and row.get("true")):
        return f"no arm: {row['why']}"
    shown, true = row["shown"], row["true"]
    if shown[1] <= true[0] <= shown[2]:
        return "hit"
    return "overlap" if shown[1] <= true[2] and true[1] <= shown[2] else "miss"


def line_of(row: Mapping[str, Any]) -> str:
    if not row.get("shown") or not row.get("true"):
        return f"| {row['name']} | {row['arm']} | | | | {verdict(row)} |"
    base = median(row["base"])
    return (
        f"| {row['name']} | {row['arm']} | {base:.2f} | {_share(row['shown'])} | "
        f"{_share(row['true'])} | {verdict(row)} |"
    )


def _share(ratio: list[float]) -> str:
    return (
        f"{100 * (1 - ratio[0]):.0f}% ({100 * (1 - ratio[2]):.0f} to "
        f"{100 * (1 - ratio[1]):.0f})"
    )


def table(known: Mapping[str, Any]) -> Iterator[str]:
    yield "| program | arm | ms a step | the arm shows | the healthy form saves | |"
    yield "|---|---|--:|--:|--:|---|"
    for row in known.values():
        yield line_of(row)
    told = [verdict(row).partition(":")[0] for row in known.values()]
    yield ""
    yield f"{len(told)} pairs: " + ", ".join(
        f"{told.count(one)} {one}" for one in ("hit", "overlap", "miss", "no arm")
    )


def alike(samples: Mapping[str, Any], trials: int) -> str:
    """How often one of two arms that are the same program is called better after the
    rounds of an ablation.
    """
    wrong = [
        trial_of(runs["faulty"], number, STAGES).outcome == BETTER
        for runs in samples.values()
        if len(runs["faulty"]) > STAGES[-1]
        for number in range(trials)
    ]
    return (
        f"{sum(wrong)} of {len(wrong)} identical arms "
        f"({sum(wrong) / len(wrong):.2%}) were called better"
    )


if __name__ == "__main__":
    main()
