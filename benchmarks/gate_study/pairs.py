"""The gate on recorded runs: which pairs are judged, and what it says of each."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from tfadvisor.comparison.baseline.snapshot import Snapshot, choose
from tfadvisor.comparison.baseline.snapshot_json import from_text
from tfadvisor.comparison.gate import equal_speed
from tfadvisor.comparison.gate.config import Config
from tfadvisor.comparison.gate.config_file import NO_FILE
from tfadvisor.comparison.gate.read_config import Known, read
from tfadvisor.comparison.gate.relative import check_relative
from tfadvisor.comparison.gate.result import Check, Outcome
from tfadvisor.metrics.registry import registered_metrics

_MATCHED: dict[tuple[str, str], equal_speed.Speed | None] = {}
_match = equal_speed.speed_of


def _matched_once(typical: Snapshot, run: Snapshot) -> equal_speed.Speed | None:
    """The study meets the same two runs again and again."""
    known = typical.fingerprint, run.fingerprint
    if known not in _MATCHED:
        _MATCHED[known] = _match(typical, run)
    return _MATCHED[known]


equal_speed.speed_of = _matched_once
KEPT = 10
STEP = "step_time_ms"


@dataclass(frozen=True)
class Run:
    """A recorded run. at: seconds since the first. findings: rule, severity, and the
    metrics that it rests on.
    """

    round: int
    program: str
    kind: str
    at: int
    load: float
    snapshot: Snapshot
    findings: Sequence[Sequence[Any]] = ()


@dataclass(frozen=True)
class Pair:
    """A run (or several) and the baseline that it is judged against."""

    new: tuple[Snapshot, ...]
    base: tuple[Snapshot, ...]


def load(file: Path) -> tuple[Mapping[str, object], list[Run]]:
    """What is known about the recording, and its runs in order."""
    about, *lines = (
        json.loads(line)
        for line in gzip.decompress(file.read_bytes()).decode().splitlines()
    )
    runs = [
        Run(
            line["round"],
            line["program"],
            line["kind"],
            line["at"],
            line["load"],
            from_text(_as_stored_today(line["snapshot"])),
            line.get("findings", ()),
        )
        for line in lines
    ]
    return about, runs


def _as_stored_today(written: Mapping[str, Any]) -> str:
    """The recordings are older than origins, severities of findings, and what metrics
    declare about themselves today.
    """
    declared = {
        name: (one.better.value, one.scatter.value)
        for name, one in registered_metrics().items()
    }
    metrics = {
        name: [*row[:2], *declared[name]]
        for name, row in written["metrics"].items()
        if name in declared
    }
    findings = [row if len(row) > 6 else [*row, ""][:5] for row in written["findings"]]
    return json.dumps(
        {"origin": {}, **written, "metrics": metrics, "findings": findings}
    )


def config(rate: float = 0.01) -> Config:
    """The recommended preset."""
    known = Known(
        {name: one.unit.value for name, one in registered_metrics().items()}, ()
    )
    return replace(read(NO_FILE, known), false_alarm_rate=rate)


def unchanged(runs: Sequence[Run], program: str) -> list[Run]:
    """A program's unchanged runs, in order."""
    return [run for run in runs if run.program == program and run.kind == "none"]


def following(runs: Sequence[Run]) -> Iterator[Pair]:
    """Every unchanged run against the ten before it, as on a main branch."""
    for program in programs(runs):
        ours = unchanged(runs, program)
        for at in range(KEPT, len(ours)):
            yield Pair(
                (ours[at].snapshot,),
                tuple(run.snapshot for run in ours[at - KEPT : at]),
            )


def in_turns(runs: Sequence[Run], new: int, seed: int = 1) -> Iterator[Pair]:
    """Runs recorded in turns: of each stretch of 10 + new unchanged runs, some at
    random are the new ones.
    """
    generator = random.Random(seed)
    for program in programs(runs):
        ours = [run.snapshot for run in unchanged(runs, program)]
        for at in range(0, len(ours) - KEPT - new + 1, 2):
            stretch = ours[at : at + KEPT + new]
            chosen = set(generator.sample(range(len(stretch)), new))
            yield Pair(
                tuple(one for number, one in enumerate(stretch) if number in chosen),
                tuple(
                    one for number, one in enumerate(stretch) if number not in chosen
                ),
            )


def changed(runs: Sequence[Run], kind: str) -> Iterator[tuple[Run, Pair]]:
    """Every run with something planted against the ten unchanged ones before it."""
    for run in runs:
        if run.kind == kind:
            before = [
                one.snapshot for one in unchanged(runs, run.program) if one.at <= run.at
            ][-KEPT:]
            if len(before) == KEPT:
                yield run, Pair((run.snapshot,), tuple(before))


def slower(snapshot: Snapshot, share: float) -> Snapshot:
    """A snapshot as if Python had worked that much longer in every step."""
    side = snapshot.side
    more = side.mean_ms * share
    return replace(
        snapshot,
        fingerprint=f"{snapshot.fingerprint}+{share}",
        side=replace(
            side,
            mean_ms=side.mean_ms + more,
            median_ms=side.median_ms * (1 + share),
            class_ms={**side.class_ms, "host": side.class_ms["host"] + more},
            metrics={**side.metrics, STEP: side.metrics[STEP] * (1 + share)},
        ),
    )


def judged(pair: Pair, settings: Config) -> list[Check]:
    """The gate's checks of a pair."""
    return check_relative(settings, (), pair.new, choose(pair.base, pair.new, KEPT))


def outcome(checks: Sequence[Check], *metrics: str) -> Outcome:
    """Of the gate as a whole, or of some metrics."""
    found = {check.outcome for check in checks if not metrics or check.name in metrics}
    return next(
        (one for one in (Outcome.FAIL, Outcome.CANNOT_TELL) if one in found),
        Outcome.PASS,
    )


def step_change(pair: Pair, last_only: bool = False) -> float:
    """By which share the step takes longer than the baseline's middle, or than its last
    run.
    """
    base = [one.side.median_ms for one in (pair.base[-1:] if last_only else pair.base)]
    new = [one.side.median_ms for one in pair.new]
    return middle(new) / middle(base) - 1


def middle(values: Sequence[float]) -> float:
    ordered = sorted(values)
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


def programs(runs: Sequence[Run]) -> list[str]:
    return list(dict.fromkeys(run.program for run in runs))
