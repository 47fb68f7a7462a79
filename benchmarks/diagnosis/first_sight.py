"""What tfadvisor said about each program before it was changed because of it, and what
was changed since.

first_answers.json holds those answers, written by `run.py --only NAME ...
--keep-first-answers` with the code of then. changes.yaml says which programs led to
which change: for those, today's answers are no test of the advisor any more.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from answers import Answer, Diagnosis
from score import Case

ANSWERS = Path(__file__).resolve().parent / "first_answers.json"
CHANGES = Path(__file__).resolve().parent / "changes.yaml"
MISSES = Path(__file__).resolve().parent / "misses.yaml"
ADVISOR = "tfadvisor"
AS_FIRST_RECORDED = (
    "Before the programs named at the end of this page were changed, tfadvisor named "
    "33 of the 46 causes first and raised "
    "false alarms about 13 of the 46 healthy forms. Of the 14 JAX programs of batch "
    "3, as they were first written and recorded "
    "beside other work, it named 7 causes first and raised false alarms about 6 "
    "healthy forms; one was left out since its fault, "
    "a loop over rows, cost nothing. "
    "Of the TensorFlow programs of batch 3 one that it missed was left out too, for "
    "the same reason: tf.data mended its map "
    "itself. When the 28 programs whose faults cost least were measured three times "
    "more, those of three cost less than a tenth "
    "of the step, and these were changed: tf_claims_ranking, jax_hosts_checkpoint, "
    "and jax_fish_executor, about which it had "
    "said nothing. The code of then was asked about their new recordings. One of the "
    "eight programs of batch 6, which it missed, was left out: with jax_debug_nans "
    "left on, the loop waits for each step, but "
    "not while it is recorded, so the fault is not in its trace."
)


def keep(cases: Sequence[Case]) -> None:
    """Writes the answers about these cases; those about other programs stay."""
    kept: dict[str, dict[str, list[Any]]] = (
        json.loads(ANSWERS.read_text(encoding="utf-8")) if ANSWERS.exists() else {}
    )
    for name in {case.planted.name for case in cases}:
        kept[name] = {}
    for case in cases:
        said = [dataclasses.asdict(answer) for answer in case.diagnosis.answers]
        kept.setdefault(case.planted.name, {}).setdefault(form(case), []).append(said)
    ANSWERS.write_text(
        json.dumps(kept, indent=1, sort_keys=True) + "\n", encoding="utf-8"
    )


def first_cases(cases: Sequence[Case]) -> list[Case]:
    """The same cases with the answers that were kept; those without any are
    left out.
    """
    if not ANSWERS.exists():
        return []
    kept: Mapping[str, Mapping[str, Sequence[Any]]] = json.loads(
        ANSWERS.read_text(encoding="utf-8")
    )
    found = []
    for case in cases:
        recordings = kept.get(case.planted.name, {}).get(form(case), [])
        if len(recordings) >= case.number:
            answers = (
                Answer(tuple(one["causes"]), one["sure"], one["text"])
                for one in recordings[case.number - 1]
            )
            found.append(
                dataclasses.replace(case, diagnosis=Diagnosis(tuple(answers), None))
            )
    return found


def changes() -> list[dict[str, Any]]:
    """`programs`, and what was `changed` because of them."""
    return (
        yaml.safe_load(CHANGES.read_text(encoding="utf-8")) if CHANGES.exists() else []
    )


def why_missed() -> dict[str, str]:
    """Of programs whose planted cause tfadvisor does not name first today: the reason,
    found in the trace.
    """
    found: dict[str, str] | None = (
        yaml.safe_load(MISSES.read_text(encoding="utf-8")) if MISSES.exists() else None
    )
    return found or {}


def form(case: Case) -> str:
    return "faulty" if case.faulty else "healthy"
