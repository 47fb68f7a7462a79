"""Whether a finding is known from the baseline, new, or new only because a number lies on a rule's threshold."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

import msgspec

from tfadvisor.comparison.side import middle_of
from tfadvisor.gate.baseline.comparable_runs import Baseline
from tfadvisor.gate.baseline.snapshot import Snapshot
from tfadvisor.gate.judging.surprise import on_scale
from tfadvisor.report.model import Finding
from tfadvisor.statistics.metric_traits import nature_of
from tfadvisor.statistics.prediction import predict

_REMEMBERED = 10
"""Runs of the baseline, the last ones, in which a finding must be to be known: one that stays away so long was mended."""


class News(Enum):
    """What a finding is against the baseline."""

    UNKNOWN = "no baseline"
    KNOWN = "known"
    NEW = "new"
    ON_THE_EDGE = "new, though nothing that it rests on moved beyond noise"


class Standing(msgspec.Struct, frozen=True):
    """A finding against the baseline."""

    news: News
    since: str = ""
    """The day a known one came, ISO; "" where the baseline does not tell."""


def standing_of(finding: Finding, candidates: Sequence[Snapshot], baseline: Baseline, fewest_runs: int) -> Standing:
    """By rule: where in the program a finding points moves with every edit. A new one must be in all candidates."""
    if not baseline.runs:
        return Standing(News.UNKNOWN)
    known = [one for run in baseline.runs[-_REMEMBERED:] for one in run.side.findings if one.rule_id == finding.rule_id]
    if known:
        days = [one.since for one in known if one.since]
        return Standing(News.KNOWN, min(days, default=""))
    everywhere = all(any(one.rule_id == finding.rule_id for one in run.side.findings) for run in candidates)
    moved = [_moved(one.metric, candidates, baseline, fewest_runs) for one in finding.evidence if one.metric]
    told = [one for one in moved if one is not None]
    return Standing(News.NEW if everywhere and (any(told) or not told) else News.ON_THE_EDGE)


def _moved(metric: str, candidates: Sequence[Snapshot], baseline: Baseline, fewest_runs: int) -> bool | None:
    """Whether a metric lies further from the baseline's than runs usually do; None where a side lacks it."""
    side = candidates[0].side
    runs = [run for run in baseline.runs if metric in run.side.metrics]
    new = [one.side.metrics[metric] for one in candidates if metric in one.side.metrics]
    if not runs or not new or metric not in side.traits:
        return None
    nature = nature_of(side.units[metric], side.traits[metric])
    levels = [on_scale([run.side.metrics[metric] for run in level], nature) for level in baseline.levels(runs)]
    known = predict(levels, nature, fewest_runs)
    return not known.usual(middle_of(on_scale(new, nature)))
