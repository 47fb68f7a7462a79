"""What the savings benchmark knows of each program: the faulty form's step in parts,
the findings, and the true saving.

Recordings of the diagnosis benchmark and of the blind batches lie in
`benchmarks/data/diagnosis`, outside git; what is read of them is kept in `pairs.json`,
so that the fit and the page can be made again without them.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import yaml
from msgspec.structs import replace

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DIAGNOSIS = ROOT / "benchmarks" / "diagnosis"
KEPT = HERE / "pairs.json"
sys.path.insert(0, str(DIAGNOSIS))

import tfadvisor.metrics  # noqa: E402, F401
from tfadvisor.advice.findings import Finding  # noqa: E402
from tfadvisor.advice.judging.judge_rules import run_rules  # noqa: E402
from tfadvisor.advice.loading.catalogue import load_catalogue  # noqa: E402
from tfadvisor.advice.loading.rule import Rule  # noqa: E402
from tfadvisor.advice.ranking import finding_alone, shared  # noqa: E402
from tfadvisor.advice.savings import (  # noqa: E402
    TRACER,
    Claim,
    claim_of,
    may_be_foreseen,
    parts_of,
)
from tfadvisor.metrics.registry import Metrics, measure  # noqa: E402
from tfadvisor.timeline.run.read_hosts import run_hosts  # noqa: E402
from tfadvisor.timeline.run.run_summary import merge  # noqa: E402


class Said(msgspec.Struct, frozen=True):
    """A finding that may print a range. claim: what it is seen to take, and its range as
    its rule has it.

    named: whether it is the planted fault that it names.
    """

    claim: Claim
    named: bool


class Pair(msgspec.Struct, frozen=True):
    """One program. parts, tracer: of the faulty form's trace. Step times are (healthy,
    faulty), ms, without the profiler; None where nobody timed both.

    recorded: in the same minutes as the trace. calm: as ../diagnosis/results.md has
    them. traced: in those of one morning, less what recording took. told: the saving as
    the author of a blind program measured it. busy: whether other processes ran beside
    the recording.
    """

    program: str
    batch: str
    planted: str
    faults: int
    parts: dict[str, float]
    tracer: float
    said: tuple[Said, ...]
    recorded: tuple[float, float] | None
    calm: tuple[float, float] | None
    traced: tuple[float, float] | None
    told: float | None
    busy: bool

    @property
    def true(self) -> float | None:
        """The true saving: by what remains, the geometric mean of all that was timed;
        else what was told.

        Times with the profiler count where there are others.
        """
        timed = list(filter(None, (self.recorded, self.calm)))
        found = [
            healthy / faulty
            for healthy, faulty in (
                *timed,
                *filter(None, (self.traced if timed else None,)),
            )
        ]
        if not found:
            return self.told
        product = 1.0
        for one in found:
            product *= one
        return 1 - product ** (1 / len(found))


def collected(data: Path, known: Mapping[str, Pair]) -> Iterator[Pair]:
    """A pair for each program with a recording of its faulty form. known: by program,
    those that need not be read again.
    """
    rules = load_catalogue().rules
    for batch, program, planted, faulty, healthy in _recordings(data):
        if program in known:
            yield known[program]
            continue
        try:
            yield _pair(batch, program, planted, faulty, healthy, rules)
        except Exception as error:
            # a program that no longer can be read is told, the others still count
            print(f"{program}: {type(error).__name__}: {error}", file=sys.stderr)


def _recordings(data: Path) -> Iterator[tuple[str, str, Mapping[str, Any], Path, Path]]:
    truth = yaml.safe_load((DIAGNOSIS / "truth.yaml").read_text(encoding="utf-8"))[
        "programs"
    ]
    for program, planted in truth.items():
        faulty, healthy = (
            data / program / form / "1" for form in ("faulty", "healthy")
        )
        if (faulty / "recording.json").exists():
            yield "diagnosis", program, planted, faulty, healthy
    for folder in sorted((DIAGNOSIS / "batches").iterdir()):
        for program, planted in yaml.safe_load(
            (folder / "truth.yaml").read_text(encoding="utf-8")
        )["programs"].items():
            faulty, healthy = (
                data / "batches" / folder.name / program / form
                for form in ("faulty", "healthy")
            )
            if "planted" in planted and (faulty / "logdir").exists():
                yield f"batch {folder.name}", program, planted, faulty, healthy


def _pair(
    batch: str,
    program: str,
    planted: Mapping[str, Any],
    faulty: Path,
    healthy: Path,
    rules: Sequence[Rule],
) -> Pair:
    metrics = _metrics(faulty)
    about = [one / "recording.json" for one in (healthy, faulty)]
    told = [
        json.loads(one.read_text(encoding="utf-8")) if one.exists() else {}
        for one in about
    ]
    steps = [one.get("step_ms") or one.get("untraced_ms") for one in told]
    blind = batch != "diagnosis"
    cause = planted["planted"][0]["class"] if blind else planted["cause"].split("/")[0]
    return Pair(
        program=program,
        batch=batch,
        planted=cause,
        faults=len(planted["planted"]) if blind else 1,
        parts=dict(parts_of(metrics) or {}),
        tracer=metrics.value("tracer_fraction") or 0.0,
        said=tuple(_said(metrics, rules, planted, blind)),
        recorded=(steps[0], steps[1]) if all(steps) else None,
        calm=None if blind else _published().get(program),
        traced=None if blind else _traced(healthy, metrics),
        told=planted.get("share") if blind else None,
        busy=any((one.get("other_cores") or 0) > 0.15 for one in told),
    )


def _metrics(folder: Path) -> Metrics:
    files = sorted(folder.rglob("*.xplane.pb*"))
    hosts = tuple(run_hosts(files, None, 1, None, watch=None, skip=lambda *_: None))
    return measure(merge(folder.name, "", hosts, [], []))


def _traced(healthy: Path, faulty: Metrics) -> tuple[float, float] | None:
    """(healthy, faulty), ms; None where one of them was not recorded or shows
    no steps.
    """
    if not any(healthy.rglob("*.xplane.pb*")):
        return None
    found = [_untraced_ms(one) for one in (_metrics(healthy), faulty)]
    return (round(found[0], 3), round(found[1], 3)) if all(found) else None


def _untraced_ms(metrics: Metrics) -> float:
    """The step less what recording took, where that is much of it; 0 without a step."""
    tracer = metrics.value("tracer_fraction") or 0.0
    return (metrics.value("step_time_ms") or 0.0) * (1 - tracer * (tracer >= TRACER))


def _said(
    metrics: Metrics, rules: Sequence[Rule], planted: Mapping[str, Any], blind: bool
) -> Iterator[Said]:
    for one in shared(run_rules(rules, metrics), metrics).kept:
        if one.own.high > 0 and may_be_foreseen(one):
            finding = finding_alone(one, metrics)
            yield Said(claim_of(one, metrics), not blind and _names(finding, planted))


def _names(finding: Finding, planted: Mapping[str, Any]) -> bool:
    """Whether it is the planted cause, or one whose cure is its cure as well, that a
    finding of the diagnosis benchmark names.
    """
    from adapters import tfadvisor as adapter  # only that benchmark has causes
    from answers import Answer, Planted, load_truth, names_cause

    cause = adapter.cause_of(finding)
    return names_cause(
        Answer((cause,), True, ""),
        Planted("", "", (planted["cause"], *planted.get("also", []))),
        load_truth()["causes"],
    )


def _published() -> dict[str, tuple[float, float]]:
    """Program -> (healthy, faulty) of ../diagnosis/results.md; not where it calls a
    time disturbed and they contradict.
    """
    row = re.compile(r"^\| `(\w+)` \| .*? \| ([\d.,]+)\*? → ([\d.,]+)\*? \|")
    found = {}
    for line in (DIAGNOSIS / "results.md").read_text(encoding="utf-8").splitlines():
        if match := row.match(line):
            healthy, faulty = (float(match[group].replace(",", "")) for group in (2, 3))
            if healthy < faulty:
                found[match[1]] = (healthy, faulty)
    return found


def kept() -> list[Pair]:
    """What was read last."""
    return (
        msgspec.json.decode(KEPT.read_bytes(), type=list[Pair]) if KEPT.exists() else []
    )


def keep(pairs: Sequence[Pair]) -> None:
    """Writes them, one line a program."""
    lines = ",\n".join(json.dumps(msgspec.to_builtins(_rounded(one))) for one in pairs)
    KEPT.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def _rounded(pair: Pair) -> Pair:
    said = tuple(replace(one, claim=_rounded_claim(one.claim)) for one in pair.said)
    parts = {name: round(value, 5) for name, value in pair.parts.items()}
    return replace(pair, said=said, parts=parts, tracer=round(pair.tracer, 4))


def _rounded_claim(claim: Claim) -> Claim:
    low, high = claim.range
    return replace(
        claim,
        share=round(claim.share, 5),
        range=(round(low, 5), round(high, 5)),
        reach=round(claim.reach, 4),
    )
