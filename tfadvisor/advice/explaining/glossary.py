"""Words that tfadvisor uses in a sense of its own, classes of time, and verdicts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from tfadvisor.advice.explaining.explained import Known, Paragraph, first_sentence
from tfadvisor.advice.loading.rule import Rule
from tfadvisor.vocabulary import TIME_CLASSES, VERDICTS, TimeClass

WORD, CLASS, VERDICT = "word", "class of time", "verdict"

_FILE = Path(__file__).with_name("glossary.md")
"""Also a page of the documentation."""
_HEADING = re.compile(r"^### ", re.M)
_SECTION = re.compile(r"^## .*", re.M)
_LINK = re.compile(r"\[([^\[\]]+)\]\([^()]*\)")
_VERDICTS: Mapping[str, str] = {
    "imbalance": "Most of the lost step time is devices or hosts that wait for the one "
    "that is late.",
    "compute": "No loss is large: for most of the step the devices compute.",
    "none": "Nothing costs enough to act on: no finding is medium or worse, and "
    "nothing shows that most of the step is far from what the devices can do.",
    "unknown": "The trace does not tell where the step's time goes.",
}
"""Of those that no class of lost time makes."""


def words() -> Iterator[Known]:
    """Every word of the glossary."""
    for part in _HEADING.split(text())[1:]:
        heading, _, meaning = part.partition("\n")
        meaning = " ".join(_LINK.sub(r"\1", _SECTION.sub("", meaning)).split())
        whole, parts = heading.strip(), heading.strip().split(", ")
        names = (whole, *parts) if len(parts) > 1 else (whole,)
        yield Known(names, WORD, first_sentence(meaning), partial(_paragraph, meaning))


def text() -> str:
    """The glossary as Markdown, as it stands among the pages."""
    return _FILE.read_text(encoding="utf-8")


def _paragraph(meaning: str) -> tuple[Paragraph, ...]:
    return (Paragraph(meaning),)


def classes(rules: Sequence[Rule]) -> Iterator[Known]:
    """Every class of time."""
    for time_class in TimeClass:
        yield Known(
            (time_class.label,),
            CLASS,
            time_class.meaning,
            partial(_about_class, time_class, rules),
        )


def _about_class(time_class: TimeClass, rules: Sequence[Rule]) -> tuple[Paragraph, ...]:
    return (
        Paragraph(f"Time of a step in which {time_class.meaning}."),
        Paragraph(
            f"Its share of step time is the metric {time_class.metric}. Each instant "
            "belongs to the first of these classes that holds: "
            f"{', '.join(TIME_CLASSES)}."
        ),
        *_rules_about(time_class.label, rules),
    )


def verdicts(rules: Sequence[Rule]) -> Iterator[Known]:
    """Every verdict of a report."""
    for bottleneck, words_ in VERDICTS.items():
        meaning = _VERDICTS.get(bottleneck) or (
            f"What costs most of the step's time is {words_.lost}."
        )
        yield Known(
            (words_.name, bottleneck),
            VERDICT,
            first_sentence(meaning),
            partial(_about_verdict, bottleneck, meaning, rules),
        )


def _about_verdict(
    bottleneck: str, meaning: str, rules: Sequence[Rule]
) -> tuple[Paragraph, ...]:
    return (
        Paragraph(meaning),
        Paragraph(f"In a JSON report: verdict.bottleneck is {bottleneck}."),
        *(() if bottleneck in TIME_CLASSES else _rules_about(bottleneck, rules)),
    )


def _rules_about(category: str, rules: Sequence[Rule]) -> Iterator[Paragraph]:
    ids = sorted(rule.id for rule in rules if rule.category == category)
    if ids:
        yield Paragraph(f"Rules about it: {', '.join(ids)}.")
