"""Counts how often an advisor names what is planted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from answers import Answer, Diagnosis, Planted, names_cause, names_class, names_place

WITHIN = 3


@dataclass(frozen=True)
class Case:
    """One recording of one form of one program, and what an advisor says about it.
    step_ms: without the profiler.
    """

    planted: Planted
    faulty: bool
    number: int
    step_ms: float | None
    other_cores: float | None
    diagnosis: Diagnosis
    folder: Path


@dataclass(frozen=True)
class Score:
    """Counts over the recordings of one advisor. Of faulty ones if nothing else is
    said.
    """

    faulty: int
    cause_first: int
    cause_within: int
    cause_found: int
    placed: int
    class_first: int
    class_within: int
    silent: int
    healthy: int
    alarmed: int
    suspected: int
    sure: int
    sure_and_right: int


def rank_of(answers: Sequence[Answer], right: Callable[[Answer], bool]) -> int | None:
    """1 for the first answer; None when none is right."""
    return next(
        (place for place, answer in enumerate(answers, 1) if right(answer)), None
    )


def rank_of_cause(case: Case, vocabulary: Mapping[str, Any]) -> int | None:
    return rank_of(
        case.diagnosis.answers,
        lambda answer: names_cause(answer, case.planted, vocabulary),
    )


def rank_of_class(case: Case) -> int | None:
    return rank_of(
        case.diagnosis.answers, lambda answer: names_class(answer, case.planted)
    )


def alarms(case: Case) -> list[Answer]:
    """What the advisor is sure of."""
    return [answer for answer in case.diagnosis.answers if answer.sure]


def scored(cases: Iterable[Case], vocabulary: Mapping[str, Any]) -> Score:
    cases = list(cases)
    faulty = [case for case in cases if case.faulty]
    healthy = [case for case in cases if not case.faulty]
    causes = [rank_of_cause(case, vocabulary) for case in faulty]
    classes = [rank_of_class(case) for case in faulty]
    sure = [(case, answer) for case in cases for answer in alarms(case)]
    return Score(
        faulty=len(faulty),
        cause_first=sum(rank == 1 for rank in causes),
        cause_within=sum(rank is not None and rank <= WITHIN for rank in causes),
        cause_found=sum(rank is not None for rank in causes),
        placed=sum(
            (rank is not None and rank <= WITHIN)
            or names_place(case.diagnosis, case.planted)
            for case, rank in zip(faulty, causes, strict=True)
        ),
        class_first=sum(rank == 1 for rank in classes),
        class_within=sum(rank is not None and rank <= WITHIN for rank in classes),
        silent=sum(not case.diagnosis.answers for case in faulty),
        healthy=len(healthy),
        alarmed=sum(bool(alarms(case)) for case in healthy),
        suspected=sum(
            bool(case.diagnosis.answers) and not alarms(case) for case in healthy
        ),
        sure=len(sure),
        sure_and_right=sum(
            case.faulty and names_cause(answer, case.planted, vocabulary)
            for case, answer in sure
        ),
    )
