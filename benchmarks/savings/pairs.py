"""What the savings benchmark knows of each program: the faulty form's step in parts, the findings, and the true saving.

Recordings of the diagnosis benchmark and of the blind batches lie in `benchmarks/data/diagnosis`, outside git; what is read of
them is kept in `pairs.json`, so that the fit and the page can be made again without them.
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

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DIAGNOSIS = ROOT / "benchmarks" / "diagnosis"
KEPT = HERE / "pairs.json"
sys.path.insert(0, str(DIAGNOSIS))

import tfadvisor.metrics  # noqa: F401, E402
from tfadvisor.engine.judging.judge_rules import run_rules  # noqa: E402
from tfadvisor.engine.loading.catalogue import load_catalogue  # noqa: E402
from tfadvisor.engine.loading.rule import Rule  # noqa: E402
from tfadvisor.engine.savings.parts import parts_of  # noqa: E402
from tfadvisor.metrics.registry import Metrics, measure  # noqa: E402
from tfadvisor.report.model import Finding  # noqa: E402
from tfadvisor.timeline.run.read_hosts import run_hosts  # noqa: E402
from tfadvisor.timeline.run.run_timeline import merge  # noqa: E402


class Said(msgspec.Struct, frozen=True):
    """A finding that saves something. share: what it is seen to take of the step; before: low and high as its rule has them.

    named: whether it is the planted fault that it names.
    """

    rule: str
    category: str
    share: float
    claims: tuple[str, ...]
    before: tuple[float, float]
    named: bool


class Pair(msgspec.Struct, frozen=True):
    """One program. Step times are (healthy, faulty), ms, without the profiler; None where nobody timed both.

    recorded: in the same minutes as the trace. calm: as docs/diagnosis.md has them. told: the saving as the author of a blind
    program measured it. traced_ms: the faulty step in the trace. busy: whether other processes ran meanwhile.
    """

    program: str
    batch: str
    planted: str
    faults: int
    parts: dict[str, float]
    said: tuple[Said, ...]
    recorded: tuple[float, float] | None
    calm: tuple[float, float] | None
    told: float | None
    traced_ms: float
    events: tuple[int, int]
    busy: bool

    @property
    def true(self) -> float | None:
        """The true saving: the mean, of logarithms of what remains, of the two that were timed; else what was told."""
        found = [healthy / faulty for healthy, faulty in filter(None, (self.recorded, self.calm))]
        if not found:
            return self.told
        product = 1.0
        for one in found:
            product *= one
        return 1 - product ** (1 / len(found))


def collected(data: Path) -> Iterator[Pair]:
    """A pair for each program with recordings of both forms in a folder of recordings."""
    rules = load_catalogue().rules
    for batch, program, planted, faulty, healthy in _recordings(data):
        try:
            yield _pair(batch, program, planted, faulty, healthy, rules)
        except Exception as error:  # a program that no longer can be read is told, the others still count
            print(f"{program}: {type(error).__name__}: {error}", file=sys.stderr)


def _recordings(data: Path) -> Iterator[tuple[str, str, Mapping[str, Any], Path, Path]]:
    truth = yaml.safe_load((DIAGNOSIS / "truth.yaml").read_text(encoding="utf-8"))["programs"]
    for program, planted in truth.items():
        faulty, healthy = (data / program / form / "1" for form in ("faulty", "healthy"))
        if (faulty / "recording.json").exists():
            yield "diagnosis", program, planted, faulty, healthy
    for folder in sorted((DIAGNOSIS / "batches").iterdir()):
        for program, planted in yaml.safe_load((folder / "truth.yaml").read_text(encoding="utf-8"))["programs"].items():
            faulty, healthy = (data / "batches" / folder.name / program / form for form in ("faulty", "healthy"))
            if "planted" in planted and (faulty / "logdir").exists():
                yield f"batch {folder.name}", program, planted, faulty, healthy


def _pair(
    batch: str, program: str, planted: Mapping[str, Any], faulty: Path, healthy: Path, rules: Sequence[Rule]
) -> Pair:
    files = sorted(faulty.rglob("*.xplane.pb*"))
    hosts = tuple(run_hosts(files, None, 1, None, detail=False, watch=None, skip=lambda *_: None, engine=None))
    run = merge(program, "", hosts, [], [])
    metrics = measure(run)
    about = [one / "recording.json" for one in (healthy, faulty)]
    told = [json.loads(one.read_text(encoding="utf-8")) if one.exists() else {} for one in about]
    steps = [one.get("step_ms") or one.get("untraced_ms") for one in told]
    blind = batch != "diagnosis"
    cause = planted["planted"][0]["class"] if blind else planted["cause"].split("/")[0]
    return Pair(
        program=program,
        batch=batch,
        planted=cause,
        faults=len(planted["planted"]) if blind else 1,
        parts=dict(parts_of(metrics) or {}),
        said=tuple(_said(metrics, rules, planted, blind)),
        recorded=(steps[0], steps[1]) if all(steps) else None,
        calm=None if blind else _published().get(program),
        told=planted.get("share") if blind else None,
        traced_ms=metrics.value("step_time_ms") or 0.0,
        events=_events(hosts),
        busy=any((one.get("other_cores") or 0) > 0.15 for one in told),
    )


def _events(hosts: Sequence[Any]) -> tuple[int, int]:
    """Python frames and other events of the driving thread of the first host, a step."""
    first = hosts[0]
    steps = max(int(first.steps.steady().sum()), 1)
    return first.capture.events.frames // steps, first.capture.events.others // steps


def _said(metrics: Metrics, rules: Sequence[Rule], planted: Mapping[str, Any], blind: bool) -> Iterator[Said]:
    by_id = {rule.id: rule for rule in rules}
    for one in run_rules(rules, metrics).findings:
        saving = by_id[one.rule_id].saving
        if saving is not None and one.saving.high > 0:
            share = metrics.value(saving.metric) or 0.0
            before = one.saving.low, one.saving.high
            named = not blind and _names(one, metrics, planted)
            yield Said(one.rule_id, one.category, share, one.claims, before, named)


def _names(finding: Finding, metrics: Metrics, planted: Mapping[str, Any]) -> bool:
    """Whether it is the planted cause, or one whose cure is its cure as well, that a finding of the diagnosis benchmark names."""
    from adapters import tfadvisor as adapter  # noqa: PLC0415  (only that benchmark has causes)
    from answers import Answer, Planted, load_truth, names_cause  # noqa: PLC0415

    class Report:
        pass

    report = Report()
    report.metrics = metrics
    cause = adapter.cause_of(finding, report)
    return names_cause(
        Answer((cause,), True, ""),
        Planted("", "", (planted["cause"], *planted.get("also", []))),
        load_truth()["causes"],
    )


def _published() -> dict[str, tuple[float, float]]:
    """Program -> (healthy, faulty) of docs/diagnosis.md; not where it says that a time was disturbed and they contradict."""
    row = re.compile(r"^\| `(\w+)` \| .*? \| ([\d.,]+)\*? → ([\d.,]+)\*? \|")
    found = {}
    for line in (ROOT / "docs" / "diagnosis.md").read_text(encoding="utf-8").splitlines():
        if match := row.match(line):
            healthy, faulty = (float(match[group].replace(",", "")) for group in (2, 3))
            if healthy < faulty:
                found[match[1]] = (healthy, faulty)
    return found


def kept() -> list[Pair]:
    """What was read last."""
    return msgspec.json.decode(KEPT.read_bytes(), type=list[Pair]) if KEPT.exists() else []


def keep(pairs: Sequence[Pair]) -> None:
    """Writes them, one line a program."""
    lines = ",\n".join(json.dumps(msgspec.to_builtins(_rounded(one))) for one in pairs)
    KEPT.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def _rounded(pair: Pair) -> Pair:
    said = tuple(
        msgspec.structs.replace(
            one, share=round(one.share, 5), before=(round(one.before[0], 5), round(one.before[1], 5))
        )
        for one in pair.said
    )
    parts = {name: round(value, 5) for name, value in pair.parts.items()}
    return msgspec.structs.replace(pair, said=said, parts=parts, traced_ms=round(pair.traced_ms, 3))
