"""What an advisor says about a trace, in words that are nobody's own: the causes of
truth.yaml.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

TRUTH = Path(__file__).resolve().parent / "truth.yaml"


class UnmappedError(Exception):
    """An advisor said something that its adapter has no cause for."""


@dataclass(frozen=True)
class Answer:
    """One thing that an advisor says.

    causes: causes of truth.yaml, or bare classes; several when the advisor names them
    in one breath. sure: false where the advisor only says that it may be so, or that it
    matters little. text: the advisor's own words.
    """

    causes: tuple[str, ...]
    sure: bool
    text: str


@dataclass(frozen=True)
class Diagnosis:
    """All that an advisor says about a trace, the most important first.

    step_ms: the average step as it sees it. places: where it says that most of the step
    goes, each in its own words.
    """

    answers: tuple[Answer, ...]
    step_ms: float | None
    places: tuple[str, ...] = ()


@dataclass(frozen=True)
class Planted:
    """One entry of truth.yaml. place: a pattern of how a trace can name what the
    planted code runs; "" where nothing can.
    """

    name: str
    fault: str
    accepted: tuple[str, ...]
    place: str = ""

    @property
    def cause(self) -> str:
        return self.accepted[0]

    @property
    def classes(self) -> set[str]:
        return {class_of(cause) for cause in self.accepted}


def class_of(cause: str) -> str:
    return cause.split("/", maxsplit=1)[0]


def load_truth() -> dict[str, Any]:
    """truth.yaml, after a check that it only uses causes it defines."""
    truth = yaml.safe_load(TRUTH.read_text(encoding="utf-8"))
    used = [
        cause
        for entry in (
            *truth["programs"].values(),
            *truth["gpu"].values(),
            *truth["causes"].values(),
        )
        for cause in ([entry["cause"]] if "cause" in entry else [])
        + entry.get("also", [])
        + entry.get("covers", [])
    ]
    if unknown := sorted(set(used) - set(truth["causes"])):
        raise SystemExit(
            f"truth.yaml uses causes that it does not define: {', '.join(unknown)}"
        )
    return truth


def planted(name: str, entry: Mapping[str, Any], fault: str) -> Planted:
    place = entry.get("place") or re.escape(entry.get("where", ""))
    return Planted(name, fault, (entry["cause"], *entry.get("also", [])), place)


def names_cause(answer: Answer, truth: Planted, vocabulary: Mapping[str, Any]) -> bool:
    """Whether one of the answer's causes is right, or covers one that is."""
    said = {
        one
        for cause in answer.causes
        for one in (cause, *vocabulary.get(cause, {}).get("covers", []))
    }
    return not said.isdisjoint(truth.accepted)


def names_class(answer: Answer, truth: Planted) -> bool:
    """Whether one of the answer's causes is at least of the right class."""
    return not truth.classes.isdisjoint(class_of(cause) for cause in answer.causes)


def names_place(diagnosis: Diagnosis, truth: Planted) -> bool:
    """Whether the advisor says of a place that the planted code runs that much of the
    step goes there.
    """
    return bool(truth.place) and any(
        re.search(rf"\b(?:{truth.place})\b", place) for place in diagnosis.places
    )


def checked(diagnosis: Diagnosis, vocabulary: Mapping[str, Any]) -> Diagnosis:
    """The same, after a check that it only uses causes and classes of truth.yaml."""
    known = {*vocabulary, *map(class_of, vocabulary)}
    for answer in diagnosis.answers:
        if unknown := sorted(set(answer.causes) - known):
            raise UnmappedError(f"{', '.join(unknown)} is no cause of truth.yaml")
    return diagnosis
